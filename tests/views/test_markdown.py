from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from hermes_nb.model.span import Folder
from hermes_nb.views import markdown
from hermes_nb.views._markdown_safety import to_markdown
from tests.golden.logs import Log, load


def test_steps_answer_and_totals_follow_each_other() -> None:
    tool, answer, *_ = markdown.render(load("plain")).split("\n\n")
    assert tool == "- ✓ `top_customers(n=3)` → 2 rows × 2 columns · 50 ms"
    assert answer == "**Ada** matters most:"
    assert markdown.render(load("plain")).endswith(
        "<sub>scripted-1 · 300 tokens in, 30 out · &#36;0.0033 · 2.2 s · session s-golden</sub>"
    )


def test_running_tools_are_marked() -> None:
    assert "- ◌ `fetch × 3` 3 running · page=1, page=2, page=3\n" in markdown.render(load("running"))


def test_text_shows_as_it_streams() -> None:
    log = Log()
    log.turn("x")
    log.put("model.started", "m1", api_call=1, model="m")
    folder = Folder()
    folder.feed_all(log.events)
    for word in ("**Hel", "lo**"):
        folder.feed(log.put("model.delta", "m1", text=word))
    assert markdown.render(folder).startswith("**Hello**\n\n<sub>")


def test_what_a_model_said_before_its_tool_calls_stays_between_the_rows() -> None:
    log = Log()
    log.turn("x")
    log.model(1, last="x", text="Let me *look*.", calls=(("c1", "f", "{}"),))
    log.tool_start("c1", "f", "{}")
    assert markdown.render(log.events).startswith("Let me *look*.\n\n- ◌ `f()`\n\n<sub>")


def test_retries_and_warnings_are_seen() -> None:
    shown = markdown.render(load("failed"))
    assert "- ↻ **Retry** 2/3 · HTTP 429 · waits 2 s" in shown
    assert "- ! **Warning** The provider's clock is off by 40 s." in shown
    assert "- ✗ **The turn failed** Rate limit reached for scripted-1. Wait a minute, or choose another model." in shown


def test_values_that_could_end_their_code_are_entities() -> None:
    log = Log()
    log.turn("x")
    log.tool("c1", "f", "``a`` *b*", "<i>")
    shown = markdown.render(log.events)
    assert "- ✓ <code>f(&#96;&#96;a&#96;&#96; &#42;b&#42;)</code> → &#60;i&#62; · 50 ms" in shown


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("![x](http://evil/p)", "&#33;[x](http://evil/p)"),
        ("![x][ref]", "&#33;[x][ref]"),
        ("a <b>c</b> < 3", "a &lt;b>c&lt;/b> < 3"),
        (r"\<b> \\<b>", r"&lt;b> \\&lt;b>"),
        ("<!-- x -->", "&lt;!-- x -->"),
        ("$a<b$", "$a< b$"),
        ("<https://example.org>", "<https://example.org>"),
        ("`<b>` and ``a ` <i>`` and <u>", "`<b>` and ``a ` &lt;i>`` and &lt;u>"),
        ("`a* <b>` `x[0]` `List<int>`", "`a* &lt;b>` `x[0]` `List<int>`"),
        (r"\\`a` <b> `", r"\\`a` &lt;b> `"),
        ("`a\nb` <b> `", "`a\nb` &lt;b> `"),
        ("| `a | <b> ` |", "| `a | &lt;b> ` |"),
        ("```html\n<b>", "```html\n<b>\n```"),
        ("  ~~~\n  <b>", "  ~~~\n  <b>\n  ~~~"),
        ("```html\n<b>![x](y)</b>\n```\n<i>", "```html\n<b>![x](y)</b>\n```\n&lt;i>"),
        ("1. x\n   ~~~\n   <b>\n   ~~~\n<i>", "1. x\n   ~~~\n   <b>\n   ~~~\n&lt;i>"),
        ("1. x\n   ~~~\n<b>\n~~~", "```text\n1. x\n   ~~~\n<b>\n~~~\n```"),
        ("   ~~~\n<b>`", "```text\n   ~~~\n<b>`\n```"),
        ("````\n```\n<b>\n````\n<i>", "````\n```\n<b>\n````\n&lt;i>"),
        ("```\n    ```\n<b>\n```\n<i>", "```\n    ```\n<b>\n```\n&lt;i>"),
        ("```\n<b>\n```~\n<i>", "````text\n```\n<b>\n```~\n<i>\n````"),
        ("``` a`\n<b>", "``` a`\n&lt;b>"),
        ("> ```\n<b>", "> ```\n&lt;b>"),
        ("```\r<b>\r```\r<i>", "```\n<b>\n```\n&lt;i>"),
        ("[a](https://b.org) [c](#d) [e](f.html)", "[a](https://b.org) [c](#d) [e](f.html)"),
        ("[a](javascript:b)", "[a]&#40;javascript:b)"),
        ("[a](<javascript:b>)", "[a]&#40;&lt;javascript:b>)"),
        ("[a](java&#115;cript:b)", "[a]&#40;java&#115;cript:b)"),
        ("[a](\njavascript:b)", "[a]&#40;\njavascript:b)"),
        ("[a]: data:text/html,b", "[a]&#58; data:text/html,b"),
        ("> [a]:\n> javascript:b", "> [a]&#58;\n> javascript:b"),
        ("]:[x](javascript:a)", "]&#58;[x]&#40;javascript:a)"),
        ("`[a](javascript:b)`", "`[a]&#40;javascript:b)`"),
        ("x[0](1) and [note]: see", "x[0](1) and [note]: see"),
        ("# A *title*, a | table |, $x$", "# A *title*, a | table |, $x$"),
    ],
)
def test_what_could_be_live_is_text_outside_of_code_alone(given: str, safe: str) -> None:
    assert to_markdown(given) == safe


