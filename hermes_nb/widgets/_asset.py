"""Scripts and styles of `static/`, put together without a bundler, and comms that a busy cell lets in."""

from __future__ import annotations

from pathlib import Path
from typing import Any

_STATIC = Path(__file__).parent / "static"


def text(*names: str) -> str:
    """Files of `static/`, one after the other: pieces of one ES module, or of one style sheet."""
    return "\n".join((_STATIC / name).read_text(encoding="utf-8") for name in names)


def let_through(comm: Any) -> None:
    """Let messages of the browser be answered while a cell blocks the kernel.

    ipykernel 7.4 sends them to the shell that sent last, which is the busy one (`_reply_subshell_for` of its Comm, a
    private name); 7.1 to 7.3 do without this.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, default=None: default
