"""The timeline widget beside Plotly's FigureWidget and go.Bar, in JupyterLab in a Chromium.

Each number of spans and each way has a kernel and a browser of its own. Times are from pressing Run to the first frame that
shows bars; frames are the longest gap between two while zooming; payload is what the page received. `python -m
tests.benchmarks timeline` takes a quarter of an hour; HERMES_NB_BENCH_SPANS=50,1000 makes it shorter.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from tests.browser.lab import CheckError, LabServer
from tests.browser.nbcheck import Browser, Notebook
from tests.browser.test_run import write_notebook

ROOT = Path(__file__).resolve().parents[2]
NUMBERS = (50, 1_000, 20_000, 100_000)
LIMIT_S = 120  # of one step
WHOLE_S = 240  # of one way at one number of spans; a page that hangs is ended then
APPEND_S = 3

SETUP = """\
import threading, time
from tests.golden.big import session
from hermes_nb import timeline
from hermes_nb.model.span import fold
events = session({n})
_t = time.perf_counter()
spans = fold(events)
folded = time.perf_counter() - _t
shown = timeline(events)
len(repr(shown)) and len(spans)"""

WIDGET = """\
_t = time.perf_counter()
shown.show()
took = time.perf_counter() - _t"""

BARS = """\
import plotly.graph_objects as go
_t = time.perf_counter()
start = spans[0].start_unix_s
def traces():
    for kind in dict.fromkeys(s.kind for s in spans):
        of = [s for s in spans if s.kind == kind]
        yield go.Bar(orientation="h", name=kind, y=[s.name if kind == "tool" else kind for s in of],
                     base=[s.start_unix_s - start for s in of], x=[(s.duration_ms or 0) / 1000 for s in of],
                     hovertext=[f"{{s.name}} {{s.status}}" for s in of])
figure = go.{maker}(data=list(traces()), layout={{"barmode": "overlay"}})
handle = display(figure, display_id=True)
took = time.perf_counter() - _t"""

APPEND_WIDGET = """\
from hermes_nb import Event
shown._log.is_followed = True
def append():
    now = time.time()
    def put(n, kind, span, parent, **data):
        shown.feed(Event(1, "live", n, time.time(), "s-live", "t-live", span, parent, 1, kind, data))
    put(1, "turn.started", "t-live", None, prompt="live", agent="analyst")
    for i in range({n}):
        name = f"c{{i}}"
        put(2 * i + 2, "tool.started", name, "t-live", name="fetch", arguments="{{}}", tool_call_id=name)
        time.sleep(0.1)
        put(2 * i + 3, "tool.completed", name, "t-live", name="fetch", status="ok", result="r", result_chars=1,
            tool_call_id=name, duration_ms=90.0)
threading.Thread(target=append).start()"""

APPEND_FIGURE_WIDGET = """\
def append():
    for i in range({n}):
        began = time.perf_counter()
        bar = figure.data[-1]
        with figure.batch_update():
            bar.y, bar.base, bar.x = (*bar.y, "fetch"), (*bar.base, 1e3 + i), (*bar.x, 0.09)
        time.sleep(max(0, 0.1 - (time.perf_counter() - began)))
threading.Thread(target=append).start()"""

APPEND_BARS = """\
def append():
    for i in range({n}):
        began = time.perf_counter()
        bar = figure.data[-1]
        bar.y, bar.base, bar.x = (*bar.y, "fetch"), (*bar.base, 1e3 + i), (*bar.x, 0.09)
        handle.update(figure)
        time.sleep(max(0, 0.1 - (time.perf_counter() - began)))
