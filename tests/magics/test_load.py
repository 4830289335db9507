from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from IPython.core.magic import Magics, line_cell_magic, magics_class

import hermes_nb
from hermes_nb.errors import UsageError
from hermes_nb.magics import context
from tests.magics.conftest import bare_shell, close


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A shell without the extension."""
    monkeypatch.chdir(tmp_path)
    made = bare_shell()
    try:
        yield made
    finally:
        hermes_nb.unload_ipython_extension(made)
        close(made)


@magics_class
class Foreign(Magics):
    """As jupyter-ai-hermes-magics registers its own."""

    heard: list[str] = []  # noqa: RUF012 - one list for the class

    @line_cell_magic
    def hermes(self, line: str, cell: str | None = None) -> None:
        """Another package's."""
        self.heard.append(line)


def state(shell: InteractiveShell) -> dict[str, Any]:
    """What loading touches; other magics are compared by name, since IPython loads them when they are first used."""
    completer = shell.Completer
    assert completer is not None
    magics = shell.magics_manager.magics
    return {
        "magics": {kind: (sorted(magics[kind]), magics[kind].get("hermes")) for kind in ("line", "cell")},
        "tokens": list(shell.input_transformer_manager.token_transformers),
        "cleanup": list(shell.input_transformers_cleanup),
        "post": list(shell.input_transformers_post),
        "matchers": list(completer.custom_matchers),
        "events": {name: list(found) for name, found in shell.events.callbacks.items()},
    }


def test_loading_starts_no_thread_and_writes_no_file(bare: InteractiveShell, tmp_path: Path) -> None:
    threads = threading.enumerate()
    bare.extension_manager.load_extension("hermes_nb")
    bare.run_cell("%hermes")
    bare.run_cell("%hermes agent")
    assert threading.enumerate() == threads
    assert list(tmp_path.iterdir()) == []


def test_unloading_puts_everything_back(bare: InteractiveShell) -> None:
    before = state(bare)
    bare.extension_manager.load_extension("hermes_nb")
    assert state(bare) != before
    bare.extension_manager.unload_extension("hermes_nb")
    assert state(bare) == before


def test_a_second_load_and_a_reload_leave_one_magic(bare: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    before = state(bare)
    for source in ("%load_ext hermes_nb", "%load_ext hermes_nb", "%reload_ext hermes_nb", "%reload_ext hermes_nb"):
        assert bare.run_cell(source).success
    capsys.readouterr()
    bare.run_cell("%hermes help last")
    assert capsys.readouterr().out.startswith("%hermes last: show")
    assert len(bare.input_transformers_post) == len(before["post"]) + 1
    bare.extension_manager.unload_extension("hermes_nb")
    assert state(bare) == before


def test_a_foreign_magic_is_named_kept_and_given_back(bare: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> None:
    bare.register_magics(Foreign)
    before = state(bare)
    bare.extension_manager.load_extension("hermes_nb")
    said = capsys.readouterr().out
    assert "%hermes was registered by tests.magics.test_load" in said
    assert "%hermes_foreign" in said
    Foreign.heard.clear()
    bare.run_cell("%hermes_foreign one")
    bare.run_cell("%%hermes_foreign two\nx")
    assert Foreign.heard == ["one", "two"]
    bare.extension_manager.unload_extension("hermes_nb")
    assert state(bare) == before
    bare.run_cell("%hermes three")
    assert Foreign.heard[-1] == "three"


def test_a_foreign_magic_that_comes_later_is_named_once_and_stays(
    bare: InteractiveShell, capsys: pytest.CaptureFixture[str]
) -> None:
    bare.extension_manager.load_extension("hermes_nb")
    bare.register_magics(Foreign)
    Foreign.heard.clear()
    bare.run_cell("%hermes run hi")
    bare.run_cell("%hermes again")
    assert Foreign.heard == ["run hi", "again"]
    said = capsys.readouterr().out
    assert said.count("%hermes is tests.magics.test_load's now. %reload_ext hermes_nb takes it back.") == 1
    bare.extension_manager.unload_extension("hermes_nb")
    bare.run_cell("%hermes still")
    assert Foreign.heard[-1] == "still"


def test_two_shells_do_not_share_anything(shell: InteractiveShell, bare: InteractiveShell) -> None:
    hermes_nb.load_ipython_extension(bare)
    assert context(bare) is not context(shell)


def test_the_context_of_a_shell_without_the_extension_is_an_error(bare: InteractiveShell) -> None:
    with pytest.raises(UsageError, match="Run %load_ext hermes_nb"):
        context(bare)


def test_a_line_is_not_expanded(run: Callable[[str], str]) -> None:
    run("name = 'x'")
    assert "'$name'" in run("%hermes $name {name}")
