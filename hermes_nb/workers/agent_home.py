"""What an agent keeps between sessions, kernels and restarts: its memory and its skills, in `homes/` of the state folder.

Hermes's own files: `memories/MEMORY.md` (notes) and `memories/USER.md` (about the user), entries parted by a line of `§`,
and `skills/<name>/SKILL.md`. The worker notes each change a turn makes in `changes.jsonl`, from which it can be undone.
"""

from __future__ import annotations

import difflib
import json
import re
import shutil
import time
import uuid
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from hermes_nb.errors import StoreError, UsageError

FOLDER, CHANGES = "homes", "changes.jsonl"
FILES = {"memory": "memories/MEMORY.md", "user": "memories/USER.md"}
_PART = "\n§\n"
_SKILL = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")


@dataclass(frozen=True, slots=True)
class HomeChange:
    """A change of one file of a home.

    Attributes:
        id: Its id, for `undo`.
        at_unix_s: When.
        path: Which file, within the home.
        before: Its text before; None where there was none.
        after: Its text after; None where it was removed.
        session_id: The session that made it, "" for a person.
        turn_id: The turn.
    """

    id: str
    at_unix_s: float
    path: str
    before: str | None
    after: str | None
    session_id: str = ""
    turn_id: str = ""

    @property
    def diff(self) -> str:
        """The lines that came (`+`) and went (`-`)."""
        old, new = (self.before or "").splitlines(), (self.after or "").splitlines()
        lines = difflib.unified_diff(old, new, n=0, lineterm="")
        return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


class AgentHome:
    """The home of an agent; agents that name the same one share it.

    Args:
        path: Its folder; made when something is written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    def __repr__(self) -> str:
        return f"<AgentHome {self.name!r}: {len(self.entries('memory'))} notes, {len(self.skills)} skills>"

    @property
    def name(self) -> str:
        """Its name."""
        return self.path.name

    def entries(self, target: str = "memory") -> list[str]:
        """The entries of `memory` (notes) or `user` (about the user), in order."""
        text = self._read(_file(target)) or ""
        return [entry.strip() for entry in text.split(_PART) if entry.strip()]

    def set_entries(self, entries: Sequence[str], target: str = "memory") -> None:
        """Put these in their place; the next session has them in its prompt."""
        if any(_PART.strip() in entry.splitlines() for entry in entries):
            raise UsageError("An entry of a memory can't have a line of its own with only '§' on it: it parts entries.")
        self._write(_file(target), _PART.join(entry.strip() for entry in entries if entry.strip()) or None)

    @property
    def skills(self) -> dict[str, str]:
        """Each skill's SKILL.md, by the skill's name."""
        found = sorted((self.path / "skills").glob("**/SKILL.md"))
        return {path.parent.name: path.read_text(encoding="utf-8") for path in found}

    def set_skill(self, name: str, text: str | None) -> None:
        """Write a skill's SKILL.md; None removes the skill, with all that is in its folder.

        Raises:
            UsageError: The name can't be a folder's, or there is no skill of that name to remove.
        """
        if not _SKILL.fullmatch(name):
            raise UsageError(f"A skill can't be named {name!r}: small letters, digits, '_', '.' or '-', 64 at most.")
        there = next((p for p in sorted((self.path / "skills").glob("**/SKILL.md")) if p.parent.name == name), None)
        if text is None and there is None:
            raise UsageError(f"Home {self.name!r} has no skill {name!r}. It has: {', '.join(self.skills) or 'none'}.")
        path = f"skills/{name}/SKILL.md" if there is None else there.relative_to(self.path).as_posix()
        self._write(path, text)
        if text is None:
            shutil.rmtree((self.path / path).parent, ignore_errors=True)

    def changes(self) -> list[HomeChange]:
        """Every change that a turn or a person made, oldest first."""
        try:
            lines = (self.path / CHANGES).read_text(encoding="utf-8").splitlines()
        except FileNotFoundError:
            return []
        known = HomeChange.__dataclass_fields__
        return [HomeChange(**{k: v for k, v in json.loads(line).items() if k in known}) for line in lines if line.strip()]

    def undo(self, change_id: str | None = None) -> HomeChange:
        """Put a file back to what it was before a change; the newest one without an id. This is a change, too.

        Raises:
            UsageError: There is no such change, or the file changed again since.
        """
        changes = self.changes()
        found = next((c for c in reversed(changes) if change_id in (None, c.id)), None)
        if found is None:
            known = ", ".join(c.id for c in changes[-8:]) or "none"
            raise UsageError(f"Home {self.name!r} has no change {change_id or ''!r}. Newest: {known}.")
        if self._read(found.path) != found.after:
            raise UsageError(
                f"{found.path} of home {self.name!r} changed again since {found.id}. Undo the later change first."
            )
        self._write(found.path, found.before)
        return found

    def _read(self, path: str) -> str | None:
        try:
            return (self.path / path).read_text(encoding="utf-8")
        except FileNotFoundError:
            return None

    def _write(self, path: str, text: str | None) -> None:
        """Replace a file as a whole, under Hermes's own lock, and note the change."""
        place = self.path / path
        try:
            place.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _locked(place):
                before = self._read(path)
                if before == text:
                    return
                if text is None:
                    place.unlink(missing_ok=True)
                else:
                    fresh = place.with_suffix(".new")
                    fresh.write_text(text, encoding="utf-8")
                    fresh.replace(place)
                told = {"id": f"c-{uuid.uuid4().hex[:8]}", "at_unix_s": round(time.time(), 3), "path": path}
                with (self.path / CHANGES).open("a", encoding="utf-8") as file:
                    file.write(json.dumps({**told, "before": before, "after": text}) + "\n")
        except OSError as exc:
            raise StoreError(f"{path} of home {self.name!r} can't be written: {exc.strerror or exc}.") from exc


def _file(target: str) -> str:
    if target not in FILES:
        raise UsageError(f"A home has no {target!r}. Known: {', '.join(FILES)}.")
    return FILES[target]


@contextmanager
def _locked(place: Path) -> Iterator[None]:
    import fcntl

    with place.with_suffix(place.suffix + ".lock").open("a", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
