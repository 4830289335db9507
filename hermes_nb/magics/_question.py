"""A turn that asks, in a cell that waits for it: may this tool run, or what does the user want.

Where a person can type, the cell asks by `input`. Elsewhere (nbconvert, papermill, a script's shell) nobody can: what
needs an approval is then denied, and said so, unless the run was started with `--yes`.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from hermes_nb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from hermes_nb.api.turn import Turn

_ANSWERS = {"y": "once", "yes": "once", "once": "once", "a": "always", "always": "always"}
_NOBODY = "Nobody is there to answer. Decide yourself, and say what you assumed."


def answer(turn: Turn, shell: InteractiveShell, *, yes: bool) -> None:
    """Answer every request of the turn that is open now.

    Args:
        turn: The turn that waits.
        shell: Where the question is asked.
        yes: Allow without asking.

    Raises:
        KeyboardInterrupt: The user interrupted instead of answering.
    """
    command = "resume" if turn.attempt > 1 else "run"
    for request in turn.pending:
        text = _answer(request, shell, command, yes=yes)
        try:
            turn.approve(str(request["request_id"]), text)
        except UsageError:
            continue  # somebody else (a button, another cell) was faster, or the turn is over


def is_approval(request: Mapping[str, Any]) -> bool:
    """Whether a request is about allowing something; else it is a question in words."""
    return "deny" in (request.get("choices") or ())


def describe(request: Mapping[str, Any]) -> str:
    """The question with what it is about."""
    call = f" {request['name']}({request.get('arguments', '')})" if request.get("name") else ""
    return f"{request['question']}{call}"


def _answer(request: Mapping[str, Any], shell: InteractiveShell, command: str, *, yes: bool) -> str:
    if is_approval(request):
        if yes:
            return "once"
        if not _can_ask(shell):
            cure = f"%hermes {command} --yes allows it."
            print(f"Denied: {describe(request)} Nobody can answer here. {cure}", flush=True)
            return "deny"
        return _ANSWERS.get(_ask(f"{describe(request)} [y]es, [a]lways, [N]o: ").lower(), "deny")
    if not _can_ask(shell):
        return _NOBODY
    choices = [str(choice) for choice in request.get("choices") or ()]
    numbered = "".join(f"\n  {n}. {choice}" for n, choice in enumerate(choices, 1))
    text = _ask(f"{describe(request)}{numbered}\n> ")
    return choices[int(text) - 1] if text.isdecimal() and 0 < int(text) <= len(choices) else text or _NOBODY


def _can_ask(shell: InteractiveShell) -> bool:
    """Whether a person can type an answer."""
    if getattr(shell, "kernel", None) is None:
        return sys.stdin is not None and sys.stdin.isatty()
    parent: Mapping[str, Any] = getattr(shell, "get_parent", dict)() or {}
    return bool((parent.get("content") or {}).get("allow_stdin"))


def _ask(prompt: str) -> str:
    sys.stdout.flush()
    with _interruptible():
        try:
            return input(prompt).strip()
        except EOFError:
            return ""


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let an interrupt raise: in an awaiting cell the kernel's own handler would wait for the answer."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before if before is not None else signal.default_int_handler)
