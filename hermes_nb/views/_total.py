"""Sums of a log, and the line that ends every textual view. The one place where tokens and cost are added up."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from hermes_nb.model.format import format_cost, format_ms, format_tokens
from hermes_nb.model.span import USAGE_KEYS, Span, busy_ms
from hermes_nb.views._input import Source, folder_of

# A call in one of these states was sent, and may have been billed, but nobody said for how much.
_CUT_SHORT = frozenset({"stopped", "killed", "timed_out"})


Key: TypeAlias = tuple[str, str, int, str]
Figures: TypeAlias = tuple[Mapping[str, int], float | None]
NO_FIGURES: Figures = ({}, None)


def own_figures(spans: Iterable[Span]) -> dict[Key, Figures]:
    """What each span adds to the sums: (tokens, cost) by `Span.key`; a span that adds nothing has no entry.

    A turn reports totals that hold its model calls. What it adds is the rest: what it reports beyond them (a
    compressed context, a call Hermes made outside its loop). So each figure is counted once, whatever was reported.
    """
    own: dict[Key, Figures] = {}
    tokens: dict[tuple[str, str, int], dict[str, int]] = {}
    costs: dict[tuple[str, str, int], float] = {}
    turns: list[Span] = []
    for span in spans:
        if span.kind == "turn":
            turns.append(span)
            continue
        if not span.usage and span.cost_usd is None:
            continue
        where = (span.session_id, span.turn_id, span.attempt)
        own[span.key] = (span.usage, span.cost_usd)
        if span.usage:
            known = tokens.setdefault(where, {})
            for key, n in span.usage.items():
                known[key] = known.get(key, 0) + n
        if span.cost_usd is not None:
            costs[where] = costs.get(where, 0.0) + span.cost_usd
    for turn in turns:
        where = turn.key[:3]
        known = tokens.get(where, {})
        rest = {k: n - known.get(k, 0) for k, n in turn.usage.items() if k not in known or n > known[k]}
        cost = None
        if turn.cost_usd is not None:
            cost = turn.cost_usd - costs.get(where, 0.0)
            if where in costs and cost < 1e-9:
                cost = None
            elif cost < 0:
                cost = 0.0
        if rest or cost is not None:
            own[turn.key] = (rest, cost)
    return own


def totals(source: Source, *, now_unix_s: float | None = None) -> dict[str, Any]:
    """Sums of a log.

    Args:
        source: Events, or a folder.
        now_unix_s: The present, for the duration of what is still running; None leaves the running part out.

    Returns:
        n_turns, n_spans, n_model_calls, n_live_calls (model calls that were sent), n_tool_calls, n_replayed, n_retries,
        n_errors: counts; one key per name in `USAGE_KEYS` and cost_usd: None when nothing is known; is_usage_partial,
        is_cost_partial: a call that was sent has no figure, so the sum is a lower bound; duration_ms: wall time in
        turns (a union), None when unknown; status: of the last turn, "" without one; models, agents, sessions: names
        in order of appearance.
    """
    return totals_of(folder_of(source).spans(), now_unix_s=now_unix_s)


def totals_of(spans: list[Span], *, now_unix_s: float | None = None) -> dict[str, Any]:
    """`totals` of spans that are at hand."""
    own = own_figures(spans)
    usage: dict[str, int] = {}
    cost: float | None = None
    for tokens, usd in own.values():
        for key, n in tokens.items():
            usage[key] = usage.get(key, 0) + n
        if usd is not None:
            cost = (cost or 0.0) + usd
    turns = [s for s in spans if s.kind == "turn"]
    models = [s for s in spans if s.kind == "model"]
    cut_short = [s for s in models if s.status in _CUT_SHORT]
    answered = [s for s in models if s.status == "ok" and not s.replayed]
    told_usage = {s.key[:3] for s in turns if own.get(s.key, NO_FIGURES)[0]}
    told_cost = {s.key[:3] for s in turns if s.cost_usd is not None}
    duration = busy_ms(turns or spans, until_unix_s=now_unix_s)
    return {
        "n_turns": len({s.key[:2] for s in turns}),
        "n_spans": len(spans),
        "n_model_calls": len(models),
        "n_live_calls": sum(not s.replayed for s in models),
        "n_tool_calls": sum(s.kind == "tool" for s in spans),
        "n_replayed": sum(s.replayed for s in spans),
        "n_retries": sum(s.n_retries for s in turns),
        "n_errors": sum(s.status == "error" for s in spans),
        **{k: usage.get(k) for k in USAGE_KEYS},
        "cost_usd": cost,
        "is_usage_partial": any(not s.usage for s in cut_short)
        or any(not s.usage and s.key[:3] not in told_usage for s in answered),
        "is_cost_partial": any(s.cost_usd is None for s in cut_short)
        or any(s.cost_usd is None and s.key[:3] not in told_cost for s in answered),
        "duration_ms": duration if any(s.end_unix_s is not None or now_unix_s for s in turns or spans) else None,
        "status": turns[-1].outcome or turns[-1].status if turns else "",
        "models": _unique(s.model for s in models or turns),
        "agents": _unique(s.agent for s in spans),
        "sessions": _unique(s.session_id for s in spans),
    }


def total_line(total: Mapping[str, Any]) -> str:
    """`model · tokens · cost · duration · session`; what is not known says so."""
    parts = [", ".join(total["models"]) or "model unknown"]
    parts += [_tokens(total), _cost(total)] if total["n_live_calls"] or total["input_tokens"] else ["nothing sent"]
    if total["duration_ms"] is not None:
        parts.append(format_ms(total["duration_ms"]))
    for n, one, many in ((total["n_retries"], "retry", "retries"), (total["n_replayed"], "replayed", "replayed")):
        if n:
            parts.append(f"{n} {one if n == 1 else many}")
    sessions = total["sessions"]
    if len(sessions) == 1:
        parts.append(f"session {sessions[0]}")
    elif sessions:
        parts.append(f"{len(sessions)} sessions")
    return " · ".join(parts)


def foot_line(total: Mapping[str, Any]) -> str:
    """What a turn says of itself below its answer: what is known; `total_line` has the rest."""
    parts = [", ".join(total["models"])]
    if n := total["n_model_calls"]:
        parts.append(f"{n:,} model {'call' if n == 1 else 'calls'}")
    if total["n_live_calls"] and (total["input_tokens"] is not None or total["output_tokens"] is not None):
        parts.append(_tokens(total))
    if total["cost_usd"] is not None:
        parts.append(_cost(total))
    if total["duration_ms"] is not None:
        parts.append(format_ms(total["duration_ms"]))
    for n, one, many in ((total["n_retries"], "retry", "retries"), (total["n_replayed"], "replayed", "replayed")):
        if n:
            parts.append(f"{n} {one if n == 1 else many}")
    return " · ".join(p for p in parts if p) or "Nothing was sent yet"


def _tokens(total: Mapping[str, Any]) -> str:
    text = format_tokens(total["input_tokens"], total["output_tokens"], cached=total["cache_read_tokens"])
    is_known = total["input_tokens"] is not None or total["output_tokens"] is not None
    return f"at least {text}" if is_known and total["is_usage_partial"] else text


def _cost(total: Mapping[str, Any]) -> str:
    text = format_cost(total["cost_usd"], is_whole=not total["is_cost_partial"])
    return "cost unknown" if text == "unknown" else text


def _unique(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(n for n in names if n))
