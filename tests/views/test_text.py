from __future__ import annotations

import pytest

from hermes_nb.model.format import format_cost, format_ms, format_usd
from hermes_nb.model.span import Folder
from hermes_nb.views import text
from hermes_nb.views._total import total_line, totals
from tests.golden.logs import START_UNIX_S, Log, load


def test_steps_answer_and_totals_follow_each_other() -> None:
    shown = text.render(load("plain"))
    assert shown.startswith("✓ top_customers(n=3) → 2 rows × 2 columns · 50 ms\n\n**Ada** matters most:\n\n| name")
    assert shown.endswith("scripted-1 · 300 tokens in, 30 out · $0.0033 · 2.2 s · session s-golden")


def test_a_running_turn_shows_the_answer_so_far() -> None:
    events = load("stopped")[:-1]
    assert "\n\nRoses are red,\n\n" in text.render(events)


def test_nothing_is_nothing() -> None:
    assert text.render([]) == ""


def test_a_folder_gives_the_same_text_as_its_events() -> None:
    folder = Folder()
    folder.feed_all(load("nested"))
    assert text.render(folder) == text.render(load("nested"))


def test_unknown_stays_unknown() -> None:
    log = Log()
    log.turn("x")
    log.model(1, last="x", text="y", usage=None)
    log.done("y", ms=800.0, n_models=1, n_tools=0)
    assert total_line(totals(log.events)) == "scripted-1 · tokens unknown · cost unknown · 800 ms · session s-golden"


def test_a_known_part_is_a_lower_bound() -> None:
    log = Log()
    log.turn("x")
    log.model(1, last="x", text="y", cost_usd=0.5)
    log.model(2, last="x", text="y", usage=None)
    line = total_line(totals(log.events))
    assert "at least 100 tokens in, 10 out · at least $0.5000" in line


def test_zero_is_not_unknown() -> None:
    log = Log()
    log.turn("x")
    log.model(1, last="x", text="y", cost_usd=0.0, usage={"input_tokens": 0, "output_tokens": 0})
    assert "0 tokens in, 0 out · $0" in total_line(totals(log.events))


def test_a_replayed_turn_sent_nothing() -> None:
    assert total_line(totals(load("replayed"))) == ("scripted-1 · nothing sent · 4 ms · 3 replayed · session s-golden")


def test_a_turns_report_is_not_added_to_that_of_its_calls() -> None:
    sums = totals(load("nested"))
    assert (sums["input_tokens"], sums["output_tokens"], sums["cache_read_tokens"]) == (1300, 100, 256)


def test_wall_time_of_overlapping_turns_is_counted_once() -> None:
    log = Log()
    log.turn("x")
    log.done("", ms=1000.0, n_models=0, n_tools=0)
    log.turn_id = "t2"
    log.wait(0.5)
    log.turn("x")
    log.done("", ms=1000.0, n_models=0, n_tools=0)
    assert totals(log.events)["duration_ms"] == 1500.0


def test_the_present_is_given_not_looked_up() -> None:
    assert totals(load("running"))["duration_ms"] is None
    assert totals(load("running"), now_unix_s=START_UNIX_S + 3)["duration_ms"] == 3000.0


def test_durations_and_costs_read_well() -> None:
    shown = [format_ms(ms) for ms in (0.4, 12, 999.6, 1250, 59_949, 125_000, 3_840_000)]
    assert shown == ["0.4 ms", "12 ms", "1.0 s", "1.3 s", "59.9 s", "2 min 5 s", "1 h 4 min"]
    assert [format_usd(c) for c in (0, 0.0000123, 0.0123, 1.2)] == ["$0", "$0.000012", "$0.0123", "$1.20"]


@pytest.mark.parametrize(
    ("cost", "is_whole", "shown"),
    [
        (None, True, "unknown"),
        (None, False, "unknown"),
        (0.0, True, "$0"),
        (0.00004, True, "$0.000040"),
        (1.5, False, "at least $1.50"),
    ],
)
def test_a_cost_is_never_shown_as_nothing_when_it_is_something(cost: float | None, is_whole: bool, shown: str) -> None:
    assert format_cost(cost, is_whole=is_whole) == shown
