"""The words for how turns, steps and calls stand: each is a type for checkers and a tuple for programs."""

from __future__ import annotations

from typing import Literal, get_args

# How a turn ended, or where it waits.
TurnStatus = Literal["completed", "max_turns", "failed", "stopped", "timed_out", "awaiting_approval", "needs_confirmation"]
# How the handle of a turn stands: before its end, too.
HandleStatus = Literal[
    "queued",
    "running",
    "stopping",
    "completed",
    "max_turns",
    "failed",
    "stopped",
    "timed_out",
    "awaiting_approval",
    "needs_confirmation",
]
# How a step stands in a log; `killed`: its turn or its worker ended before it. The order is that of binary records.
SpanStatus = Literal["running", "ok", "error", "stopped", "timed_out", "denied", "skipped", "killed"]
# How a call of a tool ended.
ToolStatus = Literal["ok", "error", "stopped", "timed_out", "denied", "skipped"]
# Why a turn is to end; `cancelled`: whoever awaited it was, `closed`: its Hermes was.
StopReason = Literal["user", "interrupt", "timeout", "cancelled", "closed"]
# What a request for approval is answered with.
Answer = Literal["once", "always", "deny"]

SPAN_STATUSES: tuple[SpanStatus, ...] = get_args(SpanStatus)
ANSWERS: tuple[Answer, ...] = get_args(Answer)
