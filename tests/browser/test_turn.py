"""The turn widget as a person meets it: streaming, a tool that plots, approvals, questions, stop and steer by click."""

from __future__ import annotations

import json
import time

import pytest

from hermes_nb.testing import Call, Fail, Hang, Say

from .turn_page import ANALYST, Page

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(400)]

NAME = "turn.ipynb"
CELLS = (
    ANALYST,
    "%%hermes run -a analyst -o answer\nWhich customers matter most, and why?",
    "%%hermes run -a analyst\nTell me a very long story.",
    "%%hermes run -a analyst\nClean the table up.",
    "%%hermes run -a analyst\nAsk me something.",
    "%%hermes run -a analyst\nWork slowly.",
    "%%hermes run -a analyst\nFail.",
    "%%hermes run -a analyst\nShow hostile things.",
    "def ask():\n    get_ipython().run_line_magic('hermes', 'run -a analyst Block.')\nask()",
    "%%hermes run -a analyst\nClean up, and again.",
)
SETUP, ASK, STOP, APPROVE, QUESTION, STEER, FAILED, HOSTILE, BLOCKED, ALWAYS = range(10)

ANSWER = """\
most: they bring **2,210** together.

| customer | revenue |
|---|---:|
| Ada | 1,200 |
| Barbara | 1,010 |

```python
import pandas as pd
df.nlargest(2, "revenue")  # the two
```

1. Ask Ada first.
2. Then Barbara."""
BAD = """<script>document.title = 'pwned'</script> <img src=x onerror="document.title='pwned'">
[here](javascript:document.title='pwned')
![x](https://example.org/x.png) [ok](https://example.org/)

<details open ontoggle=alert(1)>

```html
<script>document.title = 'pwned'</script>
```"""


LIVE_ROWS = """[...v.items.querySelectorAll('.hnbr-row')].map(row => [...row.children].map(e => e.textContent.trim()))"""
SAVED_ROWS = """html => [...new DOMParser().parseFromString(html, 'text/html').querySelectorAll('.hnb-step')].map(row =>
    [row.children[0], row.querySelector('summary, .hnb-one'), row.children[2]].map(e => e.textContent.trim()))"""


def test_text_streams_into_the_widget(page: Page) -> None:
    asked = Hang("Ada and Barbara matter ", ANSWER)
    page.run(ASK, Call("top_customers", {"n": 2}), asked)
    page.wait(ASK, "v?.state.answer.includes('Ada and Barbara matter')", timeout_s=60)
    assert page.notebook.is_running(ASK)
    assert page.status(ASK) == "running"
    assert page.js(ASK, "v.doing.textContent") == "writing"
    page.shoot(ASK, "streaming")
    asked.release()
    page.notebook.wait_idle()
    page.wait(ASK, "v?.state.head.status === 'ok'")
    page.wait(ASK, "v?.element.querySelector('.hnbr-answer table')")
    assert page.js(ASK, "v.element.querySelector('.hljs-keyword')?.textContent") == "import"
    assert page.notebook.error_outputs() == []
    page.shoot(ASK, "finished")


def test_a_tools_row_opens_to_arguments_result_and_what_it_printed(page: Page) -> None:
    assert page.js(ASK, "v.element.querySelector('.hnbr-step .hnbr-plots img').naturalWidth") > 50
    page.cell(ASK).get_by_text("top_customers").first.click()
    page.wait(ASK, "v?.element.querySelector('.hnbr-step details[open] .hnbr-technical')")
    opened = page.js(ASK, "v.element.querySelector('.hnbr-opened').innerText")
    for part in ("n\t2", "customer\trevenue", "Barbara\t1010", "looked at 2 customers"):
        assert part in opened
    assert "<Figure" not in opened
    assert page.cell(ASK).locator(".jp-OutputArea-child").count() == 1  # nothing of it below the answer
    page.shoot(ASK, "opened")
    page.cell(ASK).get_by_text("top_customers").first.click()


def test_each_row_is_one_line_in_a_narrow_window_and_aligned_durations(page: Page) -> None:
    page.notebook.page.set_viewport_size({"width": 480, "height": 1000})
    try:
        rows = page.js(ASK, "[...v.items.querySelectorAll('.hnbr-row')].map(r => r.getBoundingClientRect().height)")
        assert rows
        assert max(rows) <= 28
        assert page.js(ASK, "v.items.scrollWidth <= v.items.clientWidth")
    finally:
        page.notebook.page.set_viewport_size({"width": 1400, "height": 1000})


