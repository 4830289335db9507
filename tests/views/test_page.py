from __future__ import annotations

import gzip
import hashlib
import re
import string
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.errors import UsageError
from hermes_nb.model.event import Event
from hermes_nb.views import page
from tests.browser.nbcheck import chromium
from tests.golden.logs import ALL, Log, load


def thousand() -> list[Event]:
    log = Log()
    log.turn("Work through it.")
    for i in range(500):
        log.model(i + 1, last="x" * 300, text=f"step {i} " * 20, calls=((f"c{i}", f"tool {i % 9}", '{"n": 1}'),), s=0.3)
        log.tool(f"c{i}", f"tool {i % 9}", f'{{"n": {i}, "text": "{"y" * 80}"}}', f"result {i} " * 40, s=0.1)
    log.done("done", ms=200_000.0, n_models=500, n_tools=500)
    return log.events


class Scripts(HTMLParser):
    """The script elements of a page, as a browser finds them."""

    def __init__(self, markup: str) -> None:
        super().__init__()
        self.found: list[tuple[str, str]] = []
        self._kind: str | None = None
        self.feed(markup)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "script":
            assert "src" not in dict(attrs)
            self._kind = dict(attrs).get("type") or "javascript"

    def handle_data(self, data: str) -> None:
        if self._kind is not None:
            self.found.append((self._kind, data))

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._kind = None


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_page_gives_its_events_back(name: str) -> None:
    events = load(name)
    assert page.read_report(page.render(events)) == [Event.from_json(e.to_json()) for e in events]


def test_a_page_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(page.render(load("plain")), encoding="utf-8")
    assert page.read_report(path) == page.read_report(str(path)) == load("plain")


def test_events_of_a_flyte_report_come_back_once() -> None:
    template = string.Template("<html><body><ul>$NAV</ul>$BODY</body></html>")
    part = page.fragment(load("hostile"), width_px=1100)
    report = template.substitute(NAV="<li>x</li>", BODY=f"<div>{part}</div><div>{part}</div>")
    assert page.read_report(report) == load("hostile")


def test_a_page_of_someone_else_is_refused() -> None:
    with pytest.raises(UsageError, match="holds no events of hermes_nb"):
        page.read_report("<html></html>")


def test_an_event_that_came_twice_is_held_once() -> None:
    events = load("plain")
    assert page.read_report(page.render(events + events)) == events


def test_a_thousand_spans_stay_below_1_5_mb() -> None:
    events = thousand()
    made = page.render(events)
    assert len(made.encode()) < 1_500_000
    assert "events_gzip_base64" in made
    assert page.read_report(made) == events


@pytest.mark.parametrize("name", ["hostile", "unicode"])
def test_text_of_a_log_ends_no_script_and_begins_none(name: str) -> None:
    made = page.render(load(name), title="</title><script>alert(1)</script>")
    kinds = [kind for kind, _ in Scripts(made).found]
    assert kinds == ["application/json", "application/gzip", "application/gzip", "javascript"]
    assert len(re.findall(r"<script[ >]", made)) == 4


def test_the_page_forbids_any_request_and_makes_none() -> None:
    made = page.render(load("plain"))
    assert "default-src 'none'" in made
    assert not re.search(r"<(?:link|img|iframe)\b|src=", made)


def test_plotly_is_the_one_that_was_looked_at_and_its_licence_lies_beside_it() -> None:
    assets = resources.files("hermes_nb.views").joinpath("assets")
    raw = gzip.decompress(assets.joinpath(page.PLOTLY).read_bytes())
    assert hashlib.sha256(raw).hexdigest() == "99784e3abfb07b142a15e521a439e6d9addceadb3f79553fd24c72774f0649ba"
    assert b"plotly.js (basic - minified) v4.1.1" in raw[:200]
    assert "MIT License" in assets.joinpath("plotly-LICENSE.txt").read_text(encoding="utf-8")


