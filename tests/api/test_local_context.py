"""`Hermes.local()` as it is meant, and as people take it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes_nb import Agent
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError

CURE = r"async with Hermes\.local\(\) as hermes.*Hermes\.open_local\(\)"


@pytest.mark.parametrize("name", ["bind", "create_instance", "turns", "close", "sessions"])
def test_who_takes_it_for_the_hermes_hears_what_to_write(name: str) -> None:
    with pytest.raises(AttributeError, match=CURE):
        getattr(Hermes.local(), name)


async def test_it_is_neither_awaited_nor_entered_by_with() -> None:
    local: Any = Hermes.local()
    with pytest.raises(UsageError, match=CURE):
        await local
    with pytest.raises(UsageError, match=CURE), local:
        pass


async def test_it_is_entered_once_and_closed_at_the_end(tmp_path: Path) -> None:
    local = Hermes.local(state=tmp_path / "state")
    assert not (tmp_path / "state").exists()
    async with local as hermes:
        assert isinstance(hermes, Hermes)
        with pytest.raises(UsageError, match="entered before"):
            await local.__aenter__()
    with pytest.raises(RuntimeError, match="This Hermes is closed"):
        await hermes.bind(Agent("late", model="offline")).run("question")


def test_a_front_end_that_looks_for_its_form_finds_none() -> None:
    assert not hasattr(Hermes.local(), "_repr_html_")
