"""Sentences put one after the other never run together."""

from __future__ import annotations

import pytest

from hermes_nb.model.sentence import join


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        (("failed (HTTP 500): boom", "Run again; it is there."), "failed (HTTP 500): boom. Run again; it is there."),
        (("You exceeded your current quota", "Wait and run again"), "You exceeded your current quota. Wait and run again"),
        (("It is full.", "Free space."), "It is full. Free space."),
        (("Really?", "Yes!", "Well … ", "so"), "Really? Yes! Well … so"),
        (('He said "no."', "Stop."), 'He said "no." Stop.'),
        (("the text `a`", "Stop."), "the text `a`. Stop."),
        (("boom", ""), "boom"),
        (("", None, "Run again."), "Run again."),
        ((), ""),
        ((None,), ""),
    ],
)
def test_a_part_without_an_end_gets_one_before_the_next(parts: tuple[object, ...], text: str) -> None:
    assert join(*parts) == text
