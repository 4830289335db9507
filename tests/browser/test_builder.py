"""The agent builder as a person meets it: filled in, corrected, made, run; in two views, after a restart, reopened."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from hermes_nb.testing import Call, Say, ScriptedModel

from .axe import findings
from .lab import LabServer
from .nbcheck import Browser, Notebook
from .test_run import SCREENSHOTS, contrasts, write_notebook
from .test_timeline import themed

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(400)]

NAME = "builder.ipynb"
SETUP, FORM, MADE, ASK, COUNT, TAB, COUNTED = range(7)  # MADE comes in between with the first click
VIEW = "document.querySelector('.hnbs').hnbs"
# What a click carries stays what the view saw until then; and it sees again.
DEAF = "Object.defineProperty(v, 'data', { value: v.data, configurable: true })"
HEARS = "(delete v.data, v.draw())"
KEY = "sk-builder-0123456789abcdef"

CELLS = (
    '''\
%load_ext hermes_nb
import threading
from hermes_nb import tool

@tool
def top_customers(n: int = 3) -> list[dict]:
    """Customers with the highest revenue.

    Args:
        n: How many.
    """
    return [{"customer": "Ada", "revenue": 1200}, {"customer": "Barbara", "revenue": 1010}][:n]

def total(values: list[float]) -> float:
    """The sum of some numbers."""
    return sum(values)

def wait_for(lock: threading.Lock) -> None:
    """Waits."""

sales = [1, 2, 3]''',
    "%hermes agent --ui",
    "%%hermes run -a analyst\nWho matters most?",
    """\
from hermes_nb.widgets.builder import AgentBuilder

heard, create = [], AgentBuilder._create

def counted(self, *given):
    heard.append(given)
    return create(self, *given)

AgentBuilder._create = counted""",
    """\
