"""What is left of a saved output where a code host shows the notebook: elements of an allow list, no class, no style."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from hermes_nb.model.span import Folder
from hermes_nb.views._bundle import bundle
from hermes_nb.widgets._static_html import still
from tests.golden.logs import Log, load

nh3 = pytest.importorskip("nh3")

# As published for Markdown and notebooks of code hosts: https://github.com/gjtorikian/html-pipeline (sanitization filter).
TAGS = set(
    "h1 h2 h3 h4 h5 h6 br b i strong em a pre code img tt div ins del sup sub p picture ol ul table thead tbody tfoot"
    " blockquote dl dt dd kbd q samp var hr ruby rt rp li tr td th s strike summary details caption figure figcaption"
    " abbr bdo cite dfn mark small source span time wbr".split()
)
ATTRIBUTES = {"*": {"align", "alt", "colspan", "open", "rowspan", "start", "title", "width"}, "a": {"href"}, "img": {"src"}}
PICTURE = "data:image/png;base64,AAAA"


def hosted(html: str) -> str:
    """What a code host makes of it."""
    cleaned: str = nh3.clean(
        html, tags=TAGS, attributes=ATTRIBUTES, url_schemes={"http", "https", "mailto", "data"}, link_rel=None
    )
    assert "class=" not in cleaned
    assert "style=" not in cleaned
    return cleaned


class Cells(HTMLParser):
    """The cells of each row of each table."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self._open: list[list[str]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "tr":
            self._open.append([])
        elif tag in ("td", "th"):
            self._open[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        if tag == "tr":
            self.rows.append(self._open.pop())

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1]:
            self._open[-1][-1] += data


def test_steps_are_rows_of_a_table_with_sign_call_and_duration() -> None:
    rows = Cells(hosted(bundle(load("nested"))["text/html"])).rows
    lines = [[cell.strip().partition("\n")[0] for cell in row] for row in rows if len(row) == 3]
    assert ["✓", "book(hotel=1) → booked · approved by you after 3.0 s", "3.1 s"] in lines
    assert ["⊘", "pay() denied by you after 1.0 s", ""] in lines


def test_what_a_row_opens_to_is_folded_and_a_table() -> None:
    shown = hosted(bundle(load("plain"))["text/html"])
    assert shown.count("<details>") == 2  # the call, and the model calls
    assert ["name", "revenue"] in Cells(shown).rows
    assert re.search(r"<summary><code>top_customers\(n=3\)</code> <span>→ 2 rows × 2 columns</span></summary>", shown)


def test_a_plot_stays_in_its_row() -> None:
    log = Log()
    log.turn("x")
    log.tool("c1", "plot", "{}", "done")
    log.done("Plotted.", ms=9.0, n_models=0, n_tools=1)
    shown = hosted(bundle(log.events, pictures={"c1": [PICTURE]})["text/html"])
    assert f'<img src="{PICTURE}" alt="Plot 1 of plot()">' in shown


def test_a_timeline_has_bars_that_are_text() -> None:
    folder = Folder()
    folder.feed_all(load("plain"))
    lanes = [row for row in Cells(hosted(still(folder)["text/html"])).rows if "█" in "".join(row)]
    assert [(name, took) for name, _, took in lanes] == [
        ("analyst", "2.2 s"),
        ("model", "2.0 s"),
        ("top_customers", "50 ms"),
    ]
    assert all(len(bar) == 36 and set(bar) <= {"█", "·"} for _, bar, _ in lanes)
    assert lanes[2][1].index("█") > lanes[1][1].index("█")


def test_no_step_is_lost() -> None:
    for name in ("plain", "nested", "parallel", "failed", "stopped", "hostile", "unicode"):
        forms = bundle(load(name))
        assert len(Cells(hosted(forms["text/html"])).rows) == len(Cells(forms["text/html"]).rows)
