from __future__ import annotations

from hermes_nb.model.event import Event
from hermes_nb.views import rows, text
from hermes_nb.views._agent_tab import row_html, row_text
from hermes_nb.views.rows import Row, cut_html, cut_text
from tests.golden.logs import Log, load


def lines(events: list[Event]) -> list[str]:
    return [row_text(row) for row in rows.render(events)]


def test_a_model_row_gives_messages_duration_prompt_answer_calls_and_usage() -> None:
    assert lines(load("plain"))[1] == (
        "🧠 scripted-1 model turn · 2 msgs · 800 ms — Which customers matter most, and why? · calls top_customers"
        " · prompt_tokens=100, completion_tokens=10, total_tokens=110"
    )


def test_a_tool_row_gives_its_arguments_as_python_and_its_result() -> None:
    log = Log()
    log.turn("x")
    log.tool("c1", "f", '{"city": "Paris", "deep": [true, null]}', '{"temp": 20}')
    assert lines(log.events)[1] == "🛠️ f tool · 50 ms — {'city': 'Paris', 'deep': [True, None]} → {\"temp\": 20}"


def test_an_error_of_few_words_bears_its_class() -> None:
    log = Log()
    log.turn("x")
    told = [
        ("'b'", "KeyError"),
        ("'total revenue'", "KeyError"),
        ("3", "SystemExit"),
        ("", "ValueError"),
        ("f: 'n' is missing.", "ToolArgumentError"),
        ("No city named 'x'.", "ValueError"),
        ("Denied", ""),
    ]
    for n, (error, kind) in enumerate(told):
        log.tool(f"c{n}", "f", "{}", '{"error": "for the model"}', status="error", error=error, error_type=kind)
    assert [line.partition(" ⚠ ")[2] for line in lines(log.events)[1:]] == [
        "KeyError: 'b'",
        "KeyError: 'total revenue'",
        "SystemExit: 3",
        "ValueError",
        "f: 'n' is missing.",
        "No city named 'x'.",
        "Denied",
    ]
    assert "for the model" not in text.render(log.events)


def test_arguments_that_are_no_json_show_as_they_came() -> None:
    assert rows.arguments_text('{"n": ') == '{"n": '


def test_the_rows_are_an_output_of_their_own_view() -> None:
    made = rows.bundle(rows.render(load("plain")))
    assert made["text/html"].count('class="hnb-row"') == 4
    assert made["text/plain"].startswith("Hermes agent\n🧠 scripted-1 model turn")


def test_replayed_rows_have_no_duration_and_no_usage() -> None:
    assert lines(load("replayed"))[1:4] == [
        "♻️ scripted-1 model turn · replayed · 2 msgs — Which customers matter most? · calls top_customers",
        "♻️ top_customers tool · replayed — {'n': 3} → []",
        "♻️ scripted-1 model turn · replayed · 4 msgs — [] → None.",
    ]


def test_the_final_row_closes_a_turn_that_ended() -> None:
    assert lines(load("replayed"))[-1] == "✅ final answer — None."
    assert lines(load("stopped"))[-1] == "⏹️ stopped (user) — Roses are red,"
    assert lines(load("failed"))[-1] == (
        "❌ failed ⚠ Rate limit reached for scripted-1. Wait a minute, or choose another model."
    )
    assert "final" not in {row.kind for row in rows.render(load("running"))}


def test_an_outcome_short_of_an_answer_is_said() -> None:
    log = Log()
    log.turn("x")
    log.done("So far.", ms=1.0, n_models=0, n_tools=0, status="max_turns")
    assert lines(log.events)[-1] == "✅ final answer max turns — So far."


def test_running_rows_say_so() -> None:
    assert lines(load("running"))[-1] == "🛠️ fetch tool · running — {'page': 3}"


def test_steps_of_a_delegated_agent_are_indented() -> None:
    depths = {row.label: row.depth for row in rows.render(load("nested"))}
    assert (depths["delegate_task"], depths["scout"], depths["search"]) == (0, 1, 2)


def test_retries_warnings_steers_and_unknown_kinds_have_rows() -> None:
    shown = lines(load("failed")) + lines(load("nested"))
    assert "🔁 retry — 1/3 · HTTP 429 · waits 2 s" in shown
    assert "⚠️ warning — The provider's clock is off by 40 s." in shown
    assert "🧭 steer — Keep it cheap." in shown
    assert "🗜️ context compressed — 12 → 5 msgs" in shown
    assert "• moon.phase — phase=full" in shown


def test_each_attempt_has_its_heading() -> None:
    headings = [row for row in rows.render(load("two_attempts")) if row.kind == "heading"]
    assert [(h.label, h.meta) for h in headings] == [("Hermes agent", ""), ("Hermes agent", "attempt 2")]


def test_a_warning_is_shown_to_its_end() -> None:
    log = Log()
    log.turn("x")
    what_to_do = "%hermes tools refresh takes the new form."
    log.put("warning", message="Tool plot was redefined. " + "It was told otherwise. " * 30 + what_to_do, code="tool")
    log.put("steer.received", text="s" * 400, applied=True)
    shown = lines(log.events)
    assert shown[1].endswith(what_to_do)
    assert shown[2].endswith("... (+100)")


def test_several_turns_have_their_prompts_in_the_headings() -> None:
    log = Log()
    for turn in ("t1", "t2"):
        log.turn_id = turn
        log.turn(f"prompt of {turn}")
        log.done("x", ms=1.0, n_models=0, n_tools=0)
    headings = [row_text(row) for row in rows.render(log.events) if row.kind == "heading"]
    assert headings == ["Hermes agent — prompt of t1", "Hermes agent — prompt of t2"]


def test_text_is_cut_at_the_limit_with_the_rest_counted() -> None:
    assert cut_text("x" * 160, 160) == "x" * 160
    assert cut_text("x" * 161, 160) == "x" * 160 + "... (+1)"
    assert cut_text("head", 4, n_chars=104) == "head... (+100)"


def test_html_is_escaped_and_opens_to_the_whole_value() -> None:
    assert cut_html("<b>", 3) == "&lt;b&gt;"
    assert cut_html("<b>x", 3) == (
        '<details class="hnb-more"><summary>&lt;b&gt;... (+1)</summary><pre>&lt;b&gt;x</pre></details>'
    )


def test_html_stops_at_20_000_characters() -> None:
    shown = cut_html("é" * 20_500, 10)
    assert shown.count("é") == 20_010
    assert "... (+500 more, truncated)" in shown


def test_a_head_says_how_much_is_missing() -> None:
    assert "(+60)" in cut_html("x" * 400, 340, n_chars=400)
    assert "... (+100 more, truncated)" in cut_html("x" * 400, 160, n_chars=500)


def test_terminals_get_no_escape_sequence_and_no_reading_direction() -> None:
    assert cut_text("\x1b[31mred\x07\u202e\x9b", 99) == "\\x1b[31mred\\x07\\u202e\\x9b"


def test_a_lone_surrogate_and_a_nul_are_replaced() -> None:
    row = Row(kind="tool", icon="🛠️", label="a\ud800b\0c")
    assert row_text(row) == "🛠️ a?bc"
    row_html(row).encode()
