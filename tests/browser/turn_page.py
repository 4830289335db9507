"""A notebook with an agent whose turns are looked at in a browser: what test_turn, test_turn_life and test_chat share."""

from __future__ import annotations

from typing import Any

from hermes_nb.testing import ScriptedModel, Step

from .nbcheck import Browser, Notebook
from .test_run import SCREENSHOTS, contrasts
from .test_timeline import themed

ANALYST = '''\
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
%hermes agent analyst'''


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
        """Until that is true, and drawn: what a view has heard is on the page with the next frame."""
        expression = f"({expression}) && v?.isDue === undefined"
        script = f"() => {{ {self.cell_view(cell)} try {{ return {expression}; }} catch {{ return false; }} }}"
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
