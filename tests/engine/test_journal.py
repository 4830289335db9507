from __future__ import annotations

import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from hermes_nb.engine.durability.journal import Journal, JournalError, Response, ToolResult
from hermes_nb.model.event import Event


def event(seq: int, turn_id: str = "t", text: str = "x") -> Event:
    return Event(1, "w", seq, 1.0, "s", turn_id, "span", None, 1, "model.delta", {"text": text})


def test_events_come_back_whole_and_in_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "deep" / "j.sqlite", "w")
    journal.commit([event(1), event(2, text="naïve ☃ \ud800")])
    journal.commit([event(3, turn_id="other")])
    assert [e.data["text"] for e in journal.events("t")] == ["x", "naïve ☃ ?"]
    journal.close()


def test_responses_are_kept_by_turn_fingerprint_and_occurrence(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "w")
    rows = (("t", 0, "bad"), ("t", 1, "good"), ("u", 0, "other"))
    for seq, (turn_id, occurrence, body) in enumerate(rows, 1):
        journal.commit([event(seq, turn_id)], kept=Response(turn_id, "f", occurrence, 1, {"text": body}))
    assert journal.responses("t") == {("f", 0): {"text": "bad"}, ("f", 1): {"text": "good"}}
    journal.close()


def test_tool_results_are_kept_by_turn_and_call(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "w")
    kept = ToolResult("t", "f:0.1", "add", '{"x":1}', 1, {"status": "ok", "result": "1"})
    journal.commit([event(1)], kept=kept)
    assert journal.tool_results("t") == {"f:0.1": kept}
    assert journal.tool_results("u") == {}
    journal.close()


def test_what_was_committed_survives_a_kill(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys; from pathlib import Path\n"
        "from hermes_nb.engine.durability.journal import Journal, Response\n"
        "from hermes_nb.model.event import Event\n"
        "journal = Journal(Path(sys.argv[1]), 'w')\n"
        "e = Event(1, 'w', 1, 1.0, 's', 't', 'x', None, 1, 'warning', {})\n"
        "journal.commit([e], kept=Response('t', 'f', 0, 1, {'text': 'paid'}))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    path = tmp_path / "j"
    assert subprocess.run([sys.executable, "-c", code, str(path)], check=False).returncode == -9
    journal = Journal(path, "w2")
    assert journal.responses("t") == {("f", 0): {"text": "paid"}}
    assert len(journal.events("t")) == 1
    journal.close()


def test_a_journal_that_cannot_be_written_says_which_and_writes_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "w")
    other = sqlite3.connect(tmp_path / "j")
    other.execute("CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(ABORT, 'disk full'); END")
    with pytest.raises(JournalError, match=r"disk full.*Free space"):
        journal.commit([event(1)], kept=Response("t", "f", 0, 1, {}))
    assert journal.responses("t") == {}
    other.execute("DROP TRIGGER full")
    journal.commit([event(1)])
    other.close()
    journal.close()


def test_a_full_disk_is_said_to_be_full_and_goes_on_once_there_is_space(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "j", "w")
    journal.commit([event(1)])
    journal._db.execute("PRAGMA max_page_count = 1")  # the size it has: sqlite then rolls back itself, as on a full disk
    with pytest.raises(JournalError, match=r"j can't be written: the disk is full\. Free space"):
        journal.commit([event(2, text="x" * 90_000)], kept=Response("t", "f", 0, 1, {"text": "x" * 90_000}))
    journal._db.execute("PRAGMA max_page_count = 1000000")
    journal.commit([event(3)])
    assert [e.seq for e in journal.events("t")] == [1, 3]
    assert journal.responses("t") == {}
    journal.close()


def test_a_journal_error_is_no_exception() -> None:
    assert not issubclass(JournalError, Exception)


def test_a_file_that_is_no_journal_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "j").write_text("not a database, but long enough to be looked at " * 40)
    with pytest.raises(JournalError, match="j can't be written"):
        Journal(tmp_path / "j", "w")


def test_only_its_owner_reads_it(tmp_path: Path) -> None:
    Journal(tmp_path / "j", "w").close()
    assert (tmp_path / "j").stat().st_mode & 0o077 == 0
