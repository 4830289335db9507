"""Pictures of what a turn looks like: each state, light, dark and in high contrast, at 480, 900 and 1400 px, live and
saved side by side.

    make pictures                              # all, into screenshots/pictures
    python scripts/pictures.py parallel -w 480 # some
    python scripts/pictures.py --docs          # those of README and guides, anew

A real JupyterLab in a real Chromium, against the scripted model; the saved half is the notebook's file, opened again.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

import film  # noqa: E402

from hermes_nb.testing import Call, Fail, Hang, Say, ScriptedModel, Step  # noqa: E402
from tests.browser.lab import LabServer  # noqa: E402
from tests.browser.nbcheck import Browser, Notebook  # noqa: E402
from tests.browser.test_run import write_notebook  # noqa: E402

WIDTHS = (480, 900, 1400)
THEMES = ("light", "dark", "dark-high-contrast")
OUT = ROOT / "screenshots" / "pictures"
NAME = "pictures.ipynb"
SETUP = '''\
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

@tool
def city_weather(city: str) -> dict:
    """The weather of a city."""
    return {"city": city, "celsius": 21, "sky": "clear"}

@tool(parallel=True)
def fetch(page: int) -> str:
    """Read a page."""
    time.sleep(0.2)
    return f"Page {page}: " + "lorem ipsum dolor sit amet " * 20

@tool
def broken(column: str) -> float:
    """Sum a column."""
    return {"n": 1}[column]

@tool(approval=True)
def delete_rows(table: str, n: int) -> str:
    """Delete rows."""
    return f"{n} rows of {table} are gone"

@tool
def slow(seconds: float) -> str:
    """Take a while."""
    time.sleep(seconds)
    return "done"

analyst = Agent("analyst", instructions="Answer from the data.", toolsets=["clarify"],
                tools=[top_customers, city_weather, fetch, broken, delete_rows, slow],
                model=Model("scripted", "custom", base_url="BASE_URL"))
%hermes agent analyst'''
ANSWER = """\
They bring **2,210** together: it cost $5 and then $7.

| customer | revenue | share |
|---|---:|---:|
| Ada | 1,200 | 54.3 % |
| Barbara | 1,010 | 45.7 % |

```python
import pandas as pd
df.nlargest(2, "revenue")  # the two customers who matter most, as a comment that is longer than a narrow cell is wide
```

- [x] Ada was asked
- [ ] Barbara comes next

1. Ask Ada first: https://example.org/ada
2. Then Barbara."""


@dataclass(frozen=True)
class State:
    """A cell to look at.

    Attributes:
        prompt: What is asked.
        steps: What the model does.
        clicks: Buttons to click in turn, each once it is there.
        until: A text that shows that it is as far as it should be; "" for the turn's end.
        opens: A row to open.
    """

    prompt: str
    steps: Sequence[Step]
    clicks: Sequence[str] = ()
    until: str = ""
    opens: str = ""


def states() -> dict[str, State]:
    """What pictures are made of, in the notebook's order."""
    customers, delete = Call("top_customers", {"n": 2}), Call("delete_rows", {"table": "orders", "n": 3})
    ask = Call("clarify", {"question": "Which table should I clean?", "choices": ["orders", "customers"]})
    fetches = [Call("fetch", {"page": n}) for n in range(5)]
    return {
        "answer": State("Which customers matter most?", [customers, Call("city_weather", {"city": "Rome"}), Say(ANSWER)]),
        "opened": State("And again?", [customers, Say("As before.")], opens="top_customers"),
        "parallel": State("Read five pages.", [fetches, Say("Five pages are read.")], opens="fetch"),
        "error": State("Sum the revenue.", [Call("broken", {"column": "revenue"}), Say("There is none.")], opens="broken"),
        "approval": State("Clean up.", [delete], until="Approve"),
        "approved": State("Clean up.", [delete, Say("Cleaned.")], clicks=["Approve"]),
        "denied": State("Clean up.", [delete, Say("I leave it.")], clicks=["Deny"]),
        "question": State("Clean a table.", [ask], until="Which table"),
        "answered": State("Clean a table.", [ask, Say("Customers it is.")], clicks=["customers"]),
        "running": State("Wait.", [Call("slow", {"seconds": 60})], until="slow"),
        "streaming": State("Tell me.", [customers, Hang("Ada and **Barba", "ra** matter.")], until="Barba"),
        "stopped": State("Tell me a story.", [Hang("Once upon a time ", "never")], clicks=["Stop"]),
        "failed": State("Fail.", [Fail(400, "The request is too long for this model.")]),
    }