# -- in a browser ---------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as running:
        opened = running.chromium.launch(executable_path=chromium(), args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


def show(browser: Any, folder: Path, markup: str, *, dark: bool = False) -> tuple[Any, list[str]]:
    """The page, drawn, offline; and what it complained of or asked for."""
    path = folder / "page.html"
    path.write_text(markup, encoding="utf-8")
    context = browser.new_context(color_scheme="dark" if dark else "light", offline=True)
    opened = context.new_page()
    heard: list[str] = []
    opened.on("console", lambda message: heard.append(message.text))
    opened.on("pageerror", lambda error: heard.append(str(error)))
    opened.on("dialog", lambda dialog: heard.append(f"dialog {dialog.message}"))
    opened.on("request", lambda r: None if r.url.startswith(("file:", "blob:")) else heard.append(r.url))
    opened.goto(path.as_uri())
    opened.wait_for_selector(".hnb-page[data-ready]", state="attached", timeout=30_000)
    return opened, heard


@pytest.mark.browser
def test_a_page_draws_offline_without_a_complaint(browser: Any, tmp_path: Path) -> None:
    opened, heard = show(browser, tmp_path, page.render(load("nested")))
    assert opened.locator(".hnb-timeline .bars .point").count() == 13
    assert opened.locator(".hnb-usage .scatterlayer .trace").count() == 3
    assert opened.locator(".hnb-table tbody tr").count() == 13
    assert heard == []


@pytest.mark.browser
def test_a_page_follows_the_colours_of_the_system(browser: Any, tmp_path: Path) -> None:
    for dark, paper in ((False, "rgb(255, 255, 255)"), (True, "rgb(17, 20, 24)")):
        opened, _ = show(browser, tmp_path, page.render(load("plain")), dark=dark)
        of_page = opened.evaluate("() => getComputedStyle(document.querySelector('.hnb-page')).backgroundColor")
        of_figure = opened.evaluate("() => document.querySelector('.hnb-timeline .main-svg').style.background")
        assert (of_page, of_figure) == (paper, paper)


@pytest.mark.browser
def test_the_table_is_searched_and_sorted(browser: Any, tmp_path: Path) -> None:
    opened, _ = show(browser, tmp_path, page.render(thousand()))
    rows = opened.locator(".hnb-table tbody tr")
    assert rows.count() == 500
    assert opened.locator(".hnb-search output").inner_text() == "1,001 spans, the first 500 shown"
    opened.get_by_label("Search spans").fill("TOOL result 499")
    assert [row.split("\t")[3] for row in rows.all_inner_texts()] == ["tool 4"]
    assert opened.locator(".hnb-search output").inner_text() == "1 of 1,001 spans"
    opened.get_by_label("Search spans").fill("")
    opened.get_by_role("button", name="duration, s", exact=True).click()
    assert rows.first.inner_text().split("\t")[2] == "turn"


@pytest.mark.browser
def test_nothing_hostile_runs_in_a_page(browser: Any, tmp_path: Path) -> None:
    opened, heard = show(browser, tmp_path, page.render(load("hostile")))
    opened.evaluate("() => document.querySelectorAll('summary').forEach(e => e.click())")
    opened.locator(".hnb-timeline .bars .point").first.hover(force=True)
    assert opened.title() == "Hermes session"
    assert opened.locator(".hnb-page img, .hnb-page iframe, .hnb-page form, .hnb-page svg [href]").count() == 0
    links = opened.evaluate("() => [...document.querySelectorAll('.hnb-page a[href]')].map(e => e.protocol)")
    assert set(links) <= {"http:", "https:"}
    assert heard == []


@pytest.mark.browser
def test_a_fragment_draws_in_a_hidden_tab(browser: Any, tmp_path: Path) -> None:
    part = page.fragment(load("nested"), width_px=900)
    opened, heard = show(browser, tmp_path, f"<html><body><div style='display:none'>{part}</div></body></html>")
    assert opened.evaluate("() => document.querySelector('.hnb-timeline .main-svg').getAttribute('width')") == "900"
    assert heard == []


def heights(opened: Any) -> dict[str, tuple[float, float]]:
    """Of each figure the height of what is drawn, and that of its place."""
    script = """() => Object.fromEntries(['timeline', 'usage'].map(name => {
        const place = document.querySelector(`.hnb-${name}`), tall = e => e.getBoundingClientRect().height;
        return [name, [tall(place.querySelector('.main-svg')), tall(place)]];
    }))"""
    return {name: tuple(pair) for name, pair in opened.evaluate(script).items()}


@pytest.mark.browser
@pytest.mark.parametrize("width_px", [None, 1100], ids=["page", "Flyte report"])
def test_figures_keep_their_height_when_the_window_changes_and_on_paper(
    browser: Any, tmp_path: Path, width_px: int | None
) -> None:
    markup = page.fragment(load("nested"), width_px=width_px) if width_px else page.render(load("nested"))
    opened, heard = show(browser, tmp_path, markup)
    wanted = heights(opened)
    assert all(drawn > 250 and place == drawn for drawn, place in wanted.values())
    for width in (480, 1300, 800, 480):
        opened.set_viewport_size({"width": width, "height": 900})
        if width_px is None:  # drawn anew for that width
            css = ".hnb-timeline .main-svg"
            fits = f"e => e.getBoundingClientRect().right <= {width} && e.getBoundingClientRect().width > {width} - 120"
            opened.wait_for_function(f"() => ({fits})(document.querySelector('{css}'))")
        assert heights(opened) == wanted
    opened.set_viewport_size({"width": 1300, "height": 900})
    width_of = "() => Number(document.querySelector('.hnb-timeline .main-svg').getAttribute('width'))"
    opened.wait_for_function(f"() => ({width_of})() > 1000")
    opened.evaluate(
        """() => addEventListener('beforeprint', () => {
            const drawn = [...document.querySelectorAll('.hnb-figure .main-svg')];
            window.printed = drawn.map(e => [e.getBoundingClientRect().height, Number(e.getAttribute('width'))]); })"""
    )
    assert opened.pdf(format="A4")[:4] == b"%PDF"
    printed = opened.evaluate("() => window.printed")
    assert {height for height, _ in printed} == {drawn for drawn, _ in wanted.values()}
    assert all(width <= 720 for _, width in printed)
    assert heights(opened) == wanted
    assert opened.evaluate(width_of) == (width_px or 1252)  # as before it was printed
    if width_px is None:
        opened.set_viewport_size({"width": 800, "height": 900})
        opened.wait_for_function(f"() => ({width_of})() < 800")
    assert heard == []


@pytest.mark.parametrize("n_times", [1, 60])
def test_a_damaged_page_is_refused_in_words(n_times: int) -> None:
    events = [replace(e, seq=e.seq + 100 * n) for n in range(n_times) for e in load("plain")]
    whole = page.render(events)
    first = whole.index('class="hnb-events">') + len('class="hnb-events">')
    last = whole.index("</script>", first)
    n_refused = 0
    for at in range(first, last, max((last - first) // 40, 1)):
        start = whole[:at]
        for damaged in (start + whole[at + 3 :], start + "~" + whole[at + 1 :], start + "</script>", start):
            try:
                page.read_report(damaged)
            except UsageError:
                n_refused += 1
    assert n_refused > 100


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        "1",
        '{"events":null}',
        '{"events":[1]}',
        '{"events":' + "[" * 100_000,
        '{"events_gzip_base64":"!!"}',
        '{"events_gzip_base64":7}',
    ],
)
def test_events_of_another_form_are_refused_in_words(text: str) -> None:
    with pytest.raises(UsageError, match="damaged"):
        page.read_report(f'<script type="application/json" class="hnb-events">{text}</script>')


@pytest.mark.parametrize("name", ["", "missing.html", "a\0b", "."])
def test_a_page_that_is_not_there_is_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can't be read"):
        page.read_report(tmp_path / name if name else name)
