"""One call of a tool inside a task: checked, run and made text as in the notebook. Needs nothing of Hermes."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import inspect
import io
import itertools
import json
import pickle
import sys
from collections.abc import Iterator
from typing import Any

from hermes_nb.flyte import _sdk
from hermes_nb.model.mask import Masker
from hermes_nb.tools.builtin import ResultStore
from hermes_nb.tools.call import run_async, run_sync
from hermes_nb.tools.secret import environment_masker

KEPT_BYTES_MAX = 6_000_000  # of a cut result that travels back whole, for `more`; Flyte's own limit is 10 MiB
OUTPUT_CHARS_MAX = 20_000  # of one call's prints that travel back; the task's log has all


async def run_tool(pickled: bytes, arguments: str, n_retries: int) -> str:
    """One call of a tool as JSON: status, content, result_chars, error_type, error.

    Raises:
        RuntimeError: It failed and the task may try again; on the last attempt the failure is what is returned.
    """
    tool = pickle.loads(pickled)
    results, masker = ResultStore(), environment_masker()
    with _printed(masker) as printed:
        outcome = await run_call(tool, arguments, masker, results=results)
    if printed:
        outcome["printed"] = [(name, masker.text(text)) for name, text in printed]
    context = _sdk.sdk().ctx()
    if outcome["status"] == "error" and context.mode != "local" and int(context.attempt_number) < n_retries:
        raise RuntimeError(f"{outcome['error_type']}: {outcome['error']}")
    if results.newest is not None:
        try:
            whole = pickle.dumps(results.newest)
        except Exception:  # noqa: BLE001 - a connection, a query ...: `more` then says that it is not kept
            whole = b""
        if 0 < len(whole) <= KEPT_BYTES_MAX:
            outcome["kept"] = base64.b64encode(whole).decode("ascii")
    return json.dumps(outcome)


@contextlib.contextmanager
def masked_log(masker: Masker) -> Iterator[None]:
    """What is printed meanwhile goes to the task's log without secrets."""
    with _printed(masker):
        yield


@contextlib.contextmanager
def _printed(masker: Masker) -> Iterator[list[tuple[str, str]]]:
    """What is printed meanwhile, as (stdout or stderr, text), and to the task's own log as well."""
    pieces: list[tuple[str, str]] = []
    left = [OUTPUT_CHARS_MAX]

    class Tee(io.TextIOBase):
        def __init__(self, name: str, stream: Any) -> None:
            self._name, self._stream = name, stream

        def write(self, text: str) -> int:
            if left[0] > 0:
                pieces.append((self._name, text[: left[0]]))
                left[0] -= len(text)
            self._stream.write(masker.text(text))
            return len(text)

        def flush(self) -> None:
            self._stream.flush()

    told: list[tuple[str, str]] = []
    with contextlib.redirect_stdout(Tee("stdout", sys.stdout)), contextlib.redirect_stderr(Tee("stderr", sys.stderr)):
        yield told
    for name, group in itertools.groupby(pieces, key=lambda piece: piece[0]):
        told.append((name, "".join(text for _, text in group)))


async def run_call(
    tool: Any, arguments: str, masker: Masker, *, results: ResultStore | None = None, awaits: bool = False
) -> dict[str, Any]:
    """One call as plain data; `awaits` for a function that does not look like the coroutine function it is."""
    if awaits or tool.is_async or inspect.iscoroutinefunction(tool.function):
        done = await run_async(tool, arguments, masker=masker, results=results)
    else:
        done = await asyncio.to_thread(run_sync, tool, arguments, masker=masker, results=results)
    return {
        "status": done.status,
        "content": done.content,
        "result_chars": done.result_chars,
        "error_type": done.error_type,
        "error": done.error,
    }
