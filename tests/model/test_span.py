from __future__ import annotations

import pickle
import time
from dataclasses import FrozenInstanceError, asdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.model.event import Event
from hermes_nb.model.span import Folder, Span, busy_ms, fold
from tests.golden.logs import ALL, START_UNIX_S, Log, load


def by_id(spans: list[Span], attempt: int = 1) -> dict[str, Span]:
    return {s.span_id: s for s in spans if s.attempt == attempt}


# -- one situation each ---------------------------------------------------------------------------------------------


def test_a_span_starts_with_its_event_and_ends_after_the_measured_duration() -> None:
    log = Log()
    log.turn("x")
    log.wait(1.0)
    log.tool_start("c1", "f", "{}")
    log.wait(5.0)
    log.tool_end("c1", "f", "r", ms=1234.0)
    span = by_id(fold(log.events))["c1"]
    assert span.start_unix_s == START_UNIX_S + 1
    assert span.duration_ms == 1234.0
    assert span.end_unix_s == pytest.approx(START_UNIX_S + 2.234)


def test_a_tool_starts_when_its_host_says_so() -> None:
    spans = by_id(fold(load("parallel")))
    assert spans["c3"].start_unix_s == pytest.approx(START_UNIX_S + 0.41)


def test_a_start_from_after_the_end_is_not_believed() -> None:
    log = Log()
    log.turn("x")
    log.tool_start("c1", "f", "{}")
    log.wait(1.0)
    log.tool_end("c1", "f", "r", ms=100.0, started_at_unix_s=log.now + 500)
    assert by_id(fold(log.events))["c1"].start_unix_s == START_UNIX_S


def test_a_denied_call_of_an_old_log_does_not_start_in_1970() -> None:
    log = Log()
    log.turn("x")
    log.wait(1.0)
    log.tool_start("c1", "f", "{}")
    log.wait(1.0)
    log.tool_end("c1", "f", "r", ms=0.0, started_at_unix_s=0.0)
    assert by_id(fold(log.events))["c1"].start_unix_s == START_UNIX_S + 1


def test_without_a_measured_duration_the_events_tell() -> None:
    log = Log()
    log.turn("x")
    log.tool_start("c1", "f", "{}")
    log.wait(0.25)
    log.tool_end("c1", "f", "r", ms=None)
    assert by_id(fold(log.events))["c1"].duration_ms == pytest.approx(250.0)


def test_parallel_children_keep_their_own_intervals() -> None:
    spans = by_id(fold(load("parallel")))
    assert spans["c1"].start_unix_s < spans["c2"].end_unix_s
    assert spans["c2"].start_unix_s < spans["c1"].end_unix_s
    assert {spans[c].parent_id for c in ("c1", "c2", "c3")} == {"t1"}


def test_a_child_may_outlive_its_parent() -> None:
    spans = by_id(fold(load("parallel")))
    assert spans["c3"].status == "ok"
    assert spans["c3"].end_unix_s > spans["t1"].end_unix_s


def test_a_running_span_has_no_end() -> None:
    spans = by_id(fold(load("running")))
    assert [spans[c].status for c in ("t1", "c1")] == ["running"] * 2
    assert spans["c1"].end_unix_s is None
    assert spans["c1"].duration_ms is None


def test_what_a_failed_turn_left_open_was_killed_when_the_turn_ended() -> None:
    log = Log()
    log.turn("x")
    log.tool_start("c1", "f", "{}")
    log.wait(2.0)
    log.put("turn.failed", text="", error="The worker died.", error_type="WorkerDiedError", duration_ms=2000.0)
    span = by_id(fold(log.events))["c1"]
    assert (span.status, span.end_unix_s) == ("killed", START_UNIX_S + 2)


def test_what_a_stop_interrupted_was_stopped() -> None:
    spans = by_id(fold(load("stopped")))
    assert spans["t1-m2"].status == "stopped"
    assert spans["t1-m2"].text == "Roses are red,"
    assert (spans["t1"].status, spans["t1"].outcome, spans["t1"].reason) == ("stopped", "stopped", "user")
    assert spans["c1"].status == "timed_out"


