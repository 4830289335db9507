"""What a cell shows of an error: what its user called, not the frames of this package."""

from __future__ import annotations

import re
import traceback

import pytest

import hermes_nb
from hermes_nb._traceback import of_user
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.turns.model_choice import choose


def names(error: BaseException) -> list[str]:
    return [frame.name for frame in traceback.extract_tb(of_user(error.__traceback__))]


def test_frames_of_the_package_are_left_out() -> None:
    with pytest.raises(UsageError) as caught:
        choose(Agent("a", model="gpt-5"))
    assert len(traceback.extract_tb(caught.value.__traceback__)) > 1
    assert names(caught.value) == ["test_frames_of_the_package_are_left_out"]


def test_ipython_shows_the_users_lines_alone() -> None:
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.capture import capture_output

    shell = InteractiveShell.instance()
    try:
        with capture_output() as shown:
            shell.run_cell("from hermes_nb import Agent\nfrom hermes_nb.turns.model_choice import choose")
            shell.run_cell("def ask():\n    return choose(Agent('a', model='gpt-5'))\nask()")
    finally:
        InteractiveShell.clear_instance()
    told = re.sub(r"\x1b\[[\d;]*m", "", shown.stdout)
    assert "return choose(Agent" in told
    assert "provider:model" in told
    assert "model_choice.py" not in told
    assert told.rstrip().endswith('Cause and cure: hermes_nb.help("UsageError")')


def test_what_an_error_points_to_names_its_page(capsys: pytest.CaptureFixture[str]) -> None:
    hermes_nb.help("ModelError")
    assert "docs/reference/errors.md#modelerror" in capsys.readouterr().out
