"""One row per thing that happened, in the grammar of the Flyte report's Agent tab.

A row reads `icon label meta — detail ⚠ error`. What a row says is decided here; how it is escaped and where it is cut
is `cut_text` and `cut_html`, shared by every textual view. Only what the Agent tab has no row for (waits, delegated
agents, notes, an ending other than an answer) is ours.

Source: flyteplugins-agents-hermes 2.12.1, the rows it renders for chat completions.
"""

from __future__ import annotations

import html
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from hermes_nb.model.format import format_ms
from hermes_nb.model.sentence import join
from hermes_nb.model.span import Note, Span
from hermes_nb.views._input import Source, Story, has_several_turns, stories

HEADING = "Hermes agent"
PROMPT_CHARS = 160
ANSWER_CHARS = 240
FINAL_CHARS = 300
WARNING_CHARS = 1_500  # a warning ends with what to do, and not every view opens what it cut
ERROR_CHARS = 200
MAX_CHARS = 20_000

_NOTES = {
    "model.retried": ("🔁", "retry"),
    "warning": ("⚠️", "warning"),
    "steer.received": ("🧭", "steer"),
    "context.compressed": ("🗜️", "context compressed"),
    "evaluation.result": ("🎯", "score"),
    "home.changed": ("📝", "learned"),
    "flyte.run": ("🛰️", "Flyte"),
}
_LOG = "flyte.log"
_WORDS: Mapping[str, str] = {"error": "failed", "timed_out": "timed out"}
_ENDINGS = {"ok": "✅", "error": "❌", "stopped": "⏹️", "timed_out": "⏱️", "killed": "⛔"}