def test_an_attempt_that_another_took_over_was_killed_at_its_last_sign_of_life() -> None:
    spans = fold(load("two_attempts"))
    first, second = by_id(spans, 1), by_id(spans, 2)
    assert (first["t1"].status, first["t1-m2-1"].status) == ("killed", "killed")
    assert first["t1"].end_unix_s == pytest.approx(START_UNIX_S + 0.72)
    assert first["t1-m2-1"].text == "One, t"
    assert second["t1"].status == "ok"
    assert len({s.key for s in spans}) == len(spans)


def test_a_replayed_step_has_no_duration_and_no_usage() -> None:
    for span in fold(load("replayed"))[1:]:
        assert span.replayed
        assert span.duration_ms is None
        assert not span.usage
        assert span.end_unix_s is not None
        assert span.status == "ok"


def test_retries_count_for_their_call_and_for_the_turn() -> None:
    spans = by_id(fold(load("failed")))
    assert (spans["t1-m2"].n_retries, spans["t1"].n_retries, spans["t1-m1-1"].n_retries) == (2, 2, 0)


def test_a_retry_of_the_turn_counts_for_the_call_that_had_started() -> None:
    log = Log()
    log.turn("x")
    log.model(1, last="x")
    log.wait(1)
    log.put("model.started", "m2", api_call=2)
    log.wait(1)
    log.put("model.retried", reason="HTTP 503")
    log.wait(1)
    log.put("model.started", "m3", api_call=3)
    spans = by_id(fold(log.events))
    assert [spans[m].n_retries for m in ("t1-m1-1", "m2", "m3")] == [0, 1, 0]


def test_a_retry_voids_the_text_that_had_streamed() -> None:
    log = Log()
    log.turn("x")
    log.put("model.started", "m1", api_call=1)
    log.put("model.delta", "m1", text="lost")
    log.wait(0.1)
    log.put("model.retried", "m1", reason="connection dropped")
    log.wait(0.1)
    log.put("model.delta", "m1", text="ke")
    log.put("model.delta", "m1", text="pt")
    spans = by_id(fold(log.events))
    assert spans["m1"].text == "kept"
    assert spans["t1"].text == "kept"


def test_waits_for_a_person_are_spans_under_what_they_were_for() -> None:
    spans = fold(load("nested"))
    waits = [s for s in spans if s.kind == "wait"]
    assert [(w.name, w.status, w.result, w.parent_id) for w in waits] == [
        ("approval", "ok", "allow", "c3"),
        ("clarify", "ok", "Tue", "t1"),
        ("approval", "denied", "deny", "t1"),  # asked before the tool began
    ]
    assert waits[0].duration_ms == pytest.approx(3000.0)
    assert len({s.key for s in spans}) == len(spans)


def test_the_agent_of_a_span_is_the_nearest_one_around_it() -> None:
    spans = by_id(fold(load("nested")))
    assert {spans[i].agent for i in ("a1", "am1", "c2", "am2")} == {"scout"}
    assert {spans[i].agent for i in ("t1", "c1", "c3")} == {"planner"}
    assert spans["a1"].parent_id == "c1"


def test_operations_are_those_of_opentelemetry() -> None:
    spans = by_id(fold(load("nested")))
    assert spans["t1"].otel_name == "invoke_agent planner"
    assert spans["a1"].otel_name == "invoke_agent scout"
    assert spans["am1"].otel_name == "chat scripted-1"
    assert spans["c2"].otel_name == "execute_tool search"


def test_missing_stays_missing() -> None:
    spans = by_id(fold(load("parallel")))
    assert spans["t1"].cost_usd is None
    assert "cache_read_tokens" not in spans["t1-m1-1"].usage
    assert spans["c1"].usage == {}


def test_figures_that_are_no_figures_are_missing() -> None:
    log = Log()
    log.turn("x")
    log.model(1, last="x", usage={"input_tokens": "many", "output_tokens": True}, cost_usd=float("nan"))
    span = fold(log.events)[1]
    assert span.usage == {}
    assert span.cost_usd is None


def test_a_turn_without_a_report_has_the_sum_of_its_calls() -> None:
    assert by_id(fold(load("parallel")))["t1"].usage == {"input_tokens": 300, "output_tokens": 30}
    assert by_id(fold(load("nested")))["t1"].usage["input_tokens"] == 1300


