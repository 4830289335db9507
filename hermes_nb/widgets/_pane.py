"""One turn as a browser keeps it: the rows of the views as plain data, and what changed since it was last told.

What a row says and in which order is `views.rows`' job; here rows get a name each, so that a change of one travels alone
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
from hermes_nb.model.span import Folder, Span
from hermes_nb.views._listing import MAX_ROWS, Listing, listing
from hermes_nb.views._source import Story, stories
from hermes_nb.views._total import total_line, totals
from hermes_nb.views.rows import ERROR_CHARS, Row, cut_text, is_log_shown, plan, valid
from hermes_nb.widgets._detail import detail

Item = dict[str, Any]
GROWING = ("text", "reasoning", "output")
CARRIED_CHARS = 1_500  # a panel up to this size travels with its row, so that it opens without a kernel
MAX_PICTURE_BYTES = 2_000_000
MAX_PICTURES = 20


@dataclass(slots=True)
class _Made:
    """What was made of a span, and what else it was made of: how many pictures, and whether nothing is asked."""

    span: Span
    state: tuple[int, bool]
    item: Item | None


class Pane:
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
        self._made: dict[str, _Made] = {}
        self._items: dict[str, Item] = {}
        self._head: dict[str, Any] = {}
        self.is_stopping = False
        self.is_queued = False

    def feed(self, event: Event) -> None:
        """Take an event."""
        self._inbox.append(event)

    def add_picture(self, span_id: str, uri: str) -> None:
        """Take a picture that a tool call displayed, as a data URI; what is too much is left to the cell's own output."""
        with self._lock:
            if len(uri) <= MAX_PICTURE_BYTES and sum(map(len, self._pictures.values())) < MAX_PICTURES:
                self._pictures.setdefault(span_id, []).append(uri)

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
            self._fold()
            return str(self._head["prompt"]), listing(self._folder), totals(self._folder)

    def detail(self, name: str) -> dict[str, Any] | None:
        """The panel of a row: facts and texts as `_detail.detail` gives them; None for a row without one."""
        with self._lock:
            made = self._made.get(name)
            return None if made is None else detail(made.span)

    # -- folding -------------------------------------------------------------------------------------------------
    def _fold(self) -> None:
        while self._inbox:
            event = self._inbox.popleft()
            if self._folder.feed(event):
                self._note(event)
        told = stories(self._folder)
        makers = [(name, make) for story in told for name, make in self._makers(story)]
        if len(makers) > MAX_ROWS:
            head = MAX_ROWS // 3
            tail = len(makers) - (MAX_ROWS - head)
            makers[head:tail] = [("more", partial(_more, tail - head))]
        made = ((name, make()) for name, make in makers)
        self._items = {name: item for name, item in made if item is not None}
        self._head = self._made_head(told[-1].turn if told else None, told[-1] if told else None)

    def _note(self, event: Event) -> None:
        data = event.data
        if event.kind.endswith(".requested"):
            self._requests[str(data.get("request_id"))] = dict(data)
        elif event.kind.endswith(".responded"):
            self._requests.pop(str(data.get("request_id")), None)
        elif event.is_turn_end:
            self._requests.clear()

    def _makers(self, story: Story) -> Iterator[tuple[str, Callable[[], Item | None]]]:
        """A maker per row of an attempt, by name; the answer comes last."""
        attempt = story.turn.attempt if story.turn is not None else 1
        n_notes = 0
        for planned in plan(story):
            if isinstance(planned.about, Span):
                name = f"{attempt}/{planned.about.span_id}/{planned.kind}"
                yield name, partial(self._item, name, planned.about, planned.make)
            elif planned.kind == "log":
                yield f"{attempt}/log", partial(_log_item, planned.make)
            else:
                n_notes += 1
                yield f"{attempt}/note{n_notes}", partial(_note_item, planned.make)
        if story.answer.strip():
            yield f"{attempt}/answer", partial(self._answer, story)

    def _item(self, name: str, span: Span, make: Callable[[], Row]) -> Item | None:
        """A row as data: the one made before, where neither its span nor what belongs to it changed."""
        request = self._request_of(span)
        n_pictures = len(self._pictures.get(span.span_id, ()))
        known = self._made.get(name)
        if known is not None and known.span is span and known.state == (n_pictures, request is None):
            return known.item
        item = _shown(make())
        if item is not None:
            if request is not None:
                item["ask"] = _ask(request)
            if n_pictures:
                item["pictures"] = list(self._pictures[span.span_id])
        self._made[name] = _Made(span, (n_pictures, request is None), item)
        return item

    def _answer(self, story: Story) -> Item:
        turn = story.turn
        return {"kind": "answer", "text": valid(story.answer.strip("\n")), "open": turn is not None and turn.is_running}

    def _request_of(self, span: Span) -> dict[str, Any] | None:
        if span.kind != "wait" or not span.is_running:
            return None
        return self._requests.get(span.span_id.rpartition("/")[2]) or self._requests.get(span.span_id.partition("/")[0])

    def _made_head(self, turn: Span | None, story: Story | None) -> dict[str, Any]:
        if turn is None:
            doing = "waits for its turn" if self.is_queued else "starting the agent"
            return {
                "status": "queued" if self.is_queued else "running", "word": "queued" if self.is_queued else "starting",
                "doing": doing, "agent": self._agent, "prompt": valid(self._prompt), "line": "",
                "began": self._head["began"] if self._head else time.time(),
            }  # fmt: skip
        total = totals(self._folder)
        if turn.is_running:
            total["duration_ms"] = None
        status = turn.status
        doing = _doing(turn, story, bool(self._requests)) if turn.is_running else ""
        return {
            "status": status,
            "word": "stopping" if self.is_stopping and turn.is_running else _WORDS.get(status, status.replace("_", " ")),
            "doing": "stopping" if self.is_stopping and turn.is_running else doing,
            "agent": valid(turn.agent or self._agent),
            "prompt": valid(turn.prompt or self._prompt),
            "line": valid(total_line(total)) if total["n_spans"] > 1 or not turn.is_running else "",
            "began": self._head.get("began") or turn.start_unix_s,
            "session": turn.session_id,
        }


