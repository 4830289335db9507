"""The golden logs, as code: who did what, when, by a clock that only moves when told to."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_nb.model.event import Event, EventNumberer

HERE = Path(__file__).parent
START_UNIX_S = 1_790_000_000.0


class Log:
    """Writes events of one turn after another.

    Args:
        session_id: Conversation.
        turn_id: First turn.
        producer: Who numbers.
        at: Seconds after the start of all logs.
    """

    def __init__(
        self, session_id: str = "s-golden", turn_id: str = "t1", producer: str = "worker-1", at: float = 0.0
    ) -> None:
        self.session_id, self.turn_id, self.attempt = session_id, turn_id, 1
        self.now = START_UNIX_S + at
        self.events: list[Event] = []
        self.produce(producer)

    def produce(self, producer: str) -> None:
        self._numberer = EventNumberer(producer, lambda: round(self.now, 6))

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def put(self, kind: str, span_id: str | None = None, parent_id: str | None = None, **data: Any) -> Event:
        span = span_id or self.turn_id
        parent = None if span == self.turn_id else parent_id or self.turn_id
        event = self._numberer.make(
            kind,
            session_id=self.session_id,
            turn_id=self.turn_id,
            span_id=span,
            parent_id=parent,
            attempt=self.attempt,
            data=data,
        )
        self.events.append(event)
        return event

    def turn(self, prompt: str, **data: Any) -> None:
        told = {
            "prompt": prompt,
            "agent": "analyst",
            "model": "scripted-1",
            "provider": "custom",
            "host": "127.0.0.1",
            "runtime": "process",
            "tools": ["top_customers", "plot"],
            "n_history_messages": 0,
        }
        self.put("turn.started", **(told | data))

    def model(
        self,
        n: int,
        *,
        last: str,
        text: str = "",
        calls: tuple[tuple[str, str, str], ...] = (),
        s: float = 0.8,
        parent_id: str | None = None,
        span_id: str | None = None,
        deltas: int = 0,
        n_messages: int = 0,
        **data: Any,
    ) -> None:
        """One model call; `calls` are (id, name, raw arguments)."""
        span = span_id or f"{self.turn_id}-m{n}-{self.attempt}"
        told = {
            "api_call": n,
            "n_messages": n_messages or 2 * n,
            "model": "scripted-1",
            "provider": "custom",
            "last_message": last,
            "fingerprint": f"fp{n}",
        }
        if not data.get("replayed"):
            self.put("model.started", span, parent_id, **told)
        for i in range(deltas):
            self.wait(s / (deltas + 1))
            self.put("model.delta", span, parent_id, text=text[len(text) * i // deltas : len(text) * (i + 1) // deltas])
        self.wait(s / (deltas + 1))
        done = {
            "text": text,
            "tool_calls": [{"id": i, "name": name, "arguments": raw} for i, name, raw in calls],
            "finish_reason": "tool_calls" if calls else "stop",
            "occurrence": 0,
        }
        if not data.get("replayed"):
            done["duration_ms"] = round(s * 1000, 3)
            done["usage"] = {"input_tokens": 100 * n, "output_tokens": 10 * n}
        self.put("model.completed", span, parent_id, **(told | done | data))

    def tool_start(self, call_id: str, name: str, arguments: str, parent_id: str | None = None) -> None:
        self.put("tool.started", call_id, parent_id, tool_call_id=call_id, name=name, arguments=arguments)

    def tool_end(
        self, call_id: str, name: str, result: str, *, ms: float | None, parent_id: str | None = None, **data: Any
    ) -> None:
        done: dict[str, Any] = {
            "tool_call_id": call_id,
            "name": name,
            "status": "ok",
            "result": result,
            "result_chars": len(result),
        }
        if ms is not None:
            done["duration_ms"] = ms
        self.put("tool.completed", call_id, parent_id, **(done | data))

    def tool(self, call_id: str, name: str, arguments: str, result: str, *, s: float = 0.05, **data: Any) -> None:
        parent = data.pop("parent_id", None)
        self.tool_start(call_id, name, arguments, parent)
        self.wait(s)
        self.tool_end(call_id, name, result, ms=round(s * 1000, 3), parent_id=parent, **data)

    def done(self, text: str, *, ms: float, n_models: int, n_tools: int, **data: Any) -> None:
        told = {"status": "completed", "n_model_calls": n_models, "n_tool_calls": n_tools, "duration_ms": ms}
        self.put("turn.completed", text=text, **(told | data))


def plain() -> list[Event]:
    """One tool, one answer in Markdown, cost known."""
    log = Log()
    log.turn("Which customers matter most, and why?")
    log.wait(0.05)
    raw = '{"n": 3}'
    log.model(1, last="Which customers matter most, and why?", calls=(("c1", "top_customers", raw),), cost_usd=0.0012)
    log.tool("c1", "top_customers", raw, json.dumps([{"name": "Ada", "revenue": 1200.5}, {"name": "Bob", "revenue": 9}]))
    answer = "**Ada** matters most:\n\n| name | revenue |\n|---|---:|\n| Ada | 1200.50 |\n| Bob | 9 |\n\n- see `df`"
    log.model(2, last='[{"name": "Ada", ...', text=answer, deltas=4, s=1.25, cost_usd=0.0021)
    log.wait(0.01)
    usage = {"input_tokens": 300, "output_tokens": 30}
    log.done(answer, ms=2160.0, n_models=2, n_tools=1, usage=usage, cost_usd=0.0033, cost_status="estimated")
    return log.events


def parallel() -> list[Event]:
    """Three tools at once (the kernel's own start times), one of which outlives the turn."""
    log = Log()
    log.turn("Fetch three pages.")
    calls = tuple((f"c{i}", "fetch", f'{{"page": {i}}}') for i in (1, 2, 3))
    log.model(1, last="Fetch three pages.", calls=calls, s=0.4)
    begun = log.now
    for i, name, raw in calls:
        log.tool_start(i, name, raw)
    log.wait(1.0)
    log.tool_end("c2", "fetch", "page two", ms=1000.0, started_at_unix_s=begun + 0.001)
    log.wait(0.2)
    log.tool_end("c1", "fetch", "page one", ms=1190.0, started_at_unix_s=begun + 0.002)
    log.model(2, last="page one", text="Two of three pages are there.", s=0.3)
    log.done("Two of three pages are there.", ms=1900.0, n_models=2, n_tools=3)
    log.wait(0.5)
    log.tool_end("c3", "fetch", "page three", ms=1990.0, started_at_unix_s=begun + 0.01)
    return log.events


def failed() -> list[Event]:
    """Retries, then a model that never answers, after a tool that raised."""
    log = Log()
    log.turn("Sum the column.")
    log.model(1, last="Sum the column.", calls=(("c1", "total", '{"column": "x"}'),), s=0.2)
    log.tool(
        "c1",
        "total",
        '{"column": "x"}',
        '{"error": "KeyError: x"}',
        s=0.002,
        status="error",
        error="'x'",
        error_type="KeyError",
    )
    log.put("model.started", "t1-m2", api_call=2, n_messages=4, model="scripted-1", provider="custom", last_message="{")
    log.wait(0.1)
    log.put("model.delta", "t1-m2", text="lost")
    for n in (1, 2):
        log.put("model.retried", "t1-m2", reason="HTTP 429", status_code=429, wait_s=2.0, n_retry=n, n_retries_max=3)
        log.wait(2.0)
    log.put("warning", message="The provider's clock is off by 40 s.", code="clock")
    log.put(
        "model.failed",
        "t1-m2",
        api_call=2,
        error="Rate limit reached for scripted-1.",
        error_type="RateLimitError",
        status_code=429,
        duration_ms=4100.0,
    )
    log.put(
        "turn.failed",
        text="",
        error="Rate limit reached for scripted-1.",
        error_type="RateLimitError",
        hint="Wait a minute, or choose another model.",
        duration_ms=4310.0,
        usage={"input_tokens": 100, "output_tokens": 10},
    )
    return log.events


def stopped() -> list[Event]:
    """Stopped while the answer streamed; a tool had timed out before."""
    log = Log()
    log.turn("Write a long poem.")
    log.model(1, last="Write a long poem.", calls=(("c1", "muse", "{}"),), s=0.3)
    log.tool("c1", "muse", "{}", "No answer within 1 s.", s=1.0, status="timed_out")
    log.put("model.started", "t1-m2", api_call=2, n_messages=4, model="scripted-1", provider="custom", last_message="No")
    for word in ("Rose", "s are", " red,"):
        log.wait(0.1)
        log.put("model.delta", "t1-m2", text=word)
    log.wait(0.05)
    log.put("turn.stopped", text="Roses are red,", status="stopped", reason="user", duration_ms=1650.0)
    return log.events


def replayed() -> list[Event]:
    """Answered from a recording: nothing took time, nothing was paid."""
    log = Log()
    log.turn("Which customers matter most?")
    raw = '{"n": 3}'
    log.model(1, last="Which customers matter most?", calls=(("c1", "top_customers", raw),), s=0.0, replayed=True)
    log.put(
        "tool.completed",
        "c1",
        tool_call_id="c1",
        name="top_customers",
        status="ok",
        result="[]",
        result_chars=2,
        arguments=raw,
        replayed=True,
    )
    log.model(2, last="[]", text="None.", s=0.0, replayed=True)
    log.done("None.", ms=4.0, n_models=0, n_tools=0)
    return log.events


def nested() -> list[Event]:
    """A delegated agent with calls of its own, an approval, a question, a steer, a compressed context, a new kind."""
    log = Log()
    log.turn("Plan the trip.", agent="planner")
    log.model(1, last="Plan the trip.", calls=(("c1", "delegate_task", '{"goal": "hotels"}'),), s=0.5)
    log.tool_start("c1", "delegate_task", '{"goal": "hotels"}')
    log.put("agent.started", "a1", "c1", name="scout", task="Find hotels.")
    log.model(1, last="Find hotels.", calls=(("c2", "search", '{"q": "hotel"}'),), parent_id="a1", span_id="am1", s=0.4)
    log.tool("c2", "search", '{"q": "hotel"}', "three found", parent_id="a1", s=0.2)
    log.model(2, last="three found", text="Take the blue one.", parent_id="a1", span_id="am2", s=0.3)
    log.put("agent.completed", "a1", "c1", name="scout", text="Take the blue one.", duration_ms=900.0)
    log.tool_end("c1", "delegate_task", "Take the blue one.", ms=905.0, builtin=True)
    log.put("steer.received", text="Keep it cheap.", applied=True)
    log.tool_start("c3", "book", '{"hotel": 1}')
    log.put("approval.requested", "c3", request_id="r1", question="Run book?", name="book", arguments='{"hotel": 1}')
    log.wait(3.0)
    log.put("approval.responded", "c3", request_id="r1", answer="allow")
    log.wait(0.1)
    log.tool_end("c3", "book", "booked", ms=3100.0)
    log.put("clarify.requested", "q1", request_id="r2", question="Which day?", choices=["Mon", "Tue"])
    log.wait(2.0)
    log.put("clarify.responded", "q1", request_id="r2", answer="Tue")
    log.put("approval.requested", "c4", request_id="r3", question="Run pay?", name="pay", arguments="{}")
    log.wait(1.0)
    log.put("approval.responded", "c4", request_id="r3", answer="deny")
    log.tool_start("c4", "pay", "{}")
    log.tool_end("c4", "pay", "The user said no.", ms=0.0, status="denied")
    log.put("context.compressed", n_messages_before=12, n_messages_after=5)
    log.put("moon.phase", "t1-x", phase="full")
    log.model(3, last="The user said no.", text="Booked for Tuesday, not paid.", s=0.6)
    usage = {"input_tokens": 1300, "output_tokens": 100, "cache_read_tokens": 256, "reasoning_tokens": 7}
    log.done("Booked for Tuesday, not paid.", ms=8110.0, n_models=4, n_tools=4, usage=usage)
    return log.events


def two_attempts() -> list[Event]:
    """Killed in a model call, resumed: what was committed is replayed."""
    log = Log()
    log.turn("Count to three.")
    log.model(1, last="Count to three.", calls=(("c1", "count", '{"to": 3}'),), s=0.4, cost_usd=0.001)
    log.tool("c1", "count", '{"to": 3}', "1 2 3", s=0.02)
    log.put("model.started", "t1-m2-1", api_call=2, n_messages=4, model="scripted-1", provider="custom", last_message="1")
    log.wait(0.3)
    log.put("model.delta", "t1-m2-1", text="One, t")
    log.produce("worker-2")
    log.attempt = 2
    log.wait(30.0)
    log.turn("Count to three.")
    log.model(1, last="Count to three.", calls=(("c1", "count", '{"to": 3}'),), s=0.0, replayed=True, span_id="t1-m1-2")
    log.put(
        "tool.completed",
        "c1",
        tool_call_id="c1",
        name="count",
        status="ok",
        result="1 2 3",
        result_chars=5,
        arguments='{"to": 3}',
        replayed=True,
    )
    log.model(2, last="1 2 3", text="One, two, three.", s=0.7, cost_usd=0.002)
    log.done(
        "One, two, three.",
        ms=730.0,
        n_models=1,
        n_tools=0,
        usage={"input_tokens": 200, "output_tokens": 20},
        cost_usd=0.002,
    )
    return log.events


def unicode() -> list[Event]:
    """Scripts, emoji, combining marks, right to left, control characters, a lone surrogate, long text."""
    log = Log()
    log.turn("Grüße, 世界! שלום 👩‍👩‍👧", agent="naïve")
    last = "tab\tnewline\ncarriage\rbell\x07escape\x1b[31mred\x1b[0m rtl\u202eabc nul\x00 lone\udc80 e\u0301"
    raw = json.dumps({"q": "日本語 ``code`` `x`"}, ensure_ascii=False)
    log.model(1, last=last, calls=(("c1", "suche_ß", raw),), s=0.3)
    log.tool("c1", "suche_ß", raw, "é" * 250 + "🎉" * 10)
    text = "Привет `мир` ``x`` — 🎉\n\n```python\nprint('ünï')\n```\n\n" + "lorem ipsum " * 60
    log.model(2, last="é" * 400, text=text, s=0.5, last_message_chars=260)
    log.done(text.strip(), ms=900.0, n_models=2, n_tools=1)
    return log.events


def hostile() -> list[Event]:
    """Markup, script, links and images wherever a log has text."""
    bad = "<script>document.title='pwned'</script><img src=x onerror=\"document.title='pwned'\">"
    log = Log(session_id="s-<b onmouseover=alert(1)>", turn_id="t1")
    log.turn(f"{bad}</details></div>", agent="</script><svg onload=alert(1)>", host="<i>")
    log.put("warning", message=f"{bad} ![x](http://evil.example/w.png)", code="<b>")
    raw = json.dumps({"x": bad, "y": "']}</script>"})
    log.model(1, last=bad, calls=(("c1", "<img/src=x onerror=alert(2)>", raw),), s=0.3, model="<u>model</u>")
    log.tool(
        "c1",
        "<img/src=x onerror=alert(2)>",
        raw,
        bad * 4 + "</script><!--",
        s=0.1,
        status="error",
        error=f"{bad * 4}",
        error_type="<b>E</b>",
    )
    text = (
        f"{bad}\n\n[click](javascript:alert(3)) [data](data:text/html,<script>alert(4)</script>)"
        ' [ok](https://example.org/?a=1&b=2 "t\\" onclick=alert(5)") ![track](http://evil.example/t.png)'
        ' <a href="javascript:alert(6)">x</a> <http://auto.example> http://bare.example\n\n'
        "<style>body{display:none}</style>\n\n<iframe srcdoc='<script>alert(7)</script>'></iframe>\n\n"
        "```html\n</code></pre><script>alert(8)</script>\n```\n\n- <b>x</b>\n\n</div></details><!-- -->"
        "<form action=http://evil.example><input name=p></form> $\\href{javascript:alert(9)}{x}$"
    )
    log.model(2, last="</code>", text=text, s=0.4, model="<u>model</u>")
    log.done(text, ms=900.0, n_models=2, n_tools=1)
    return log.events


def huge() -> list[Event]:
    """A result of 5 MB; generated, not stored."""
    log = Log()
    log.turn("Read the file.")
    log.model(1, last="Read the file.", calls=(("c1", "read", "{}"),), s=0.3)
    log.tool("c1", "read", "{}", "0123456789" * 500_000)
    log.model(2, last="0123456789" * 40, text="It is long.", s=0.4, last_message_chars=5_000_000)
    log.done("It is long.", ms=800.0, n_models=2, n_tools=1)
    return log.events


def running() -> list[Event]:
    """Cut where a tool runs and nothing has ended."""
    return [e for e in parallel() if e.at_unix_s <= START_UNIX_S + 1.5][:-1]


def empty() -> list[Event]:
    """Nothing yet."""
    return []


STORED: dict[str, Callable[[], list[Event]]] = {
    f.__name__: f
    for f in (plain, parallel, failed, stopped, replayed, nested, two_attempts, unicode, hostile, running, empty)
}
ALL = {**STORED, "huge": huge}


def load(name: str) -> list[Event]:
    """A golden log: from its file, or made where it is too large for one."""
    if name not in STORED:
        return ALL[name]()
    lines = (HERE / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return [Event.from_json(line) for line in lines]
