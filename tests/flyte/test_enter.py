"""How a task's code comes onto the path, in a temporary folder that other users may write to."""

from __future__ import annotations

import importlib
import io
import os
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest

from hermes_nb.flyte.task.definition import _enter_function


def zipped(**files: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name, text in files.items():
            archive.writestr(name.replace("_dot_", "."), text)
    return held.getvalue()


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The temporary folder; what is put on the path and imported is taken back."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "entered_mod", raising=False)
    return tmp_path


CODES = {
    "zip": (zipped(entered_mod_dot_py="WHOSE = 'mine'"), "hermes-nb-d.zip"),
    "folder": (zipped(entered_mod_dot_py="WHOSE = 'mine'", data_dot_csv="1"), "hermes-nb-d"),
}


def whose() -> str:
    importlib.invalidate_caches()
    sys.modules.pop("entered_mod", None)
    return str(importlib.import_module("entered_mod").WHOSE)


@pytest.mark.parametrize("kind", CODES)
def test_it_is_put_there_once_and_found_again(shared: Path, kind: str) -> None:
    code, place = CODES[kind]
    enter = _enter_function(code, "d")
    enter()
    before = list(sys.path)
    enter()
    assert sys.path == before
    assert [entry for entry in before if "hermes-nb-d" in entry] == [str(shared / place)]
    assert [path.name for path in shared.iterdir()] == [place]
    assert whose() == "mine"


@pytest.mark.parametrize("kind", CODES)
@pytest.mark.parametrize("planted", ["itself", "link"])
def test_what_another_user_put_in_its_place_is_not_taken(
    shared: Path, kind: str, planted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, place = CODES[kind]
    evil = shared / "evil" if planted == "link" else shared / place
    if kind == "zip":
        evil.write_bytes(zipped(entered_mod_dot_py="WHOSE = 'theirs'"))
        evil.parent.chmod(0o755)
    else:
        evil.mkdir()
        (evil / "entered_mod.py").write_text("WHOSE = 'theirs'")
    if planted == "link":
        (shared / place).symlink_to(evil)
    else:
        monkeypatch.setattr(os, "getuid", lambda: -1)  # what is there is another user's
    if kind == "zip":  # in a sticky folder nobody replaces another's file
        real = Path.rename
        monkeypatch.setattr(Path, "rename", lambda path, to: real(path, to) if path.suffix != ".zip" else _refuse())
    _enter_function(code, "d")()
    assert whose() == "mine"
    assert str(shared / place) not in sys.path


def _refuse() -> Path:
    raise PermissionError("Operation not permitted")
