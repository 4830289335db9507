"""Logs that a view must take: a plain turn, a failure, a turn cut off, a replay, hostile text, kinds nobody knows.

Pure: the clock only moves when told to. The project's own golden logs (with snapshots) are larger; these are for
extension authors, whose views have no snapshots of ours.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from hermes_nb.model.event import Event, EventNumberer

START_UNIX_S = 1_790_000_000.0
HOSTILE = (
    "<script>alert(1)</script><img src=x onerror=alert(2)> </div></table> [x](javascript:alert(3)) ![](data:text/html,x)"
    " | a | `b` $c$ \\ \x00\x1b[31m \ud800 \u202e ```\n# heading\n---\n" + "é漢🙂" * 50
)


class _Log:
    def __init__(self) -> None:
        self.now = START_UNIX_S
        self.attempt = 1
        self.events: list[Event] = []
        self._numberer = EventNumberer("worker-1", lambda: self.now)

    def put(self, kind: str, span_id: str = "t1", **data: Any) -> None:
        parent = None if span_id == "t1" else "t1"
        self.events.append(
            self._numberer.make(
                kind, session_id="s1", turn_id="t1", span_id=span_id, parent_id=parent, attempt=self.attempt, data=data
            )
        )
        self.now += 0.25

    def turn(self, prompt: str, agent: str = "analyst") -> None:
        self.put(
            "turn.started",
            prompt=prompt,
            agent=agent,
            model="toy",
            provider="custom",
            host="127.0.0.1",
            runtime="process",
            tools=["add"],
            n_history_messages=0,
        )

    def model(self, n: int, text: str = "", *, calls: list[dict[str, str]] | None = None, **data: Any) -> None:
        told = {"api_call": n, "n_messages": n, "model": "toy", "last_message": "...", "fingerprint": f"f{n}"}
        span = f"m{n}-{self.attempt}"
        if not data.get("replayed"):
            self.put("model.started", span, provider="custom", **told)
            self.put("model.delta", span, text=text[: len(text) // 2])
            data |= {"duration_ms": 500.0, "usage": {"input_tokens": 10, "output_tokens": 5}}
        self.put("model.completed", span, text=text, tool_calls=calls or [], finish_reason="stop", **told, **data)

    def tool(self, call_id: str, name: str, arguments: str, result: str, status: str = "ok", **data: Any) -> None:
        told = {"tool_call_id": call_id, "name": name}
        if not data.get("replayed"):
            self.put("tool.started", call_id, arguments=arguments, **told)
            self.put("tool.output", call_id, stream="stdout", text=result[:20], **told)
            data |= {"duration_ms": 250.0, "started_at_unix_s": self.now - 0.5}
        told |= {"arguments": arguments} if data.get("replayed") else {}
        self.put("tool.completed", call_id, status=status, result=result, result_chars=len(result), **told, **data)

    def done(self, text: str) -> None:
        self.put(
            "turn.completed",
            text=text,
            status="completed",
            duration_ms=2000.0,
            n_model_calls=2,
            n_tool_calls=1,
            usage={"input_tokens": 20, "output_tokens": 10},
            cost_usd=0.001,
        )


def _call(name: str, arguments: str) -> list[dict[str, str]]:
    return [{"id": "c1", "name": name, "arguments": arguments}]


def empty() -> list[Event]:
    """Nothing happened."""
    return []


def plain() -> list[Event]:
    """A question, one tool call, an answer."""
    log = _Log()
    log.turn("What is 2 + 3?")
    log.model(1, calls=_call("add", '{"a": 2, "b": 3}'))
    log.tool("c1", "add", '{"a": 2, "b": 3}', "5")
    log.model(2, "It is **5**.")
    log.done("It is **5**.")
    return log.events


def failed() -> list[Event]:
    """A retry, a tool's error, a model that gives up."""
    log = _Log()
    log.turn("What is 2 + x?")
    log.put("model.started", "m1-1", api_call=1, n_messages=1, model="toy", last_message="...")
    log.put("model.retried", "m1-1", reason="HTTP 429", wait_s=1.0, status_code=429, n_retry=1)
    log.put("model.failed", "m1-1", api_call=1, error="Rate limit reached", error_type="RateLimitError", duration_ms=9.0)
    log.model(2, calls=_call("add", '{"a": 2'))
    log.tool("c1", "add", '{"a": 2', '{"error": "not JSON"}', "error", error="not JSON", error_type="ToolArgumentError")
    log.put("warning", message="Something survivable.", code="odd")
    log.put("turn.failed", text="", error="The model failed.", error_type="ModelError", hint="Try later.", duration_ms=99.0)
    return log.events


def running() -> list[Event]:
    """Cut off in a tool that has said something."""
    return plain()[:6]


def replayed() -> list[Event]:
    """Killed, then played again from what was recorded: no durations, no usage."""
    log = _Log()
    log.events, log.attempt = plain()[:7], 2
    log.turn("What is 2 + 3?")
    log.model(1, calls=_call("add", '{"a": 2, "b": 3}'), replayed=True)
    log.tool("c1", "add", '{"a": 2, "b": 3}', "5", replayed=True)
    log.model(3, "It is 5.")
    log.put("turn.stopped", text="It is 5.", status="stopped", reason="user", duration_ms=10.0)
    return _numbered(log.events)


def unknown() -> list[Event]:
    """Kinds and statuses of a newer version, and payloads that lack everything."""
    log = _Log()
    log.turn("Hi")
    log.put("moon.phase", "x1", phase="full", deep={"a": [1, None, {"b": 2.5}]})
    for kind in sorted({"model.started", "model.delta", "model.completed", "tool.started", "tool.completed", "warning"}):
        log.put(kind, f"bare-{kind}")
    log.put("tool.completed", "c9", tool_call_id="c9", name="f", status="teleported", result="?", result_chars=1)
    log.put("approval.requested", "c8", request_id="r1", question="Really?")
    log.put("turn.completed", text="Bye", status="enlightened", duration_ms=1.0)
    return log.events


def hostile() -> list[Event]:
    """Text from outside that tries to be markup: in names, prompts, arguments, results, errors."""
    log = _Log()
    log.turn(HOSTILE, agent="a<b>")
    log.model(1, HOSTILE, calls=_call("f", HOSTILE))
    log.tool("c1", "f<i>", HOSTILE, HOSTILE)
    log.tool("c2", "g", "{}", HOSTILE, "error", error=HOSTILE, error_type=HOSTILE[:40])
    log.put("warning", message=HOSTILE, code="<u>")
    log.put("clarify.requested", "q1", request_id="r", question=HOSTILE, choices=[HOSTILE])
    log.done(HOSTILE)
    return log.events


def _numbered(events: list[Event]) -> list[Event]:
    return [replace(e, seq=i) for i, e in enumerate(events, 1)]


LOGS: dict[str, Callable[[], list[Event]]] = {
    f.__name__: f for f in (empty, plain, failed, running, replayed, unknown, hostile)
}
