"""The form of a function: the same for the same code, another for whatever a model or a call would notice."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

from hermes_nb.tools.form import form, shape

BASE = "def f(x: int, y: int = 2) -> int:\n    'Doc.'\n    return x + y\n"


def made(source: str, **names: Any) -> Callable[..., Any]:
    space: dict[str, Any] = dict(names)
    exec(source, space)
    function: Callable[..., Any] = space["f"]
    return function


def test_the_same_code_has_the_same_form_wherever_it_stands() -> None:
    assert form(made(BASE)) == form(made("\n\n" + BASE))
    assert shape(made(BASE)) == shape(made("\n\n" + BASE))


@pytest.mark.parametrize(
    ("old", "new", "is_seen"),
    [
        ("x + y", "x - y", False),
        ("= 2", "= 3", True),
        ("Doc", "Word", True),
        ("x: int", "x: str", True),
        ("y: int", "z: int", True),
    ],
)
def test_a_change_is_seen_and_by_the_model_where_it_is_told_of_it(old: str, new: str, is_seen: bool) -> None:
    before, after = made(BASE), made(BASE.replace(old, new))
    assert form(before) != form(after)
    assert (shape(before) != shape(after)) == is_seen


def test_what_a_function_closed_over_and_what_a_partial_bound_count() -> None:
    def outer(n: int) -> Callable[[], int]:
        return lambda: n

    assert form(outer(1)) == form(outer(1)) != form(outer(2))
    assert form(functools.partial(print, 1)) == form(functools.partial(print, 1)) != form(functools.partial(print, 2))