@dataclass(frozen=True, slots=True)
class Piece:
    """Part of a row's detail.

    Attributes:
        lead: What comes before it: ` → `, ` · `, ` · calls ` or nothing.
        text: The value, whole.
        limit: Characters shown before it is cut.
        is_code: Shown as code, else dimmed.
        n_chars: Length of the value where `text` is only its head; None when `text` is all of it.
        url: Where it leads, http or https; "" for nowhere.
    """

    lead: str
    text: str
    limit: int
    is_code: bool = True
    n_chars: int | None = None
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One row.

    Attributes:
        kind: `heading`, `model`, `tool`, `agent`, `wait`, `note`, `log` (the tail of a run's log, in lines) or `final`;
            `more` where rows are left out.
        icon: One emoji; "" for a heading.
        label: Model, tool or agent; printed strong.
        meta: What kind of step, messages, duration; printed dim.
        detail: Values, each cut at its own length.
        error: Error message, "" when there is none.
        depth: 0 for a step of the turn, one more inside each delegated agent.
        span: The span it shows, for a log its turn's; None for a note.
    """

    kind: str
    icon: str
    label: str
    meta: str = ""
    detail: tuple[Piece, ...] = ()
    error: str = ""
    depth: int = 0
    span: Span | None = field(default=None, repr=False)


def render(source: Source) -> list[Row]:
    """The rows of a log: for each attempt of a turn a heading, its steps and notes in order, and how it ended.

    Args:
        source: Events, or a folder that a live display keeps.
    """
    told = stories(source)
    with_prompt = has_several_turns(told)
    return [row for story in told for row in story_rows(story, with_prompt=with_prompt)]


def bundle(made: list[Row]) -> dict[str, str]:
    """The rows as an output of a cell, by MIME type.

    Args:
        made: What `render` gave.
    """
    from hermes_nb.views._agent_tab import row_html, row_text

    marked = "\n".join(map(row_html, made))
    return {
        "text/html": f'<div class="hnb tex2jax_ignore mathjax_ignore">{marked}</div>',
        "text/plain": "\n".join(map(row_text, made)),
    }


def story_rows(story: Story, *, with_prompt: bool = False) -> list[Row]:
    """The rows of one attempt; `with_prompt` adds the prompt to its heading."""
    return [make() for make in row_makers(story, with_prompt=with_prompt)]


def row_makers(story: Story, *, with_prompt: bool = False) -> list[Callable[[], Row]]:
    """What makes each row of one attempt, for who shows some of very many."""
    return [planned.make for planned in plan(story, with_prompt=with_prompt)]


@dataclass(frozen=True, slots=True)
class Planned:
    """A row that was not made yet.

    Attributes:
        kind: `heading`, `step`, `note`, `log` or `final`.
        about: The span or note it shows.
        make: Makes it.
    """

    kind: str
    about: Span | Note
    make: Callable[[], Row]


def plan(story: Story, *, with_prompt: bool = False) -> list[Planned]:
    """The rows of one attempt in order, not made yet; for who keeps what it made of a span that did not change."""
    turn = story.turn
    depths: dict[str, int] = {}
    dated: list[tuple[float, int, Planned]] = []
    for span in story.steps:
        depth = depths.get(span.parent_id or "", 0)
        depths[span.span_id] = depth + 1
        dated.append((span.start_unix_s, 0, Planned("step", span, partial(_span_row, span, depth))))
    notes = [n for n in story.notes if n.kind != _LOG]
    dated += [(n.at_unix_s, 1, Planned("note", n, partial(_note_row, n))) for n in notes]
    dated.sort(key=_when)
    planned = [one for _, _, one in dated]
    logs = [n for n in story.notes if n.kind == _LOG]
    if logs:
        planned.append(Planned("log", logs[-1], partial(_log_row, logs[-1], turn)))
    if turn is not None:
        planned.insert(0, Planned("heading", turn, partial(_heading_row, turn, with_prompt=with_prompt)))
        if not turn.is_running:
            planned.append(Planned("final", turn, partial(_final_row, turn)))
    return planned


def _when(dated: tuple[float, int, Planned]) -> tuple[float, int]:
    return dated[:2]


def cut_text(text: str, limit: int, *, n_chars: int | None = None) -> str:
    """One line: white space collapsed, cut at `limit` characters with `... (+N)` for the rest."""
    shown = " ".join(visible(text[:limit]).split())
    rest = max(len(text), n_chars or 0) - limit
    return shown if rest <= 0 else f"{shown}... (+{rest})"


def cut_html(text: str, limit: int, *, n_chars: int | None = None, max_chars: int = MAX_CHARS) -> str:
    """Escaped; what is longer than `limit` becomes a preview that opens to `max_chars` characters at most."""
    text = valid(text)
    whole = max(len(text), n_chars or 0)
    if whole <= limit:
        return html.escape(text)
    opened = text[: max(max_chars, limit)]
    body = html.escape(opened)
    if whole > len(opened):
        body += f"\n... (+{whole - len(opened)} more, truncated)"
    summary = f"{html.escape(text[:limit])}... (+{whole - limit})"
    return f'<details class="hnb-more"><summary>{summary}</summary><pre>{body}</pre></details>'


def valid(text: str) -> str:
    """The text as valid UTF-8: a lone surrogate becomes `?`, a NUL is dropped."""
    if text.isascii():
        return text.replace("\0", "")
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def visible(text: str) -> str:
    """Text that can't move a terminal's cursor or turn the reading direction: control characters as `\\x1b`."""
    return valid(text).translate(_CONTROLS)


_CONTROLS = {
    n: f"\\x{n:02x}" if n < 256 else f"\\u{n:04x}"
    for n in [*range(1, 9), 11, 12, *range(14, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]
} | {13: "\n"}


def arguments_text(raw: str) -> str:
    """A call's arguments as the Agent tab shows them: the parsed value's repr, or the raw text if it is no JSON."""
    try:
        value = json.loads(raw)
    except ValueError:
        return raw
    return "" if value is None else str(value)


def usage_text(span: Span) -> str:
    """Tokens as `key=value`, by the names that chat completions and the Agent tab use."""
    usage = span.usage
    sent, got = usage.get("input_tokens"), usage.get("output_tokens")
    named = {
        "prompt_tokens": sent,
        "completion_tokens": got,
        "total_tokens": sent + got if sent is not None and got is not None else None,
        "reasoning_tokens": usage.get("reasoning_tokens"),
        "cache_read_input_tokens": usage.get("cache_read_tokens"),
        "cache_creation_input_tokens": usage.get("cache_write_tokens"),
    }
    return ", ".join(f"{k}={n}" for k, n in named.items() if n is not None)


def _heading_row(turn: Span, *, with_prompt: bool) -> Row:
    meta = f"attempt {turn.attempt}" if turn.attempt > 1 else ""
    detail = (Piece("", turn.prompt, PROMPT_CHARS),) if with_prompt and turn.prompt else ()
    return Row(kind="heading", icon="", label=HEADING, meta=meta, detail=detail, span=turn)


def _span_row(span: Span, depth: int) -> Row:
    pieces: list[Piece] = []
    if span.kind == "model":
        icon, label, first = "🧠", span.model or "model", "model turn"
        text = "" if span.status == "error" else span.text or span.reasoning
        if span.prompt or text:
            prompt = Piece("", span.prompt, PROMPT_CHARS, n_chars=span.prompt_chars)
            pieces = [prompt, Piece(" → ", text, ANSWER_CHARS)]
        if span.tool_calls:
            pieces.append(Piece(" · calls ", ", ".join(span.tool_calls), PROMPT_CHARS))
        if usage := usage_text(span):
            pieces.append(Piece(" · ", usage, FINAL_CHARS, is_code=False))
    elif span.kind == "tool":
        icon, label, first = "🛠️", span.name, "tool"
        result = "" if _error(span) else span.result
        pieces = [
            Piece("", arguments_text(span.arguments), PROMPT_CHARS),
            Piece(" → ", result, ANSWER_CHARS),
        ]
    elif span.kind == "agent":
        icon, label, first = "🤝", span.name or "agent", "agent"
        pieces = [Piece("", span.prompt, PROMPT_CHARS), Piece(" → ", span.text, ANSWER_CHARS)]
    else:
        icon, label, first = "✋", span.name, "waiting" if span.is_running else "waited"
        pieces = [Piece("", span.prompt, PROMPT_CHARS), Piece(" → ", span.result, ANSWER_CHARS)]
    if pieces:
        pieces[0] = replace(pieces[0], lead=pieces[0].lead.removeprefix(" · "))
    return Row(
        kind=span.kind,
        icon="♻️" if span.replayed else icon,
        label=label,
        meta=" · ".join(p for p in (first, *_meta(span)) if p),
        detail=tuple(pieces),
        error=_error(span),
        depth=depth,
        span=span,
    )


def _meta(span: Span) -> list[str]:
    parts = ["replayed" if span.replayed else "", f"{span.n_messages} msgs" if span.n_messages else ""]
    if span.n_retries and span.kind == "model":
        parts.append("1 retry" if span.n_retries == 1 else f"{span.n_retries} retries")
    if span.duration_ms is not None:
        parts.append(format_ms(span.duration_ms))
    if span.status not in ("ok", "error"):
        parts.append(_WORDS.get(span.status, span.status))
    return parts


def _error(span: Span) -> str:
    """What went wrong; with its class where the message alone says little: of a KeyError it is `'revenue'`.

    The Agent tab has the message alone, always.
    """
    if not span.error:
        return span.error_type or "failed" if span.status == "error" else ""
    is_curt = span.error_type == "KeyError" or len(span.error.split()) < 2
    return f"{span.error_type}: {span.error}" if is_curt and span.error_type else span.error


def _note_row(note: Note) -> Row:
    icon, label = _NOTES.get(note.kind, ("•", note.kind))
    limit = WARNING_CHARS if note.kind == "warning" else FINAL_CHARS
    pieces = [Piece("", note.text, limit, is_code=False)] if note.text else []
    if note.url.startswith(("https://", "http://")):
        pieces.append(Piece(" · ", note.url, FINAL_CHARS, is_code=False, url=note.url))
    return Row(kind="note", icon=icon, label=label, detail=tuple(pieces))


def _log_row(note: Note, turn: Span | None) -> Row:
    return Row(kind="log", icon="📜", label="log", detail=(Piece("", note.text, MAX_CHARS),), span=turn)


def _final_row(turn: Span) -> Row:
    icon = _ENDINGS.get(turn.status, "⏹️")
    if turn.status == "ok":
        label = "final answer"
        meta = "" if turn.outcome in ("", "completed") else turn.outcome.replace("_", " ")
    else:
        label, meta = _WORDS.get(turn.status, turn.status), f"({turn.reason})" if turn.reason else ""
    detail = (Piece("", turn.text, FINAL_CHARS),) if turn.text or turn.status == "ok" else ()
    error = join(_error(turn), turn.hint)
    return Row(kind="final", icon=icon, label=label, meta=meta, detail=detail, error=error, span=turn)
