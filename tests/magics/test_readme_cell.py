"""The README's first cells, in order, in a real kernel on the offline model."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_first_cells_run_as_they_stand(tmp_path: Path) -> None:
    part = README.partition("## The first cell")[2].partition("\n## ")[0]
    cells = [cell for _, cell in re.findall(r"```(python)?\n(.*?)```", part, re.DOTALL)]
    assert len(cells) == 3
    kernel = Kernel(tmp_path, {"HERMES_NB_MODEL": "offline"})
    try:
        for cell in cells:
            kernel.ok(cell.rstrip("\n"))
        assert kernel.ok("print(answer.status, answer.tools[0].name)").out == "completed top_customers\n"
        assert kernel.ok("print(result.status, 'Ada' in result.text)").out == "completed True\n"
        assert kernel.ok("print(len(answer.frame()), bool(answer.figure().data), bool(answer.usage))").out == "4 True True\n"
    finally:
        kernel.close()
