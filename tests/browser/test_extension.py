"""The Lab extension as a person meets it: buttons with words, the panel live, `%%hermes` cells, by click and by keyboard."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from hermes_nb.testing import Hang, Say, ScriptedModel, Step

from .lab import LabServer
from .nbcheck import Browser, Notebook
from .test_run import SCREENSHOTS, contrasts, write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(400)]

NAME, EMPTY = "extension.ipynb", "empty.ipynb"
SETUP, ASK, STORY, BACKGROUND, BLOCK, NOTES = range(6)
HOSTILE = "<img src=x onerror=\"document.title='pwned'\"><b>bold</b> & co"

CELLS = (
    """\
%load_ext hermes_nb
import pandas as pd
from hermes_nb import Agent, Model

df = pd.DataFrame({"customer": ["Ada", "Barbara"], "revenue": [1200, 1010]})
analyst = Agent("analyst", instructions="Answer from the data.",
                model=Model("scripted", "custom", base_url="BASE_URL"))
%hermes agent analyst""",
    """\
%%hermes run -a analyst -o answer --format
# Which customers matter **most**?

- for each `customer` import what you need
- see {{df.shape}}""",
    "%%hermes run -a analyst -s new\nTell me a very long story.",
    f"%hermes run --background -s new -a analyst {HOSTILE}",
    "import time\ntime.sleep(90)",
    "def add(a, b):\n    return a + b",
)


class Page:
    """The notebook, the panel beside it, and the model's held-back answers."""

    def __init__(self, notebook: Notebook, browser: Browser, story: Hang, model: ScriptedModel) -> None:
        self.notebook, self.browser, self.story, self.model = notebook, browser, story, model

    @property
    def page(self) -> Any:
        return self.notebook.page

    @property
    def panel(self) -> Any:
        return self.page.locator("#hermes-nb-panel")

    def button(self, name: str) -> Any:
        """A button of the notebook's toolbar, by its words."""
        return self.page.locator(".jp-NotebookPanel-toolbar:visible").get_by_role("button", name=name, exact=True)

    def wait_panel(self, text: str, *, timeout_s: float = 30) -> None:
        script = f"() => document.querySelector('#hermes-nb-panel').innerText.includes({text!r})"
        self.notebook.wait_for(script, f"{text!r} in the panel; it says {self.panel.inner_text()!r}", timeout_s=timeout_s)

    def row(self, section: str, text: str) -> Any:
        found = self.panel.locator("details").filter(has=self.page.get_by_role("heading", name=section, exact=True))
        return found.locator("li").filter(has_text=text).first

    def select(self, cell: int) -> None:
        self.page.evaluate(f"() => {{ jupyterapp.shell.currentWidget.content.activeCellIndex = {cell}; }}")

    def sources(self) -> list[str]:
        found: list[str] = self.page.evaluate(
            "() => jupyterapp.shell.currentWidget.content.widgets.map(c => c.model.sharedModel.getSource())"
        )
        return found

    def cut(self, cell: int) -> None:
        """Take a cell away that a button added, so that the others keep their numbers."""
        self.select(cell)
        self.notebook.command("notebook:delete-cell")
        # Lab takes the focus back when it has scrolled, which may be later.
        notebook = "jupyterapp.shell.currentWidget.content"
        self.page.evaluate(f"async () => {{ await {notebook}.scrollToItem({notebook}.activeCellIndex, 'auto', 0); }}")

    def shoot(self, name: str) -> None:
        self.page.mouse.move(0, 0)
        for theme in ("Light", "Dark"):
            self.notebook.command("apputils:change-theme", theme=f"JupyterLab {theme}")
            is_there = f"document.body.dataset.jpThemeLight === '{str(theme == 'Light').lower()}'"
            self.notebook.wait_for(f"() => {is_there} && !document.getElementById('jupyterlab-splash')", theme, timeout_s=30)
            self.page.wait_for_timeout(300)  # Lab fades
            self.notebook.screenshot(SCREENSHOTS / f"extension-{name}-{theme.lower()}.png")
            assert serious(self.page) == []
            marks = ", ".join(f".{name}, .{name} *" for name in ("hnb-magic", "hnb-option", "hnb-variable"))
            assert contrasts(self.notebook, ASK, of=marks, least=4.5) == []
        self.notebook.command("apputils:change-theme", theme="JupyterLab Light")


