"""An agent's own memory and skills: a folder that lasts, seen by Hermes in place of the worker's home.

Hermes (0.19) has one home for a process, and a context variable that names another. The folder that is named so holds links:
`memories` and `skills` to the agent's folder, config.yaml to the worker's. Whatever runs without the variable (Hermes's own
threads, delegated agents) finds the worker's home, in which no memory and no skill ever is.
"""

from __future__ import annotations

import difflib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb.engine.durability.recorder import new_id
from hermes_nb.engine.hermes import patch

if TYPE_CHECKING:
    from hermes_nb.model.message_part import HomeTold

PARTS = ("memories", "skills")
CHANGES = "changes.jsonl"
WRITERS = frozenset({"memory", "skill_manage"})  # tools that change it
_MOST_BYTES = 1_000_000  # of a file that is compared


class AgentHome:
    """The home of one agent in this worker.

    Args:
        told: The wire's `home`: name, and the path of the folder that lasts.
        worker_home: HERMES_HOME of the worker.
    """

    def __init__(self, told: HomeTold, worker_home: Path) -> None:
        self.name, self.path = str(told["name"]), Path(str(told["path"]))
        self._seen = worker_home / "agents" / self.name
        self._seen.mkdir(parents=True, exist_ok=True, mode=0o700)
        for part in PARTS:
            (self.path / part).mkdir(parents=True, exist_ok=True, mode=0o700)
            _link(self._seen / part, self.path / part)
        _link(self._seen / "config.yaml", worker_home / "config.yaml")

    def stay(self) -> None:
        """Let this thread find it, to its end."""
        patch.upstream("hermes_constants").set_hermes_home_override(self._seen)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Let this thread find it within the block."""
        constants = patch.upstream("hermes_constants")
        token = constants.set_hermes_home_override(self._seen)
        try:
            yield
        finally:
            constants.reset_hermes_home_override(token)

    def texts(self) -> dict[str, str]:
        """Every text file of it, by its path within."""
        return {
            path.relative_to(self.path).as_posix(): path.read_text(encoding="utf-8", errors="replace")
            for part in PARTS
            for path in sorted((self.path / part).rglob("*"))
            if path.is_file() and not path.name.endswith(".lock") and path.stat().st_size <= _MOST_BYTES
        }

    def changes(self, before: Mapping[str, str], **whose: str) -> list[dict[str, Any]]:
        """What changed since: an entry for each file, kept beside it so that it can be undone.

        Args:
            before: `texts()` of then.
            **whose: session_id and turn_id.

        Returns: id, home, path and diff of each.
        """
        found: list[dict[str, Any]] = []
        now = self.texts()
        for path in sorted({*before, *now}):
            old, new = before.get(path), now.get(path)
            if old == new:
                continue
            change = {"id": f"c-{new_id()[:8]}", "at_unix_s": round(time.time(), 3), **whose, "path": path}
            with (self.path / CHANGES).open("a", encoding="utf-8") as file:
                file.write(json.dumps({**change, "before": old, "after": new}) + "\n")
            found.append({"id": change["id"], "home": self.name, "path": path, "diff": _diff(path, old or "", new or "")})
        return found


def _diff(path: str, old: str, new: str) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), path, path, n=0, lineterm="")
    return "\n".join(line for line in lines if not line.startswith(("---", "+++")))


def _link(place: Path, target: Path) -> None:
    if not place.is_symlink() or place.readlink() != target:
        place.unlink(missing_ok=True)
        place.symlink_to(target)
