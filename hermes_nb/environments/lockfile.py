"""The locked lists that environments are made from: one for each Hermes, every package pinned and hashed.

Made by `scripts/lock_engine.py` (uv pip compile --universal --generate-hashes); never edited by hand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from importlib import resources

from hermes_nb.errors import UsageError

DEFAULT = "0.19.0"
_NAME = re.compile(r"^(async-hermes-agent|hermes-agent)-(.+)\.txt$")
# The Pythons that each distribution declares; newest first, so that a kernel's own is taken where it will do.
_PYTHONS = {"hermes-agent": ((3, 13), (3, 12), (3, 11)), "async-hermes-agent": ((3, 13), (3, 12), (3, 11))}


@dataclass(frozen=True, slots=True)
class Locked:
    """A locked list.

    Attributes:
        distribution: `hermes-agent` or `async-hermes-agent`.
        version: Its version.
    """

    distribution: str
    version: str

    @property
    def name(self) -> str:
        """The list in one word, e.g. `hermes-agent-0.19.0`."""
        return f"{self.distribution}-{self.version}"

    @property
    def pythons(self) -> tuple[tuple[int, int], ...]:
        """The Python versions it can be installed on, newest first."""
        return _PYTHONS[self.distribution]

    def text(self) -> str:
        """Return the list as pip and uv read it."""
        return resources.files("hermes_nb.environments").joinpath("locks", f"{self.name}.txt").read_text(encoding="utf-8")


def all_locked() -> list[Locked]:
    """Return every list of this release, the default one first."""
    folder = resources.files("hermes_nb.environments").joinpath("locks")
    found = [Locked(m[1], m[2]) for m in (_NAME.match(item.name) for item in folder.iterdir()) if m]
    return sorted(found, key=lambda one: (one.version != DEFAULT, one.distribution, one.version))


def locked(wanted: str | None = None) -> Locked:
    """Return the list of that Hermes.

    Args:
        wanted: A version (`0.19.0`) or a name with one (`hermes-agent-0.19.0`, `hermes-agent==0.19.0`); None means the
            default.

    Raises:
        UsageError: There is none; the message names those there are.
    """
    known = all_locked()
    if wanted is None:
        return known[0]
    text = wanted.strip().replace("==", "-")
    for one in known:
        if text in (one.version, one.name):
            return one
    names = ", ".join(one.name for one in known)
    raise UsageError(f"There is no locked list for Hermes {wanted!r}. Known: {names}. Another one: name its interpreter.")
