"""What a span's panel says, and the rows of the table beside it: plain data that a browser shows as text."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from hermes_nb.model.format import format_ms, format_usd
from hermes_nb.model.span import Span
from hermes_nb.views._total import Key
from hermes_nb.views.rows import MAX_CHARS, valid

HEAD_CHARS = 120
CARRIED_SPANS, CARRIED_CHARS = 200, 100_000
TABLE_COLUMNS = ("tokens in", "tokens out", "cost", "prompt, arguments or result")

_TOKENS = (
    ("input_tokens", "in"),
    ("cache_read_tokens", "cached"),
    ("cache_write_tokens", "written to cache"),
    ("output_tokens", "out"),
    ("reasoning_tokens", "of it reasoning"),
)
_NAMES = {"turn": "turn", "model": "model call", "tool": "tool call", "agent": "delegated agent", "wait": "wait"}


def detail(span: Span, *, parent: int | None = None, max_chars: int = MAX_CHARS) -> dict[str, Any]:
    """A span for its panel.

    Args:
        span: The span.
        parent: Number of the span it is part of.
        max_chars: How much of each text is given; what is left out is said.

    Returns: title, kind, status, is_error, replayed, parent; `facts` as [label, text] and `texts` as [label, text, number of
        characters that are left out].
    """
    return {
        "title": valid(span.name or span.kind),
        "kind": _NAMES[span.kind],
        "status": span.status.replace("_", " "),
        "is_error": bool(span.error) or span.status in ("error", "timed_out", "killed"),
        "replayed": span.replayed,
        "parent": parent,
        "facts": [[label, valid(text)] for label, text in _facts(span) if text],
        "texts": [_cut(label, text, max_chars, n) for label, text, n in _texts(span) if text.strip()],
    }


def carried(spans: Sequence[Span], number: Callable[[Key | None], int | None]) -> list[dict[str, Any]] | None:
    """The panels of a small log, so that they open without a kernel; None when it is not small."""
    if len(spans) > CARRIED_SPANS:
        return None
    made = [detail(span, parent=number(span.parent_key), max_chars=2_000) for span in spans]
    return made if len(json.dumps(made)) <= CARRIED_CHARS else None


def row(span: Span) -> list[str]:
    """A span's cells under `TABLE_COLUMNS`."""
    sent, got = span.usage.get("input_tokens"), span.usage.get("output_tokens")
    text = next((t for t in (span.error, span.arguments, span.prompt, span.text, span.result) if t.strip()), "")
    head = " ".join(valid(text[: 2 * HEAD_CHARS]).split())
    return [
        "" if sent is None else f"{sent:,}",
        "" if got is None else f"{got:,}",
        "" if span.cost_usd is None else format_usd(span.cost_usd),
        head if len(head) <= HEAD_CHARS else head[: HEAD_CHARS - 1] + "…",
    ]


def matches(span: Span, words: Sequence[str]) -> bool:
    """Whether each word (in lower case) is in one of a span's texts."""
    texts = (span.name, span.prompt, span.arguments, span.result, span.text, span.error, span.agent, span.model)
    return all(any(word in text.lower() for text in texts if text) for word in words)


def _facts(span: Span) -> list[tuple[str, str]]:
    began = datetime.fromtimestamp(span.start_unix_s, UTC).astimezone()
    if span.replayed:
        took = "replayed from the recording: nothing was sent, nothing was paid"
    elif span.duration_ms is None:
        took = "running" if span.is_running else "not measured"
    else:
        took = format_ms(span.duration_ms)
    tokens = ", ".join(f"{span.usage[key]:,} {word}" for key, word in _TOKENS if key in span.usage)
    asked = span.kind in ("model", "turn") and not span.replayed and not span.is_running
    return [
        ("duration", took),
        ("started", began.strftime("%Y-%m-%d %H:%M:%S %Z")),
        ("outcome", "" if span.outcome == "completed" else span.outcome),
        ("reason", span.reason),
        ("agent", span.agent if span.agent != span.name else ""),
        ("model", " · ".join(p for p in (span.model, span.provider, span.host) if p)),
        ("tokens", tokens or ("unknown" if asked else "")),
        ("cost", format_usd(span.cost_usd) if span.cost_usd is not None else "unknown" if asked else ""),
        ("retries", str(span.n_retries or "")),
        ("messages", str(span.n_messages or "")),
        ("calls", ", ".join(span.tool_calls)),
        ("finish", span.finish_reason),
        ("attempt", str(span.attempt) if span.attempt > 1 else ""),
        ("runtime", span.runtime),
        ("tool of", "Hermes" if span.builtin else ""),
        ("session", span.session_id),
        ("turn", span.turn_id),
    ]


def _texts(span: Span) -> list[tuple[str, str, int | None]]:
    error = ": ".join(p for p in (span.error_type, span.error) if p)
    prompts = {"turn": "prompt", "model": "newest message", "wait": "question", "agent": "task"}
    return [
        ("error", error, None),
        ("hint", span.hint, None),
        (prompts.get(span.kind, "prompt"), span.prompt, span.prompt_chars),
        ("arguments", _pretty(span.arguments), None),
        ("answer" if span.kind == "wait" else "result", span.result, span.result_chars),
        ("answer", span.text, None),
        ("reasoning", span.reasoning, None),
        ("printed", span.output, span.output_chars),
    ]


def _pretty(raw: str) -> str:
    try:
        return json.dumps(json.loads(raw), indent=1, ensure_ascii=False) if raw else ""
    except ValueError:
        return raw


def _cut(label: str, text: str, max_chars: int, n_chars: int | None) -> list[Any]:
    return [label, valid(text[:max_chars]), max(len(text), n_chars or 0) - len(text[:max_chars])]
