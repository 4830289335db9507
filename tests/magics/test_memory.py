"""`%hermes memory` and `%hermes skills`: shown, changed and put back without a model."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Run = Callable[[str], str]
AGENT = "from hermes_nb import Agent\nkeeper = Agent('keeper', model='offline', toolsets=['memory', 'skills'])"
SKILL = "---\nname: stew\ndescription: How to cook a stew.\n---\nCook it.\n"


@pytest.fixture
def keeper(run: Run) -> Run:
    run(AGENT)
    return run


def test_entries_are_added_removed_and_put_back(keeper: Run) -> None:
    assert "holds no memory yet" in keeper("%hermes memory -a keeper")
    keeper("%hermes memory -a keeper add Figures are in thousands.")
    shown = keeper("%hermes memory -a keeper add The year ends in June.")
    assert "note  1       Figures are in thousands." in shown
    assert "note  2       The year ends in June." in shown
    assert "Figures" not in keeper("%hermes memory -a keeper remove 1").partition("change")[0]
    assert "Put back: memories/MEMORY.md." in keeper("%hermes memory -a keeper undo")
    assert "Figures are in thousands." in keeper("%hermes memory -a keeper").partition("change")[0]


def test_a_cell_is_the_whole_memory_and_the_user_s_is_another(keeper: Run) -> None:
    shown = keeper("%%hermes memory -a keeper --user edit\nLikes tables.\n\nReads German.")
    assert "about the user  1       Likes tables." in shown
    assert "about the user  2       Reads German." in shown
    assert "note" not in shown.partition("change")[0]
    keeper("%hermes memory -a keeper --user clear")
    assert "holds no memory yet" in keeper("%hermes memory -a keeper")


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("%hermes memory -a keeper add", "Write what to remember: %hermes memory add TEXT."),
        ("%hermes memory -a keeper ad x", "%hermes memory has no 'ad'. Did you mean 'add'?"),
        ("%hermes memory -a keeper remove 7", "There is no entry to remove."),
        ("%hermes memory -a keeper edit", "Write the entries into the cell, a line each"),
        ("%hermes memory -a keeper undo c-1", "has no change 'c-1'. Newest: none."),
        ("%hermes skills -a keeper show", "Write which skill: %hermes skills show NAME."),
        ("%hermes skills -a keeper show stew", "has no skill 'stew'. It has: none."),
        ("%hermes skills -a keeper remove stew", "has no skill 'stew'. It has: none."),
        ("%hermes skills -a keeper edit stew", "Write its text into the cell: %%hermes skills edit stew."),
        ("%%hermes skills -a keeper edit Big/Stew\nx", "A skill can't be named 'Big/Stew'"),
    ],
)
def test_what_can_t_be_done_is_said(keeper: Run, source: str, said: str) -> None:
    assert said in keeper(source)


def test_skills_are_written_shown_and_taken_away(keeper: Run) -> None:
    shown = keeper(f"%%hermes skills -a keeper edit stew\n{SKILL}")
    assert "stew   How to cook a stew." in shown
    assert "Cook it." in keeper("%hermes skills -a keeper show stew")
    assert "holds no skills yet" in keeper("%hermes skills -a keeper remove stew")
    assert "stew   How to cook a stew." in keeper("%hermes skills -a keeper undo")
