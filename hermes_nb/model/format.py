"""Figures for people: lengths of time, tokens, days, money. What is not known is said to be, never shown as 0.

The browser has the same in extensions/widgets/src/shared/format.js and extensions/lab/src/format.ts, tested on one list.
"""

from __future__ import annotations

import math
from datetime import datetime

from hermes_nb.model.event import KNOWN_UNIX_S


def format_ms(ms: float) -> str:
    """A duration: `1.2 ms`, `340 ms`, `3.4 s`, `2 min 5 s`, `1 h 4 min`."""
    ms = max(ms, 0.0)
    if ms < 999.5:
        return f"{_rounded(ms * 10) / 10 if ms < 9.95 else _rounded(ms):g} ms"
    if ms < 59_950:
        return f"{_rounded(ms / 100) / 10:.1f} s"
    s = _rounded(ms / 1000)
    return f"{s // 60} min {s % 60} s" if s < 3600 else f"{s // 3600} h {s % 3600 // 60} min"


def format_tokens(sent: float | None, got: float | None, *, cached: float | None = None) -> str:
    """What was sent and got: `1,165 tokens in (20 cached), 66 out`, `tokens unknown`."""
    if sent is None and got is None:
        return "tokens unknown"
    text = f"{'unknown' if sent is None else format(sent, ',')} tokens in"
    text += f" ({cached:,} cached)" if cached else ""
    return f"{text}, {'unknown' if got is None else format(got, ',')} out"


def format_time(at_unix_s: float | None, form: str = "%Y-%m-%d") -> str:
    """A local date; `unknown` where none is known, as from a clock that was not set."""
    if at_unix_s is None or at_unix_s < KNOWN_UNIX_S:
        return "unknown"
    return datetime.fromtimestamp(at_unix_s).strftime(form)


def format_usd(cost: float) -> str:
    """A cost for people: `$0.0123`, `$1.20`, `$0.000012`, `$0`."""
    if cost == 0:
        return "$0"
    if cost >= 1:
        return f"${cost:,.2f}"
    return f"${cost:.4f}" if cost >= 0.001 else f"${cost:.6f}" if cost >= 5e-7 else "less than $0.000001"


def format_cost(cost: float | None, *, is_whole: bool = True) -> str:
    """A sum for people: `$0.0123`, `unknown`, and `at least $1.20` where a part of it is not known."""
    if cost is None:
        return "unknown"
    return format_usd(cost) if is_whole else f"at least {format_usd(cost)}"


def _rounded(value: float) -> int:
    """The nearest whole number, halves upwards, as browsers round."""
    return math.floor(value + 0.5)
