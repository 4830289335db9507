"""What a sub-command is: a module of `magics/subcommands/` (or of an entry point) that fills this protocol.

It may also have `run_awaiting`, a coroutine function with `run`'s arguments: it is taken instead of `run` where a cell can
await, so that the kernel's loop stays free. A cell's body is given to a sub-command with `TAKES_CELL = True` alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol, cast

from hermes_nb import _registry
from hermes_nb._near import near
from hermes_nb.errors import UnknownNameError, UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser

ROOM = "magics.subcommands"


class SubCommand(Protocol):
    """A sub-command: one line about it, examples, its options, and what it does."""

    SUMMARY: str
    EXAMPLES: Sequence[str]

    def parser(self) -> Parser:
        """The options."""

    def run(self, context: Context, options: argparse.Namespace, cell: str | None) -> None:
        """Do it, blocking the caller when it takes time."""


def names() -> list[str]:
    """Names of the sub-commands that ship with the package, sorted."""
    return _registry.names(ROOM)


def load(name: str) -> SubCommand:
    """A sub-command by name.

    Raises:
        UsageError: There is none of that name; the message names the nearest and all.
    """
    try:
        return cast(SubCommand, _registry.load(ROOM, name))
    except UnknownNameError as exc:
        hint = near(name, names()) or f" To ask a question, write %hermes run {name} ..."
        raise UsageError(f"{exc}{hint}") from None


def takes_cell(subcommand: SubCommand) -> bool:
    """Whether a cell's body means something to it."""
    return bool(getattr(subcommand, "TAKES_CELL", False))


def awaiting(subcommand: SubCommand) -> Callable[[Context, argparse.Namespace, str | None], Awaitable[None]] | None:
    """Its awaiting form; None when it does not wait."""
    return getattr(subcommand, "run_awaiting", None)


def split(line: str) -> tuple[str, str]:
    """The sub-command's name ("" when none is given) and the rest of the line."""
    name, _, rest = line.strip().partition(" ")
    return name, rest.strip(" ")


def waits(line: str) -> bool:
    """Whether a line is of a shipped sub-command that waits."""
    name, _ = split(line)
    return name in names() and awaiting(load(name)) is not None
