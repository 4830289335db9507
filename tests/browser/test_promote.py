"""Promotion as a person meets it: the card's button, what stands in the way, the run on the loopback plane, its report."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.testing import Fail, Hang, ScriptedModel
from tests.flyte.conftest import FOREIGN, missing
from tests.flyte.scripts import TWO_CITIES, n_replies

from .axe import findings
from .lab import LabServer
from .nbcheck import Browser, Notebook
from .test_builder import DEAF, HEARS, settle
from .test_run import SCREENSHOTS, contrasts, write_notebook
from .test_timeline import themed

pytestmark = [
    pytest.mark.browser,
    pytest.mark.kernel,
    pytest.mark.hermes,
    pytest.mark.flyte,
    pytest.mark.timeout(500),
    pytest.mark.skipif(missing() is not None, reason=missing() or ""),
    *map(pytest.mark.filterwarnings, FOREIGN),
]

NAME = "promote.ipynb"
SETUP, TOOLS, CARD, PROMOTE, ASKED, REFUSE, ALLOW, FORKED, COUNT, TAB, COUNTED = range(11)
KEY = "sk-scripted-0123456789abcdef"

CELLS = (
    """\
%load_ext hermes_nb
import threading
import flyte
from hermes_nb import Agent, Model, tool
from hermes_nb.flyte import Flyte
flyte.init(**INIT)
cluster = Flyte(secrets={"HERMES_NB_MODEL_KEY": "model-key"}, allow=["loopback-model"])
model = Model("scripted", "custom", "BASE_URL", "KEY")""",
    '''\
table = {"Paris": 21, "Rome": 25}
lock = threading.Lock()

@tool
def get_weather(city: str) -> dict:
    """Weather of a city."""
    with lock:
        return {"city": city, "celsius": table[city]}

analyst = Agent("analyst", "Be brief.", model, tools=[get_weather])''',
    "%hermes agent analyst",
    "%hermes promote analyst --ui",
    "%%hermes run -a analyst\nWeather in Paris and in Rome?",
    """\
from hermes_nb.errors import UsageError
from hermes_nb.flyte.promotion import submission

submit_plan = submission.submit_plan

def refuse(*_):
    raise UsageError("No room there.")

submission.submit_plan = refuse""",
    "submission.submit_plan = submit_plan",
    "%%hermes run -a analyst\nAnd tomorrow?",
    """\
from hermes_nb.widgets.promote import Promotion

heard, submit = [], Promotion._submit

def counted(self, *given):
    heard.append(given)
    submit(self, *given)

Promotion._submit = counted""",
    """\
