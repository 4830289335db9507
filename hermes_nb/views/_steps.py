"""One step, one line: what happened in a turn as rows of plain data, from which every view draws.

A cell's widget, its saved HTML, the saved page and the Timeline tab of a Flyte report show these rows and compute none of
their own. Model calls are behind the line of totals; what a model said before its calls is prose between the rows. The
grammar of Flyte's own Agent tab is `hermes_nb.views.rows`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import NotRequired, TypedDict

from hermes_nb.model.format import format_ms
from hermes_nb.model.sentence import join
from hermes_nb.model.span import Note, Span, busy_ms
from hermes_nb.views._call import call_text, count, one_line, pairs, pretty, shape
from hermes_nb.views._input import Story
from hermes_nb.views._row_text import (
    MAX_SUMMARY_CHARS,
    Detail,
    cut,
    error_text,
    printed_text,
    result_detail,
    text_detail,
    token_text,
)
from hermes_nb.views.rows import WARNING_CHARS, valid, visible

MAX_GROUPED = 50
MAX_MODELS = 50
LINE_CHARS = 400
_LOG, _PHASE = "flyte.log", "flyte.run"
_ICONS = {
    "ok": "✓",
    "running": "◌",
    "error": "✗",
    "timed_out": "✗",
    "killed": "✗",
    "denied": "⊘",
    "skipped": "⊘",
    "stopped": "■",
    "replayed": "↻",
    "note": "·",
    "warning": "!",
}
_WORDS = {"timed_out": "timed out", "killed": "cut off", "stopped": "stopped", "denied": "denied", "skipped": "not run"}
_NOTES = {
    "model.retried": ("Retry", "replayed"),
    "warning": ("Warning", "warning"),
    "steer.received": ("Your note", "note"),
    "context.compressed": ("Conversation shortened", "note"),
    "home.changed": ("Learned", "note"),
    "evaluation.result": ("Score", "note"),
    "flyte.run": ("Flyte", "note"),
}
_ENDINGS = {
    "error": "The turn failed",
    "stopped": "Stopped",
    "timed_out": "The turn ran out of time",
    "killed": "Cut off",
}


class Step(TypedDict):
    """One row.

    `kind` is `call`, `group`, `agent`, `wait`, `note`, `heading`, `log`, `thought`, `ending` or `more`; `state` a span's
    status, `replayed`, `note` or `warning`. `call` is code where `is_code`. `pictures` are data URIs, shown below the row. A
    row with `details` or `steps` opens; one with `has_more` has further details where the log is.
    """

    kind: str
    state: str
    icon: str
    call: str
    summary: str
    duration: str
    depth: int
    is_code: bool
    details: list[Detail]
    steps: NotRequired[list[Step]]
    began: NotRequired[float]
    url: NotRequired[str]
    has_more: NotRequired[bool]
    pictures: NotRequired[list[str]]


@dataclass(frozen=True, slots=True)
class Planned:
    """A row that was not made yet.

    Attributes:
        kind: `step`, `said`, `note`, `phase` (of a run of Flyte), `log`, `heading`, `answer` or `ending`.
        name: Its name within its attempt.
        spans: What it shows.
        make: Makes the row, given how many characters of each text it may carry; None for `said` and `answer`, which are
            prose.
        text: Prose.
    """

    kind: str
    name: str
    spans: tuple[Span, ...] = ()
    make: Callable[[int], Step] | None = None
    text: str = ""


@dataclass(slots=True)
class _Call:
    """A call with what belongs to it: who was asked, and which agent it started."""

    span: Span
    depth: int
    waits: list[Span]
    agent: Span | None = None


def plan_steps(story: Story, *, with_prompt: bool = False) -> list[Planned]:
    """The rows of an attempt in reading order, not made yet: heading, steps and notes, log, answer, ending."""
    turn = story.turn
    dated: list[tuple[float, int, Planned]] = []
    for planned in _planned(story):
        dated.append((planned.spans[0].start_unix_s, 0, planned))
    n_notes = 0
    for note in story.notes:
        if note.kind == _PHASE:
            dated.append((note.at_unix_s, 1, Planned("phase", "phase", make=partial(_note, note))))
        elif note.kind != _LOG:
            n_notes += 1
            dated.append((note.at_unix_s, 1, Planned("note", f"note{n_notes}", make=partial(_note, note))))
    dated.sort(key=lambda one: one[:2])
    made = [planned for _, _, planned in dated]
    if logs := [n for n in story.notes if n.kind == _LOG]:
        made.append(Planned("log", "log", (turn,) if turn else (), partial(_log, logs[-1], turn)))
    if turn is None:
        return made
    if turn.attempt > 1 or (with_prompt and turn.prompt):
        made.insert(0, Planned("heading", f"{turn.span_id}/heading", (turn,), partial(_heading, turn, with_prompt)))
    if story.answer.strip():
        made.append(Planned("answer", "answer", (turn,), text=valid(story.answer.strip("\n"))))
    if not turn.is_running and (turn.status != "ok" or turn.outcome not in ("", "completed")):
        made.append(Planned("ending", f"{turn.span_id}/ending", (turn,), partial(_ending, turn)))
    return made


def step_line(step: Step) -> str:
    """A row as text: `✓ top_customers(n=2) → 2 rows × 2 columns · 485 ms`."""
    line = " ".join(p for p in (step["icon"], step["call"], step["summary"]) if p)
    return "  " * step["depth"] + " · ".join(p for p in (line, step.get("url", ""), step["duration"]) if p)


def model_calls(spans: Iterable[Span]) -> Detail:
    """The model calls of a log as a table: what was asked of which model, what it took."""
    calls = [span for span in spans if span.kind == "model"]
    rows = [
        [
            str(n),
            one_line(span.model or "model"),
            "replayed" if span.replayed else "" if span.duration_ms is None else format_ms(span.duration_ms),
            token_text(span),
            one_line(", ".join(span.tool_calls)[:LINE_CHARS]) or ("answer" if span.status == "ok" else _said_state(span)),
        ]
        for n, span in enumerate(calls[:MAX_MODELS], 1)
    ]
    columns = ["#", "model", "time", "tokens", "gave"]
    return {"label": "Model calls", "columns": columns, "rows": rows, "rest": max(0, len(calls) - MAX_MODELS)}


def is_shown_open(step: Step) -> bool:
    """Whether a row shows its details unasked: the log of a run that did not end well."""
    return step["kind"] == "log" and step["state"] != "ok"


# -- planning ---------------------------------------------------------------------------------------------------------
def _planned(story: Story) -> Iterator[Planned]:
    """The steps in order of start; calls of one tool that ran side by side are one row."""
    calls = {span.span_id: _Call(span, 0, []) for span in story.steps if span.kind == "tool"}
    taken: set[str] = set()
    for span in story.steps:
        if span.kind == "agent" and span.parent_id in calls:
            calls[span.parent_id].agent = span
            taken.add(span.parent_id)
        elif span.kind == "wait":
            call = calls.get(span.span_id.rpartition("/")[0]) or _asking(span, calls)
            if call is not None:
                call.waits.append(span)
                taken.add(call.span.span_id if span.is_running else span.span_id)
    depths: dict[str, int] = {}
    group: list[_Call] = []
    for span in story.steps:
        depth = depths.get(span.parent_id or "", 0)
        is_taken = span.span_id in taken
        depths[span.span_id] = depth if is_taken or span.kind == "model" else depth + 1
        if is_taken:
            continue
        if span.kind == "tool":
            call = calls[span.span_id]
            call.depth = depth
            if group and not _belongs(call, group):
                yield _group(group)
                group = []
            group.append(call)
            continue
        if span.kind == "model" and not _is_worth(span, story.turn):
            continue  # no row between two calls that ran side by side
        if group:
            yield _group(group)
            group = []
        yield from _single(span, depth, story)
    if group:
        yield _group(group)


def _asking(wait: Span, calls: dict[str, _Call]) -> _Call | None:
    """The call of the tool `clarify` that asked a question: the one within which it was asked."""
    if wait.name != "clarify":
        return None
    made = (call for call in calls.values() if call.span.name == "clarify" and call.span.start_unix_s <= wait.start_unix_s)
    return next((c for c in made if c.span.end_unix_s is None or wait.start_unix_s <= c.span.end_unix_s), None)


def _belongs(call: _Call, group: list[_Call]) -> bool:
    first = group[0].span
    if (call.span.name, call.span.parent_id) != (first.name, first.parent_id):
        return False
    if call.waits or any(one.waits for one in group):
        return False
    return any(one.span.end_unix_s is None or call.span.start_unix_s < one.span.end_unix_s for one in group)


def _group(group: list[_Call]) -> Planned:
    first = group[0]
    spans = (*(one.span for one in group), *(wait for one in group for wait in one.waits))
    make = partial(_call, first) if len(group) == 1 else partial(_grouped, list(group))
    return Planned("step", f"{first.span.span_id}/step", spans, make)


def _is_worth(span: Span, turn: Span | None) -> bool:
    return bool((span.tool_calls and span.text.strip()) or span.reasoning.strip() or _is_own_error(span, turn))


def _is_own_error(span: Span, turn: Span | None) -> bool:
    """A model call that failed, where the turn's end does not say the same."""
    return span.status == "error" and (turn is None or turn.is_running or turn.status == "ok")


