"""The environments of this user: listed with their sizes, and removed."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from hermes_nb import _settings
from hermes_nb._file_lock import is_taken
from hermes_nb.environments import creation
from hermes_nb.errors import UsageError


@dataclass(frozen=True, slots=True)
class Environment:
    """An environment of ours.

    Attributes:
        name: Its folder's name, e.g. `hermes-agent-0.19.0-py3.11`.
        folder: Where it is.
        is_whole: Whether it was finished.
        size_bytes: What it takes on the disk.
        made_unix_s: When it was finished; None when it was not.
    """

    name: str
    folder: Path
    is_whole: bool
    size_bytes: int
    made_unix_s: float | None

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"


def root() -> Path:
    """Return the folder of environments: HERMES_NB_ENGINES, else `hermes-nb/engines` in the user's data folder."""
    chosen = _settings.engines_folder()
    if chosen is not None:
        return Path(chosen).expanduser()
    from platformdirs import user_data_path

    return user_data_path("hermes-nb", appauthor=False) / "engines"


def environments() -> list[Environment]:
    """Return every environment, by name; what was begun and not finished is among them."""
    folder = root()
    if not folder.is_dir():
        return []
    found = []
    for path in sorted(p for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")):
        facts = creation.facts(path)
        found.append(Environment(path.name, path, bool(facts), _size_bytes(path), facts.get("made_unix_s")))
    return found


def remove(name: str) -> Environment:
    """Remove an environment from the disk.

    Raises:
        UsageError: There is none of that name, or it is being made.
    """
    known = {one.name: one for one in environments()}
    if name not in known:
        raise UsageError(f"No engine environment named {name!r}. Known: {', '.join(known) or 'none'}.")
    if is_taken(known[name].folder.with_name(f".{name}.lock")):
        raise UsageError(f"The engine environment {name!r} is being made. Wait for that, or stop the kernel that makes it.")
    # The mark first: what is half removed is no environment.
    (known[name].folder / creation.MARK).unlink(missing_ok=True)
    shutil.rmtree(known[name].folder, ignore_errors=True)
    return known[name]


def _size_bytes(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += (Path(place) / name).lstat().st_blocks * 512
            except OSError:
                continue
    return total
