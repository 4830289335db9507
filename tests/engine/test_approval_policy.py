"""What of Hermes's own tools a person is asked about."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes_nb.engine.hermes import approval_policy


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A working directory with a file, a hidden file, and a link that leads out of it."""
    folder = tmp_path / "here"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "a.csv").touch()
    (folder / ".env").touch()
    (tmp_path / "elsewhere").touch()
    (folder / "link").symlink_to(tmp_path / "elsewhere")
    return folder


def asks(here: Path, name: str, arguments: dict[str, Any]) -> bool:
    return approval_policy.asks(name, arguments, lambda path: (here / path).resolve(), here)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("web_search", {"query": "x"}),
        ("todo", {}),
        ("clarify", {"question": "?"}),
        ("delegate_task", {"goal": "x"}),
        ("process", {"action": "list"}),
        ("process", {"action": "log", "session_id": "x"}),
        ("read_file", {"path": "data/a.csv"}),
        ("read_file", {"path": "data/../data/a.csv"}),
        ("search_files", {"pattern": ".*x", "file_glob": "*.py"}),
        ("search_files", {"pattern": "*.py", "target": "files", "path": "data"}),
        ("vision_analyze", {"image_url": "https://example.org/a.png"}),
    ],
)
def test_what_touches_nothing_is_free(here: Path, name: str, arguments: dict[str, Any]) -> None:
    assert not asks(here, name, arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("terminal", {"command": "ls"}),
        ("terminal", {}),
        ("execute_code", {"code": "1"}),
        ("process", {"action": "kill"}),
        ("process", {}),
        ("write_file", {"path": "data/a.csv", "content": ""}),
        ("patch", {"path": "data/a.csv"}),
        ("browser_navigate", {"url": "https://example.org"}),
        ("a_tool_of_tomorrow", {}),
        ("read_file", {"path": "../elsewhere"}),
        ("read_file", {"path": "link"}),
        ("read_file", {"path": ".env"}),
        ("read_file", {"path": "/etc/passwd"}),
        ("search_files", {"pattern": "KEY", "file_glob": ".env"}),
        ("search_files", {"pattern": "KEY", "file_glob": "**/.env"}),
        ("search_files", {"pattern": "/etc/*", "target": "files"}),
        ("search_files", {"pattern": "x", "path": ".."}),
        ("vision_analyze", {"image_url": "/etc/passwd"}),
    ],
)
def test_what_touches_the_machine_is_asked_about(here: Path, name: str, arguments: dict[str, Any]) -> None:
    assert asks(here, name, arguments)


def test_a_path_that_can_not_be_told_is_asked_about(here: Path) -> None:
    def fails(path: str) -> Path:
        raise RuntimeError(path)

    assert approval_policy.asks("read_file", {"path": "x"}, fails, here)


def test_a_command_is_shown_as_it_is_and_anything_else_whole() -> None:
    assert approval_policy.shown("terminal", {"command": "ls -l"}) == "ls -l"
    assert (
        approval_policy.shown("terminal", {"command": "ls", "background": True}) == '{"command": "ls", "background": true}'
    )
    assert approval_policy.shown("write_file", {"path": "é"}) == '{"path": "é"}'