def _single(span: Span, depth: int, story: Story) -> Iterator[Planned]:
    if span.kind == "agent":
        yield Planned("step", f"{span.span_id}/step", (span,), partial(_agent, span, depth))
    elif span.kind == "wait":
        yield Planned("step", f"{span.span_id}/wait", (span,), partial(_wait, span, depth))
    elif span.kind == "model":
        if span.reasoning.strip():
            yield Planned("thought", f"{span.span_id}/thought", (span,), partial(_thought, span, depth))
        if span.tool_calls and span.text.strip():
            yield Planned("said", f"{span.span_id}/said", (span,), text=valid(span.text.strip("\n")))
        if _is_own_error(span, story.turn):
            yield Planned("step", f"{span.span_id}/step", (span,), partial(_failed_model, span, depth))


# -- making -----------------------------------------------------------------------------------------------------------
def _step(kind: str, span: Span | None, call: str, summary: str = "", *, depth: int = 0, state: str = "") -> Step:
    state = state or (("replayed" if span.replayed and span.status == "ok" else span.status) if span else "note")
    step: Step = {
        "kind": kind,
        "state": state,
        "icon": _ICONS.get(state, "·"),
        "call": call,
        "summary": summary,
        "duration": "",
        "depth": depth,
        "is_code": kind in ("call", "group"),
        "details": [],
    }
    if span is not None:
        if span.is_running:
            step["began"] = span.start_unix_s
        elif span.replayed:
            step["duration"] = "replayed"
        elif span.duration_ms is not None:
            step["duration"] = format_ms(span.duration_ms)
    return step


