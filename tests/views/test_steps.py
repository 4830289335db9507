from __future__ import annotations

import json

from hermes_nb.model.event import Event
from hermes_nb.views import html, page, text
from hermes_nb.views._bundle import bundle
from hermes_nb.views._listing import Prose, listing
from hermes_nb.views._steps import Step, step_line
from hermes_nb.widgets._turn_model import TurnModel
from tests.golden.logs import Log, load


def steps(events: list[Event]) -> list[Step]:
    return [entry for entry in listing(events).entries if not isinstance(entry, Prose)]


def lines(events: list[Event]) -> list[str]:
    return [step_line(step) for step in steps(events)]


def call(arguments: str = "{}", result: str = "", **more: object) -> Step:
    log = Log()
    log.turn("x")
    log.tool("c1", "f", arguments, result, **more)
    return steps(log.events)[0]


def test_a_call_is_one_line_with_the_shape_of_its_result_and_its_duration() -> None:
    assert lines(load("plain")) == ["✓ top_customers(n=3) → 2 rows × 2 columns · 50 ms"]


def test_arguments_are_written_as_python_writes_them() -> None:
    asked = {
        "{}": "f()",
        "null": "f()",
        '{"city": "Rome"}': 'f("Rome")',
        '{"n": 2}': "f(n=2)",
        '{"table": "orders", "n": 3}': 'f(table="orders", n=3)',
        '{"deep": [true, null, {"a": 1}]}': 'f(deep=[True, None, {"a": 1}])',
        '{"text": "two\\nlines"}': 'f("two\\nlines")',
        '{"n": ': 'f({"n":)',
    }
    assert {raw: call(raw)["call"] for raw in asked} == asked


def test_a_long_call_is_cut() -> None:
    assert len(call(json.dumps({f"k{n}": "x" * 500 for n in range(50)}))["call"]) == 160


def test_a_result_is_told_by_its_shape() -> None:
    frame = {"type": "pandas.DataFrame", "shape": [1000, 2], "columns": {"a": "int64", "b": "str"}, "rows": [[1, "x"]]}
    told = {
        json.dumps([{"a": 1, "b": 2}, {"a": 1, "c": 3}]): "→ 2 rows × 3 columns",
        json.dumps([{"a": 1}, "... (980 more items)"]): "→ 1+ rows × 1 column",
        json.dumps(frame): "→ 1,000 rows × 2 columns",
        json.dumps({"type": "Series", "dtype": "int64", "length": 10, "values": [1]}): "→ 10 values",
        json.dumps({"temp": 20, "sky": "clear"}): '→ temp: 20, sky: "clear"',
        json.dumps({f"key{n}": "x" * 30 for n in range(9)}): "→ 9 fields",
        json.dumps([1, 2, 3]): "→ [1, 2, 3]",
        json.dumps(list(range(500))): "→ 500 items",
        "42": "→ 42",
        '"words"': "→ words",
        "null": "→ nothing",
        "one line": "→ one line",
        "first\nsecond\nthird": "→ first (3 lines)",
        "": "",
    }
    assert {result: call(result=result)["summary"] for result in told} == told


def test_a_table_opens_as_a_table() -> None:
    shown = call('{"n": 2}', json.dumps([{"name": "Ada", "n": 1}, {"name": None, "n": [1]}]))
    arguments, result = shown["details"]
    assert arguments == {"label": "Arguments", "pairs": [("n", "2")]}
    assert result == {"label": "Result", "columns": ["name", "n"], "rows": [["Ada", "1"], ["", "[1]"]], "rest": 0}


def test_calls_of_one_tool_that_ran_side_by_side_are_one_row() -> None:
    (group,) = steps(load("parallel"))
    assert step_line(group) == "✓ fetch × 3 page=2, page=1, page=3 → 3 results · 2.0 s"
    assert [step_line(inner) for inner in group["steps"]] == [
        "✓ fetch(page=2) → page two · 1.0 s",
        "✓ fetch(page=1) → page one · 1.2 s",
        "✓ fetch(page=3) → page three · 2.0 s",
    ]


def test_calls_one_after_the_other_are_rows_of_their_own() -> None:
    log = Log()
    log.turn("x")
    for n in range(2):
        log.tool(f"c{n}", "f", json.dumps({"n": n}), "done")
    assert lines(log.events) == ["✓ f(n=0) → done · 50 ms", "✓ f(n=1) → done · 50 ms"]