class Pictures:
    """The notebook that is looked at.

    Args:
        names: Which states.
        widths: Widths of the window.
        out: Where pictures go.
    """

    def __init__(self, names: Sequence[str], widths: Sequence[int], out: Path) -> None:
        known = states()
        self.states = {name: known[name] for name in names or known}
        self.widths, self.out = widths, out
        self.cell_path: Path | None = None  # where the whole cell of the first state goes

    def make(self) -> None:
        """Run all states, look at each live, save, open again, look at each saved, and put both beside each other."""
        self.out.mkdir(parents=True, exist_ok=True)
        cells = [SETUP, *(f"%%hermes run -a analyst -s new\n{state.prompt}" for state in self.states.values())]
        with tempfile.TemporaryDirectory() as folder, ScriptedModel([]) as model:
            write_notebook(Path(folder) / NAME, [cell.replace("BASE_URL", model.base_url) for cell in cells])
            with LabServer(Path(folder), lab_extension=True) as lab, Browser(lab, height=1600) as browser:
                notebook = browser.open(NAME)
                notebook.command("application:toggle-left-area")
                notebook.run_cell(0)
                notebook.wait_text("Agent ", cell=0)
                notebook.wait_idle()
                for at, (name, state) in enumerate(self.states.items(), 1):
                    self._run(notebook, model, at, state)
                    if self.cell_path is not None:
                        notebook.page.set_viewport_size({"width": 960, "height": 1600})
                        notebook.page.wait_for_timeout(500)
                        notebook.page.mouse.move(0, 0)
                        cell_of(notebook, at).screenshot(path=str(self.cell_path))
                        self.cell_path = None
                    self._shoot(notebook, at, name, "live")
                    if state.until:
                        notebook.interrupt()
                        notebook.wait_idle()
                notebook.save()
                notebook.close()
                notebook = browser.open(NAME)
                notebook.command("application:toggle-left-area")
                for at, (name, state) in enumerate(self.states.items(), 1):
                    if not state.until:
                        if state.opens:
                            cell_of(notebook, at).locator("summary", has_text=state.opens).first.click()
                        self._shoot(notebook, at, name, "saved")
        for name in self.states:
            self._join(name)
        print(f"Wrote {len(list(self.out.glob('*.png')))} pictures into {self.out}.")

    def _run(self, notebook: Notebook, model: ScriptedModel, at: int, state: State) -> None:
        model.extend(state.steps)
        notebook.run_cell(at)
        cell = cell_of(notebook, at)
        for label in state.clicks:
            if label == "Stop":
                notebook.wait_text("Once upon", cell=at)
            button = cell.get_by_role("button", name=label, exact=True)
            button.click(timeout=60_000)
        if state.until:
            notebook.wait_text(state.until, cell=at)
            notebook.page.wait_for_timeout(700)  # buttons are deaf for half a second
            return
        notebook.wait_idle()
        if state.opens:
            cell.locator("summary", has_text=state.opens).first.click()

    def _shoot(self, notebook: Notebook, at: int, name: str, form: str) -> None:
        page = notebook.page
        for theme in THEMES:
            name_there = f"JupyterLab {theme.replace('-', ' ').title()}"
            notebook.command("apputils:change-theme", theme=name_there)
            notebook.wait_for(
                f"() => document.body.dataset.jpThemeName === '{name_there}'"
                " && !document.getElementById('jupyterlab-splash')",
                theme,
                timeout_s=30,
            )
            for width in self.widths:
                page.set_viewport_size({"width": width, "height": 1600})
                page.mouse.move(0, 0)
                page.wait_for_timeout(350)  # Lab fades, and lays its panels out anew
                area = cell_of(notebook, at).locator(".jp-Cell-outputWrapper")
                area.scroll_into_view_if_needed()
                area.screenshot(path=str(self.out / f"{name}-{theme}-{width}-{form}.png"))
        page.set_viewport_size({"width": 1400, "height": 1600})

    def _join(self, name: str) -> None:
        from PIL import Image

        for theme in THEMES:
            for width in self.widths:
                paths = [self.out / f"{name}-{theme}-{width}-{form}.png" for form in ("live", "saved")]
                parts = [Image.open(path) for path in paths if path.is_file()]
                whole = Image.new("RGB", (sum(p.width for p in parts) + 12, max(p.height for p in parts)), "#888888")
                left = 0
                for part in parts:
                    whole.paste(part, (left, 0))
                    left += part.width + 12
                whole.save(self.out / f"{name}-{theme}-{width}.png")
                for path in paths:
                    path.unlink(missing_ok=True)


def for_docs() -> None:
    """The pictures of README and guides: a turn as a film, and as a widget."""
    pictures = Pictures(["answer"], [900], OUT)
    pictures.cell_path = ROOT / "docs" / "turn.png"
    pictures.make()
    film.main()


def cell_of(notebook: Notebook, at: int) -> Any:
    """A cell by its number."""
    return notebook.page.locator(".jp-Notebook .jp-Cell").nth(at)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("states", nargs="*", help=f"of {', '.join(states())}; all without one")
    parser.add_argument("-w", "--width", type=int, action="append", help="of the window, in pixels")
    parser.add_argument("-o", "--out", type=Path, default=OUT)
    parser.add_argument("--docs", action="store_true", help="make those of README and guides anew")
    options = parser.parse_args()
    if unknown := [name for name in options.states if name not in states()]:
        parser.error(f"There is no state {json.dumps(unknown[0])}. There are {', '.join(states())}.")
    if options.docs:
        for_docs()
        return 0
    Pictures(options.states, options.width or WIDTHS, options.out).make()
    return 0


if __name__ == "__main__":
    sys.exit(main())