def _call(call: _Call, max_chars: int) -> Step:
    span = call.span
    step = _step("call", span, call_text(span.name, span.arguments), depth=call.depth)
    if span.name == "clarify" and call.waits:
        step["call"], step["is_code"] = cut(one_line(call.waits[0].prompt[:LINE_CHARS]) or "Question"), False
    step["summary"] = _summary(span, call.waits)
    if span.status in ("denied", "skipped"):
        step["duration"] = ""
    details = step["details"]
    if span.status != "denied" and (error := error_text(span)):
        details.append(text_detail("Error", join(error, span.hint), max_chars))
    if given := pairs(span.arguments, max_chars):
        details.append({"label": "Arguments", "pairs": given})
    if span.result.strip() and span.status not in ("error", "denied"):
        details.append(result_detail(span, max_chars))
    if printed := printed_text(span):
        details.append(text_detail("Printed", printed, max_chars, span.output_chars if printed == span.output else None))
    elif span.status in ("error", "denied") and span.result.strip():
        details.append(text_detail("What the model received", pretty(span.result), max_chars, span.result_chars))
    return step


def _summary(span: Span, waits: list[Span]) -> str:
    if span.is_running:
        return ""
    if span.name == "clarify" and waits:
        return f"→ {one_line(waits[-1].result[:LINE_CHARS])}"
    parts = []
    error = "" if span.status == "denied" else error_text(span)
    if error:
        parts.append(cut(one_line(error)))
    elif span.status not in ("ok", "denied"):
        parts.append(_WORDS.get(span.status, span.status))
    elif span.status == "ok" and span.result.strip():
        parts.append(f"→ {cut(shape(span.result, span.result_chars))}")
    parts += [_asked(span, wait) for wait in waits]
    if span.status == "denied" and not waits:
        parts.append("denied")
    if printed := printed_text(span):
        parts.append(f"printed {count(printed.strip().count(chr(10)) + 1, 'line')}")
    return " · ".join(p for p in parts if p)


def _asked(span: Span, wait: Span) -> str:
    after = "" if wait.duration_ms is None else f" after {format_ms(wait.duration_ms)}"
    if wait.status == "denied" or span.status == "denied" or wait.result == "deny":
        return f"denied by you{after}"
    return f"approved by you{after}" if wait.name == "approval" else f"answered by you{after}"


