"""The page for coding agents says what works: its code runs, its links and its names are there."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest
from IPython.core.interactiveshell import InteractiveShell

from hermes_nb.magics import _subcommand

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "AGENTS.md").read_text(encoding="utf-8")
SKILL = (ROOT / "SKILL.md").read_text(encoding="utf-8")


def test_its_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", PAGE)
    assert len(links) >= 3
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_the_sub_commands_it_names_are_there() -> None:
    named = set(re.findall(r"%hermes ([a-z]+)", PAGE + SKILL.partition("# hermes_nb")[2]))
    assert {"run", "map", "doctor", "timeline", "resume"} <= named
    assert named <= set(_subcommand.names())


def test_the_skill_has_a_name_and_says_when_to_use_it() -> None:
    head = dict(re.findall(r"^(\w+): (.+)$", SKILL.split("---")[1], re.MULTILINE))
    assert re.fullmatch(r"[a-z-]{1,64}", head["name"])
    assert 100 < len(head["description"]) <= 1024


@pytest.mark.parametrize(("page", "tool"), [(PAGE, "top_customers"), (SKILL, "revenue_of")], ids=["AGENTS.md", "SKILL.md"])
def test_its_first_cell_runs(
    page: str, tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (source,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    shell = InteractiveShell.instance()
    try:
        shell.user_ns["df"] = pd.DataFrame({"name": ["Ada", "Bo"], "revenue": [3, 5]})
        assert shell.run_cell(source).success
        assert shell.run_cell("%hermes agent analyst -o bound").success
        assert shell.run_cell(f"assert [t.name for t in bound.tools] == ['{tool}']").success, capsys.readouterr()
        assert shell.run_cell("%unload_ext hermes_nb").success
    finally:
        InteractiveShell.clear_instance()