append()"""

WAYS: dict[str, tuple[str, str, str]] = {
    # name: (the cell that shows, the cell that appends, what tells that bars are drawn)
    "widget": (WIDGET, APPEND_WIDGET, "document.querySelector('.hnbt')?.hnbt?.painter.frames > 0"),
    "FigureWidget": (
        BARS.format(maker="FigureWidget"),
        APPEND_FIGURE_WIDGET,
        "document.querySelector('.js-plotly-plot .bars path')",
    ),
    "go.Bar": (BARS.format(maker="Figure"), APPEND_BARS, "document.querySelector('.js-plotly-plot .bars path')"),
}

RUN = """([cell, limit]) => new Promise(done => {
    const began = performance.now(), isThere = () => !!(TEST);
    jupyterapp.shell.currentWidget.content.activeCellIndex = cell;
    window.nbcheckRunning = true;
    jupyterapp.commands.execute('notebook:run-cell').finally(() => { window.nbcheckRunning = false; });
    const look = () => {
        if (isThere()) requestAnimationFrame(() => done((performance.now() - began) / 1000));
        else if (performance.now() - began > limit * 1000) done(null);
        else requestAnimationFrame(look);
    };
    look();
})"""

RECORD = """() => {
    const kept = window.benchFrames = { gaps: [], on: true };
    let last = performance.now();
    const frame = now => { kept.gaps.push(now - last); last = now; if (kept.on) requestAnimationFrame(frame); };
    requestAnimationFrame(frame);
}"""
STOP = """() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => {
    window.benchFrames.on = false; done(window.benchFrames.gaps.slice(1)); })))"""


def run() -> Iterator[tuple[str, str]]:
    """Rows of (what, figure), one line per number of spans and way."""
    wanted = os.environ.get("HERMES_NB_BENCH_SPANS")
    for n in [int(part) for part in wanted.split(",")] if wanted else NUMBERS:
        for name in WAYS:
            found = measure(name, n)
            yield f"{n:,} spans, {name}", " · ".join(f"{what} {value}" for what, value in found.items())


def measure(name: str, n: int) -> dict[str, str]:
    """One way at one number of spans; a figure that never came is said as `> limit`."""
    show, append, test = WAYS[name]
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        n_updates = APPEND_S * 10
        cells = [SETUP.format(n=n), show, append.format(n=n_updates), "import os; print(took, folded, os.getloadavg()[0])"]
        write_notebook(Path(folder) / "bench.ipynb", cells)
        with LabServer(Path(folder), env={"PYTHONPATH": str(ROOT)}) as lab, Browser(lab) as browser:
            received = [0]
            _count_frames(browser, received)
            notebook = browser.open("bench.ipynb")
            notebook.run_cell(0)
            notebook.wait_idle(timeout_s=LIMIT_S)
            watchdog = threading.Timer(WHOLE_S, _end_chromium)
            watchdog.start()
            try:
                _fill(found, notebook, received, test, n_updates, Path(folder) / "bench.ipynb", name)
            except (CheckError, _timeouts()):
                found["ended"] = f"after {LIMIT_S} to {WHOLE_S} s without the rest"
            finally:
                watchdog.cancel()
    return found


def _end_chromium() -> None:
    """Nothing else ends a call into a page whose script never returns."""
    import psutil

    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            if any("--user-data-dir" in part and "nbcheck-chromium-" in part for part in process.cmdline()):
                process.kill()


def _fill(
    found: dict[str, str], notebook: Notebook, received: list[int], test: str, n_updates: int, path: Path, name: str
) -> None:
    page = notebook.page
    page.set_default_timeout(LIMIT_S * 1000)
    received[0] = 0
    paint_s = page.evaluate(RUN.replace("TEST", test), [1, LIMIT_S])
    found["first paint"] = f"> {LIMIT_S} s" if paint_s is None else f"{paint_s:.2f} s"
    notebook.wait_idle(timeout_s=LIMIT_S)
    found["payload"] = _size(received[0])
    if paint_s is None:
        return
    notebook.run_cell(3)
    notebook.wait_idle(timeout_s=LIMIT_S)
    took, folded, load = map(float, notebook.outputs()[3].split())
    found["Python"] = f"{took:.2f} s (fold {folded:.2f} s, load {load:.0f})"
    found["worst frame"] = f"{max(_frames(notebook, lambda: _zoom(notebook, name))):.0f} ms"
    if name == "widget":  # the static version comes a moment later; it is no update
        kept = "() => document.querySelector('.hnbt').hnbt.model.get('static')['text/html']"
        notebook.wait_for(kept, "the static version", timeout_s=LIMIT_S)
    received[0] = 0
    began = time.monotonic()

    def append() -> None:
        notebook.run_cell(2)
        page.wait_for_timeout(APPEND_S * 1000)
        notebook.wait_idle(timeout_s=LIMIT_S)

    gaps = _frames(notebook, append)
    lasted = time.monotonic() - began
    found["an update"] = _size(received[0] / n_updates)
    found["frames/s"] = f"{len(gaps) / (sum(gaps) / 1000):.0f}"
    if lasted > 2 * APPEND_S:
        found["10 Hz took"] = f"{lasted:.0f} s instead of {APPEND_S} s"
    notebook.save()
    saved = json.loads(path.read_text(encoding="utf-8"))["cells"][1]["outputs"]
    kinds = {kind for output in saved for kind in output.get("data", {})}
    readable = kinds & {"text/html", "application/vnd.plotly.v1+json"}
    found["saved"] = _size(len(json.dumps(saved))) + ("" if readable else ", unreadable without the kernel")


def _zoom(notebook: Notebook, name: str) -> None:
    page = notebook.page
    if name == "widget":
        pane = page.locator(".hnbt-pane")
        pane.scroll_into_view_if_needed()
        pane.focus()
        box = pane.bounding_box()
        page.mouse.move(box["x"] + box["width"] * 0.55, box["y"] + 90)
        for step in range(40):
            page.mouse.wheel(0, -120 if step < 20 else 120)
        return
    plot = page.locator(".js-plotly-plot .nsewdrag").first
    plot.scroll_into_view_if_needed()
    for _ in range(2):
        box = plot.bounding_box()
        y = box["y"] + box["height"] / 2
        page.mouse.move(box["x"] + box["width"] * 0.3, y)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] * 0.7, y, steps=5)
        page.mouse.up()
        page.wait_for_timeout(300)


def _frames(notebook: Notebook, act: Callable[[], None]) -> list[float]:
    """Milliseconds between frames while something is done."""
    notebook.page.evaluate(RECORD)
    act()
    gaps: list[float] = notebook.page.evaluate(STOP)
    return gaps or [0.0]


def _count_frames(browser: Browser, received: list[int]) -> None:
    def count(payload: Any) -> None:
        received[0] += len(payload)

    for page in browser._context.pages:
        page.on("websocket", lambda socket: socket.on("framereceived", count))


def _timeouts() -> type[BaseException]:
    from playwright.sync_api import Error

    return Error


def _size(n_bytes: float) -> str:
    if n_bytes < 10_000:
        return f"{n_bytes:,.0f} B"
    return f"{n_bytes / 1000:,.0f} kB" if n_bytes < 1e6 else f"{n_bytes / 1e6:.2f} MB"
