"""What a session tells the model of a tool stays, whatever the notebook makes of the function."""

from __future__ import annotations

import pytest

from hermes_nb.tools.decorator import Tool, tool
from hermes_nb.tools.pinned_definition import PinnedDefinitions


@tool
def look(where: str) -> str:
    """Look."""
    return where


@tool(name="look", timeout_s=3)
async def look_far(where: str, far: bool = True) -> str:
    """Look far."""
    return where


@tool(name="look")
def look_again(where: str) -> str:
    """Look."""
    return where.upper()


@pytest.fixture
def offers() -> PinnedDefinitions:
    return PinnedDefinitions()


def turn(offers: PinnedDefinitions, session_id: str, *tools: Tool) -> list[str]:
    return offers.keep(session_id, offers.of(session_id, tools))


def test_a_session_goes_on_with_what_it_began_with(offers: PinnedDefinitions) -> None:
    assert turn(offers, "s", look) == []
    (offer,) = offers.of("s", [look_far])
    assert offer.definition() == look.definition()
    assert (offer.tool, offer.is_current) == (look_far, False)
    spec = offer.spec()
    assert (spec.description, spec.parameters) == (look.description, look.parameters)
    assert (spec.is_async, spec.timeout_s) == (True, 3)  # how it runs is the function's of now


def test_another_body_changes_nothing(offers: PinnedDefinitions) -> None:
    turn(offers, "s", look)
    assert turn(offers, "s", look_again) == []
    assert offers.of("s", [look_again])[0].is_current


def test_a_new_session_begins_with_the_new_form(offers: PinnedDefinitions) -> None:
    turn(offers, "s", look)
    assert turn(offers, "t", look_far) == []
    assert offers.of("t", [look_far])[0].definition() == look_far.definition()
    assert offers.of("s", [look_far])[0].definition() == look.definition()


def test_a_change_is_told_once_for_a_session_and_form(offers: PinnedDefinitions) -> None:
    turn(offers, "s", look)
    turn(offers, "t", look)
    assert [turn(offers, s, look_far) for s in ("s", "s", "t")] == [["look"], [], ["look"]]
    assert turn(offers, "s", look) == []
    assert offers.changed("s", [look]) == []
    assert offers.changed("s", [look_far]) == ["look"]


def test_renewing_takes_the_new_form_in_each_session(offers: PinnedDefinitions) -> None:
    turn(offers, "s", look)
    turn(offers, "t", look_far)
    assert offers.renew([look_far]) == ["look"]
    assert offers.renew([look_far]) == []
    assert offers.of("s", [look_far])[0].definition() == look_far.definition()


def test_what_was_not_kept_is_not_remembered(offers: PinnedDefinitions) -> None:
    offers.of("s", [look])
    assert not offers.knows("s")
    assert offers.of("s", [look_far])[0].is_current


def test_a_tool_that_was_gone_for_a_turn_comes_back_as_it_is_now(offers: PinnedDefinitions) -> None:
    turn(offers, "s", look)
    turn(offers, "s")
    assert offers.of("s", [look_far])[0].is_current


def test_many_sessions_share_what_they_are_told(offers: PinnedDefinitions) -> None:
    for n in range(3):
        turn(offers, f"s{n}", look)
    assert len({id(offers.of(f"s{n}", [look])[0]) for n in range(3)}) == 1
