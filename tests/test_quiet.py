"""Nothing of what the package does with its libraries is heard where the root logger is at DEBUG."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Say, ScriptedModel
from hermes_nb.views import html

LIBRARIES = ("aiosqlite", "markdown_it", "asyncio", "httpx", "httpcore", "urllib3")


class Heard(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.names.append(record.name)


@pytest.fixture
def heard() -> Iterator[Heard]:
    handler, before = Heard(), logging.root.level
    logging.root.addHandler(handler)
    logging.root.setLevel(logging.DEBUG)
    yield handler
    logging.root.removeHandler(handler)
    logging.root.setLevel(before)


def _foreign(heard: Heard) -> list[str]:
    return [name for name in heard.names if name.split(".")[0] in (*LIBRARIES, "hermes_nb")]


async def test_a_turn_its_store_and_its_views_log_nothing(heard: Heard, tmp_path: Path) -> None:
    heard.names.clear()  # the test's own loop said something
    with ScriptedModel([Say("**Bold** and a [link](https://example.org).")]) as model:
        hermes = await asyncio.to_thread(Hermes.open_local, state=tmp_path)
        result = await hermes.bind(Agent("quiet", model=model.model)).run("Hello")
        sessions = await asyncio.to_thread(hermes.sessions)
        assert "Bold" in html.render(result.events)
        await hermes.aclose()
    assert (result.status, len(sessions)) == ("completed", 1)
    assert _foreign(heard) == []


async def test_what_the_user_does_with_the_same_libraries_is_heard(heard: Heard, tmp_path: Path) -> None:
    import aiosqlite
    from markdown_it import MarkdownIt

    hermes = await asyncio.to_thread(Hermes.open_local, state=tmp_path / "state")
    await asyncio.to_thread(hermes.sessions)  # the filters are there
    async with aiosqlite.connect(tmp_path / "mine.db") as db:
        await db.execute("SELECT 1")
    MarkdownIt().render("mine")
    logging.getLogger("mine").debug("a line of the user's")
    await hermes.aclose()
    assert {"aiosqlite", "mine"} <= set(heard.names)
    assert any(name.startswith("markdown_it") for name in heard.names)


async def test_a_warning_of_a_library_is_heard_wherever_it_was_made(heard: Heard, tmp_path: Path) -> None:
    hermes = await asyncio.to_thread(Hermes.open_local, state=tmp_path)
    await asyncio.to_thread(hermes.sessions)

    async def warn() -> None:
        logging.getLogger("aiosqlite").warning("disk")
        logging.getLogger("aiosqlite").debug("statement")

    await hermes.io.awaited(warn())
    await hermes.aclose()
    assert heard.names.count("aiosqlite") == 1
