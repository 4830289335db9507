"""What axe-core finds in a part of a page. Its script is in the package axe-playwright-python: nothing is fetched."""

from __future__ import annotations

from .nbcheck import Notebook

BAD = ("serious", "critical")


def findings(notebook: Notebook, inside: str) -> list[str]:
    """Serious and critical findings below elements that match a CSS selector, as `rule: element: what to do`."""
    from axe_playwright_python.sync_playwright import Axe

    told = Axe().run(notebook.page, context=inside).response["violations"]
    return [
        f"{rule['id']}: {node['html'][:120]}: {node['failureSummary']}"
        for rule in told
        if rule["impact"] in BAD
        for node in rule["nodes"]
    ]