def test_code_goes_into_a_new_cell(page: Page) -> None:
    n = "jupyterapp.shell.currentWidget.content.widgets.length"
    before = page.js(ASK, n)
    page.button(ASK, "Insert as cell").click()
    page.wait(ASK, f"{n} === {before} + 1")
    source = page.js(ASK, f"jupyterapp.shell.currentWidget.content.widgets[{ASK + 1}].model.sharedModel.source")
    assert source == 'import pandas as pd\ndf.nlargest(2, "revenue")  # the two'
    page.js(ASK, f"jupyterapp.shell.currentWidget.context.model.sharedModel.deleteCell({ASK + 1})")


def test_copy_puts_the_answer_on_the_clipboard(page: Page) -> None:
    tab = page.notebook.page
    tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    tab.bring_to_front()
    for button, expected in (
        (page.button(ASK, "Copy"), "Ada and Barbara matter " + ANSWER),
        (page.button(ASK, "Copy the code"), 'import pandas as pd\ndf.nlargest(2, "revenue")  # the two'),
    ):
        tab.evaluate("() => navigator.clipboard.writeText('something else')")
        button.click()
        page.wait(ASK, "v.element.innerText.includes('Copied')", timeout_s=10)
        assert tab.evaluate("() => navigator.clipboard.readText()") == expected
        page.wait(ASK, "!v.element.innerText.includes('Copied')")


def test_stop_works_by_click_while_the_cell_runs(page: Page) -> None:
    page.run(STOP, Hang("Once upon a time ", "it was never told."))
    page.wait(STOP, "v?.state.answer.includes('Once upon a time')")
    began_s = time.monotonic()
    page.button(STOP, "Stop").click()
    page.wait(STOP, "v?.state.head.status === 'stopped'", timeout_s=10)
    assert time.monotonic() - began_s < 1
    page.notebook.wait_idle(timeout_s=10)
    assert [error.partition(":")[0] for error in page.notebook.error_outputs()] == ["KeyboardInterrupt"]
    assert "never told" not in page.notebook.outputs()[STOP]
    page.shoot(STOP, "stopped")


def test_an_approval_is_a_click(page: Page) -> None:
    call = Call("delete_rows", {"table": "orders", "n": 3})
    page.run(APPROVE, call, Call("delete_rows", {"table": "orders", "n": 4}), Say("Cleaned."))
    page.button(APPROVE, "Approve").wait_for(timeout=20_000)
    assert page.notebook.is_running(APPROVE)
    assert page.notebook.page.locator(".jp-Stdin-input").count() == 0
    page.shoot(APPROVE, "approval")
    # The second half of a double click, as fast as it can come: it is no answer to the question that comes then.
    page.notebook.page.evaluate(
        """() => new MutationObserver(all => all.flatMap(one => [...one.addedNodes])
            .forEach(node => node.querySelector?.('.hnbr-first')?.click())
        ).observe(document.querySelector('.jp-Notebook'), { childList: true, subtree: true })"""
    )
    page.button(APPROVE, "Approve").dblclick()
    page.cell(APPROVE).get_by_role("cell", name="4", exact=True).wait_for(timeout=20_000)
    page.button(APPROVE, "Deny").click()
    page.notebook.wait_idle(timeout_s=20)
    rows = page.js(APPROVE, "v.items.innerText")
    assert "3 rows of orders are gone" in rows
    assert "4 rows" not in rows
    assert "denied by you" in rows
    assert page.js(APPROVE, "v.items.children.length") == 3  # a row for each call, and the answer


def test_always_is_asked_once(page: Page) -> None:
    call = Call("delete_rows", {"table": "orders", "n": 7})
    page.run(ALWAYS, call, call, Say("Twice cleaned."))
    page.button(ALWAYS, "Always").click(timeout=20_000)
    page.notebook.wait_idle(timeout_s=20)
    page.wait(ALWAYS, "v?.state.answer === 'Twice cleaned.'")
    assert page.js(ALWAYS, "v.items.innerText").count("approved by you") == 1
    assert page.js(ALWAYS, "v.items.innerText").count("7 rows of orders are gone") == 2
    page.run(ALWAYS, call, Call("delete_rows", {"table": "orders", "n": 8}), Say("Cleaned once more."))
    page.button(ALWAYS, "Always").wait_for(timeout=20_000)  # other arguments are asked about
    rows = page.js(ALWAYS, "v.items.innerText")
    assert "7 rows of orders are gone" in rows
    assert "8 rows" not in rows
    page.button(ALWAYS, "Deny").click()
    page.notebook.wait_idle(timeout_s=20)


