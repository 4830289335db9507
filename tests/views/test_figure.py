from __future__ import annotations

import json
import time

import pytest

from hermes_nb.model.span import Folder
from hermes_nb.views import figure, usage
from hermes_nb.views._layout import CATEGORIES, lay_out
from tests.golden.logs import ALL, START_UNIX_S, Log, load


def bars(made: dict[str, object]) -> list[tuple[str, float, float, float]]:
    """(category, row, base, length) of each bar."""
    return [
        (trace["legendgroup"], y, base, x)
        for trace in made["data"]  # type: ignore[attr-defined]
        for y, base, x in zip(trace["y"], trace["base"], trace["x"], strict=True)
    ]


def labels(made: dict[str, object]) -> dict[int, str]:
    axis = made["layout"]["yaxis"]  # type: ignore[index]
    return dict(zip(axis["tickvals"], axis["ticktext"], strict=True))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", sorted(ALL))
def test_plotly_accepts_every_property(name: str, theme: str) -> None:
    for view in (figure, usage):
        made = view.render(load(name), theme=theme)
        json.dumps(made, allow_nan=False)
        drawn = figure.to_figure(made)
        assert len(drawn.data) == len(made["data"])


def test_lanes_are_the_agent_its_model_and_its_tools() -> None:
    assert list(labels(figure.render(load("plain"))).values()) == ["analyst", "model", "top_customers"]


def test_lanes_name_the_agent_where_there_are_several() -> None:
    shown = list(labels(figure.render(load("nested"))).values())
    assert shown[0] == "planner"
    assert "planner · delegate_task" in shown
    assert "scout · search" in shown


def test_parallel_calls_lie_below_each_other() -> None:
    tools = [(row, base) for kind, row, base, _ in bars(figure.render(load("parallel"))) if kind == "tool"]
    assert sorted(row for row, _ in tools) == [2, 3, 4]


def test_calls_one_after_another_share_a_row() -> None:
    models = [row for kind, row, _, _ in bars(figure.render(load("plain"))) if kind == "model"]
    assert models == [1, 1]


def test_each_kind_and_ending_has_its_colour_and_all_but_two_a_hatch() -> None:
    assert set(figure.LOOKS) == set(CATEGORIES)
    assert figure.LOOKS["model"][0] == "#0072B2"
    assert figure.LOOKS["tool"][0] == "#E69F00"
    assert figure.LOOKS["replayed"][0] == "#999999"
    assert figure.LOOKS["error"][0] == "#D55E00"
    hatches = [hatch for _, hatch, _ in figure.LOOKS.values()]
    assert sorted(hatches)[:2] == ["", ""]  # the model's bar, and the thin bar of a turn
    assert len(set(hatches)) == len(hatches) - 1


def test_what_went_wrong_is_drawn_as_such() -> None:
    kinds = {kind for kind, *_ in bars(figure.render(load("failed")))}
    assert kinds == {"model", "error"}
    assert "stopped" in {kind for kind, *_ in bars(figure.render(load("stopped")))}
    assert {"replayed", "error"} <= {kind for kind, *_ in bars(figure.render(load("two_attempts")))}


def test_running_bars_reach_to_the_present_that_is_given() -> None:
    made = figure.render(load("running"), now_unix_s=START_UNIX_S + 9)
    assert made["layout"]["meta"]["unit"] == "s"
    assert max(base + x for kind, _, base, x in bars(made) if kind == "running") == pytest.approx(9.0)


def test_the_hover_shows_heads_of_prompt_arguments_and_result() -> None:
    hover = "\n".join(h for t in figure.render(load("plain"))["data"] for h in t["hovertext"])
    assert "prompt: Which customers matter most, and why?" in hover
    assert 'arguments: {"n": 3}' in hover
    assert 'result: [{"name": "Ada"' in hover
    assert "200 input tokens, 20 output tokens" in hover


