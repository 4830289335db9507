"""A name of Hermes that the engine uses without a promise of its authors, and the probe that looks for all of them."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from hermes_nb.model.capability import CAPABILITIES

# What a missing name takes away: everything (`core`), that something of Hermes's is kept from doing harm (`guard`), or
# the capability of that name.
CORE, GUARD = "core", "guard"


@dataclass(frozen=True, slots=True)
class PrivateName:
    """One name.

    Attributes:
        path: Module and attributes, e.g. `run_agent.AIAgent.steer`.
        need: `core`, `guard`, or the capability that goes with it.
        absent_in: Beginnings of versions that were measured without it: nothing is to be guarded against there.
    """

    path: str
    need: str
    absent_in: tuple[str, ...] = ()

    def is_expected_in(self, version: str) -> bool:
        """Whether a version should have it."""
        return not any(f"{version}.".startswith(start) for start in self.absent_in)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of versions that share their private names.

    Attributes:
        distribution: `hermes-agent` or `async-hermes-agent`.
        versions: Beginnings of the version numbers that the engine was measured on.
        kind: `threaded` or `coroutine`: what its agent, middleware and handlers are.
        names: Every private name that is used of it.
    """

    distribution: str
    versions: tuple[str, ...]
    kind: Literal["threaded", "coroutine"]
    names: Sequence[PrivateName]


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found of a line in an installed Hermes.

    Attributes:
        distribution, version: What is installed.
        missing: Paths of the names that are not there and should be.
        lost: What goes with them: `core`, `guard`, capabilities.
    """

    distribution: str
    version: str
    missing: tuple[str, ...]
    lost: frozenset[str]

    @property
    def capabilities(self) -> list[str]:
        """What can be promised; nothing where the engine can't run."""
        return [] if self.is_refused else [name for name in CAPABILITIES if name not in self.lost]

    @property
    def is_refused(self) -> bool:
        """Whether the engine can't, or must not, run on it."""
        return bool(self.lost & {CORE, GUARD})

    @property
    def text(self) -> str:
        """What is missing, in words; "" when nothing is."""
        if not self.missing:
            return ""
        return f"{self.distribution} {self.version} lacks {', '.join(self.missing)}"


def probe(line: Line, version: str) -> Probe:
    """Look for each name of a line; imports what they are in."""
    missing = [name for name in line.names if name.is_expected_in(version) and not has(name.path)]
    return Probe(line.distribution, version, tuple(name.path for name in missing), frozenset(name.need for name in missing))


def has(path: str) -> bool:
    """Whether there is a module, or an attribute of one, by that path."""
    parts = path.split(".")
    for n in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:n]))
        except ImportError:
            continue
        try:
            for part in parts[n:]:
                found = getattr(found, part)
        except AttributeError:
            return False
        return True
    return False


class MissingNames(ImportError):
    """The installed Hermes lacks names without which the engine can't run.

    Attributes:
        probe: What was found.
    """

    def __init__(self, probe: Probe) -> None:
        super().__init__(
            f"{probe.text}, which the engine relies on. Use a version it was measured on (%hermes engine install), or speak"
            " to this one by its protocol: --on acp:hermes-acp."
        )
        self.probe = probe