from ipywidgets.widgets.widget import _instances
forms = [w for w in _instances.values() if "plan" in getattr(w, "data", {})]
next(w for w in forms if not w.data["is_aside"] and not w.data["card"])""",
    "print(len(heard), 'heard')",
)


@dataclass
class Page:
    notebook: Notebook
    browser: Browser
    plane: Any
    model: ScriptedModel
    hang: Hang
    steps: list[Any]

    def area(self, cell: int) -> Any:
        return self.notebook.page.locator(".jp-Notebook .jp-Cell").nth(cell).locator(".hnbs").first

    def turn_button(self, name: str, *, cell: int = ASKED) -> Any:
        turn = self.notebook.page.locator(".jp-Notebook:visible .jp-Cell").nth(cell).locator(".hnbr-turn")
        return turn.get_by_role("button", name=name, exact=True)

    def click(self, cell: int, name: str) -> None:
        self.area(cell).get_by_role("button", name=name, exact=True).click()

    def js(self, cell: int, expression: str) -> Any:
        return self.notebook.page.evaluate(f"() => {{ {_view(cell)} return {expression}; }}")

    def wait(self, cell: int, expression: str, *, timeout_s: float = 60) -> None:
        script = f"() => {{ {_view(cell)} return v && ({expression}); }}"
        self.notebook.wait_for(script, f"{expression} in {cell}", timeout_s=timeout_s)

    @property
    def panel(self) -> Any:
        return self.notebook.page.locator("#hermes-nb-panel")

    def wait_panel(self, *texts: str) -> None:
        """Wait until a row of the panel has all of these."""
        rows = "[...document.querySelectorAll('#hermes-nb-panel li')]"
        script = f"() => {rows}.some(li => {json.dumps(texts)}.every(t => li.innerText.includes(t)))"
        self.notebook.wait_for(script, f"{texts} in {self.panel.inner_text()!r}", timeout_s=30)

    def shoot_panel(self, name: str) -> None:
        for theme in ("light", "dark"):
            themed(self.notebook, theme)
            self.notebook.page.mouse.move(0, 0)
            self.notebook.page.wait_for_timeout(300)  # Lab fades
            self.notebook.screenshot(SCREENSHOTS / f"panel-{name}-{theme}.png")
            assert findings(self.notebook, "#hermes-nb-panel") == []
        themed(self.notebook, "light")

    def shoot(self, cell: int, name: str) -> None:
        page = self.notebook.page
        page.mouse.move(0, 0)
        area = page.locator(".jp-Notebook .jp-Cell").nth(cell)
        for theme in ("light", "dark"):
            themed(self.notebook, theme)
            area.scroll_into_view_if_needed()
            page.wait_for_timeout(300)  # Lab fades
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            area.screenshot(path=str(SCREENSHOTS / f"promote-{name}-{theme}.png"))
            assert contrasts(self.notebook, cell) == []
            assert findings(self.notebook, ".hnbs") == []
        themed(self.notebook, "light")


def _view(cell: int) -> str:
    return f"const v = [...document.querySelectorAll('.jp-Notebook .jp-Cell')][{cell}].querySelector('.hnbs')?.hnbs;"


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    from tests.flyte.loopback import LoopbackPlane

    folder, home = tmp_path_factory.mktemp("notebooks"), tmp_path_factory.mktemp("home")
    hang = Hang("Both ", "sunny.")
    steps: list[Any] = [*TWO_CITIES[:-1], hang]

    def step(request: Any) -> Any:
        asked = [m for m in request.body["messages"] if m["role"] == "user"][-1]["content"]
        if "fail" in asked:
            return Fail(401, "Incorrect API key provided.")
        return steps[min(n_replies(request), len(steps) - 1)]

    logger = logging.getLogger("flyte")
    with contextlib.ExitStack() as stack:
        stack.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.ERROR)
        env = {"HOME": str(home), "DO_NOT_TRACK": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        for name, value in env.items():
            patch.setenv(name, value)
        plane = stack.enter_context(LoopbackPlane(env={"OPENAI_API_KEY": "sk-test"}, secrets={"model-key": KEY}))
        model = stack.enter_context(ScriptedModel(step))
        init = repr(plane.init_kwargs())
        cells = [c.replace("INIT", init).replace("BASE_URL", model.base_url).replace('"KEY"', f'"{KEY}"') for c in CELLS]
        write_notebook(folder / NAME, cells)
        lab = stack.enter_context(LabServer(folder, env=env, lab_extension=True))
        browser = stack.enter_context(Browser(lab, height=1400))
        notebook = browser.open(NAME)
        for cell in (SETUP, TOOLS, CARD):
            notebook.run_cell(cell)
            notebook.wait_idle()
        assert notebook.error_outputs() == []
        yield Page(notebook, browser, plane, model, hang, steps)


def test_the_card_has_its_button(page: Page) -> None:
    page.wait(CARD, "v.opener.textContent === 'Promote to Flyte'")
    text = page.notebook.outputs()[CARD]
    assert "Agent analyst" in text
    assert "get_weather (Weather of a city.)" in text
    page.shoot(CARD, "card")


def test_what_stands_in_the_way_is_listed_with_a_jump_to_its_cell(page: Page) -> None:
    page.click(CARD, "Promote to Flyte")
    page.wait(CARD, "!v.data.is_looking && v.data.plan && !v.found.textContent.includes('Checking')")
    text = page.notebook.outputs()[CARD]
    assert "1 problem to fix" in text
    assert "Variable 'lock' is a _thread.lock" in text
    assert "Make it inside the function" in text
    assert page.js(CARD, "v.submit.disabled") is True
    page.shoot(CARD, "findings")
    page.notebook.page.evaluate("() => { jupyterapp.shell.currentWidget.content.node.scrollTop = 1e6; }")
    page.click(CARD, "Go to cell [2]")
    cell = "[...document.querySelectorAll('.jp-Notebook .jp-Cell')][1]"
    page.notebook.wait_for(f"() => document.activeElement === {cell}", "the cell to have the focus", timeout_s=10)


def test_a_cell_that_is_not_there_is_told_instead(page: Page) -> None:
    source = page.js(CARD, "jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.getSource()")
    mended = source.replace("lock = threading.Lock()\n", "").replace("    with lock:\n        return", "    return")
    page.js(CARD, f"jupyterapp.shell.currentWidget.content.widgets[1].model.sharedModel.setSource({json.dumps(mended)})")
    page.notebook.run_cell(TOOLS)
    page.notebook.wait_idle()
    page.click(CARD, "Go to cell [2]")
    page.notebook.wait_text("No cell on this page has the number [2] now", cell=CARD)


def test_mended_it_runs_to_its_report(page: Page) -> None:
    page.notebook.run_cell(PROMOTE)
    page.wait(PROMOTE, "v.data.plan?.may_submit && !v.submit.disabled")
    assert "Ready to run" in page.notebook.outputs()[PROMOTE]
    page.click(PROMOTE, "Submit the run")
    page.notebook.wait_text("Write what the agent is asked there", cell=PROMOTE)
    question = page.area(PROMOTE).get_by_label("Question")
    assert question.get_attribute("aria-invalid") == "true"
    question.fill("Weather in Paris and Rome?")
    assert "Write what the agent is asked" not in page.notebook.outputs()[PROMOTE]
    assert question.get_attribute("aria-invalid") is None
    page.shoot(PROMOTE, "clean")
    page.click(PROMOTE, "Submit the run")
    page.wait(PROMOTE, "v.data.progress?.run && v.data.progress.n_tool_calls === 2", timeout_s=120)
    assert page.js(PROMOTE, "[...v.run.querySelectorAll('[aria-current=step]')].map(e => e.textContent)") == ["Running"]
    assert page.js(PROMOTE, "document.activeElement.textContent") == "Stop the run"  # where the focus was is gone
    page.shoot(PROMOTE, "running")
    page.hang.release()
    page.wait(PROMOTE, "v.data.progress.is_done && v.data.has_report", timeout_s=120)
    assert page.js(PROMOTE, "document.activeElement.textContent") == "Show the report"
    page.notebook.wait_text("Both sunny.", cell=PROMOTE)
    page.click(PROMOTE, "Show the report")
    frame = page.area(PROMOTE).frame_locator("iframe")
    frame.get_by_text("final answer").first.wait_for(timeout=20_000)
    page.shoot(PROMOTE, "finished")
    assert len(page.plane.store.runs) == 1
    (name,) = page.plane.store.runs
    assert name in page.notebook.outputs()[PROMOTE]


def test_what_was_refused_is_said_until_something_is_changed(page: Page) -> None:
    page.notebook.run_cell(REFUSE)
    page.notebook.wait_idle()
    page.click(PROMOTE, "Promote again")
    page.wait(PROMOTE, "!v.data.progress && v.data.plan?.may_submit && !v.submit.disabled")
    for text in ("Weather there?", "Weather here?"):  # the same error again is shown again
        page.area(PROMOTE).get_by_label("Question").fill(text)
        page.wait(PROMOTE, "!v.root.innerText.includes('No room there.') && !v.root.innerText.includes('Submitting')")
        page.click(PROMOTE, "Submit the run")
        page.notebook.wait_text("No room there.", cell=PROMOTE)
        assert "Ready to run" in page.notebook.outputs()[PROMOTE]
    page.area(PROMOTE).get_by_label("Where", exact=True).select_option("flyte:local")
    page.wait(PROMOTE, "!v.root.innerText.includes('No room there.')")
    page.area(PROMOTE).get_by_label("Where", exact=True).select_option("cluster")
    page.wait(PROMOTE, "v.data.plan?.may_submit && !v.submit.disabled")
    page.notebook.run_cell(ALLOW)
    page.notebook.wait_idle()


def test_two_views_submit_one_run(page: Page) -> None:
    page.notebook.command("docmanager:clone")
    views = "[...document.querySelectorAll('.hnbs')].map(e => e.hnbs).filter(v => !v.data.card)"
    are_ready = f"{views}.length === 2 && {views}.every(v => !v.submit.disabled)"
    page.notebook.wait_for(f"() => {are_ready}", "two views", timeout_s=30)
    n_before = len(page.plane.store.runs)
    page.notebook.page.evaluate(f"() => {views}.forEach(v => {{ v.inputs.prompt.value = 'Please fail.'; v._submit(); }})")
    page.notebook.wait_for(f"() => {views}.every(v => v.data.progress?.is_done)", "the end of the run", timeout_s=180)
    assert len(page.plane.store.runs) == n_before + 1
    page.notebook.page.evaluate("() => { [...jupyterapp.shell.widgets('main')].at(-1).close(); }")
    page.notebook.wait_for(f"() => {views}.length === 1", "one view again", timeout_s=30)


def test_two_tabs_on_one_kernel_submit_one_run(page: Page) -> None:
    page.notebook.run_cell(COUNT)
    page.notebook.wait_idle()
    page.click(PROMOTE, "Promote again")
    other = Page(page.browser.open(NAME), page.browser, page.plane, page.model, page.hang, page.steps)
    other.notebook.run_cell(TAB)
    for tab, cell in ((page, PROMOTE), (other, TAB)):
        tab.wait(cell, "!v.data.progress && v.data.plan?.may_submit && !v.submit.disabled")
    n_before = len(page.plane.store.runs)
    for script in (DEAF, "(v.inputs.prompt.value = 'Please fail.', v._submit())", HEARS):
        for tab, cell in ((page, PROMOTE), (other, TAB)):  # each clicks before it has heard of the other
            tab.js(cell, f"({script}, 1)")
    for tab, cell in ((page, PROMOTE), (other, TAB)):
        tab.wait(cell, "v.data.progress?.is_done && v.data.has_report", timeout_s=180)
    assert len(page.plane.store.runs) == n_before + 1
    assert page.js(PROMOTE, "v.data.progress.run") == other.js(TAB, "v.data.progress.run")
    other.notebook.run_cell(COUNTED)
    other.notebook.wait_text("2 heard", cell=COUNTED)  # each click once
    other.notebook.page.close(run_before_unload=False)
    page.notebook.page.bring_to_front()


def test_a_run_that_fails_says_why(page: Page) -> None:
    text = page.notebook.outputs()[PROMOTE]
    assert "Failed" in text
    assert "401" in text or "key" in text
    assert KEY not in text
    page.shoot(PROMOTE, "failed")


def test_a_turn_that_runs_has_no_button_and_one_that_ended_has(page: Page) -> None:
    page.steps[-1] = held = Hang("Both ", "sunny.")
    page.notebook.run_cell(ASKED)
    page.notebook.wait_text("Both", cell=ASKED)
    page.turn_button("Stop").wait_for(timeout=20_000)
    assert page.turn_button("Promote to Flyte").count() == 0
    held.release()
    page.notebook.wait_text("sunny.", cell=ASKED)
    page.notebook.wait_idle()
    page.turn_button("Promote to Flyte").wait_for(timeout=20_000)
    assert page.notebook.page.locator(".jp-Notebook .jp-Cell").nth(ASKED).locator(".hnbs").count() == 0


def test_a_turns_button_opens_its_form_in_sight(page: Page) -> None:
    page.turn_button("Promote to Flyte").focus()
    page.notebook.page.keyboard.press("Enter")
    page.wait(ASKED, "v.data.plan?.may_submit && !v.submit.disabled")
    assert page.js(ASKED, "v.inputs.prompt.value") == "Weather in Paris and in Rome?"
    assert "Ready to run" in page.notebook.outputs()[ASKED]
    page.wait(ASKED, "document.activeElement === v.inputs.prompt")
    assert page.js(ASKED, "v.root.getBoundingClientRect().top < innerHeight - 50")
    page.shoot(ASKED, "turn")
    page.click(ASKED, "Close")
    page.wait(ASKED, "v.root.hidden && document.activeElement.textContent === 'Promote to Flyte'")
    page.turn_button("Promote to Flyte").click()
    page.wait(ASKED, "!v.root.hidden && v.data.plan?.may_submit && !v.submit.disabled")


def test_two_views_of_a_turn_open_one_form_and_submit_one_run(page: Page) -> None:
    page.notebook.command("docmanager:clone")
    turns = f"[...document.querySelectorAll('.jp-Notebook')].map(n => n.querySelectorAll('.jp-Cell')[{ASKED}])"
    buttons = f"{turns}.map(c => c?.querySelector('[data-promotes]')).filter(Boolean)"
    views = f"{turns}.flatMap(c => [...c.querySelectorAll('.hnbs')].map(e => e.hnbs))"
    page.notebook.wait_for(f"() => {buttons}.length === 2 && {views}.length === 2", "two views", timeout_s=30)
    page.notebook.page.evaluate(f"() => {buttons}.forEach(b => b.click())")
    is_ready = f"{views}.length === 2 && {views}.every(v => v.data.plan && !v.data.is_looking && !v.submit.disabled)"
    page.notebook.wait_for(f"() => {is_ready}", "one form in each view", timeout_s=30)
    n_before, n_asked = len(page.plane.store.runs), len(page.model.requests)
    page.notebook.page.evaluate(f"() => {views}.forEach(v => v._submit())")
    page.notebook.wait_for(f"() => {views}.every(v => v.data.progress?.is_done)", "the end of the run", timeout_s=180)
    assert len(page.plane.store.runs) == n_before + 1
    assert len(page.model.requests) == n_asked + 3
    page.notebook.page.evaluate("() => { [...jupyterapp.shell.widgets('main')].at(-1).close(); }")
    page.notebook.wait_for(f"() => {views}.length === 1", "one view again", timeout_s=30)
    now = page.js(ASKED, "v.data.progress")
    assert (now["status"], now["text"]) == ("completed", "Both sunny.")
    shown = page.notebook.outputs()[ASKED]
    assert now["run"] in shown
    assert page.area(ASKED).get_by_role("link", name=now["url"]).first.get_attribute("href") == now["url"]
    assert "Done" in shown
    page.shoot(ASKED, "turn-finished")


def test_the_panel_follows_a_flyte_run(page: Page) -> None:
    page.notebook.command("hermes:panel")
    page.steps[-1] = held = Hang("Both ", "sunny.")
    page.click(ASKED, "Promote again")
    page.wait(ASKED, "!v.data.progress && v.data.plan?.may_submit && !v.submit.disabled")
    page.click(ASKED, "Submit the run")
    page.wait(ASKED, "v.data.progress?.run && v.data.progress.n_tool_calls === 2", timeout_s=120)
    now = page.js(ASKED, "v.data.progress")
    row = page.panel.locator("li").filter(has=page.notebook.page.get_by_text(now["run"], exact=True))
    about = row.locator(".hnb-about")
    page.wait_panel(now["run"], "running", "analyst")
    assert about.inner_text().startswith("running · analyst")
    page.shoot_panel("running")
    held.release()
    page.wait(ASKED, "v.data.progress.is_done && v.data.has_report", timeout_s=120)
    page.wait_panel(now["run"], "succeeded", "analyst")
    link = row.get_by_role("link", name=f"Open: run {now['run']} in Flyte, in a new tab")
    assert (link.inner_text(), link.get_attribute("href")) == ("Open", now["url"])
    assert row.get_by_role("button", name="Bring back").is_visible()
    failed = page.panel.locator("li").filter(has_text="failed · analyst")
    assert failed.count() == 2  # two earlier ones: `Please fail.`


def test_the_panel_nests_forks_below_what_they_are_of(page: Page) -> None:
    sessions = page.panel.locator("details").filter(has=page.notebook.page.get_by_role("heading", name="Sessions"))
    assert sessions.locator(".hnb-forks li").count() == 0
    for depth in (1, 2):
        page.turn_button("Fork here", cell=ASKED if depth == 1 else FORKED).click()
        nested = "#hermes-nb-panel " + ".hnb-forks > li " * depth
        page.notebook.wait_for(f"() => document.querySelectorAll('{nested}').length === 1", f"fork {depth}", timeout_s=20)
        page.notebook.run_cell(FORKED)
        page.notebook.wait_text("sunny.", cell=FORKED)
        page.notebook.wait_idle()
        said = f"document.querySelector('{nested} > .hnb-about').innerText"
        page.notebook.wait_for(f"() => !{said}.includes('0 turns')", "its turn", timeout_s=20)
    assert sessions.locator(".hnb-count").inner_text() == "3"
    lefts = [row.bounding_box()["x"] for row in sessions.locator("li > .hnb-name").all()]
    assert sorted(lefts[-3:]) == lefts[-3:]
    assert len(set(lefts[-3:])) == 3  # each is seen to be inside the one before
    assert page.notebook.page.evaluate("(n => n.scrollWidth <= n.clientWidth)(document.querySelector('#hermes-nb-panel'))")
    page.shoot_panel("forks")
    page.notebook.command("application:toggle-left-area")


def test_after_a_restart_it_is_dead(page: Page) -> None:
    settle(page.notebook)
    page.notebook.restart()
    page.notebook.wait_text("The kernel was restarted", cell=PROMOTE)
    page.notebook.wait_text("The kernel was restarted", cell=CARD)
    assert page.js(CARD, "v.opener.disabled") is True
    page.turn_button("Copy").wait_for()
    assert page.turn_button("Promote to Flyte").count() == 0
    page.shoot(PROMOTE, "restarted")
    page.notebook.run_cell(SETUP)  # the notebook goes on in the new kernel
    page.notebook.wait_idle()


def test_saved_and_reopened_without_a_kernel_it_is_static(page: Page) -> None:
    page.notebook.save()
    saved = json.loads((page.browser.lab.root / NAME).read_text(encoding="utf-8"))
    said, *_ = saved["cells"][PROMOTE]["outputs"]  # of the tool whose cell was mended
    assert "".join(said["text"]) == "Agent 'analyst' was declared anew: tool get_weather redefined.\n"
    for cell in (CARD, PROMOTE):
        *_, output = saved["cells"][cell]["outputs"]
        assert sorted(output["data"]) == ["text/html", "text/plain"]
        assert KEY not in json.dumps(output)
    forms = [output["data"] for output in saved["cells"][ASKED]["outputs"]]
    assert [sorted(f)[0] for f in forms] == ["text/html", "text/html"]
    assert "on Flyte" in "".join(forms[1]["text/plain"])
    page.browser.assert_clean()
    settle(page.notebook)
    page.notebook.close()
    page.notebook = page.browser.open(NAME)
    page.notebook.wait_text("Agent analyst", cell=CARD)
    page.notebook.wait_text("on Flyte", cell=PROMOTE)
    assert page.notebook.page.evaluate("document.querySelectorAll('.hnbs').length") == 0


def test_the_page_was_clean(page: Page) -> None:
    page.browser.assert_clean()
