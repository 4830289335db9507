"""Random logs, for properties that hold of any."""

from __future__ import annotations

from hypothesis import strategies as st

from hermes_nb.model.event import Event
from tests.golden.logs import Log

NAMES = st.sampled_from(["search", "plot", "größe", "<b>", "`x`", "a b"])
TEXTS = st.sampled_from(["", "short", "line\nbreak", "x" * 300, "<script>1</script>", "| a | $b$", "\ud800"])
COSTS = st.none() | st.integers(0, 10_000).map(lambda n: n / 1e6)


@st.composite
def logs(draw: st.DrawFn) -> list[Event]:
    """Sessions of a few turns with retries, parallel and nested steps, replays, errors, stops and open ends."""
    log = Log(producer="p")
    events: list[Event] = []
    for n in range(draw(st.integers(1, 3))):
        log.turn_id = f"t{n}"
        log.session_id = draw(st.sampled_from(["s1", "s2"]))
        log.attempt = 1
        log.wait(draw(st.integers(0, 3)))
        log.turn(draw(TEXTS), agent=draw(st.sampled_from(["analyst", "scout", ""])))
        for attempt in range(1, draw(st.integers(1, 2)) + 1):
            if attempt > 1:
                log.attempt = attempt
                log.turn("again")
            _steps(draw, log, attempt)
        if draw(st.booleans()):
            _end(draw, log)
        events, log.events = events + log.events, []
    return events


def _steps(draw: st.DrawFn, log: Log, attempt: int) -> None:
    parent: str | None = None
    for i in range(draw(st.integers(0, 5))):
        ms = draw(st.integers(0, 3000))
        what = draw(st.sampled_from(["model", "tool", "parallel", "agent", "wait", "note", "open"]))
        span = f"{log.turn_id}-{attempt}-{i}"
        if what == "model":
            usage = {"usage": {"input_tokens": ms}} if draw(st.booleans()) else {"usage": None}
            calls = ((f"{span}-c", draw(NAMES), draw(TEXTS)),) if draw(st.booleans()) else ()
            replayed = {"replayed": True, "usage": None} if draw(st.booleans()) else {}
            log.model(
                i + 1,
                last=draw(TEXTS),
                text=draw(TEXTS),
                calls=calls,
                s=ms / 1000,
                span_id=span,
                parent_id=parent,
                cost_usd=draw(COSTS),
                **(usage | replayed),
            )
        elif what == "tool":
            status = draw(st.sampled_from(["ok", "error", "denied", "timed_out"]))
            error = {"error": draw(TEXTS), "error_type": "E"} if status == "error" else {}
            log.tool(span, draw(NAMES), draw(TEXTS), draw(TEXTS), s=ms / 1000, parent_id=parent, status=status, **error)
        elif what == "parallel":
            begun = log.now
            for c in range(3):
                log.tool_start(f"{span}{c}", "fetch", "{}", parent)
            for c in range(3):
                log.wait(0.1)
                own = {"started_at_unix_s": begun + c / 100}
                log.tool_end(f"{span}{c}", "fetch", "r", ms=float(ms), parent_id=parent, **own)
        elif what == "agent":
            log.put("agent.started", span, parent, name="helper", task="t")
            parent = span
        elif what == "wait":
            log.put("approval.requested", span, parent, request_id=span, question=draw(TEXTS))
            log.wait(ms / 1000)
            if draw(st.booleans()):
                log.put("approval.responded", span, parent, request_id=span, answer="allow")
        elif what == "note":
            kind = draw(st.sampled_from(["warning", "model.retried", "new.kind"]))
            log.put(kind, message=draw(TEXTS), reason="HTTP 429")
        else:
            log.put("model.started", span, parent, api_call=i + 1, model="scripted-1")
            log.put("model.delta", span, parent, text=draw(TEXTS))


def _end(draw: st.DrawFn, log: Log) -> None:
    told = {"usage": {"input_tokens": draw(st.integers(0, 20_000)), "output_tokens": 1}} if draw(st.booleans()) else {}
    cost = draw(COSTS)
    if cost is not None:
        told["cost_usd"] = cost
    kind = draw(st.sampled_from(["turn.completed", "turn.failed", "turn.stopped"]))
    status = draw(st.sampled_from(["completed", "max_turns"])) if kind == "turn.completed" else "stopped"
    log.put(kind, text=draw(TEXTS), status=status, error="went wrong", duration_ms=draw(st.integers(0, 9000)), **told)