def test_an_unknown_kind_becomes_a_note() -> None:
    folder = Folder()
    folder.feed_all(load("nested"))
    notes = folder.notes()
    assert [n.kind for n in notes] == ["steer.received", "context.compressed", "moon.phase"]
    assert notes[-1].text == "phase=full"


def test_what_a_tool_printed_is_measured() -> None:
    log = Log()
    log.turn("x")
    log.tool_start("c1", "f", "{}")
    log.put("tool.output", "c1", tool_call_id="c1", name="f", stream="stdout", text="é" * 30_000)
    span = fold(log.events)[1]
    assert (len(span.output), span.output_chars) == (20_000, 30_000)


def test_an_end_without_a_start_is_a_span() -> None:
    log = Log()
    log.wait(10)
    log.tool_end("c1", "f", "r", ms=4000.0)
    turn, tool = sorted(fold(log.events), key=lambda s: s.kind != "turn")
    assert tool.start_unix_s == START_UNIX_S + 6
    assert tool.parent_id == turn.span_id == "t1"
    assert turn.status == "running"


def test_spans_are_ordered_by_start_and_parents_come_first() -> None:
    for name in ALL:
        spans = fold(load(name))
        assert [s.start_unix_s for s in spans] == sorted(s.start_unix_s for s in spans)
        seen = set()
        for span in spans:
            assert span.parent_key is None or span.parent_key in seen
            seen.add(span.key)


def test_a_span_is_frozen_equal_by_value_and_survives_a_pickle() -> None:
    span = fold(load("plain"))[1]
    with pytest.raises(FrozenInstanceError):
        span.name = "other"  # type: ignore[misc]
    assert pickle.loads(pickle.dumps(span)) == span
    assert repr(span) == "Span(model 'scripted-1', ok, 800 ms)"


# -- wall time ------------------------------------------------------------------------------------------------------


def test_wall_time_is_a_union() -> None:
    tools = [s for s in fold(load("parallel")) if s.kind == "tool"]
    assert sum(s.duration_ms or 0 for s in tools) == 4180.0
    assert busy_ms(tools) == pytest.approx(1999.0, abs=0.1)


def test_running_spans_count_up_to_the_present_that_is_given() -> None:
    spans = fold(load("running"))
    assert busy_ms(spans) == pytest.approx(400.0, abs=0.1)
    assert busy_ms(spans, until_unix_s=START_UNIX_S + 9) == pytest.approx(9000.0, abs=0.1)


@given(st.lists(st.tuples(st.integers(0, 200), st.integers(0, 50)), max_size=30))
def test_wall_time_counts_each_moment_once(intervals: list[tuple[int, int]]) -> None:
    log = Log()
    log.now = START_UNIX_S
    log.turn("x")
    for i, (start, length) in enumerate(intervals):
        log.now = START_UNIX_S + start
        log.tool_start(f"c{i}", "f", "{}")
        log.tool_end(f"c{i}", "f", "", ms=length * 1000.0)
    tools = [s for s in fold(log.events) if s.kind == "tool"]
    moments = {t for start, length in intervals for t in range(start, start + length)}
    assert busy_ms(tools) == pytest.approx(len(moments) * 1000.0)


# -- order, pieces, duplicates --------------------------------------------------------------------------------------


def session() -> list[Event]:
    """All golden logs as turns of two sessions, so that several producers overlap."""
    events: list[Event] = []
    for i, name in enumerate(sorted(set(ALL) - {"huge", "empty"})):
        for e in load(name):
            data = e.to_dict() | {"turn_id": f"{name}-t", "session_id": f"s{i % 2}", "producer": f"{e.producer}-{i}"}
            data["span_id"] = data["turn_id"] if e.span_id == e.turn_id else e.span_id
            data["parent_id"] = data["turn_id"] if e.parent_id == e.turn_id else e.parent_id
            events.append(Event.from_dict(data))
    return events