def serious(page: Any) -> list[str]:
    """What axe-core finds serious or critical in the panel and in our toolbar buttons."""
    from axe_playwright_python.sync_playwright import Axe

    ours = ["#hermes-nb-panel", "[data-jp-item-name=hermes-run]", "[data-jp-item-name=hermes-promote]"]
    context = {"include": [[place] for place in ours if page.locator(place).first.is_visible()]}
    found = Axe().run(page, context=context).response["violations"]
    return [
        f"{f['id']}: {node['target']} {node['failureSummary']}"
        for f in found
        if f["impact"] in ("serious", "critical")
        for node in f["nodes"]
    ]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    folder = tmp_path_factory.mktemp("notebooks")
    story, hostile = Hang("Once upon a time ", "it was told."), Hang("Well ", "then.")
    script: list[Step] = [Say("Ada and Barbara."), story, hostile, Say("Later.")]
    with ScriptedModel(script) as model:
        write_notebook(folder / NAME, [cell.replace("BASE_URL", model.base_url) for cell in CELLS])
        write_notebook(folder / EMPTY, ["1 + 1"])
        with LabServer(folder, lab_extension=True) as lab, Browser(lab) as browser:
            yield Page(browser.open(NAME), browser, story, model)


def test_the_toolbar_has_buttons_with_words(page: Page) -> None:
    for name, words in (("hermes-run", "Run agent"), ("hermes-promote", "Promote to Flyte")):
        assert page.button(words).is_visible()
        assert page.page.locator(f"[data-jp-item-name={name}]").inner_text().strip() == words


def test_without_hermes_nb_the_panel_says_how_to_load_it(page: Page) -> None:
    page.notebook.command("hermes:panel")
    page.wait_panel("hermes_nb is not loaded")
    page.wait_panel("%load_ext hermes_nb")
    assert page.panel.get_by_role("button", name="Load hermes_nb").is_visible()
    page.shoot("unloaded")


def test_loading_it_in_any_cell_fills_the_panel(page: Page) -> None:
    page.notebook.run_cell(SETUP)
    page.wait_panel("scripted (custom) · no tools")
    page.wait_panel("No session yet.")
    assert not page.panel.get_by_role("button", name="Load hermes_nb").is_visible()
    page.notebook.wait_idle()
    page.shoot("agents")


def test_a_hermes_cell_is_markdown_and_stays_code(page: Page) -> None:
    cell = page.page.locator(".jp-Notebook .jp-Cell").nth(ASK)
    assert cell.locator(".hnb-magic").inner_text() == "%%hermes"
    assert cell.locator(".hnb-option").all_inner_texts() == ["-a", "-o", "--format"]
    assert cell.locator(".hnb-variable").all_inner_texts() == ["{{df.shape}}"]
    assert tokens(page, ASK, "Which customers matter ")["fontWeight"] >= "600"  # a heading
    assert tokens(page, ASK, "most")["fontWeight"] >= "600"
    plain = tokens(page, STORY, "Tell me a very long story.")["color"]
    assert tokens(page, ASK, "import what you need")["color"] == plain
    assert page.page.evaluate(f"jupyterapp.shell.currentWidget.content.widgets[{ASK}].model.type") == "code"
    assert page.page.evaluate(f"jupyterapp.shell.currentWidget.content.widgets[{ASK}].model.mimeType") == "text/x-ipython"


def test_a_cell_changes_its_look_with_its_first_line(page: Page) -> None:
    cell = page.page.locator(".jp-Notebook .jp-Cell").nth(NOTES)
    keyword = tokens(page, NOTES, "def")["color"]
    assert keyword != tokens(page, STORY, "Tell me a very long story.")["color"]
    before = page.sources()[NOTES]
    write(page, NOTES, f"%%hermes run\n{before}")
    page.notebook.wait_for(lone("def add(a, b):", NOTES), "the def as plain text", timeout_s=10)
    assert cell.locator(".hnb-magic").count() == 1
    write(page, NOTES, before)
    page.notebook.wait_for(lone("def", NOTES), "the def as a keyword", timeout_s=10)
    assert cell.locator(".hnb-magic").count() == 0


