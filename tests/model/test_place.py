"""A path in an output says where a file is, and not who has it."""

from pathlib import Path

import pytest

from hermes_nb.model.place import shortened, shown_path


@pytest.fixture(autouse=True)
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "ada" / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "ada"))
    monkeypatch.chdir(tmp_path / "ada" / "project")
    return tmp_path


def test_a_path_below_the_notebook_is_relative_to_it(folders: Path) -> None:
    assert shown_path(folders / "ada" / "project" / ".hermes-nb") == ".hermes-nb"
    assert shown_path(".hermes-nb") == ".hermes-nb"
    assert shown_path(Path.cwd()) == "."


def test_a_path_of_the_home_folder_begins_with_a_tilde(folders: Path) -> None:
    assert shown_path(folders / "ada" / "state" / "x") == "~/state/x"
    assert shown_path(folders / "ada") == "~"


def test_a_path_elsewhere_is_as_it_is_and_links_are_followed(folders: Path) -> None:
    assert shown_path("/opt/state") == "/opt/state"
    (folders / "link").symlink_to(folders / "ada" / "project")
    assert shown_path(folders / "link" / ".hermes-nb") == ".hermes-nb"


def test_the_folder_is_that_of_the_notebook_after_a_change_of_the_working_directory(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folders)
    assert shown_path(folders / "ada" / "project" / ".hermes-nb", base=folders / "ada" / "project") == ".hermes-nb"


def test_paths_within_a_text_are_shortened_and_addresses_are_left_alone(folders: Path) -> None:
    text = f"The store '{folders}/ada/project/.hermes-nb/store.db' is locked; see {folders}/ada/log and http://x{folders}/ada/y."
    assert shortened(text) == f"The store '.hermes-nb/store.db' is locked; see ~/log and http://x{folders}/ada/y."