def test_foreign_text_is_no_markup_and_no_mathematics() -> None:
    made = json.dumps(figure.render(load("hostile"))["data"])
    assert "<script" not in made
    assert "<img" not in made
    assert figure.label_text("<b>&$x$") == "&lt;b&gt;&amp;&#36;x&#36;"


def test_the_unit_follows_the_length() -> None:
    for seconds, unit in ((0.5, "ms"), (1, "s"), (100, "s"), (1000, "min"), (50_000, "h")):
        log = Log()
        log.turn("x")
        log.done("y", ms=seconds * 1000.0, n_models=0, n_tools=0)
        assert figure.render(log.events)["layout"]["meta"]["unit"] == unit


def long_log(n: int) -> list[object]:
    log = Log()
    log.turn("x")
    for i in range(n):
        log.wait(0.01 if i % 10 else 5.0)
        failed = {"status": "error", "error": "boom"} if i == n // 2 else {}
        log.tool(f"c{i}", f"tool {i % 3}", "{}", "r", s=0.02, **failed)
    log.done("y", ms=(log.now - START_UNIX_S) * 1000, n_models=0, n_tools=n)
    return log.events  # type: ignore[return-value]


def test_up_to_2_000_spans_each_has_its_bar() -> None:
    made = figure.render(long_log(1_999))  # type: ignore[arg-type]
    assert len(bars(made)) == 2_000
    assert "<sup>" not in made["layout"]["title"]["text"]


def test_beyond_2_000_the_closest_neighbours_merge_and_the_title_says_so() -> None:
    made = figure.render(long_log(20_000))  # type: ignore[arg-type]
    drawn = bars(made)
    assert len(drawn) == 2_000
    assert "20,001 spans as 2,000 bars: gaps up to" in made["layout"]["title"]["text"]
    assert sum(kind == "error" for kind, *_ in drawn) == 1
    hovers = [h for t in made["data"] for h in t["hovertext"]]
    counts = [int(h[3:].split(" spans")[0].replace(",", "")) if " spans</b>" in h else 1 for h in hovers]
    assert sum(counts) == 20_001


def test_more_lanes_than_a_screen_holds_share_one() -> None:
    log = Log()
    log.turn("x")
    for i in range(200):
        log.tool(f"c{i}", f"tool {i}", "{}", "r")
    made = figure.render(log.events)
    assert len(labels(made)) == 60
    assert "142 more lanes" in labels(made).values()
    assert len(bars(made)) == 201


@pytest.mark.serial
def test_a_hundred_thousand_spans_are_laid_out_in_seconds() -> None:
    folder = Folder()
    folder.feed_all(long_log(100_000))  # type: ignore[arg-type]
    spans = folder.spans()
    began = time.perf_counter()
    laid = lay_out(spans, now_unix_s=spans[-1].start_unix_s + 1)
    took_s = time.perf_counter() - began
    assert len(laid.bars) == 2_000
    assert took_s < 6.0, f"{took_s:.1f} s"  # about 0.6 s on an idle core


def test_usage_ends_at_the_sums() -> None:
    made = usage.render(load("plain"))
    assert {t["name"]: t["y"][-1] for t in made["data"]} == {
        "tokens in": 300,
        "tokens out": 30,
        "cost, US dollars": pytest.approx(0.0033),
    }


def test_usage_draws_no_line_for_what_nobody_knows() -> None:
    assert [t["name"] for t in usage.render(load("parallel"))["data"]] == ["tokens in", "tokens out"]
    assert usage.render(load("replayed"))["data"] == []


def test_usage_keeps_its_lines_short_and_whole() -> None:
    log = Log()
    log.turn("x")
    for i in range(5_000):
        log.model(i + 1, last="x", usage={"input_tokens": 1}, s=0.01)
    line = usage.render(log.events)["data"][0]
    assert len(line["x"]) <= 1_000
    assert line["y"][-1] == 5_000
