"""What an optional package has to be, and what is said when it is not."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from hermes_nb import _require
from hermes_nb._require import OLDEST, lack, require
from hermes_nb.errors import MissingPackageError

PROJECT = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]


def test_the_oldest_versions_are_those_of_the_extra():
    wanted = {f"{name}>={'.'.join(map(str, oldest))}" for name, oldest in OLDEST.items()}
    assert wanted == set(PROJECT["optional-dependencies"]["widgets"])


def test_nothing_lacks_where_all_is_there():
    assert lack("json", "ipywidgets", "anywidget") == ""


@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("7.7.1", "ipywidgets 7.7.1 is older than 8.1"),
        ("8.0.7", "ipywidgets 8.0.7 is older than 8.1"),
        ("8.1", ""),
        ("8.1.0rc1", ""),
        ("10.0.0", ""),
        ("", ""),
    ],
)
def test_a_version_is_compared_by_its_numbers(monkeypatch, version, said):
    monkeypatch.setattr(_require, "_version", lambda _: version)
    assert lack("ipywidgets") == said


def test_what_is_not_installed_is_named_without_being_imported(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    assert lack("ipywidgets", "anywidget") == "anywidget is not installed"


def test_an_error_gives_the_reason_and_the_pip_line(monkeypatch):
    monkeypatch.setattr(_require, "_version", lambda _: "7.7.1")
    with pytest.raises(MissingPackageError, match=r"7\.7\.1 is older than 8\.1; it is needed to test") as failed:
        require("ipywidgets", why="to test")
    assert str(failed.value).endswith("Run %pip install 'hermes-nb[widgets]'.")


def test_a_copy_without_papers_is_taken_as_it_is():
    assert _require._version("no-such-distribution") == ""
