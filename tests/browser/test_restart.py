"""What waits for a person when its kernel is restarted: it looks as dead as it is."""

from __future__ import annotations

import pytest

from hermes_nb.testing import Call

from .turn_page import ANALYST, Page

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(300)]

NAME = "restart.ipynb"
ASK = 1
CELLS = (ANALYST, "%%hermes run -a analyst\nClean the table up.")


def test_an_approval_of_a_kernel_that_is_gone_can_t_be_clicked_and_says_so(page: Page) -> None:
    page.run(ASK, Call("delete_rows", {"table": "orders", "n": 3}))
    page.button(ASK, "Approve").wait_for(timeout=60_000)
    page.wait(ASK, "!v.element.querySelector('.hnbr-asked button').disabled")
    page.notebook.restart()
    page.wait(ASK, "v.doing.textContent.includes('kernel stopped')", timeout_s=15)
    for name in ("Approve", "Always", "Deny"):
        assert page.button(ASK, name).is_disabled()
    said = page.cell(ASK).locator(".hnbr-turn").inner_text()
    assert "No longer waiting" in said
    assert "Approve this call?" not in said
    assert page.cell(ASK).locator(".hnbr-is-running").count() == 0
    page.shoot(ASK, "restarted")
    page.browser.assert_clean()