def test_options_agents_and_variables_are_completed_in_the_cell(page: Page) -> None:
    for typed, offered, expected in (
        ("%%hermes run -a ", "analyst", "%%hermes run -a analyst"),
        ("%%hermes run --back", "--background", "%%hermes run --background"),
        ("%%hermes run --format\nLook at {{d", "df", "%%hermes run --format\nLook at {{df"),
    ):
        write(page, NOTES, typed)
        page.page.keyboard.press("Tab")
        names = "[...document.querySelectorAll('.jp-Completer:not(.lm-mod-hidden) .jp-Completer-match')]"
        page.notebook.wait_for(f"() => {names}.some(e => e.innerText === '{offered}')", offered, timeout_s=15)
        page.notebook.screenshot(SCREENSHOTS / "extension-completion.png")
        page.page.keyboard.press("Enter")
        source = f"jupyterapp.shell.currentWidget.content.widgets[{NOTES}].model.sharedModel.getSource()"
        page.notebook.wait_for(f"() => {source} === {json.dumps(expected)}", expected, timeout_s=15)
    write(page, NOTES, CELLS[NOTES])
    page.notebook.command("notebook:enter-command-mode")


def test_run_agent_runs_the_hermes_cell(page: Page) -> None:
    page.select(ASK)
    page.button("Run agent").click()
    page.notebook.wait_text("Ada and Barbara.", cell=ASK)
    page.notebook.wait_idle()
    page.wait_panel("1 turn · ")
    assert "Which customers matter" in page.row("Sessions", "analyst").inner_text()


def test_run_agent_elsewhere_offers_a_cell_to_write_in(page: Page) -> None:
    page.select(NOTES)
    page.button("Run agent").click()
    page.notebook.wait_for("() => jupyterapp.shell.currentWidget.content.mode === 'edit'", "edit mode", timeout_s=10)
    assert page.sources()[NOTES + 1] == "%%hermes run -a analyst\n"
    page.page.keyboard.type("Why?")
    assert page.sources()[NOTES + 1] == "%%hermes run -a analyst\nWhy?"
    page.cut(NOTES + 1)


def test_promote_shows_what_stands_in_the_way(page: Page) -> None:
    page.select(NOTES)
    page.button("Promote to Flyte").click()
    page.notebook.wait_for("() => jupyterapp.shell.currentWidget.content.widgets.length === 7", "a new cell", timeout_s=20)
    assert page.sources()[NOTES + 1] == "%hermes promote analyst --ui"
    page.notebook.wait_text("Promote analyst", cell=NOTES + 1, timeout_s=60)
    page.notebook.wait_for(
        f"""() => {{ const cell = [...document.querySelectorAll('.jp-Notebook .jp-Cell')][{NOTES + 1}];
        return cell.getBoundingClientRect().bottom <= window.innerHeight || cell.getBoundingClientRect().top < 120; }}""",
        "the form to be in sight",
        timeout_s=10,
    )
    page.notebook.wait_idle()
    page.shoot("promote")
    page.cut(NOTES + 1)


def test_an_agent_is_made_by_the_form(page: Page) -> None:
    page.select(NOTES)
    page.panel.get_by_role("button", name="New agent").click()
    page.notebook.wait_for("() => jupyterapp.shell.currentWidget.content.widgets.length === 7", "a new cell", timeout_s=20)
    assert page.sources()[NOTES + 1] == "%hermes agent --ui"
    page.notebook.wait_text("Instructions", cell=NOTES + 1, timeout_s=60)
    page.notebook.wait_idle()
    page.cut(NOTES + 1)