EVENTS = session()
WHOLE = fold(EVENTS)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_order_between_producers_pieces_and_duplicates_change_nothing(data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(EVENTS))
    again = data.draw(st.lists(st.sampled_from(EVENTS), max_size=20))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(shuffled)), max_size=4)))
    folder = Folder()
    for start, end in zip([0, *cuts], [*cuts, len(shuffled)], strict=True):
        folder.feed_all(shuffled[start:end])
        folder.feed_all(again)
        folder.spans()
    assert folder.spans() == WHOLE
    assert folder.feed_all(EVENTS) == 0
    assert fold(shuffled + again) == WHOLE


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(sorted(set(ALL) - {"huge"})), st.integers(0, 60))
def test_a_folder_fed_event_by_event_agrees_with_a_fold_at_every_step(name: str, cut: int) -> None:
    events = load(name)[:cut]
    folder = Folder()
    for i, event in enumerate(events):
        assert folder.feed(event)
        if i % 3 == 0:
            assert folder.spans() == fold(events[: i + 1])
    assert folder.spans() == fold(events)


def test_spans_that_did_not_change_are_the_same_objects() -> None:
    events = load("plain")
    folder = Folder()
    folder.feed_all(events[:5])
    before = {s.key: s for s in folder.spans()}
    folder.feed_all(events[5:6])
    after = {s.key: s for s in folder.spans()}
    kept = [k for k in before if before[k] is after[k]]
    assert "c1" in {k[3] for k in after}
    assert "t1-m1-1" in {k[3] for k in kept}


@st.composite
def trees(draw: st.DrawFn) -> list[Event]:
    """Logs whose spans nest at random: tools in agents in tools, waits anywhere, missing starts and ends, attempts."""
    log = Log(producer="root")
    ids = ["t1"]
    log.turn("x")
    open_spans: list[tuple[str, str, str]] = []
    for i in range(draw(st.integers(1, 14))):
        log.wait(draw(st.sampled_from([0.0, 0.5])))
        log.produce(f"p{i}")
        kind = draw(st.sampled_from(["model", "tool", "agent", "wait", "retry", "end", "resume"]))
        parent = draw(st.sampled_from(ids))
        if kind == "wait":
            log.put("approval.requested", parent if parent != "t1" else f"w{i}", request_id=f"r{i}", question="?")
        elif kind == "retry":
            log.put("model.retried", parent, reason="HTTP 500")
        elif kind == "resume":
            log.attempt += 1
            log.turn("x", agent=f"root {i}")
        elif kind == "end" and open_spans:
            what, span, above = draw(st.sampled_from(open_spans))
            log.put(f"{what}.completed", span, above, name=what, status="ok", text="done", duration_ms=7.0)
        elif kind != "end":
            if draw(st.booleans()):
                log.put(f"{kind}.started", f"s{i}", parent, name=f"{kind} {i}")
            open_spans.append((kind, f"s{i}", parent))
            ids.append(f"s{i}")
    if draw(st.booleans()):
        log.put("turn.completed", text="done", status="completed", duration_ms=1.0)
    return log.events


@settings(max_examples=200, deadline=None)
@given(trees(), st.data())
def test_any_tree_of_spans_is_the_same_in_any_order(events: list[Event], data: st.DataObject) -> None:
    whole = fold(events)
    folder = Folder()
    for event in data.draw(st.permutations(events)):
        folder.feed(event)
        folder.spans()
    for span, expected in zip(folder.spans(), whole, strict=True):
        assert asdict(span) == asdict(expected)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(EVENTS), st.dictionaries(st.text(max_size=3), JUNK, max_size=2), JUNK)))
def test_payloads_of_any_shape_are_survived(chosen: list[tuple[Event, dict[str, object], object]]) -> None:
    events = []
    for n, (event, extra, junk) in enumerate(chosen, 1):
        data = dict.fromkeys(event.data, junk) | extra
        events.append(Event.from_dict(event.to_dict() | {"data": data, "seq": n, "producer": "junk"}))
    spans = fold(events)
    assert len({s.key for s in spans}) == len(spans)


# -- size -----------------------------------------------------------------------------------------------------------


@pytest.mark.serial
def test_a_hundred_thousand_spans_fold_in_seconds() -> None:
    log = Log()
    log.turn("x")
    for i in range(50_000):
        log.model(i + 1, last="x", text="y", s=0.001)
        log.tool(f"c{i}", "f", "{}", "r", s=0.001)
    began = time.perf_counter()
    spans = fold(log.events)
    took_s = time.perf_counter() - began
    assert len(spans) == 100_001
    assert took_s < 8.0, f"{took_s:.1f} s"  # about 1.3 s on an idle core; the limit is for a loaded one
