"""Open a notebook in a real JupyterLab, in a real (headless) Chromium, and check it.

    with LabServer(folder) as lab, Browser(lab) as browser:
        notebook = browser.open("demo.ipynb")
        notebook.run_all()                 # starts, does not wait
        notebook.click("Stop")             # a widget's button, by its text
        notebook.wait_text("stopped")      # in any output area
        notebook.wait_idle()
        notebook.screenshot(Path("demo.png"))
        browser.assert_clean()             # no console error, no request left this machine

The system's Chromium is used, not a browser that Playwright brings. Waits ask Lab itself, not its CSS classes, and each
has a time limit; a `CheckError` tells the kernel's state, the running cells, open dialogs, outputs and console errors.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import quote, urlsplit

from .lab import CheckError, LabServer

_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Console messages of a stock JupyterLab that say nothing about the notebook under test.
_IGNORED = (
    re.compile(r"favicon"),
    # A kernel that was ended while the page asked it.
    re.compile(r"Canceled future for (debug|create_subshell)_request message before replies were done"),
    re.compile(r"Failed to load resource.*\b(404|403)\b.*(me|settings|translations|lsp|workspaces)"),
)
# Errors of a stock JupyterLab 4.4 without us, gone in 4.6.
_IGNORED_ON_4_4 = (
    # The table of contents, told of a cell that has no heading yet.
    re.compile(r"TypeError: Cannot (?:set|read) properties of undefined \((?:setting|reading) 'isRunning'\)"),
    # The toolbar of a second view that is closed within its first half second still measures itself.
    re.compile(r"(?:ReactiveToolbar TypeError|pageerror): Cannot read properties of null \(reading 'widgets'\)"),
)
_LOCAL_HOSTS = {"127.0.0.1", "localhost", "[::1]", "", None}
_CELLS = "[...document.querySelectorAll('.jp-Notebook .jp-Cell')]"
_OUTPUTS = "[...c.querySelectorAll('.jp-OutputArea-output')]"


def chromium() -> str | None:
    """The Chromium to use: NBCHECK_CHROMIUM, else the first one on the PATH; None when there is none."""
    named = os.environ.get("NBCHECK_CHROMIUM")
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return named or next((path for path in found if path), None)


class Browser:
    """A headless Chromium. Requests off this machine are refused and recorded; a context manager.

    Args:
        lab: The server it looks at.
        width: Of the window, in pixels.
        height: Of the window, in pixels.
        extra_flags: More flags of Chromium.
    """

    def __init__(self, lab: LabServer, *, width: int = 1400, height: int = 1000, extra_flags: Sequence[str] = ()) -> None:
        self.lab = lab
        self.errors: list[str] = []
        self.external: list[str] = []
        self.console: list[str] = []
        self._size = (width, height)
        self._flags = [*_FLAGS, *extra_flags]
        self._profile = ""
        self._playwright: Any = None
        self._context: Any = None

    def __enter__(self) -> Self:
        executable = chromium()
        if executable is None:
            raise CheckError("There is no Chromium. Run apt-get install chromium, or set NBCHECK_CHROMIUM.")
        from playwright.sync_api import sync_playwright

        self._profile = tempfile.mkdtemp(prefix="nbcheck-chromium-")
        self._playwright = sync_playwright().start()
        try:
            self._context = self._playwright.chromium.launch_persistent_context(
                self._profile,
                executable_path=executable,
                headless=True,
                args=self._flags,
                timeout=90_000,
                viewport={"width": self._size[0], "height": self._size[1]},
            )
            self._context.set_default_timeout(30_000)
            self._context.route(_is_external, self._refuse)
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def open(self, notebook: str, *, timeout_s: float = 90) -> Notebook:
        """A tab with that notebook and an idle kernel."""
        if not (self.lab.root / notebook).is_file():
            raise CheckError(f"There is no notebook {notebook} under {self.lab.root}.")
        pages = self._context.pages
        page = pages[0] if pages and pages[0].url == "about:blank" else self._context.new_page()
        self._watch(page)
        # A workspace each, else a second tab is redirected to another one.
        place = f"lab/workspaces/nbcheck-{secrets.token_hex(4)}/tree" if self.lab.app == "lab" else "notebooks"
        url = f"{self.lab.url}/{place}/{quote(notebook)}?token={self.lab.token}"
        page.goto(url, timeout=timeout_s * 1000)
        opened = Notebook(self, page)
        opened.wait_for(
            f"""() => {{ const w = window.jupyterapp?.shell?.currentWidget;
                return w?.context?.path === {json.dumps(notebook)} && w.context.isReady &&
                    w.sessionContext?.session?.kernel?.status === 'idle'; }}""",
            f"{notebook} to be open with an idle kernel",
            timeout_s=timeout_s,
        )
        return opened

    def assert_clean(self) -> None:
        """Fail when the console has an error or the page asked for something off this machine."""
        ignored = _IGNORED_ON_4_4 if version("jupyterlab").startswith("4.4.") else ()
        errors = [e for e in self.errors if not any(pattern.search(e) for pattern in ignored)]
        problems = [f"console: {e}" for e in errors] + [f"left this machine: {u}" for u in self.external]
        if problems:
            raise CheckError("The page was not clean:\n  " + "\n  ".join(problems[:20]))

    def _watch(self, page: Any) -> None:
        def on_console(message: Any) -> None:
            text = f"{message.type}: {message.text} ({message.location.get('url', '')})"
            self.console.append(text)
            if message.type == "error" and not any(pattern.search(text) for pattern in _IGNORED):
                self.errors.append(text)

        def on_error(error: Any) -> None:
            if not any(pattern.search(str(error)) for pattern in _IGNORED):
                self.errors.append(f"pageerror: {error}")

        page.on("console", on_console)
        page.on("pageerror", on_error)
        page.on("crash", lambda: self.errors.append("the page crashed"))

    def _refuse(self, route: Any) -> None:
        self.external.append(route.request.url)
        route.abort("internetdisconnected")

    def _end(self) -> None:
        try:
            if self._context is not None:
                self._context.close()
        finally:
            self._playwright.stop()
            shutil.rmtree(self._profile, ignore_errors=True)


def _is_external(url: str) -> bool:
    parts = urlsplit(url)
    return parts.hostname not in _LOCAL_HOSTS and parts.scheme in ("http", "https", "ws", "wss")


class Notebook:
    """One open notebook. `page` is Playwright's page, for anything else."""

    def __init__(self, browser: Browser, page: Any) -> None:
        self.browser = browser
        self.page = page

    def command(self, name: str, **arguments: Any) -> None:
        """Run any command of JupyterLab, e.g. `notebook:run-all-cells`, to its end."""
        self.page.evaluate(
            f"async () => {{ await jupyterapp.commands.execute({json.dumps(name)}, {json.dumps(arguments)}); }}"
        )

    def run_all(self) -> None:
        """Start all cells; does not wait."""
        # The flag covers the moment between asking and the first cell's [*].
        self.page.evaluate(
            """() => { window.nbcheckRunning = true;
            jupyterapp.commands.execute('notebook:run-all-cells').finally(() => { window.nbcheckRunning = false; }); }"""
        )

    def run_cell(self, cell: int) -> None:
        """Start one cell (from 0); does not wait."""
        self.page.evaluate(
            f"""() => {{ jupyterapp.shell.currentWidget.content.activeCellIndex = {cell};
            window.nbcheckRunning = true;
            jupyterapp.commands.execute('notebook:run-cell').finally(() => {{ window.nbcheckRunning = false; }}); }}"""
        )

    def is_running(self, cell: int) -> bool:
        """Whether a cell (from 0) is running or queued."""
        running: bool = self.page.evaluate(
            f"() => {_CELLS}[{cell}].querySelector('.jp-InputPrompt').textContent.includes('*')"
        )
        return running

    def interrupt(self) -> None:
        """Click the stop square of the toolbar."""
        self.page.locator('.jp-NotebookPanel:not(.lm-mod-hidden) [data-jp-item-name="interrupt"]').click()

    def restart(self) -> None:
        """Restart the kernel."""
        self.page.evaluate("async () => { await jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart(); }")

    def save(self) -> None:
        """Write the notebook to its file."""
        self.command("docmanager:save")

    def click(self, text: str, *, timeout_s: float = 30) -> None:
        """Click a button in an output area, by its accessible name."""
        button = self.page.locator(".jp-OutputArea").get_by_role("button", name=text, exact=True)
        self._act(lambda: button.first.click(timeout=timeout_s * 1000), f"a button {text!r} to click")

    def type_into(self, label: str, text: str, *, timeout_s: float = 30) -> None:
        """Fill an input of an output area, found by its placeholder or label."""
        area = self.page.locator(".jp-OutputArea")
        field = area.get_by_placeholder(label).or_(area.get_by_label(label))
        self._act(lambda: field.first.fill(text, timeout=timeout_s * 1000), f"an input {label!r}")

    def close(self) -> None:
        """End the kernel and close the tab."""
        self.page.evaluate("async () => { await jupyterapp.shell.currentWidget.sessionContext.shutdown(); }")
        self.page.close(run_before_unload=False)

    def outputs(self) -> list[str]:
        """The visible text of each cell's output area, "" for none."""
        texts: list[str] = self.page.evaluate(
            f"""() => {_CELLS}.map(c => {_OUTPUTS}
                .filter(o => !o.parentElement.closest('.jp-OutputArea-output'))  // not an Output widget's again
                .map(o => o.innerText).join('\\n'))"""
        )
        return texts

    def error_outputs(self) -> list[str]:
        """`Name: message` of each error a cell ended with."""
        errors: list[str] = self.page.evaluate(
            """() => jupyterapp.shell.currentWidget.content.widgets.flatMap(c => c.model.type !== 'code' ? [] :
                c.model.outputs.toJSON().filter(o => o.output_type === 'error').map(o => `${o.ename}: ${o.evalue}`))"""
        )
        return errors

    def wait_text(self, text: str, *, cell: int | None = None, timeout_s: float = 60) -> None:
        """Wait until a text is seen in the outputs, of one cell (from 0) or any."""
        pick = "" if cell is None else f".filter((_, i) => i === {cell})"
        where = "an output" if cell is None else f"the output of cell {cell}"
        self.wait_for(
            f"() => {_CELLS}{pick}.some(c => {_OUTPUTS}.some(o => o.innerText.includes({json.dumps(text)})))",
            f"text {text!r} in {where}",
            timeout_s=timeout_s,
        )

    def wait_idle(self, *, timeout_s: float = 120) -> None:
        """Wait until no cell is running or queued, and the kernel is idle."""
        self.wait_for(
            """() => { const w = jupyterapp.shell.currentWidget;
            const busy = w.content.widgets.some(c => c.model.type === 'code' && (c.model.executionState === 'running' ||
                c.node.querySelector('.jp-InputPrompt')?.textContent?.includes('*')));
            return !window.nbcheckRunning && !busy && w.sessionContext.session.kernel.status === 'idle'; }""",
            "the notebook to become idle",
            timeout_s=timeout_s,
        )

    def wait_for(self, script: str, what: str, *, timeout_s: float) -> None:
        """Wait until a JavaScript function of the page gives a true value.

        Args:
            script: The function; may be async.
            what: Completes "waiting for ...".
            timeout_s: After so long it fails.
        """
        from playwright.sync_api import Error

        end_s = time.monotonic() + timeout_s
        while True:
            try:
                if self.page.evaluate(f"async () => !!(await ({script})())"):
                    return
            except Error as exc:  # JupyterLab redirects while it opens a workspace
                if "context was destroyed" not in str(exc) and "navigat" not in str(exc):
                    raise CheckError(f"The page failed while waiting for {what}: {exc}") from exc
            if time.monotonic() > end_s:
                raise CheckError(f"Timed out after {timeout_s:.0f} s waiting for {what}.\n{self.describe()}")
            self.page.wait_for_timeout(50)

    def describe(self) -> str:
        """What state the page is in, for a message."""
        from playwright.sync_api import Error

        try:
            state = self.page.evaluate(
                """() => { const w = window.jupyterapp?.shell?.currentWidget;
                const running = (w?.content?.widgets || []).map((c, i) => c.model.executionState === 'running' ? i : null);
                return `kernel=${w?.sessionContext?.session?.kernel?.status} running=${running.filter(i => i !== null)}` +
                    ` dialog=${document.querySelector('.jp-Dialog')?.innerText ?? 'none'}`; }"""
            )
            outputs = " | ".join(f"[{i}] {o.strip()[:200]}" for i, o in enumerate(self.outputs()) if o.strip())
        except Error as exc:
            return f"  The page can't be read: {exc}"
        return f"  state: {state}\n  outputs: {outputs or 'none'}\n  console errors: {self.browser.errors[-5:]}"

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a PNG of the window, or of the whole page."""
        path.parent.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(path), full_page=whole)

    def _act(self, act: Callable[[], Any], what: str) -> None:
        from playwright.sync_api import Error

        try:
            act()
        except Error as exc:
            raise CheckError(f"Did not find {what}: {str(exc).splitlines()[0]}\n{self.describe()}") from exc
