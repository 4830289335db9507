from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from hermes_nb.errors import UsageError
from hermes_nb.model.template import fill

VARIABLES: dict[str, Any] = {
    "city": "Köln",
    "n": 3,
    "row": {"city": "Bonn", "a b": 1},
    "items": [SimpleNamespace(shape=(2, 3))],
    "_hidden": 1,
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{{city}} {{ n }}", "Köln 3"),
        ("{{row['city']}} {{row[\"a b\"]}}", "Bonn 1"),
        ("{{items[0].shape}} {{items[-1].shape[1]}}", "(2, 3) 3"),
        ("{city} $n {} }} { {", "{city} $n {} }} { {"),
        (r"\{{city}} {{n}}", "{{city}} 3"),
        ("{{n}}{{n}}", "33"),
    ],
)
def test_names_are_filled_in_and_the_rest_stays(text: str, expected: str) -> None:
    assert fill(text, VARIABLES) == expected


def test_a_value_is_not_filled_in_again() -> None:
    assert fill("{{a}}", {"a": "{{b}}", "b": 1}) == "{{b}}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{cit}}", r"\{\{cit\}\} names no variable of this notebook\. Did you mean 'city'\?"),
        ("{{zzz}}", r"names no variable"),
        ("{{n + 1}}", r"\{\{n \+ 1\}\} can't be filled in: a template takes names"),
        ("{{print(1)}}", "can't be filled in"),
        ("{{}}", "can't be filled in"),
        ("{{row['x']}}", r"can't be looked up: KeyError: 'x'"),
        ("{{n.nope}}", r"can't be looked up: AttributeError"),
    ],
)
def test_what_can_not_be_looked_up_is_named(text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        fill(text, VARIABLES)
