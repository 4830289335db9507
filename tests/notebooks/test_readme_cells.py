"""The cells of the README, copied into a notebook as they stand: by someone who has no key yet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.magics.kernel import PROJECT, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

BLOCKS = re.findall(r"^```(?:python)?\n(.*?)^```$", (PROJECT / "README.md").read_text(encoding="utf-8"), re.M | re.S)


def block(start: str) -> str:
    (found,) = (b for b in BLOCKS if b.startswith(start))
    return str(found)


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path)
    yield kernel
    kernel.close()


def test_the_first_cells_answer_and_so_does_the_one_without_magics(kernel: Kernel) -> None:
    kernel.ok(block("%load_ext hermes_nb"))
    asked = kernel.ok(block("%%hermes run -a analyst"))
    assert "Grace" in asked.text
    assert kernel.value("[answer.status, [t.name for t in answer.tools]]") == ["completed", ["top_customers"]]
    plain = kernel.ok(block("from hermes_nb import Agent, Hermes"))
    assert plain.error is None
    assert kernel.value("[result.status, 'Grace' in result.text]") == ["completed", True]
