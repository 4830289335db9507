from __future__ import annotations

import time

import pytest

from hermes_nb.model.span import Folder
from hermes_nb.views import markdown
from hermes_nb.views._prose import to_markdown
from tests.golden.logs import Log, load


def test_tools_answer_and_totals_follow_each_other() -> None:
    tool, answer, *_ = markdown.render(load("plain")).split("\n\n")
    assert tool.startswith("- 🛠️ **top\\_customers** tool · 50 ms — `{'n': 3}` → `[{")
    assert answer == "**Ada** matters most:"
    assert markdown.render(load("plain")).endswith(
        "<sub>scripted-1 · 300 tokens in, 30 out · \\$0.0033 · 2.2 s · session s-golden</sub>"
    )


def test_running_tools_are_marked() -> None:
    assert "- ⏳ 🛠️ **fetch** tool · running — `{'page': 1}`\n" in markdown.render(load("running"))


def test_text_shows_as_it_streams() -> None:
    log = Log()
    log.turn("x")
    log.put("model.started", "m1", api_call=1, model="m")
    folder = Folder()
    folder.feed_all(log.events)
    for word in ("**Hel", "lo**"):
        folder.feed(log.put("model.delta", "m1", text=word))
    assert markdown.render(folder).startswith("**Hello**\n\n<sub>")


def test_what_a_model_said_before_its_tool_calls_stays_as_a_row() -> None:
    log = Log()
    log.turn("x")
    log.model(1, last="x", text="Let me *look*.", calls=(("c1", "f", "{}"),))
    log.tool_start("c1", "f", "{}")
    assert markdown.render(log.events).startswith("- 🧠 Let me \\*look\\*.\n- ⏳ 🛠️ **f**")


def test_retries_and_warnings_are_seen() -> None:
    shown = markdown.render(load("failed"))
    assert "- 🔁 **retry** — 2/3 · HTTP 429 · waits 2 s" in shown
    assert "- ⚠️ **warning** — The provider's clock is off by 40 s." in shown
    assert "- ❌ **failed** ⚠ Rate limit reached for scripted-1. Wait a minute, or choose another model." in shown


def test_backticks_in_values_do_not_end_their_code() -> None:
    log = Log()
    log.turn("x")
    log.tool("c1", "f", "``a`` `", "`")
    assert "— ``` ``a`` ` ``` → `` ` ``" in markdown.render(log.events)


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("![x](http://evil/p)", "\\![x](http://evil/p)"),
        ("![x][ref]", "\\![x][ref]"),
        ("a <b>c</b> < 3", "a \\<b>c\\</b> < 3"),
        ("<!-- x -->", "\\<!-- x -->"),
        ("<https://example.org>", "<https://example.org>"),
        ("`<b>` and ``a ` <i>`` and <u>", "`<b>` and ``a ` <i>`` and \\<u>"),
        ("```html\n<b>![x](y)</b>\n```\n<i>", "```html\n<b>![x](y)</b>\n```\n\\<i>"),
        ("- ~~~\n  <b>\n  ~~~\n<i>", "- ~~~\n  <b>\n  ~~~\n\\<i>"),
        ("````\n```\n<b>\n````\n<i>", "````\n```\n<b>\n````\n\\<i>"),
        ("# A *title*, a | table |, $x$", "# A *title*, a | table |, $x$"),
    ],
)
def test_markup_and_images_are_escaped_outside_code_alone(given: str, safe: str) -> None:
    assert to_markdown(given) == safe


def test_a_redraw_of_a_long_stream_is_cheap() -> None:
    log = Log()
    log.turn("x")
    log.put("model.started", "m1", api_call=1, model="m")
    for i in range(5_000):
        log.put("model.delta", "m1", text=f"word {i} <b> ")
    folder = Folder()
    folder.feed_all(log.events)
    began = time.perf_counter()
    for i in range(10):
        folder.feed(log.put("model.delta", "m1", text=f"{i}"))
        markdown.render(folder)
    took_ms = (time.perf_counter() - began) * 100
    assert took_ms < 200, f"{took_ms:.0f} ms a redraw"  # about 8 ms on an idle core
