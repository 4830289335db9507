"""One turn as a browser keeps it: the rows of the views as plain data, and what changed since it was last told.

What a row says and in which order is `views._steps`' job; here rows get a name each, so that a change of one travels alone
and streamed text travels once.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from hermes_nb.model.event import Event
from hermes_nb.model.format import format_ms
from hermes_nb.model.span import Folder, Span
from hermes_nb.views._bundle import bundle
from hermes_nb.views._call import count
from hermes_nb.views._input import Story, stories
from hermes_nb.views._listing import MAX_ROWS, Listing, latest_phases, listing
from hermes_nb.views._row_text import Detail, with_traceback
from hermes_nb.views._steps import Planned, Step, model_calls, more, plan_steps
from hermes_nb.views._total import foot_line, totals
from hermes_nb.views.rows import MAX_CHARS, valid
from hermes_nb.widgets._detail import detail

Item = dict[str, Any]
GROWING = ("text", "output")
CARRIED_CHARS = 1_500  # a panel up to this size travels with its row, so that it opens without a kernel
MAX_PICTURE_BYTES = 2_000_000
MAX_PICTURES = 20


@dataclass(slots=True)
class _Made:
    """What was made of a planned row, and what else it was made of: how many pictures, whether a
    traceback, and whether nothing is asked."""

    planned: Planned
    state: tuple[int, bool, bool]
    item: Item

    def is_of(self, planned: Planned) -> bool:
        """Whether the row is made of the same spans."""
        spans = self.planned.spans
        return len(spans) == len(planned.spans) and all(a is b for a, b in zip(spans, planned.spans, strict=True))


class TurnModel:
    """What is shown of one turn. Any thread may feed and ask.

    Args:
        turn_id: The turn; known before its first event.
        prompt: What was asked.
        agent: Who was asked.
    """

    def __init__(self, turn_id: str = "", *, prompt: str = "", agent: str = "") -> None:
        self.turn_id, self._prompt, self._agent = turn_id, prompt, agent
        # Put here and folded when it is shown, so that whoever feeds never waits.
        self._inbox: deque[Event] = deque()
        self._lock = threading.Lock()
        self._folder = Folder()
        self._requests: dict[str, dict[str, Any]] = {}
        self._pictures: dict[str, list[str]] = {}
        self._tracebacks: dict[str, str] = {}
        self._made: dict[str, _Made] = {}
        self._items: dict[str, Item] = {}
        self._head: dict[str, Any] = {}
        self.is_stopping = False
        self.is_queued = False

    def feed(self, event: Event) -> None:
        """Take an event."""
        self._inbox.append(event)

    def add_picture(self, span_id: str, uri: str) -> bool:
        """Take a picture that a tool call displayed, as a data URI; false, and not taken, where it is too much."""
        with self._lock:
            if len(uri) > MAX_PICTURE_BYTES or sum(map(len, self._pictures.values())) >= MAX_PICTURES:
                return False
            self._pictures.setdefault(span_id, []).append(uri)
            return True

    def add_traceback(self, span_id: str, text: str) -> None:
        """Take the traceback of a tool call that raised, with colours of a terminal."""
        with self._lock:
            if len(self._tracebacks) < MAX_PICTURES:
                self._tracebacks[span_id] = text

    def bundle(self) -> dict[str, str]:
        """The static forms by MIME type, with pictures and tracebacks in their rows; {} where there are none of those."""
        with self._lock:
            self._drain()
            if not self._pictures and not self._tracebacks:
                return {}
            return bundle(self._folder, pictures=self._pictures, tracebacks=self._tracebacks)

    def whole(self) -> dict[str, Any]:
        """All that is shown: head, and items with their names in order."""
        with self._lock:
            self._fold()
            return {
                "id": self.turn_id,
                "head": self._head,
                "items": [[name, item] for name, item in self._items.items()],
                "now": time.time(),
            }

    def changes(self) -> list[list[Any]]:
        """What changed since `whole` or `changes` was last asked for, as operations.

        Returns: `["head", fields]`, `["put", name, place, item]`, `["set", name, fields]`, `["add", name, field, text]`,
            `["del", name]`; in this order they turn the old state into the new one.
        """
        with self._lock:
            head, items = self._head, self._items
            self._fold()
            return [*_head_changes(head, self._head), *_item_changes(items, self._items)]

    def shown(self) -> tuple[str, Listing, dict[str, Any]]:
        """What was asked, the rows and the totals: what a static form is made of."""
        with self._lock:
            self._drain()  # and no more: what the browser was told is not what this is made of
            prompts = (span.prompt for span in self._folder.spans() if span.kind == "turn")
            return (
                next(prompts, "") or self._prompt,
                listing(self._folder, pictures=self._pictures, tracebacks=self._tracebacks),
                totals(self._folder),
            )

    def detail(self, name: str) -> dict[str, Any] | None:
        """What a row opens to, with more of each text than travels with it; None for a row without one."""
        with self._lock:
            made = self._made.get(name)
            if made is None or made.planned.make is None:
                return None
            step = self._told(made.planned, made.planned.make(MAX_CHARS))
            facts: list[Detail] = []
            if step["kind"] in ("call", "agent"):
                pairs = [(label, text) for label, text in detail(made.planned.spans[0], max_chars=0)["facts"]]
                facts.append({"label": "Technical", "pairs": pairs})
            return {"details": [*step["details"], *facts], "steps": step.get("steps", [])}

    # -- folding -------------------------------------------------------------------------------------------------
    def _drain(self) -> None:
        while self._inbox:
            event = self._inbox.popleft()
            if self._folder.feed(event):
                self._note(event)

    def _fold(self) -> None:
        self._drain()
        told = stories(self._folder)
        makers = [named for story in told for named in self._makers(story)]
        if len(makers) > MAX_ROWS:
            head = MAX_ROWS // 3
            tail = len(makers) - (MAX_ROWS - head)
            makers[head:tail] = [("more", partial(_more, tail - head))]
        self._items = {name: make() for name, make in makers}
        self._head = self._made_head(told[-1].turn if told else None, told[-1] if told else None)

    def _note(self, event: Event) -> None:
        data = event.data
        if event.kind.endswith(".requested"):
            self._requests[str(data.get("request_id"))] = dict(data)
        elif event.kind.endswith(".responded"):
            self._requests.pop(str(data.get("request_id")), None)
        elif event.is_turn_end:
            self._requests.clear()

    def _makers(self, story: Story) -> Iterator[tuple[str, Callable[[], Item]]]:
        """A maker per row of an attempt, by name."""
        attempt = story.turn.attempt if story.turn is not None else 1
        for planned in latest_phases(plan_steps(story), lambda one: one.kind):
            name = f"{attempt}/{planned.name}"
            yield name, partial(self._item, name, planned)

    def _item(self, name: str, planned: Planned) -> Item:
        """A row as data: the one made before, where neither its spans nor what belongs to them changed."""
        request = self._request_of(planned)
        n_pictures = sum(len(self._pictures.get(span.span_id, ())) for span in planned.spans)
        traceback = planned.kind == "step" and bool(planned.spans) and planned.spans[0].span_id in self._tracebacks
        state = (n_pictures, traceback, request is None)
        known = self._made.get(name)
        if known is not None and planned.spans and known.state == state and known.is_of(planned):
            return known.item
        item = _shown(planned)
        if traceback:
            item = {**item, "details": self._told(planned, {**item})["details"]}  # type: ignore[typeddict-item]
        if request is not None:
            item["ask"] = _ask(request)
        if n_pictures:
            item["pictures"] = [uri for span in planned.spans for uri in self._pictures.get(span.span_id, ())]
        self._made[name] = _Made(planned, state, item)
        return item

    def _told(self, planned: Planned, step: Step) -> Step:
        """The row of a call, with its traceback where there is one."""
        text = self._tracebacks.get(planned.spans[0].span_id) if planned.spans else None
        if text is not None and step["kind"] == "call":
            step["details"] = with_traceback(step["details"], text)
        return step

    def _request_of(self, planned: Planned) -> dict[str, Any] | None:
        span = planned.spans[0] if planned.spans else None
        if span is None or span.kind != "wait" or not span.is_running:
            return None
        return self._requests.get(span.span_id.rpartition("/")[2]) or self._requests.get(span.span_id.partition("/")[0])

    def _made_head(self, turn: Span | None, story: Story | None) -> dict[str, Any]:
        if turn is None:
            doing = "waits for its turn" if self.is_queued else "starting the agent"
            return {
                "status": "queued" if self.is_queued else "running",
                "word": "queued" if self.is_queued else "starting",
                "doing": doing,
                "agent": self._agent,
                "prompt": valid(self._prompt),
                "line": "",
                "began": self._head["began"] if self._head else time.time(),
            }
        total = totals(self._folder)
        if turn.is_running:
            total["duration_ms"] = None
        status = turn.status
        doing = _doing(turn, story, bool(self._requests)) if turn.is_running else ""
        return {
            "status": status,
            "word": "stopping" if self.is_stopping and turn.is_running else _WORDS.get(status, status.replace("_", " ")),
            "doing": "stopping" if self.is_stopping and turn.is_running else doing,
            "done": "" if turn.is_running else _done(turn, total["n_tool_calls"]),
            "agent": valid(turn.agent or self._agent),
            "prompt": valid(turn.prompt or self._prompt),
            "line": valid(foot_line(total)) if total["n_live_calls"] or not turn.is_running else "",
            "models": {} if turn.is_running else model_calls(self._folder.spans()),
            "began": self._head.get("began") or turn.start_unix_s,
            "session": turn.session_id,
        }


_WORDS = {"ok": "finished", "error": "failed", "timed_out": "timed out"}


def _done(turn: Span, n_tools: int) -> str:
    """How a turn ended: `Done in 6.4 s · 2 tool calls`."""
    word = "Done" if turn.status == "ok" else _WORDS.get(turn.status, turn.status.replace("_", " ")).capitalize()
    took = "" if turn.duration_ms is None else f" {'in' if turn.status == 'ok' else 'after'} {format_ms(turn.duration_ms)}"
    return f"{word}{took} · {count(n_tools, 'tool call')}" if n_tools else f"{word}{took}"


def _doing(turn: Span, story: Story | None, is_asked: bool) -> str:
    """What a turn does now, in a few words."""
    steps = story.steps if story is not None else []
    running = [s for s in steps if s.is_running]
    if is_asked:
        return "waiting for your answer"
    tools = [s.name for s in running if s.kind in ("tool", "agent")]
    if len(tools) > 1:
        return f"running {len(tools)} tools"
    if tools:
        return f"running {tools[0]}"
    model = next((s for s in reversed(running) if s.kind == "model"), None)
    if model is None:
        return "working" if steps else "starting the agent"
    if model.text:
        return "writing"
    return "thinking" if model.reasoning else f"waiting for {model.model or 'the model'}"


def _shown(planned: Planned) -> Item:
    """A row, or prose, as data."""
    span = planned.spans[0] if planned.spans else None
    if planned.make is None:
        is_open = planned.kind == "answer" and span is not None and span.is_running
        return {"kind": planned.kind, "text": planned.text, "open": is_open}
    step = planned.make(CARRIED_CHARS)
    item: Item = {**step}
    if planned.kind == "thought" and span is not None:  # grows word by word
        return {**item, "details": [], "text": valid(span.reasoning.strip("\n")), "state": span.status}
    if span is not None and span.kind == "tool" and span.is_running and span.output:
        item["output"] = valid(span.output)
    item["has_more"] = any(one.get("rest") for one in (*step["details"], *_within(step)))
    return item


def _within(step: Step) -> Iterator[Detail]:
    for inner in step.get("steps", ()):
        yield from inner["details"]


def _more(n_rows: int) -> Item:
    return {**more(n_rows, "rows")}


def _ask(request: dict[str, Any]) -> dict[str, Any]:
    choices = [valid(str(choice)) for choice in request.get("choices") or ()]
    return {
        "id": str(request.get("request_id")),
        "question": valid(str(request.get("question") or "")),
        "name": valid(str(request.get("name") or "")),
        "arguments": valid(_pretty(str(request.get("arguments") or "")))[:20_000],
        "choices": choices,
        "approval": "deny" in choices,
    }


def _pretty(raw: str) -> str:
    try:
        return json.dumps(json.loads(raw), indent=1, ensure_ascii=False) if raw else ""
    except ValueError:
        return raw


def _head_changes(before: dict[str, Any], now: dict[str, Any]) -> list[list[Any]]:
    changed = {k: v for k, v in now.items() if before.get(k) != v}
    return [["head", changed]] if changed else []


def _item_changes(before: dict[str, Item], now: dict[str, Item]) -> Iterator[list[Any]]:
    yield from (["del", name] for name in before if name not in now)
    kept = [name for name in before if name in now]
    in_order = iter(kept)
    is_moved = any(name in before and next(in_order) != name for name in now)
    if is_moved:
        yield from (["del", name] for name in kept)
        before = {}
    for place, (name, item) in enumerate(now.items()):
        old = before.get(name)
        if old is None:
            yield ["put", name, place, item]
        elif old is not item and old != item:
            yield from _changed(name, old, item)


def _changed(name: str, old: Item, item: Item) -> Iterator[list[Any]]:
    """The fields that differ; of a text that grew only what came."""
    fields: Item = {k: None for k in old if k not in item}
    for key, value in item.items():
        was = old.get(key)
        if was == value:
            continue
        if key in GROWING and was and value.startswith(was):
            yield ["add", name, key, value[len(was) :]]
        else:
            fields[key] = value
    if fields:
        yield ["set", name, fields]