def test_a_running_turn_is_listed_and_stopped_by_a_click(page: Page) -> None:
    page.notebook.run_cell(STORY)
    page.notebook.wait_text("Once upon a time", cell=STORY)
    page.wait_panel("1 turn running.")
    row = page.row("Running turns", "Tell me a very long story.")
    page.page.wait_for_timeout(1000)  # the turn's own widget has said what it says at first
    page.page.evaluate(
        """() => { window.said = []; const { kernel } = jupyterapp.shell.currentWidget.sessionContext.session;
        kernel.iopubMessage.connect((_, { header, parent_header }) => {
            if (header.msg_type === 'status') window.said.push(parent_header.msg_type); }); }"""
    )
    shown = row.locator(".hnb-about").inner_text()
    page.notebook.wait_for(
        f"() => document.querySelector('#hermes-nb-panel .hnb-about').innerText !== {json.dumps(shown)}",
        "its time to go on",
        timeout_s=20,
    )
    page.page.wait_for_timeout(1500)
    assert page.page.evaluate("window.said") == []  # nothing is asked of the kernel: each answer would end in `idle`
    assert "analyst" in row.inner_text()
    row.get_by_role("button", name="Show cell").click()
    assert page.page.evaluate("jupyterapp.shell.currentWidget.content.activeCellIndex") == STORY
    page.shoot("running")
    began_ms = page.page.evaluate("performance.now()")
    row.get_by_role("button", name="Stop").click()
    page.notebook.wait_for(f"() => !{runs(STORY)}", "the cell to end", timeout_s=10)
    assert page.page.evaluate("performance.now()") - began_ms < 3000  # a click, a stop, the poll; < 1 s on a quiet machine
    page.notebook.wait_idle()
    assert page.notebook.error_outputs()[-1].startswith("KeyboardInterrupt")
    page.wait_panel("The turn has ended.")


def test_a_turn_in_the_background_is_stopped_while_another_cell_blocks_the_kernel(page: Page) -> None:
    page.notebook.run_cell(BACKGROUND)
    page.notebook.wait_text("Well", cell=BACKGROUND)
    page.notebook.run_cell(BLOCK)
    page.wait_panel("1 turn running.")
    row = page.row("Running turns", "<b>bold</b>")
    assert HOSTILE in row.inner_text()
    row.get_by_role("button", name="Stop").click()
    page.wait_panel("The turn has ended.")
    assert page.notebook.is_running(BLOCK)
    page.notebook.interrupt()
    page.notebook.wait_idle(timeout_s=20)


def test_hostile_titles_are_text(page: Page) -> None:
    page.wait_panel("<b>bold</b>")
    assert page.panel.locator("img, b, script, iframe").count() == 0
    assert "pwned" not in page.page.title()


def test_sessions_are_opened_and_gone_on_with(page: Page) -> None:
    page.select(NOTES)
    row = page.row("Sessions", "Tell me a very long story.")
    assert "last turn unfinished" in row.inner_text()
    assert row.get_by_role("button", name="Resume").is_visible()
    row.get_by_role("button", name="Open").click()
    page.notebook.wait_for("() => !!document.querySelector('.hnbt')?.hnbt", "the timeline", timeout_s=60)
    page.notebook.wait_idle()
    assert page.sources()[NOTES + 1].startswith("%hermes timeline s-")
    page.cut(NOTES + 1)
    page.select(NOTES)
    row.get_by_role("button", name="Continue").click()
    page.notebook.wait_for("() => jupyterapp.shell.currentWidget.content.mode === 'edit'", "edit mode", timeout_s=10)
    assert page.sources()[NOTES + 1].startswith("%%hermes run -s s-")
    page.cut(NOTES + 1)


def test_an_unfinished_turn_goes_on_by_a_click(page: Page) -> None:
    page.select(NOTES)
    page.row("Sessions", "Tell me a very long story.").get_by_role("button", name="Resume").click()
    page.notebook.wait_text("Later.", cell=NOTES + 1)
    page.notebook.wait_idle()
    assert page.sources()[NOTES + 1].startswith("%hermes resume s-")
    page.notebook.wait_for(
        "() => [...document.querySelectorAll('#hermes-nb-panel .hnb-row')].every(row => !(row.innerText.includes('story') &&"
        " row.innerText.includes('unfinished')))",
        "the session to be finished",
        timeout_s=20,
    )
    page.cut(NOTES + 1)