def _grouped(group: list[_Call], max_chars: int) -> Step:
    spans = [one.span for one in group]
    first = spans[0]
    states = [span.status for span in spans]
    n_bad = sum(state not in ("ok", "running") for state in states)
    state = "running" if "running" in states else "error" if n_bad else "replayed" if first.replayed else "ok"
    step = _step("group", None, f"{one_line(first.name)} × {len(spans):,}", depth=group[0].depth, state=state)
    n_running = states.count("running")
    parts = [f"{n_running} running" if n_running else "", f"{n_bad} of {len(spans)} failed" if n_bad else ""]
    differing = _differing(spans)
    given = "" if n_running or n_bad else f"→ {count(len(spans), 'result')}"
    step["summary"] = " · ".join(p for p in (*parts, differing) if p) + (f" {given}" if given else "")
    if n_running:
        step["began"] = first.start_unix_s
    elif state == "replayed":
        step["duration"] = "replayed"
    else:
        step["duration"] = format_ms(busy_ms(spans))
    made = [_call(one, max_chars // len(group)) for one in group[:MAX_GROUPED]]
    for one in made:
        one["depth"] = 0
    step["steps"] = made
    if len(group) > MAX_GROUPED:
        step["steps"].append(more(len(group) - MAX_GROUPED, "calls"))
    return step


def _differing(spans: list[Span]) -> str:
    """What the calls were called with, first to last."""
    texts = [call_text("", span.arguments).removeprefix("tool(").removesuffix(")") for span in spans]
    if len(set(texts)) == 1:
        return texts[0]
    return ", ".join(texts) if sum(map(len, texts)) < 80 else f"{cut(texts[0], 36)} … {cut(texts[-1], 36)}"


def _agent(span: Span, depth: int, max_chars: int) -> Step:
    goal = cut(one_line(span.prompt[:LINE_CHARS]), 120)
    step = _step("agent", span, f"Helper: {goal}" if goal else f"Helper {one_line(span.name)}", depth=depth)
    error = error_text(span)
    if error or span.text.strip():
        step["summary"] = cut(one_line(error)) if error else f"→ {cut(shape(span.text))}"
    if error:
        step["details"].append(text_detail("Error", error, max_chars))
    if len(span.prompt) > 120:
        step["details"].append(text_detail("Task", span.prompt, max_chars))
    if span.text.strip():
        step["details"].append(text_detail("Answer", span.text, max_chars))
    return step


def _wait(span: Span, depth: int, _max_chars: int) -> Step:
    step = _step("wait", span, cut(one_line(span.prompt[:LINE_CHARS]) or "Question"), depth=depth)
    if not span.is_running:
        said = one_line(span.result[:LINE_CHARS])
        if span.name == "approval":
            denied = span.status == "denied" or said == "deny"
            said = "denied by you" if denied else "approved by you" if span.status == "ok" else ""
            step["summary"] = said or _WORDS.get(span.status, span.status)
        else:
            step["summary"] = f"→ {cut(said)}" if said else _WORDS.get(span.status, span.status)
    return step


def _failed_model(span: Span, depth: int, max_chars: int) -> Step:
    step = _step("call", span, "Model call failed", cut(one_line(error_text(span))), depth=depth)
    step["is_code"] = False
    step["details"].append(text_detail("Error", join(error_text(span), span.hint), max_chars))
    return step


def _thought(span: Span, depth: int, max_chars: int) -> Step:
    step = _step("thought", None, "Thought", depth=depth)
    step["details"].append(text_detail("", span.reasoning.strip("\n"), max_chars))
    return step


def _heading(turn: Span, with_prompt: bool, _max_chars: int) -> Step:
    words = cut(one_line(turn.prompt[:LINE_CHARS]), 160) if with_prompt else ""
    attempt = f"Attempt {turn.attempt}" if turn.attempt > 1 else ""
    return _step("heading", None, words or attempt, attempt if words else "")


def _note(note: Note, max_chars: int) -> Step:
    label, state = _NOTES.get(note.kind, (one_line(note.kind), "note"))
    limit = WARNING_CHARS if note.kind == "warning" else MAX_SUMMARY_CHARS
    kind = "phase" if note.kind == _PHASE else "note"
    step = _step(kind, None, label, cut(one_line(note.text[: 2 * limit]), limit), state=state)
    if note.url.startswith(("https://", "http://")):
        step["url"] = valid(note.url)
    if len(one_line(note.text)) > 90:
        step["details"].append(text_detail("", note.text, max_chars))
    return step


def _log(note: Note, turn: Span | None, max_chars: int) -> Step:
    step = _step("log", None, "Log", count(note.text.strip("\n").count("\n") + 1, "line"))
    step["state"] = turn.status if turn is not None else "note"
    step["details"].append(text_detail("", visible(note.text), max_chars))
    return step


def _ending(turn: Span, max_chars: int) -> Step:
    if turn.status == "ok":
        return _step("ending", None, "Ended early", turn.outcome.replace("_", " "), state="warning")
    step = _step("ending", turn, _ENDINGS.get(turn.status, turn.status.replace("_", " ")))
    if turn.status == "stopped" and turn.reason in ("user", "interrupt"):
        step["call"] = "Stopped by you"
    elif turn.reason:
        step["summary"] = one_line(turn.reason)
    if error := error_text(turn):
        step["summary"] = cut(one_line(join(error, turn.hint)))
        step["details"].append(text_detail("", join(error, turn.hint), max_chars))
    return step


def more(n: int, what: str) -> Step:
    """The row that says how many are left out."""
    step = _step("more", None, f"{n:,} more {what} are left out here", "frame() and figure() hold them all")
    return {**step, "icon": "⋯"}


def _said_state(span: Span) -> str:
    return cut(one_line(error_text(span))) or _WORDS.get(span.status, span.status)
