"""Scripts and styles of `static/`, which are built from `extensions/widgets`, and comms that a busy cell lets in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_STATIC = Path(__file__).parent / "static"


def text(name: str) -> str:
    """A file of `static/`: an ES module that needs no other, a style sheet, or the licences of what modules hold."""
    return (_STATIC / name).read_text(encoding="utf-8")


def let_through(comm: Any) -> None:
    """Let messages of the browser be answered while a cell blocks the kernel.

    ipykernel 7.4 sends them to the shell that sent last, which is the busy one (`_reply_subshell_for` of its Comm, a
    private name); 7.1 to 7.3 do without this.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, default=None: default