def test_the_keyboard_reaches_everything_in_order(page: Page) -> None:
    page.wait_panel("No turn is running.")  # the panel hears a moment after the cell that it has ended
    page.panel.get_by_role("button", name="Refresh").focus()
    seen = []
    for _ in range(8):
        page.page.keyboard.press("Tab")
        seen.append(page.page.evaluate("document.activeElement.innerText.trim().split(/\\n|\\d/)[0]"))
    assert seen == ["Running turns", "Agents", "Run", "Promote", "New agent", "Sessions", "Open", "Continue"]
    page.page.keyboard.press("Shift+Tab")
    page.page.keyboard.press("Shift+Tab")
    page.page.keyboard.press("Enter")  # folds the list
    assert not page.row("Sessions", "story").is_visible()
    page.page.keyboard.press("Enter")
    assert page.row("Sessions", "story").is_visible()


def test_the_focus_stays_while_the_kernel_tells(page: Page) -> None:
    button = page.row("Agents", "analyst").get_by_role("button", name="Promote")
    button.focus()
    page.notebook.page.evaluate(
        "async () => { await jupyterapp.shell.currentWidget.sessionContext.session.kernel"
        ".requestExecute({code: 'helper = Agent(\"helper\")\\n%hermes agent helper'}).done; }"
    )
    page.wait_panel("helper")
    assert page.page.evaluate("document.activeElement.getAttribute('aria-label')") == "Promote: analyst to Flyte"


def test_the_palette_has_the_commands(page: Page) -> None:
    page.notebook.command("apputils:activate-command-palette")
    page.page.locator(".lm-CommandPalette-input").fill("hermes")
    shown = page.page.locator(".lm-CommandPalette-item")
    page.notebook.wait_for("() => document.querySelectorAll('.lm-CommandPalette-item').length >= 4", "them", timeout_s=10)
    labels = [text.splitlines()[0] for text in shown.all_inner_texts()]
    for label in ("Run agent", "Promote to Flyte", "Load hermes_nb", "Show agents, sessions and runs"):
        assert label in labels
    page.page.keyboard.press("Escape")


def test_narrow_and_wide_it_fits(page: Page) -> None:
    mouse = page.page.mouse
    widths = []
    for name, by in (("wide", 400), ("narrow", -500), ("usual", 40)):
        box = page.panel.bounding_box()
        mouse.move(box["x"] + box["width"] + 2, 500)  # the handle between panel and notebook
        mouse.down()
        mouse.move(box["x"] + box["width"] + 2 + by, 500, steps=4)
        mouse.up()
        widths.append(page.panel.bounding_box()["width"])
        fits = page.page.evaluate("(n => n.scrollWidth <= n.clientWidth)(document.querySelector('#hermes-nb-panel'))")
        assert fits, f"{name}: {widths[-1]} px"
        page.notebook.screenshot(SCREENSHOTS / f"extension-{name}.png")
    page.shoot("usual")
    assert widths[0] > 550
    assert widths[1] <= 250  # as narrow as Lab lets it be


def test_less_motion_is_respected(page: Page) -> None:
    moves = "getComputedStyle(document.querySelector('#hermes-nb-panel .hnb-button')).transitionDuration"
    assert page.page.evaluate(moves) != "0s"
    page.page.emulate_media(reduced_motion="reduce")
    assert page.page.evaluate(moves) == "0s"
    page.page.emulate_media(reduced_motion="no-preference")


def test_a_restart_empties_the_panel_and_loading_again_brings_the_sessions_back(page: Page) -> None:
    page.notebook.restart()
    page.wait_panel("hermes_nb is not loaded")
    assert "story" not in page.panel.inner_text()
    page.notebook.run_cell(SETUP)
    page.wait_panel("Tell me a very long story.")
    page.notebook.wait_idle()
    page.shoot("sessions")


