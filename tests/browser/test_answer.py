"""An answer as it is read: money and formulas, live, by its variable, saved, in a second tab, and opened again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hermes_nb.testing import Hang

from .test_run import SCREENSHOTS
from .test_timeline import themed
from .turn_page import ANALYST, Page

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(300)]

NAME = "answer.ipynb"
SETUP, ASK, ANSWER, LAST, MARKED, PAGE_SHOWN = range(6)
CELLS = (
    ANALYST,
    "%%hermes run -a analyst -o answer\nWhat was $1 and $2?",
    "answer",
    "%hermes last",
    "from IPython.display import Markdown\nfrom hermes_nb.views import markdown\nMarkdown(markdown.render(answer.events))",
    "%hermes timeline --as page",
)
MONEY = "It cost $5 and then $7, in all $12.50 of $20."
TEXT = rf"""{MONEY}

Inline $E = mc^2$ and \(a_1 + b_1\), a share of $10\%$.

$$
\sum_{{i=1}}^n i
= \frac{{n(n+1)}}{{2}}
$$

\[
x * y * z
\]

| item | price | power |
|---|---:|---|
| pen | $3 | $x^2$ |
| ink | $4 | `$y$` |
"""
N_FORMULAS = 6


def shown(page: Page, cell: int, *, tab: Any = None) -> dict[str, Any]:
    """The words of an answer, without what was set as formulas, of which `n` there are."""
    script = """cell => {
        const area = [...document.querySelectorAll('.jp-Notebook .jp-Cell')][cell].querySelector('.jp-OutputArea');
        const n = area.querySelectorAll('mjx-container').length, copy = area.cloneNode(true);
        copy.querySelectorAll('mjx-container, script, style').forEach(e => e.remove());
        const answer = copy.querySelector('.hnb-answer, .hnbr-answer') ?? copy;
        return { n, text: answer.textContent.replace(/\\s+/g, ' ') };
    }"""
    found: dict[str, Any] = (tab or page.notebook.page).evaluate(script, cell)
    return found


def check(page: Page, cell: int) -> None:
    nth = f"[...document.querySelectorAll('.jp-Notebook .jp-Cell')][{cell}]"
    is_set = f"() => {nth}.querySelectorAll('.jp-OutputArea mjx-container').length >= {N_FORMULAS}"
    page.notebook.wait_for(is_set, f"the formulas of cell {cell}: {shown(page, cell)}", timeout_s=20)
    found = shown(page, cell)
    assert found["n"] == N_FORMULAS
    assert MONEY in found["text"]
    assert "$3" in found["text"]
    assert "$y$" in found["text"]
    assert "mc^2" not in found["text"]


def test_live_formulas_are_set_when_their_block_is_over_and_money_stays(page: Page) -> None:
    asked = Hang(TEXT[:130], TEXT[130:])
    page.run(ASK, asked)
    page.wait(ASK, "v?.state.answer.includes('a share')", timeout_s=60)
    assert MONEY in shown(page, ASK)["text"]
    asked.release()
    page.wait(ASK, "v.state.head.status === 'ok'")
    page.notebook.wait_idle()
    check(page, ASK)
    assert "What was $1 and $2?" in page.js(ASK, "JSON.stringify(v.state.head.prompt)")
    page.shoot(ASK, "formulas")


@pytest.mark.parametrize("cell", [ANSWER, LAST, MARKED])
def test_by_its_variable_and_as_markdown_it_says_the_same(page: Page, cell: int) -> None:
    page.notebook.run_cell(cell)
    page.notebook.wait_text("It cost $5 and then $7", cell=cell)
    page.notebook.wait_idle()
    check(page, cell)
    page.shoot(cell, f"formulas-static-{cell}")


def test_a_page_is_shown_as_one_in_a_frame_that_reaches_nothing(page: Page) -> None:
    page.notebook.run_cell(PAGE_SHOWN)
    page.notebook.wait_text("A page of", cell=PAGE_SHOWN)
    page.notebook.wait_idle()
    frame = page.cell(PAGE_SHOWN).frame_locator("iframe.hnb-frame")
    frame.locator(".hnb-timeline .bars .point").first.wait_for(timeout=20_000)
    assert MONEY in frame.locator(".hnb-answer").inner_text()
    tall = page.cell(PAGE_SHOWN).locator(".jp-OutputArea").bounding_box()["height"]
    assert tall < 800
    page.shoot(PAGE_SHOWN, "as-page")


def test_saved_and_opened_again_it_says_the_same(page: Page) -> None:
    page.notebook.save()
    saved = json.loads((page.browser.lab.root / NAME).read_text(encoding="utf-8"))
    saved["cells"][SETUP]["source"] = "1"  # another content than the one that was signed: nothing is trusted
    saved["cells"] = saved["cells"][:MARKED]
    (page.browser.lab.root / f"copy-{NAME}").write_text(json.dumps(saved), encoding="utf-8")
    page.notebook.close()
    for name in (NAME, f"copy-{NAME}"):
        page.notebook = page.browser.open(name)
        for cell in (ASK, ANSWER, LAST):
            page.notebook.wait_text("It cost $5 and then $7", cell=cell)
            check(page, cell)
        for theme in ("light", "dark"):
            themed(page.notebook, theme)
            page.cell(ASK).screenshot(path=str(SCREENSHOTS / f"answer-{name.removesuffix('.ipynb')}-{theme}.png"))
    page.browser.assert_clean()