def test_a_question_is_answered_in_the_widget(page: Page) -> None:
    page.run(QUESTION, Call("clarify", {"question": "Which table?", "choices": ["orders", "customers"]}), Say("Thank you."))
    page.button(QUESTION, "customers").wait_for(timeout=20_000)
    page.shoot(QUESTION, "question")
    page.cell(QUESTION).get_by_label("Your answer").fill("neither")
    page.cell(QUESTION).get_by_label("Your answer").press("Enter")
    page.notebook.wait_idle(timeout_s=20)
    assert "neither" in page.js(QUESTION, "v.items.innerText")


def test_a_word_is_put_in_mid_turn(page: Page) -> None:
    page.run(STEER, Call("slow", {"seconds": 8}), Say("As you wish."))
    page.wait(STEER, "v?.doing.textContent === 'running slow'")
    page.shoot(STEER, "tool-running")
    page.button(STEER, "Steer").click()
    page.cell(STEER).get_by_label("Add a note for the model").fill("Be brief.")
    page.cell(STEER).get_by_label("Add a note for the model").press("Enter")
    page.notebook.wait_idle(timeout_s=20)
    page.wait(STEER, "v?.items.innerText.includes('Be brief.')")
    assert any("Be brief." in json.dumps(r.messages) for r in page.model.requests)


def test_a_failure_says_what_to_do_and_retry_asks_again(page: Page) -> None:
    page.run(FAILED, Fail(400, "The request is malformed."))
    page.wait(FAILED, "v?.state.head.status === 'error'", timeout_s=60)
    page.notebook.wait_idle()
    page.shoot(FAILED, "failed")
    assert any("TurnFailedError" in error for error in page.notebook.error_outputs())
    page.model.extend([Say("Better now.")])
    page.button(FAILED, "Retry").click()
    page.wait(FAILED, "v?.state.head.status === 'ok' && v.state.answer === 'Better now.'")
    gone = "c => c.model.type !== 'code' || c.model.outputs.toJSON().every(o => o.ename !== 'TurnFailedError')"
    is_gone = f"() => jupyterapp.shell.currentWidget.content.widgets.every({gone})"
    page.notebook.wait_for(is_gone, "the error that was retried away to go", timeout_s=10)
    assert page.js(FAILED, "v.element.isConnected")
    page.shoot(FAILED, "retried")
    page.notebook.save()
    saved = json.loads((page.browser.lab.root / NAME).read_text(encoding="utf-8"))["cells"][FAILED]["outputs"]
    assert [output["output_type"] for output in saved] == ["display_data"]
    assert "Better now." in json.dumps(saved)


def test_saved_it_has_the_rows_it_had_live(page: Page) -> None:
    live = {cell: page.js(cell, LIVE_ROWS) for cell in (ASK, APPROVE, QUESTION)}
    page.notebook.save()
    saved = json.loads((page.browser.lab.root / NAME).read_text(encoding="utf-8"))["cells"]
    for cell, rows in live.items():
        forms = next(o["data"] for o in saved[cell]["outputs"] if "text/html" in o.get("data", {}))
        assert rows
        assert page.notebook.page.evaluate(SAVED_ROWS, "".join(forms["text/html"])) == rows
    asked = [output["data"] for output in saved[ASK]["outputs"]]
    assert len(asked) == 1
    for part in ('<img class="hnb-picture" src="data:image/png;base64,', "looked at 2 customers"):
        assert part in "".join(asked[0]["text/html"])


def test_fork_here_starts_a_conversation(page: Page) -> None:
    page.button(ASK, "Fork here").click()
    page.wait(ASK, "v?.said.textContent.includes('goes on from here')")


def test_hostile_text_is_text(page: Page) -> None:
    page.run(HOSTILE, Say(BAD, deltas=40))
    page.notebook.wait_idle()
    page.wait(HOSTILE, "v?.state.head.status === 'ok'")
    assert page.js(HOSTILE, "v.element.querySelectorAll('script, img, iframe, .hnbr-answer details').length") == 0
    assert page.js(HOSTILE, "[...v.element.querySelectorAll('.hnbr-answer a')].map(a => a.protocol)") == ["https:", "https:"]
    assert "pwned" not in page.notebook.page.title()


def test_stop_works_by_click_in_a_cell_that_blocks(page: Page) -> None:
    page.run(BLOCKED, Call("slow", {"seconds": 60}))
    page.wait(BLOCKED, "v?.doing.textContent === 'running slow'")
    page.button(BLOCKED, "Stop").click()
    page.wait(BLOCKED, "v?.state.head.status === 'stopped'", timeout_s=5)
    page.notebook.wait_idle(timeout_s=10)


def test_the_page_was_clean(page: Page) -> None:
    page.browser.assert_clean()