def test_a_reload_during_a_turn_finds_the_answer_again_by_a_click(page: Page) -> None:
    asked = page.sources().index(CELLS[ASK])
    page.select(asked)
    page.notebook.command("notebook:clear-cell-output")
    page.notebook.save()
    held = Hang("They bring ", "**2,210** together.")
    page.model.extend([held])
    page.notebook.run_cell(asked)
    page.notebook.wait_text("They bring", cell=asked)
    page.page.on("dialog", lambda dialog: dialog.accept())  # what is not saved
    page.page.reload()
    shown = "window.jupyterapp?.shell?.currentWidget?.context"
    is_open = f"() => {shown}?.path === '{NAME}' && {shown}.isReady"
    page.notebook.wait_for(is_open, "the notebook to be open again", timeout_s=60)
    assert page.notebook.outputs()[asked] == ""
    held.release()
    page.page.get_by_role("button", name="Show answer").click(timeout=60_000)
    page.notebook.wait_text("2,210 together.", cell=asked)
    page.shoot("recovered")
    page.notebook.save()
    saved = json.loads((page.browser.lab.root / NAME).read_text(encoding="utf-8"))["cells"][asked]["outputs"]
    assert sorted(saved[0]["data"]) == ["text/html", "text/markdown", "text/plain"]


def test_the_load_button_loads_by_a_cell(page: Page) -> None:
    page.browser.assert_clean()
    page.notebook.command("docmanager:open", path=EMPTY)
    page.notebook.wait_for(
        f"() => jupyterapp.shell.currentWidget?.context?.path === '{EMPTY}' && "
        "jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'",
        "it to be open",
        timeout_s=60,
    )
    page.wait_panel("hermes_nb is not loaded")
    page.panel.get_by_role("button", name="Load hermes_nb").click()
    page.wait_panel("No agent yet.")
    assert page.sources() == ["1 + 1", "%load_ext hermes_nb"]
    page.wait_panel("Tell me a very long story.")  # the same folder: what is stored there is found without a run


def test_the_page_was_clean(page: Page) -> None:
    page.browser.assert_clean()
    assert contrasts(page.notebook, 0) == []


# -- the editor ----------------------------------------------------------------------------------------------------
def write(page: Page, cell: int, text: str) -> None:
    """Replace a cell's text and put the cursor at its end."""
    page.select(cell)
    page.page.evaluate(
        """([cell, text]) => { const c = jupyterapp.shell.currentWidget.content; c.mode = 'edit';
        const w = c.widgets[cell]; w.model.sharedModel.setSource(text); w.editor.focus();
        w.editor.setCursorPosition(w.editor.getPositionAt(text.length)); }""",
        [cell, text],
    )


def tokens(page: Page, cell: int, text: str) -> dict[str, str]:
    """Style of the element whose text is that, in a cell's editor; of the line when no token has it."""
    found: dict[str, str] | None = page.page.evaluate(
        """([cell, text]) => { const area = document.querySelectorAll('.jp-Notebook .jp-Cell')[cell];
        const all = [...area.querySelectorAll('.cm-line, .cm-line *')].reverse();
        const e = all.find(e => e.textContent === text) ?? all.find(e => e.textContent.includes(text));
        return e && {color: getComputedStyle(e).color, fontWeight: getComputedStyle(e).fontWeight}; }""",
        [cell, text],
    )
    assert found is not None, f"{text!r} is not in cell {cell}"
    return found


def lone(text: str, cell: int) -> str:
    """A script: whether an element of the editor has exactly that text, and none inside it is coloured apart."""
    all_of_it = f"[...document.querySelectorAll('.jp-Notebook .jp-Cell')[{cell}].querySelectorAll('.cm-line, .cm-line *')]"
    return f"() => {all_of_it}.some(e => e.textContent === {text!r} && !e.children.length)"


def runs(cell: int) -> str:
    """An expression: whether a cell is running."""
    prompt = f"document.querySelectorAll('.jp-Notebook .jp-Cell')[{cell}].querySelector('.jp-InputPrompt')"
    return f"{prompt}.textContent.includes('*')"
