"""The page of the modules that look at turns."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.register_assert_rewrite("tests.browser.turn_page")

from hermes_nb.testing import ScriptedModel  # noqa: E402 - first it is said how the rest is to be read

from .lab import LabServer  # noqa: E402
from .nbcheck import Browser  # noqa: E402
from .test_run import write_notebook  # noqa: E402
from .turn_page import Page  # noqa: E402


@pytest.fixture(scope="module")
def page(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A module's notebook (`NAME`, `CELLS`) in a browser, its first cell run; a `PAGE` where the module names one."""
    module = request.module
    folder = tmp_path_factory.mktemp("notebooks")
    with ScriptedModel([]) as model:
        write_notebook(folder / module.NAME, [cell.replace("BASE_URL", model.base_url) for cell in module.CELLS])
        with LabServer(folder) as lab, Browser(lab) as browser:
            notebook = browser.open(module.NAME)
            notebook.run_cell(0)
            notebook.wait_text("Agent ", cell=0)
            notebook.wait_idle()
            yield getattr(module, "PAGE", Page)(notebook, browser, model)
