"""The turn widget as a person meets it: streaming, a tool that plots, approvals, questions, stop and steer by click."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_nb.testing import Call, Fail, Hang, Say, ScriptedModel, Step

from .lab import LabServer
from .nbcheck import Browser, Notebook
from .test_run import SCREENSHOTS, contrasts, write_notebook
from .test_timeline import themed

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(400)]

NAME = "turn.ipynb"
CELLS = (
    '''\
%load_ext hermes_nb
import time
from hermes_nb import Agent, Model, tool

@tool
def top_customers(n: int = 3) -> list[dict]:
    """Customers with the highest revenue."""
    import matplotlib.pyplot as plt
    plt.figure(figsize=(3, 2)); plt.bar(["Ada", "Barbara"], [1200, 1010])
    print("looked at 2 customers")
    return [{"customer": "Ada", "revenue": 1200}, {"customer": "Barbara", "revenue": 1010}][:n]

@tool(approval=True)
def delete_rows(table: str, n: int) -> str:
    """Delete rows."""
    return f"{n} rows of {table} are gone"

@tool
def slow(seconds: float) -> str:
    """Take a while."""
    time.sleep(seconds)
    return "done"

analyst = Agent("analyst", instructions="Answer from the data.", tools=[top_customers, delete_rows, slow],
                toolsets=["clarify"], model=Model("scripted", "custom", base_url="BASE_URL"))
%hermes agent analyst''',
    "%%hermes run -a analyst -o answer\nWhich customers matter most, and why?",
    "%%hermes run -a analyst\nTell me a very long story.",
    "%%hermes run -a analyst\nClean the table up.",
    "%%hermes run -a analyst\nAsk me something.",
    "%%hermes run -a analyst\nWork slowly.",
    "%%hermes run -a analyst\nFail.",
    "%%hermes run -a analyst\nShow hostile things.",
    "def ask():\n    get_ipython().run_line_magic('hermes', 'run -a analyst Block.')\nask()",
)
SETUP, ASK, STOP, APPROVE, QUESTION, STEER, FAILED, HOSTILE, BLOCKED = range(9)

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


class Page:
    """The notebook; `cell(n)` is its n-th cell, `js` evaluates an expression with `v`, the view of a cell."""

    def __init__(self, notebook: Notebook, browser: Browser, model: ScriptedModel) -> None:
        self.notebook, self.browser, self.model = notebook, browser, model

    def cell(self, cell: int) -> Any:
        return self.notebook.page.locator(".jp-Notebook .jp-Cell").nth(cell)

    def button(self, cell: int, name: str) -> Any:
        return self.cell(cell).get_by_role("button", name=name, exact=True)

    def cell_view(self, cell: int) -> str:
        """What names the view of a cell `v`."""
        root = f"[...document.querySelectorAll('.jp-Notebook .jp-Cell')][{cell}]?.querySelector('.hnbr-turn')"
        return f"const v = {root}?.hnbr;"

    def js(self, cell: int, expression: str) -> Any:
        return self.notebook.page.evaluate(f"() => {{ {self.cell_view(cell)} return {expression}; }}")

    def wait(self, cell: int, expression: str, *, timeout_s: float = 30) -> None:
        script = f"() => {{ {self.cell_view(cell)} return {expression}; }}"
        self.notebook.wait_for(script, f"{expression} in cell {cell}", timeout_s=timeout_s)

    def run(self, cell: int, *steps: Step) -> None:
        self.model.extend(steps)
        self.notebook.run_cell(cell)

    def status(self, cell: int) -> str:
        return str(self.js(cell, "v.state.head.status"))

    def shoot(self, cell: int, name: str) -> None:
        page = self.notebook.page
        for theme in ("light", "dark"):
            themed(self.notebook, theme)
            page.mouse.move(0, 0)
            self.cell(cell).scroll_into_view_if_needed()
            page.wait_for_timeout(300)  # Lab fades
            path = SCREENSHOTS / f"turn-{name}-{theme}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            self.cell(cell).screenshot(path=str(path))
            assert contrasts(self.notebook, cell) == []
        themed(self.notebook, "light")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("notebooks")
    with ScriptedModel([]) as model:
        write_notebook(folder / NAME, [cell.replace("BASE_URL", model.base_url) for cell in CELLS])
        with LabServer(folder) as lab, Browser(lab) as browser:
            notebook = browser.open(NAME)
            notebook.run_cell(SETUP)
            notebook.wait_text("analyst", cell=SETUP)
            notebook.wait_idle()
            yield Page(notebook, browser, model)


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


def test_a_tools_row_opens_to_arguments_result_and_plot(page: Page) -> None:
    page.cell(ASK).get_by_text("top_customers").first.click()
    page.wait(ASK, "v?.element.querySelector('.hnbr-tool[open] img')?.naturalWidth > 50")
    opened = page.js(ASK, "v.element.querySelector('.hnbr-opened').innerText")
    assert '"n": 2' in opened
    assert "Barbara" in opened
    assert "looked at 2 customers" in opened
    page.shoot(ASK, "opened")
    page.cell(ASK).get_by_text("top_customers").first.click()


def test_code_goes_into_a_new_cell(page: Page) -> None:
    n = "jupyterapp.shell.currentWidget.content.widgets.length"
    before = page.js(ASK, n)
    page.button(ASK, "Insert as cell").click()
    page.wait(ASK, f"{n} === {before} + 1")
    source = page.js(ASK, f"jupyterapp.shell.currentWidget.content.widgets[{ASK + 1}].model.sharedModel.source")
    assert source == 'import pandas as pd\ndf.nlargest(2, "revenue")  # the two'
    page.js(ASK, f"jupyterapp.shell.currentWidget.context.model.sharedModel.deleteCell({ASK + 1})")


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
    page.button(APPROVE, "Approve").dblclick()
    page.notebook.page.get_by_text('"n": 4').first.wait_for(timeout=20_000)
    page.button(APPROVE, "Deny").click()
    page.notebook.wait_idle(timeout_s=20)
    rows = page.js(APPROVE, "v.items.innerText")
    assert "3 rows of orders are gone" in rows
    assert "4 rows" not in rows
    assert "denied" in rows


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
    page.cell(STEER).get_by_label("A word to the model while it works").fill("Be brief.")
    page.cell(STEER).get_by_label("A word to the model while it works").press("Enter")
    page.notebook.wait_idle(timeout_s=20)
    page.wait(STEER, "v?.items.innerText.includes('Be brief.')")
    assert any("Be brief." in json.dumps(r.messages) for r in page.model.requests)


def test_a_failure_says_what_to_do_and_retry_asks_again(page: Page) -> None:
    page.run(FAILED, Fail(400, "The request is malformed."))
    page.wait(FAILED, "v?.state.head.status === 'error'", timeout_s=60)
    page.notebook.wait_idle()
    page.shoot(FAILED, "failed")
    page.model.extend([Say("Better now.")])
    page.button(FAILED, "Retry").click()
    page.wait(FAILED, "v?.state.head.status === 'ok' && v.state.answer === 'Better now.'")


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