_WORDS = {"ok": "finished", "error": "failed", "timed_out": "timed out"}


def _doing(turn: Span, story: Story | None, is_asked: bool) -> str:
    """What a turn does now, in a few words."""
    steps = story.steps if story is not None else []
    running = [s for s in steps if s.is_running]
    if is_asked:
        return "waiting for your answer"
    tools = [s.name for s in running if s.kind in ("tool", "agent")]
    if tools:
        return f"running {', '.join(dict.fromkeys(tools))}"
    model = next((s for s in reversed(running) if s.kind == "model"), None)
    if model is None:
        return "working" if steps else "starting the agent"
    if model.text:
        return "writing"
    return "thinking" if model.reasoning else f"waiting for {model.model or 'the model'}"


def _shown(row: Row) -> Item | None:
    """A row as data; None for one that says nothing beside the others."""
    span = row.span
    assert span is not None
    if row.kind == "heading":
        return {"kind": "heading", "label": f"Attempt {span.attempt}", "parts": []} if row.meta else None
    item: Item = {
        "kind": row.kind, "icon": row.icon, "label": valid(row.label), "meta": valid(row.meta), "depth": row.depth,
        "status": span.status, "error": cut_text(row.error, ERROR_CHARS) if row.error else "",
    }  # fmt: skip
    if row.kind == "final":
        return item if span.status != "ok" or row.meta else None
    if row.kind == "model":
        text = span.text if span.tool_calls else ""
        if not (text.strip() or span.reasoning.strip() or row.error):
            return None
        return {**item, "text": valid(text.strip("\n")), "reasoning": valid(span.reasoning)}
    item["parts"] = [
        [p.lead, cut, p.is_code]
        for p in row.detail
        if (cut := cut_text(p.text, p.limit, n_chars=p.n_chars)) or p.lead != " → "
    ]
    if span.output:
        item["output"] = valid(span.output)
    if not span.is_running and row.kind in ("tool", "agent"):
        panel = detail(span, max_chars=CARRIED_CHARS)
        if len(json.dumps(panel)) <= 2 * CARRIED_CHARS and not any(rest for _, _, rest in panel["texts"]):
            item["detail"] = panel
    return item


def _log_item(make: Callable[[], Row]) -> Item | None:
    row = make()
    text = valid("".join(piece.text for piece in row.detail))
    return {"kind": "log", "icon": row.icon, "label": row.label, "lines": text} if text and is_log_shown(row) else None


def _note_item(make: Callable[[], Row]) -> Item:
    row = make()
    parts = [[p.lead, cut_text(p.text, p.limit), p.is_code, p.url] for p in row.detail]
    return {"kind": "note", "icon": row.icon, "label": row.label, "parts": parts, "depth": 0}


def _more(n_rows: int) -> Item:
    return {"kind": "more", "icon": "⋯", "label": f"{n_rows:,} rows are left out here", "parts": [], "depth": 0}


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