PIECES = st.sampled_from(
    [
        "`",
        "``",
        "```",
        "~~~",
        "~",
        "<b>",
        "<img src=x>",
        "![z](q)",
        "[x](javascript:a)",
        "[r]: javascript:a",
        "[r]",
        "\n",
        "\n\n",
        "\n   ",
        "\n    ",
        "> ",
        "- ",
        "1. ",
        "2) ",
        "# ",
        "| a | b |",
        "|---|---|",
        "|",
        "\\",
        "<!--",
        "<https://a.b/`>",
        "<https://a`",
        "$",
        "*",
        "_",
        "[",
        "]",
        "(",
        ")",
        "a",
        " ",
        "\t",
        "\r",
        "<",
        ">",
        "&lt;",
        "=",
        "\n```\n",
        "\n~~~\n",
        "<javascript:a>",
        "<script>a</script>",
        "</p>",
        "<?x?>",
        "\\`",
        "\\<",
        "---",
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PIECES, max_size=16).map("".join))
def test_no_answer_gives_a_front_end_an_element_or_a_script_to_follow(answer: str) -> None:
    """Rendered by a parser that lets raw HTML and any link through."""
    parser = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
    parser.validateLink = lambda url: True
    shown = parser.render(to_markdown(answer))
    assert set(re.findall(r"<([^\s>]*)", shown)) <= ALLOWED, shown
    addresses = re.findall(r'href="([^"]*)"', shown)
    assert not [a for a in addresses if re.match(r"(?i)\s*(javascript|data|vbscript|file):", a)]


@settings(max_examples=200, deadline=None)
@given(*[st.lists(PIECES, max_size=5).map("".join)] * 5)
def test_no_value_gives_a_front_end_an_element(prompt: str, name: str, raw: str, result: str, error: str) -> None:
    log = Log(session_id=name)
    for turn in ("t1", "t2"):
        log.turn_id = turn
        log.turn(prompt, agent=name)
        log.put("warning", message=error, code="c")
        log.model(1, last=prompt, text=result, calls=(("c1", name, raw),), model=name)
        log.tool(f"{turn}c1", name, raw, result)
        log.tool(f"{turn}c2", name, raw, result, status="error", error=error)
        log.put("turn.failed", text="", error=error, hint=result, duration_ms=1.0)
    shown = MarkdownIt("commonmark", {"html": True}).enable(["table"]).render(markdown.render(log.events))
    assert set(re.findall(r"<([^\s>]*)", shown)) <= ALLOWED | {"sub", "/sub"}, shown


ALLOWED = {
    f"{slash}{tag}"
    for slash in ("", "/")
    for tag in (
        "p",
        "em",
        "strong",
        "code",
        "pre",
        "ul",
        "ol",
        "li",
        "h1",
        "h2",
        "hr",
        "br",
        "blockquote",
        "a",
        "s",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "span",
    )
}


@pytest.mark.serial
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


@pytest.mark.serial
def test_no_answer_takes_long() -> None:
    for answer in ("`a``b" * 40_000, "".join("`" * n + "a" for n in range(600)), "[" * 50_000, "<" * 50_000 + "`a`" * 9000):
        began = time.perf_counter()
        to_markdown(answer)
        took_s = time.perf_counter() - began
        assert took_s < 2.0, f"{took_s:.1f} s for {answer[:20]}"
