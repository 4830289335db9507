"""Which calls of Hermes's own tools a person is asked about before they run.

Whatever runs a program, changes a file, drives a browser or acts outside is asked about, and so is a tool that is not named
here: what a command would do can't be told from its text (`R=rm; $R -rf .`). Free are reading the web, Hermes's own notes
and questions, and reading files of the working directory, hidden ones (`.env`) left out.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from hermes_nb.engine.hermes import patch
from hermes_nb.engine.hermes.human_input import HumanInput

_FREE = frozenset(
    "web_search web_extract x_search skills_list skill_view todo memory session_search clarify delegate_task"
    " read_terminal".split()
)
# Tools that read a file, and the argument that says which; it may also be the address of a web page.
_READ = {"read_file": "path", "search_files": "path", "vision_analyze": "image_url", "video_analyze": "video_url"}
_LOOKS = frozenset({"list", "poll", "log", "wait"})  # of `process`: what changes nothing
_PAGE = ("http://", "https://", "data:")
_QUESTIONS = {
    "terminal": "Run this command on your machine?",
    "execute_code": "Run this Python code on your machine?",
    "write_file": "Write this file?",
    "patch": "Change this file?",
    "read_file": "Read this file?",
    "search_files": "Search these files?",
}


class Door:
    """Where the calls of Hermes's own tools in one turn pass.

    Args:
        questions: Who asks.
        turn_id: The turn.
    """

    def __init__(self, questions: HumanInput, turn_id: str) -> None:
        self._questions = questions
        self._turn_id = turn_id

    def open(self, name: str, arguments: Mapping[str, Any], span_id: str) -> AbstractContextManager[None] | None:
        """What the call runs in, once it was allowed; None when it was not."""
        if not asks(name, arguments, lambda path: patch.resolved(path, self._turn_id), Path.cwd()):
            return contextlib.nullcontext()
        question = _QUESTIONS.get(name, "May the agent do this on your machine?")
        if danger := patch.danger(name, arguments):
            question = f"{question} It looks dangerous: {danger}."
        is_allowed = self._questions.admit(name, shown(name, arguments), question, span_id)
        return self._questions.admitted() if is_allowed else None


def asks(name: str, arguments: Mapping[str, Any], resolve: Callable[[str], Path], working_dir: Path) -> bool:
    """Whether a person is asked first.

    Args:
        name: A tool of Hermes.
        arguments: What the model gave.
        resolve: The file a path means to Hermes, links followed.
        working_dir: The directory whose files may be read.
    """
    if name in _FREE:
        return False
    if name == "process":
        return str(arguments.get("action")) not in _LOOKS
    if name not in _READ:
        return True
    path = str(arguments.get(_READ[name]) or ".")
    if path.startswith(_PAGE) and _READ[name] != "path":
        return False
    if name == "search_files" and any(map(_is_odd, _globs(arguments))):
        return True
    try:
        inside = resolve(path).relative_to(working_dir.resolve())
    except (OSError, ValueError, RuntimeError):
        return True
    return any(part.startswith(".") for part in inside.parts)


def _globs(arguments: Mapping[str, Any]) -> list[str]:
    """The glob patterns of a search."""
    names = ["file_glob", "pattern"] if arguments.get("target") == "files" else ["file_glob"]
    return [str(arguments.get(name) or "") for name in names]


def _is_odd(glob: str) -> bool:
    """Whether it may name hidden files, which are then searched, or those of another directory."""
    return glob.startswith((".", "/", "~")) or "/." in glob


def shown(name: str, arguments: Mapping[str, Any]) -> str:
    """What is asked about: a command or a script as it is, anything else as JSON."""
    only = {"terminal": "command", "execute_code": "code"}.get(name)
    if only and set(arguments) <= {only}:
        return str(arguments.get(only) or "")
    return json.dumps(arguments, ensure_ascii=False, default=str)
