"""The static version: small, without script, and with nothing of a log but as text."""

from __future__ import annotations

from html.parser import HTMLParser

import pytest

from hermes_nb.model.span import Folder
from hermes_nb.widgets._static_html import still
from tests.golden.big import session
from tests.golden.logs import ALL, load

ALLOWED = set(
    "style div span i b code pre details summary h4 p strong em table thead tbody tr th td ul ol li a br blockquote".split()
)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def made(name: str) -> dict[str, str]:
    folder = Folder()
    folder.feed_all(load(name))
    return still(folder)


@pytest.mark.parametrize("name", sorted(ALL))
def test_it_holds_no_script(name: str) -> None:
    reader = Reader()
    reader.feed(made(name)["text/html"])
    assert {tag for tag, _ in reader.tags} <= ALLOWED
    assert not [a for _, attributes in reader.tags for a in attributes if a.startswith("on")]


def test_bars_stand_where_time_was_spent() -> None:
    html = made("plain")["text/html"]
    reader = Reader()
    reader.feed(html)
    bars = [(a["class"], str(a["style"])) for tag, a in reader.tags if tag == "i"]
    assert [name for name, _ in bars] == ["hnb-turn", "hnb-model", "hnb-model", "hnb-tool"]
    assert bars[0][1].startswith("left:0.00%")
    assert "top_customers" in html
    assert "**Ada**" in made("plain")["text/plain"]


def test_an_empty_log_says_so() -> None:
    assert "No step" in made("empty")["text/plain"]


def test_a_large_session_stays_small() -> None:
    folder = Folder()
    folder.feed_all(session(10_000))
    forms = still(folder)
    assert sum(map(len, forms.values())) < 150_000
