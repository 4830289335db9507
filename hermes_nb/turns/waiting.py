"""Waits for a turn: for its end, or until it asks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes_nb.turns.result import RunResult

if TYPE_CHECKING:
    from hermes_nb.host.base import Host
    from hermes_nb.turns.runner import TurnRunner


async def wait(runner: TurnRunner, host: Host, timeout_s: float | None, *, until_asked: bool, by_click: bool) -> RunResult:
    """Wait for the result without blocking the loop (see `Turn.wait`)."""
    is_over = _over(runner, timeout_s, until_asked, by_click)
    await host.wait_async(is_over, runner.wake, lambda: runner.stop("interrupt"))
    return _outcome(runner, timeout_s, until_asked)


def wait_blocking(
    runner: TurnRunner, host: Host, timeout_s: float | None, *, until_asked: bool, by_click: bool
) -> RunResult:
    """Wait for the result and block the calling thread (see `Turn.wait_blocking`)."""
    host.wait_blocking(_over(runner, timeout_s, until_asked, by_click), runner.wake, lambda: runner.stop("interrupt"))
    return _outcome(runner, timeout_s, until_asked)


def _over(runner: TurnRunner, timeout_s: float | None, until_asked: bool, by_click: bool) -> Callable[[], bool]:
    end_s = float("inf") if timeout_s is None else time.perf_counter() + timeout_s
    return lambda: (
        runner.is_done
        or (until_asked and bool(runner.n_waiting) and not (by_click and runner.has_buttons))
        or time.perf_counter() > end_s
    )


def _outcome(runner: TurnRunner, timeout_s: float | None, until_asked: bool) -> RunResult:
    if runner.result is not None:
        return runner.result
    if until_asked and runner.n_waiting:
        return runner.asked_result()
    raise TimeoutError(f"Turn {runner.id} is still {runner.status} after {timeout_s or 0:g} s.")