def test_an_approval_becomes_part_of_its_calls_row() -> None:
    shown = lines(load("nested"))
    assert "✓ book(hotel=1) → booked · approved by you after 3.0 s · 3.1 s" in shown
    assert "⊘ pay() denied by you after 1.0 s" in shown
    assert "✓ Which day? → Tue · 2.0 s" in shown


def test_a_delegated_agent_takes_the_row_of_the_call_that_made_it() -> None:
    assert lines(load("nested"))[:2] == [
        "✓ Helper: Find hotels. → Take the blue one. · 900 ms",
        '  ✓ search("hotel") → three found · 200 ms',
    ]


def test_model_calls_are_behind_the_line_of_totals() -> None:
    listed = listing(load("plain"))
    assert [row[1:] for row in listed.models["rows"]] == [
        ["scripted-1", "800 ms", "100 tokens in, 10 out", "top_customers"],
        ["scripted-1", "1.3 s", "200 tokens in, 20 out", "answer"],
    ]
    shown = html.render(load("plain"))
    assert "<summary>scripted-1 · 2 model calls · 300 tokens in, 30 out · $0.0033 · 2.2 s</summary>" in shown


def test_how_a_turn_ended_follows_its_text_and_says_the_error_once() -> None:
    assert text.render(load("stopped")).splitlines()[-3] == "■ Stopped by you · 1.7 s"
    told = html.render(load("failed")).partition("<details>")[2]
    assert text.render(load("failed")).count("Rate limit reached") == 1
    assert "Rate limit reached" in told


def test_the_words_for_a_plot_that_can_not_be_drawn_are_not_what_a_tool_printed() -> None:
    log = Log()
    log.turn("x")
    log.tool_start("c1", "f", "{}")
    log.put("tool.output", "c1", text="looked\n<Figure size 300x200 with 1 Axes>\n", stream="stdout")
    log.put("tool.completed", "c1", result="ok", duration_ms=5.0)
    assert lines(log.events) == ["✓ f() → ok · printed 1 line · 5 ms"]
    assert "Figure size" not in text.render(log.events) + html.render(log.events)


def test_notebook_page_and_report_show_the_same_rows() -> None:
    for name in ("plain", "nested", "parallel", "failed", "stopped", "two_attempts"):
        events = load(name)
        body = html.render(events).partition("</style>\n")[2]
        assert body in bundle(events)["text/html"]
        assert body in page.fragment(events)


def test_prose_before_a_call_stands_between_the_rows() -> None:
    log = Log()
    log.turn("x")
    log.model(1, last="x", text="Let me look.", calls=(("c1", "f", "{}"),))
    log.tool("c1", "f", "{}", "ok")
    kinds = [e.text if isinstance(e, Prose) else e["kind"] for e in listing(log.events).entries]
    assert kinds == ["Let me look.", "call"]


def test_a_question_becomes_the_row_of_its_call() -> None:
    log = Log()
    log.turn("x")
    log.tool_start("c1", "clarify", '{"question": "Which table?"}')
    log.put("clarify.requested", "q1", request_id="r", question="Which table?", choices=["orders"])
    log.wait(2.0)
    log.put("clarify.responded", "q1", request_id="r", answer="orders")
    log.put("tool.completed", "c1", result='{"user_response": "orders"}', duration_ms=2000.0)
    assert lines(log.events) == ["✓ Which table? → orders · 2.0 s"]


def test_what_was_denied_says_by_whom_and_not_that_it_failed() -> None:
    denied = call(status="denied", error="The call was not allowed: The user did not allow this call.")
    assert (denied["icon"], denied["summary"], denied["duration"]) == ("⊘", "denied", "")


def test_a_run_of_flyte_is_one_row_with_its_latest_phase() -> None:
    log = Log()
    log.turn("x")
    for phase in ("submitting", "running"):
        log.put("flyte.run", phase=phase, run="r1")
        log.wait(1)
    log.tool("c1", "f", "{}", "1")
    log.put("flyte.run", phase="succeeded", run="r1")
    made = bundle(log.events)
    for form in ("text/html", "text/markdown"):
        assert made[form].count("Flyte") == 1
        assert made[form].index("succeeded · r1") < made[form].index("f()")
    assert made["text/plain"].count("Flyte") == 3  # a terminal prints as it goes, and takes no line back
    shown = TurnModel()
    for event in log.events:
        shown.feed(event)
    items = [item for _, item in shown.whole()["items"]]
    assert [item["summary"] for item in items if item["kind"] == "phase"] == ["succeeded · r1"]
