"""What is left on disk: no credential of an address, nothing of a session that was deleted."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_nb.api._card import card_of
from hermes_nb.api.bound_agent import BoundAgent
from hermes_nb.api.hermes import Hermes
from hermes_nb.model.agent import Agent, Model
from hermes_nb.testing import Call, Fail, Say, ScriptedModel
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.hermes
Make = Callable[..., tuple[BoundAgent, ScriptedModel]]


def files_with(folder: Path, text: str) -> list[str]:
    """Files below a folder whose bytes hold a text, in one of the ways programs write it."""
    forms = {text.encode(), text.encode("utf-16-le"), text.encode("unicode_escape")}
    files = [p for p in sorted(folder.rglob("*")) if p.is_file() and not p.is_symlink()]
    return [p.relative_to(folder).as_posix() for p in files if any(form in p.read_bytes() for form in forms)]


@pytest.mark.parametrize("kind", ["user", "query"])
async def test_credentials_of_an_address_are_sent_and_written_nowhere(own: Hermes, tmp_path: Path, kind: str) -> None:
    with ScriptedModel([Say("one"), Fail(401, "no entry for s3cr3tPassw0rd"), Say("three")]) as script:
        plain = script.base_url
        user = plain.replace("http://", "http://ada:s3cr3tPassw0rd@")
        url = user if kind == "user" else f"{plain}?api_key=s3cr3tPassw0rd"
        bound = own.bind(Agent("a", model=Model("scripted", "custom", url, "sk-scripted-0123456789abcdef")))
        first = await bound.run("Question one")
        failed = await bound.run("Question two")
        own.record(tmp_path / "talk.jsonl")
        own.library.export(tmp_path / "export.jsonl")

        assert (first.text, failed.status) == ("one", "failed")
        if kind == "user":
            basic = "Basic " + base64.b64encode(b"ada:s3cr3tPassw0rd").decode()
            assert script.requests[0].headers["authorization"] == basic
        said = repr([bound, bound.config, card_of(bound), first.events, failed.events, failed.error, own.warnings])
        assert "s3cr3tPassw0rd" not in said
        assert "[masked]" in said
        own.close()
    assert files_with(tmp_path, "s3cr3tPassw0rd") == []
    assert files_with(tmp_path, "YWRhOnMzY3IzdFBhc3N3MHJk") == []
    assert "export.jsonl" in files_with(tmp_path, "Question one")


async def test_no_file_holds_what_a_deleted_session_said(own: Hermes, make: Make, tmp_path: Path) -> None:
    @tool
    def look(at: str) -> str:
        """Look."""
        print("Printedword")
        if at == "Argumentword":
            return "Resultword " * 400
        raise ValueError("Raisedword")

    steps = [
        Call("look", {"at": "Argumentword"}),
        Call("look", {"at": "x"}),
        Say("Answerword", reasoning="Thoughtword"),
        Fail(400, "bad: Echoword Questionword"),
        Say("kept"),
    ]
    bound, _ = make(steps, on=own, tools=[look], toolsets=["terminal"])
    state = tmp_path / "state"
    await bound.run("my Questionword is flu")
    failed = await bound.run("Questionword again")
    session_id = failed.session_id
    await bound.new_session()
    await bound.run("Keptword")
    logs = [p.read_text() for p in state.glob("instances/*/*/logs/*.log")]
    assert logs
    assert not any("word" in log for log in logs)
    assert any("BadRequestError" in log for log in logs)

    await asyncio.to_thread(own.library.delete, session_id)

    words = [f"{one}word" for one in "Question Answer Argument Result Printed Raised Echo Thought".split()]
    for word in [*words, *map(str.lower, words)]:  # the index of the search keeps words in small letters
        assert files_with(state, word) == [], word
    await asyncio.to_thread(own.close)
    assert [word for word in words if files_with(state, word)] == []
    assert "store.db" in files_with(state, "Keptword")


async def test_a_deletion_empties_older_logs_and_what_runs_and_long_results_left(own: Hermes, make: Make) -> None:
    bound, _ = make([Call("look", {"at": "x"}, id="call_77"), Say("one")], on=own, tools=[_look])
    result = await bound.run("Questionword")
    instance = bound.instance.worker.folder
    left = [
        instance.home / "logs" / "agent.log.1",
        instance.path / "flyte" / result.turn_id / "turn.db",
        instance.home / "tmp" / "hermes-results" / "call_77.txt",
        instance.home / "cache" / "delegation" / "subagent-summary-0.txt",
        instance.home / "cache" / "web" / "page.txt",
    ]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("msg='Questionword'")
    other = instance.home / "tmp" / "hermes-results" / "call_88.txt"
    other.write_text("of another")

    await asyncio.to_thread(own.library.delete, result.session_id)

    assert files_with(own.state_dir, "Questionword") == []
    assert other.exists()


@tool
def _look(at: str) -> str:
    """Look."""
    return at


async def test_no_file_holds_what_a_delegated_agent_of_a_deleted_session_said(own: Hermes, make: Make) -> None:
    """Its answer stands in no file meanwhile but the store and the journal, and no result names a place of this machine."""
    steps = [
        Call("delegate_task", {"goal": "Goalword", "context": "Contextword"}),
        Call("look", {"at": "Argumentword"}),
        Say("Childword"),
        Say("Answerword"),
    ]
    bound, script = make(steps, on=own, tools=[_look], toolsets=["delegation"])
    result = await bound.run("Questionword")
    state = own.state_dir

    assert result.text == "Answerword"
    assert any("Childword" in record.content for record in result.tools)
    assert str(state) not in str([dict(e.data) for e in result.events])
    assert not [name for name in files_with(state, "Childword") if "/cache/" in name]
    assert "live_transcript" not in str(script.requests[0].tools).lower()

    await asyncio.to_thread(own.library.delete, result.session_id)

    words = [f"{one}word" for one in "Question Answer Argument Goal Context Child".split()]
    assert {word: found for word in words if (found := files_with(state, word))} == {}
