"""Agents of one name: which declaration answers, and that a change of it is said once, in one line."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.hermes
Run = Callable[[str], str]
TWO = """
from hermes_nb import Agent, tool

def first() -> str:
    "The first."
    return "1"

def second() -> str:
    "The second."
    return "2"

def third() -> str:
    "The third."
    return "3"

b1 = Agent("x", model="offline", tools=[first])
b2 = Agent("x", model="offline", instructions="Be brief.", tools=[second])
same = Agent("x", model="offline", tools=[first])
"""
NOW_B1 = "Agent 'x' is now another declaration: b1 in place of b2; instructions; tool first added; tool second removed.\n"


def _tools(run: Run, agent: str) -> str:
    return run(f"%hermes tools -a {agent}")


def test_a_variable_means_its_declaration_also_where_another_of_the_name_is_bound(run: Run) -> None:
    run(TWO)
    assert "changed" not in run("%hermes agent b1")
    card = run("%hermes agent b2")
    assert "changed  b2 in place of b1; instructions; tool second added; tool first removed\n" in card
    said = run("%hermes run -a b1 --quiet first")
    assert said == NOW_B1
    assert "first" in _tools(run, "x")
    assert "in place of" not in run("%hermes run -a b1 first")


def test_nothing_is_said_of_a_declaration_that_is_the_same(run: Run) -> None:
    run(TWO)
    run("%hermes agent b1")
    before = _tools(run, "x")
    assert _tools(run, "b1") == _tools(run, "same") == before
    assert "changed  nothing since it was last bound" in run("%hermes agent same")


def test_options_of_the_magic_stay_with_their_declaration(run: Run) -> None:
    run(TWO)
    run("%hermes agent b2 --instructions 'At length.'")
    assert "another declaration" not in _tools(run, "b2")
    run("%hermes agent x2 --model offline -o bound")
    assert "another declaration" not in _tools(run, "x2")
    card = run("%hermes agent b2")
    assert "changed  instructions\n" in card


def test_a_tool_that_was_attached_stays_and_is_not_said_to_be_new(run: Run) -> None:
    run(TWO)
    run("%hermes agent b1")
    run("%hermes tools attach third -a x")
    assert "third" in _tools(run, "x")
    said = _tools(run, "b2")
    assert "b2 in place of b1; instructions; tool second added; tool first removed.\n" in said
    assert "third" in _tools(run, "x")


def test_two_declarations_of_one_name_are_no_default(run: Run) -> None:
    run(TWO)
    assert "Several agents are named 'x': the variables b1, b2, same. Say which by its variable." in run("%hermes run hi")
