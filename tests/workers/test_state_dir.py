from __future__ import annotations

import stat
from pathlib import Path

import pytest

from hermes_nb.errors import StoreError
from hermes_nb.workers.state_dir import StateDir, claim_instance, open_state_dir


def test_default_is_a_private_folder_under_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HERMES_NB_HOME", raising=False)
    monkeypatch.chdir(tmp_path)
    state = open_state_dir()
    assert state.path == tmp_path / ".hermes-nb"
    assert stat.S_IMODE(state.path.stat().st_mode) == 0o700
    assert (state.path / ".gitignore").read_text() == "*\n"
    assert state.warning is None


def test_environment_names_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_NB_HOME", str(tmp_path / "elsewhere"))
    assert open_state_dir().path == tmp_path / "elsewhere"


def test_named_folder_that_can_not_be_made_is_an_error_that_names_the_cure(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match="HERMES_NB_HOME"):
        open_state_dir(tmp_path / "file" / "state")


def test_read_only_working_directory_gives_a_temporary_folder_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HERMES_NB_HOME", raising=False)
    (tmp_path / ".hermes-nb").write_text("a file in the way stands for a folder that can't be written")
    monkeypatch.chdir(tmp_path)
    state = open_state_dir()
    assert state.path.is_dir()
    assert state.path.parent != tmp_path
    assert state.warning is not None
    assert "HERMES_NB_HOME" in state.warning
    state.release()
    assert not state.path.exists()


def test_two_holders_of_one_instance_get_two_folders(tmp_path: Path) -> None:
    state = StateDir(tmp_path)
    first, second = claim_instance(state, "default"), claim_instance(state, "default")
    assert first.path.name == "default"
    assert second.path.name == "default-2"
    first.release()
    third = claim_instance(state, "default")
    assert third.path == first.path
    second.release()
    third.release()


def test_log_tail_gives_the_last_lines(tmp_path: Path) -> None:
    folder = claim_instance(StateDir(tmp_path), "a")
    assert folder.log_tail() == ""
    folder.log.write_text("\n".join(f"line {i}" for i in range(100)))
    assert folder.log_tail(2) == "line 98\nline 99"
    folder.release()


def test_instance_folder_is_private(tmp_path: Path) -> None:
    folder = claim_instance(StateDir(tmp_path), "a")
    assert not folder.path.stat().st_mode & 0o077
    folder.release()
