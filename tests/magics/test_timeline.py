"""`%hermes timeline` in a real kernel: every form of it, live beside a turn, and without the extra `widgets`."""

from __future__ import annotations

import json
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from hermes_nb.testing import Call, Say
from hermes_nb.views.page import read_report
from tests.magics.conftest import SETUP, Asked
from tests.magics.kernel import PROJECT, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

VIEW = "application/vnd.jupyter.widget-view+json"


@pytest.fixture
def ran(kernel: Kernel, model: Asked) -> Kernel:
    """The module's kernel after a turn with one tool call."""
    steps = iter([Call("add", {"a": 20, "b": 22}), Say("It is 42.")])
    model.answer = lambda request: next(steps)
    kernel.ok("%%hermes run -s new -o answer\n20 + 22?")
    return kernel


def test_it_is_a_widget_with_its_static_version_beside_it(ran: Kernel) -> None:
    (shown,) = ran.ok("%hermes timeline").shown
    assert VIEW in shown
    assert "It is 42." in shown["text/html"]
    assert "add" in shown["text/plain"]
    (again,) = ran.ok("from hermes_nb import timeline\ntimeline(answer)").shown
    assert sorted(again) == sorted(shown)


def test_it_is_text_frame_figure_and_html(ran: Kernel) -> None:
    assert "It is 42." in ran.ok("%hermes timeline --as text").out
    (frame,) = ran.ok("%hermes timeline --as frame").shown
    assert "duration_ms" in frame["text/html"]
    (figure,) = ran.ok("%hermes timeline --as figure").shown
    bars = figure["application/vnd.plotly.v1+json"]
    assert isinstance(bars, dict)
    assert bars["data"]
    (html,) = ran.ok("%hermes timeline --as html").shown
    assert sorted(html) == ["text/html", "text/plain"]


def test_a_variable_gets_what_is_shown(ran: Kernel) -> None:
    kinds = {}
    for form in ("frame", "figure", "text", "html", "widget"):
        assert ran.ok(f"%hermes timeline --as {form} -o got").shown or form == "text"
        kinds[form] = ran.value("type(got).__name__")
    assert kinds == {"frame": "DataFrame", "figure": "Figure", "text": "str", "html": "str", "widget": "Timeline"}
    assert ran.value("'It is 42.' in got.text and len(got.frame()) > 2")
    assert ran.ok("%hermes timeline --save kept.html -o kept").shown == []
    assert ran.value("kept.frame().equals(got.frame())")


def test_a_view_is_shown_not_its_source(ran: Kernel) -> None:
    cell = ran.ok("%hermes timeline --as page")
    (shown,) = cell.shown
    assert cell.out == ""
    assert re.fullmatch(r"A page of \d+ kB\. %hermes timeline --save FILE\.html writes it to a file\.", shown["text/plain"])
    assert shown["text/html"].startswith('<iframe class="hnb-frame" sandbox="allow-scripts" srcdoc="&lt;!DOCTYPE html&gt;')
    (shown,) = ran.ok("%hermes timeline --as usage").shown
    assert "data" in shown["application/vnd.plotly.v1+json"]
    (shown,) = ran.ok("%hermes timeline --as markdown").shown
    assert "It is 42." in shown["text/markdown"]


def test_a_page_put_into_a_variable_is_not_shown_too(ran: Kernel) -> None:
    cell = ran.ok("%hermes timeline --as page -o kept")
    assert (cell.shown, cell.out) == ([], "")
    assert ran.value("kept[:15]") == "<!DOCTYPE html>"


def test_it_is_saved_as_a_page(ran: Kernel) -> None:
    cell = ran.ok("%hermes timeline --save kept.html")
    assert "Wrote kept.html." in cell.out
    assert cell.shown == []
    kinds = [e.kind for e in read_report((ran.folder / "kept.html").read_text(encoding="utf-8"))]
    assert kinds[0] == "turn.started"
    assert kinds[-1] == "turn.completed"


def test_sessions_are_named_and_shown_together(ran: Kernel, model: Asked) -> None:
    first = ran.value("answer.session_id")
    model.answer = None
    ran.ok("%%hermes run -s new -o answer\nAnother")
    out = ran.ok(f"%hermes timeline {first} {ran.value('answer.session_id')} --as text").out
    assert "It is 42." in out
    assert "You said: Another" in out
    assert "2 sessions" in out
    assert "No session 'nowhere'" in ran.run("%hermes timeline nowhere").err


