"""Hostile text in a real JupyterLab: shown, never run, and it asks nobody for anything."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes_nb.views import figure, html, markdown
from hermes_nb.views._bundle import bundle
from tests.browser.lab import LabServer
from tests.browser.nbcheck import Browser, Notebook
from tests.browser.test_run import write_notebook
from tests.golden.logs import load

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.timeout(300)]

LIVE = "script, iframe, object, embed, form, input, link, meta, base, img:not(.plot-img), svg [href], [onload], [onerror]"


def outputs() -> list[dict[str, object]]:
    events = load("hostile")
    return [
        dict(bundle(events)),
        {"text/markdown": markdown.render(events)},
        {"text/html": html.render(load("unicode"))},
        {"application/vnd.plotly.v1+json": figure.render(events)},
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "outputs.json").write_text(json.dumps(outputs()), encoding="utf-8")
    load_them = "made = json.loads(pathlib.Path('outputs.json').read_text())"
    show = f"import json, pathlib\nfrom IPython.display import display\n{load_them}"
    cells = [show, *(f"display(made[{i}], raw=True)" for i in range(len(outputs())))]
    write_notebook(folder / "hostile.ipynb", cells)
    return folder


@pytest.fixture(scope="module", params=["just run", "reopened untrusted"])
def page(folder: Path, request: pytest.FixtureRequest) -> Iterator[tuple[Browser, Notebook]]:
    if request.param == "reopened untrusted":
        path = folder / "hostile.ipynb"
        saved = json.loads(path.read_text(encoding="utf-8"))
        saved["cells"][0]["source"] = "1"  # another content than the one that was signed
        path.write_text(json.dumps(saved), encoding="utf-8")
    with LabServer(folder) as lab, Browser(lab) as browser:
        notebook = browser.open("hostile.ipynb")
        if request.param == "just run":
            notebook.run_all()
            notebook.wait_idle()
            notebook.save()
        notebook.wait_text("document.title='pwned'", cell=1)
        notebook.wait_text("document.title='pwned'", cell=2)
        trusted = notebook.page.evaluate("() => document.querySelectorAll('.jp-mod-trusted').length")
        assert (trusted > 0) == (request.param == "just run")
        yield browser, notebook


def test_nothing_in_an_output_can_run_or_load(page: tuple[Browser, Notebook]) -> None:
    browser, notebook = page
    css = ", ".join(f".jp-OutputArea-output {part.strip()}" for part in LIVE.split(","))
    found = notebook.page.evaluate("css => [...document.querySelectorAll(css)].map(e => e.outerHTML)", css)
    assert found == []
    assert "pwned" not in notebook.page.title()
    browser.assert_clean()


def test_no_link_leads_elsewhere_than_the_web(page: tuple[Browser, Notebook]) -> None:
    _, notebook = page
    found = notebook.page.evaluate("() => [...document.querySelectorAll('.jp-OutputArea-output a')].map(e => e.href)")
    assert [a for a in found if a and not a.startswith(("http://", "https://"))] == []


def test_a_click_on_everything_runs_nothing(page: tuple[Browser, Notebook]) -> None:
    _, notebook = page
    notebook.page.evaluate("() => document.querySelectorAll('.jp-OutputArea-output summary').forEach(e => e.click())")
    assert notebook.page.evaluate("() => document.querySelectorAll('.jp-OutputArea-output details[open]').length") > 0
    assert "pwned" not in notebook.page.title()