from ipywidgets.widgets.widget import _instances
next(w for w in _instances.values() if "choices" in getattr(w, "data", {}))""",
    "print(len(heard), 'heard')",
)


@dataclass
class Page:
    notebook: Notebook
    browser: Browser
    model: ScriptedModel

    @property
    def form(self) -> Any:
        return self.notebook.page.locator(".jp-Notebook .jp-Cell").nth(FORM).locator(".hnbs").first

    def field(self, label: str) -> Any:
        return self.form.get_by_label(label, exact=True)

    def click(self, name: str) -> None:
        self.form.get_by_role("button", name=name, exact=True).click()

    def sources(self) -> list[str]:
        sources: list[str] = self.notebook.page.evaluate(
            "() => jupyterapp.shell.currentWidget.content.widgets.map(c => c.model.sharedModel.getSource())"
        )
        return sources

    def wait(self, script: str, what: str) -> None:
        view = "document.querySelector('.hnbs')?.hnbs"
        self.notebook.wait_for(f"() => {{ const v = {view}; return {script}; }}", what, timeout_s=30)

    def shoot(self, name: str, *, cell: int = FORM) -> None:
        page = self.notebook.page
        page.mouse.move(0, 0)
        area = page.locator(".jp-Notebook .jp-Cell").nth(cell)
        for theme in ("light", "dark"):
            themed(self.notebook, theme)
            area.scroll_into_view_if_needed()
            page.wait_for_timeout(300)  # Lab fades
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            area.screenshot(path=str(SCREENSHOTS / f"builder-{name}-{theme}.png"))
            assert contrasts(self.notebook, cell) == []
        themed(self.notebook, "light")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("notebooks")
    with ScriptedModel([Call("top_customers", {"n": 1}), Say("Ada matters most."), Say("Ada still does.")]) as model:
        write_notebook(folder / NAME, list(CELLS))
        env = {"BUILDER_KEY": KEY, "OPENROUTER_API_KEY": "sk-or-v1-0123456789abcdef0123456789"}
        with LabServer(folder, env=env) as lab, Browser(lab, height=2100) as browser:
            notebook = browser.open(NAME)
            notebook.run_cell(SETUP)
            notebook.wait_idle()
            notebook.run_cell(FORM)
            notebook.wait_text("New agent", cell=FORM)
            notebook.wait_idle()
            yield Page(notebook, browser, model)


def test_it_offers_what_the_notebook_has(page: Page) -> None:
    text = page.notebook.outputs()[FORM]
    for shown in ("top_customers", "(n: int = 3) -> list[dict]", "Customers with the highest revenue.", "total"):
        assert shown in text
    assert "can't be a tool" in text
    assert "no JSON schema can describe" in text
    assert "Runs shell commands as you" in text
    models = page.field("Model").locator("option").all_inner_texts()
    assert models[0] == "Default: anthropic/claude-sonnet-5 (openrouter)"
    assert "Offline model (embedded)" in models
    page.shoot("empty")


def test_what_is_wrong_stands_beside_its_field(page: Page) -> None:
    page.field("Name").fill("1 agent")
    page.field("Model").select_option("other")
    page.field("Name of the model").fill("scripted")
    page.field("Endpoint (optional)").fill("somewhere")
    page.field("Variable with the key (optional)").fill(KEY)
    page.field("Max. model calls of a turn").fill("many")
    page.click("Create agent")
    page.notebook.wait_text("fields need a look", cell=FORM)
    text = page.notebook.outputs()[FORM]
    for said in ("can't be used. Use a letter", "is no address", "This looks like a key", "whole number of 1 or more"):
        assert said in text
    assert page.field("Name").get_attribute("aria-invalid") == "true"
    assert page.notebook.page.evaluate("document.activeElement.name") == "name"
    assert page.field("Variable with the key (optional)").input_value() == ""  # a key does not stay on the screen
    page.shoot("errors")


def test_the_agent_is_made_and_its_code_is_in_a_new_cell(page: Page) -> None:
    page.field("Name").fill("analyst")
    page.wait("v.state.textContent.includes('3 fields need a look')", "one field less")
    page.field("Endpoint (optional)").fill(page.model.base_url)
    page.field("Variable with the key (optional)").fill("BUILDER_KEY")
    page.field("Instructions").fill('Answer from the data.\nBe brief: it\'s "urgent".')
    page.field("Max. model calls of a turn").fill("12")
    page.field("Max. cost of a session, US$").fill("0.50")
    page.form.locator("input[data-set=tools][value=total]").check()
    page.form.locator("input[data-set=toolsets][value=todo]").check()
    page.wait("v.preview.textContent.includes('top_customers, total')", "the code of the form")
    assert page.notebook.page.evaluate(f"{VIEW}.state.textContent") == ""
    page.shoot("filled")
    page.click("Create agent")
    page.notebook.wait_text("It is in the new cell below.", cell=FORM)
    assert page.notebook.page.evaluate("document.activeElement.textContent") == "Change agent"  # the focus stays
    assert "Agent analyst is bound" in page.notebook.outputs()[FORM]
    code = page.sources()[MADE]
    assert code == (
        'import os\n\nfrom hermes_nb import Agent, Model\n\nanalyst = Agent(\n    "analyst",\n    instructions=(\n'
        '        "Answer from the data.\\n"\n        \'Be brief: it\\\'s "urgent".\'\n    ),\n'
        f'    model=Model(\n        "scripted",\n        "custom",\n        "{page.model.base_url}",\n'
        '        api_key=os.environ["BUILDER_KEY"],\n    ),\n'
        '    tools=[top_customers, total],\n    toolsets=["todo"],\n    max_turns=12,\n'
        '    session_options={"max_cost_usd": 0.5},\n)\n%hermes agent analyst'
    )
    page.shoot("created")


def test_the_live_agent_and_the_code_are_the_same_agent(page: Page) -> None:
    page.notebook.run_cell(MADE)
    page.notebook.wait_text("nothing since it was last bound", cell=MADE)
    page.notebook.wait_idle()
    assert page.notebook.error_outputs() == []


def test_a_change_goes_into_the_same_cell_and_keeps_the_conversation(page: Page) -> None:
    n_cells = len(page.sources())
    page.field("Max. model calls of a turn").fill("7")
    page.field("Max. cost of a session, US$").fill("")  # a call of this model has no known price
    page.click("Change agent")
    page.wait("v.data.n === 2", "the agent to be changed")
    source = f"jupyterapp.shell.currentWidget.content.widgets[{MADE}].model.sharedModel.getSource()"
    page.notebook.wait_for(f"() => {source}.includes('max_turns=7')", "the code to be changed", timeout_s=10)
    assert len(page.sources()) == n_cells


def test_who_was_made_answers_with_its_tools(page: Page) -> None:
    page.notebook.run_cell(MADE)
    page.notebook.wait_idle()
    page.notebook.run_cell(ASK)
    page.notebook.wait_text("Ada matters most.", cell=ASK)
    page.notebook.wait_idle()
    assert page.notebook.error_outputs() == []
    shown = page.notebook.outputs()[ASK]
    assert "top_customers" in shown
    assert "→ 1 row × 2 columns" in shown
    first = page.model.requests[0]
    said = [m["content"] for m in first.messages if m["role"] == "system"]
    assert 'Answer from the data.\nBe brief: it\'s "urgent".' in said[0]
    offered = {tool["function"]["name"] for tool in first.body["tools"]}
    assert {"top_customers", "total", "todo"} <= offered
    page.shoot("answered", cell=ASK)


def test_two_views_make_one_agent(page: Page) -> None:
    """The second view of the notebook has the same form; both click before either has heard of the other."""
    page.notebook.command("docmanager:clone")
    views = "[...document.querySelectorAll('.hnbs')].map(e => e.hnbs).filter(v => v.form && v.fieldsets)"
    page.notebook.wait_for(f"() => {views}.length === 2", "two views of the form", timeout_s=30)
    n_before = page.notebook.page.evaluate(f"() => {views}[0].data.n")
    page.notebook.page.evaluate(f"() => {views}.forEach(v => v._create())")
    is_refused = "v => v.state.textContent.includes('Another view')"
    page.notebook.wait_for(f"() => {views}.some({is_refused})", "one to be refused", timeout_s=30)
    assert page.notebook.page.evaluate(f"() => {views}.map(v => v.data.n)") == [n_before + 1] * 2
    page.notebook.page.evaluate("() => { [...jupyterapp.shell.widgets('main')].at(-1).close(); }")
    page.notebook.wait_for(f"() => {views}.length === 1", "one view again", timeout_s=30)


def test_two_tabs_on_one_kernel_make_one_agent(page: Page) -> None:
    page.notebook.run_cell(COUNT)
    page.notebook.wait_idle()
    other = Page(page.browser.open(NAME), page.browser, page.model)
    n_cells = [len(tab.sources()) for tab in (page, other)]
    other.notebook.run_cell(TAB - 1)  # its copy of the notebook was opened without the new cell
    for tab in (page, other):
        tab.wait("v?.data.created && !v.isDead", "the form")
    n_before = page.notebook.page.evaluate(f"{VIEW}.data.n")
    for script in (DEAF, "v._create()", HEARS):  # each clicks before it has heard of the other
        for tab in (page, other):
            tab.notebook.page.evaluate(f"() => {{ const v = {VIEW}; {script}; }}")
    for tab in (page, other):
        tab.wait(f"v.data.n === {n_before + 1}", "one agent")
    other.notebook.run_cell(COUNTED - 1)
    other.notebook.wait_text("2 heard", cell=COUNTED - 1)  # each click once
    said = [tab.notebook.page.evaluate(f"{VIEW}.state.textContent") for tab in (page, other)]
    assert sum("Another view" in text for text in said) == 1
    n_new = sum(len(tab.sources()) - n for tab, n in zip((page, other), n_cells, strict=True))
    assert n_new <= 1  # the code goes to who clicked first, and to nobody else
    other.notebook.page.close(run_before_unload=False)
    page.notebook.page.bring_to_front()


def test_a_narrow_window_still_fits(page: Page) -> None:
    page.notebook.page.set_viewport_size({"width": 560, "height": 2100})
    page.wait("v.root.classList.contains('hnbs-narrow') && v.root.scrollWidth <= v.root.clientWidth + 1", "the narrow form")
    page.shoot("narrow")
    page.notebook.page.set_viewport_size({"width": 1400, "height": 2100})


def test_no_serious_finding_of_axe(page: Page) -> None:
    for theme in ("light", "dark"):
        themed(page.notebook, theme)
        assert findings(page.notebook, ".hnbs") == []
    themed(page.notebook, "light")


def test_after_a_restart_it_says_that_it_is_dead_and_is_still_of_use(page: Page) -> None:
    settle(page.notebook)
    page.notebook.restart()
    page.notebook.wait_text("The kernel was restarted: agent analyst is gone with it", cell=FORM)
    assert page.form.get_by_role("button", name="Change agent").is_disabled()
    page.click("Copy The agent's code")
    page.shoot("restarted")


def test_the_code_runs_in_the_new_kernel(page: Page) -> None:
    page.notebook.run_cell(SETUP)
    page.notebook.wait_idle()
    page.notebook.run_cell(MADE)
    page.notebook.wait_text("Promote to Flyte", cell=MADE)  # the card's widget is there
    page.notebook.wait_idle()
    page.notebook.run_cell(ASK)
    page.notebook.wait_text("Ada still does.", cell=ASK)
    page.notebook.wait_idle()
    assert page.notebook.error_outputs() == []
    settle(page.notebook)


def test_saved_and_reopened_without_a_kernel_it_is_static(page: Page) -> None:
    page.notebook.save()
    saved = (page.browser.lab.root / NAME).read_text(encoding="utf-8")
    assert KEY not in saved
    (output,) = json.loads(saved)["cells"][FORM]["outputs"]
    assert sorted(output["data"]) == ["text/html", "text/plain"]
    page.browser.assert_clean()
    page.notebook.close()
    page.notebook = page.browser.open(NAME)
    page.notebook.wait_text("analyst = Agent(", cell=FORM)
    assert page.notebook.page.evaluate("document.querySelectorAll('.hnbs').length") == 0
    page.shoot("reopened")


def test_the_page_was_clean(page: Page) -> None:
    page.browser.assert_clean()


def settle(notebook: Notebook) -> None:
    """Wait until the kernel has answered what was asked of it.

    JupyterLab 4.6 asks for a subshell for each new comm, and logs an error when its kernel ends before that is answered.
    """
    notebook.page.evaluate(
        """async () => { const kernel = jupyterapp.shell.currentWidget.sessionContext.session.kernel;
        await kernel.requestKernelInfo(); await kernel.requestCommInfo({}); }"""
    )