def test_it_follows_a_turn_and_leaves_its_static_version(ran: Kernel, model: Asked) -> None:
    steps = iter([Call("add", {"a": 1, "b": 2}), Say("It is 3.")])
    model.answer = lambda request: next(steps)
    ran.ok("%hermes timeline --live", cell_id="live")
    asked = ran.ok("%%hermes run\n1 + 2?")

    waits = ran.start("import time\nfor _ in range(40): time.sleep(0.1)")  # updates travel with the cell that runs

    def told() -> list[dict[str, object]]:
        messages = [*asked.contents("comm_msg"), *waits.contents("comm_msg")]
        custom = [c["data"]["content"] for c in messages if c["data"].get("method") == "custom"]
        return [c for c in custom if c["t"] == "add"]

    def left() -> list[dict[str, str]]:
        updates = [*asked.contents("update_display_data"), *waits.contents("update_display_data")]
        return [u["data"] for u in updates if "hnb-strip" in u["data"].get("text/html", "")]

    ran.until(lambda: bool(left()))
    assert told()  # each part of the turn as it came, not the whole again
    assert max(len(json.dumps(c)) for c in told()) < 1_000
    assert "It is 3." in left()[-1]["text/html"]
    assert VIEW not in left()[-1]
    ran.finish(waits)


def test_nbclient_saves_the_static_version_also_of_the_last_cell(
    tmp_path: Path, model: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It hears nothing after the last cell; what it hears between two, it drops."""
    sources = [SETUP.format(url=model.scripted.base_url), "%hermes agent analyst -o bound"]
    sources += ["from hermes_nb import timeline\ntimeline(bound)", "%hermes run hi"]
    monkeypatch.setenv("PYTHONPATH", str(PROJECT))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / ".ipython"))
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(s) for s in sources])
    NotebookClient(notebook, timeout=60, resources={"metadata": {"path": str(tmp_path)}}).execute()
    (output,) = notebook.cells[2].outputs
    assert "You said: hi" in output["data"]["text/html"]
    assert VIEW not in output["data"]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("sys.modules['anywidget'] = None", "anywidget is not installed"),
        ("_require._version = lambda _: '7.7.1'", "ipywidgets 7.7.1 is older than 8.1"),
    ],
    ids=["missing", "too-old"],
)
def test_without_the_extra_it_is_shown_as_it_is_and_names_the_pip_line(ran: Kernel, change: str, reason: str) -> None:
    ran.ok("import sys\nfrom hermes_nb import _require\nfrom hermes_nb.widgets import _view\nversion = _require._version")
    ran.ok(f"_view._view_class.cache_clear()\n{change}")
    try:
        shown = ran.ok("%hermes timeline")
        assert "It is 42." in shown.shown[0]["text/html"]
        assert shown.err == f"Shown as it is now: {reason}. For the widget: %pip install 'hermes-nb[widgets]'\n"
        failed = ran.run("%hermes last -o answer\nfrom hermes_nb import timeline\ntimeline(answer).widget")
        assert failed.error is not None
        assert f"{reason}; it is needed" in failed.error["evalue"]
        assert "%pip install 'hermes-nb[widgets]'" in failed.error["evalue"]
        assert ran.ok("%hermes timeline --as figure").shown
        assert "It is 42." in ran.ok("%hermes timeline --as text").out
    finally:
        ran.ok("_require._version = version\nif sys.modules.get('anywidget', 1) is None:\n    del sys.modules['anywidget']")


def test_where_widgets_are_turned_off_it_is_shown_as_it_is(ran: Kernel) -> None:
    ran.ok("import os\nos.environ['HERMES_NB_WIDGETS'] = '0'")
    try:
        shown = ran.ok("%hermes timeline")
        assert VIEW not in shown.shown[0]
        assert "It is 42." in shown.shown[0]["text/html"]
        assert shown.err == ""
    finally:
        ran.ok("del os.environ['HERMES_NB_WIDGETS']")
    assert VIEW in ran.ok("%hermes timeline").shown[0]
