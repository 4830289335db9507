from __future__ import annotations

from collections.abc import Callable

import IPython
import pytest
from IPython.core.completer import provisionalcompleter
from IPython.core.interactiveshell import InteractiveShell

from hermes_nb.magics import _subcommand, context
from hermes_nb.magics._completion import in_body

Complete = Callable[[str], list[str]]


@pytest.fixture
def complete(shell: InteractiveShell) -> Complete:
    """What a cell would be, completed at its end in every way offered."""
    shell.run_cell("from hermes_nb import Agent\nanalyst = Agent('analyst')\nother = Agent('writer')")
    shell.run_cell("df = 1\ndef fun(): ...")

    def complete(source: str) -> list[str]:
        completer = shell.Completer
        assert completer is not None
        with provisionalcompleter():
            found = list(completer.completions(source, len(source)))
        return [source[: c.start] + c.text + source[c.end :] for c in found]

    return complete


@pytest.mark.parametrize("magic", ["%hermes", "%%hermes", "x = 1\n%hermes", "for i in x:\n    %hermes"])
def test_sub_commands_are_completed(complete: Complete, magic: str) -> None:
    assert complete(f"{magic} ") == [f"{magic} {name}" for name in _subcommand.names()]
    assert complete(f"{magic} ru") == [f"{magic} run", f"{magic} runtimes"]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%hermes run --b", ["%hermes run --background"]),
        ("%hermes run --w", ["%hermes run --with"]),
        ("%hermes run -a ", ["%hermes run -a analyst", "%hermes run -a other"]),
        ("%hermes run -a an", ["%hermes run -a analyst"]),
        ("%%hermes run --agent=an", ["%%hermes run --agent=analyst"]),
        ("%hermes run -o d", ["%hermes run -o df"]),
        ("%hermes run --with df,an", ["%hermes run --with df,analyst"]),
        ("%hermes run -s ", ["%hermes run -s new"]),
        ("%hermes run -s new --q", ["%hermes run -s new --quiet"]),
        ("%hermes agent an", ["%hermes agent analyst"]),
        ("%hermes agent x --tools f", ["%hermes agent x --tools fun"]),
        ("%hermes agent x --too", ["%hermes agent x --tools", "%hermes agent x --toolsets"]),
        ("%hermes help la", ["%hermes help last"]),
        ("%hermes tools a", ["%hermes tools attach"]),
        ("%hermes tools attach f", ["%hermes tools attach fun"]),
        ("%hermes tools attach fun -a an", ["%hermes tools attach fun -a analyst"]),
        ("%hermes stop ", ["%hermes stop all"]),
        ("%hermes timeline --as f", ["%hermes timeline --as figure", "%hermes timeline --as frame"]),
        ("%hermes timeline --li", ["%hermes timeline --live"]),
        ("%hermes last -", ["%hermes last --help", "%hermes last --out", "%hermes last -h", "%hermes last -o"]),
    ],
)
def test_what_can_follow_is_completed(complete: Complete, source: str, expected: list[str]) -> None:
    assert complete(source) == expected


@pytest.mark.parametrize(
    "source", ["%hermes run what is --b", "%%hermes run\n--b", "%hermesx ru", "hermes ru", "%hermes nope --b"]
)
def test_text_is_not_completed_as_options(complete: Complete, source: str) -> None:
    assert not [text for text in complete(source) if text.endswith((" run", "--background"))]


def test_completing_starts_no_hermes(shell: InteractiveShell, complete: Complete) -> None:
    complete("%hermes run -s ")
    complete("%hermes stop ")
    assert context(shell).opened_hermes is None


def test_the_older_interface_completes_too(shell: InteractiveShell, complete: Complete) -> None:
    with pytest.warns(PendingDeprecationWarning):
        assert shell.complete("", "%hermes run -a an", 17) == ("an", ["analyst"])


@pytest.mark.skipif(IPython.version_info < (8, 6), reason="this IPython tells a matcher the line alone")
@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("%%hermes run --format\nLook at {{d", ["%%hermes run --format\nLook at {{df"]),
        ("%%hermes run -a analyst\n\nLook at {{ an", ["%%hermes run -a analyst\n\nLook at {{ analyst"]),
        ("\n%%hermes run --format\n{{f", ["\n%%hermes run --format\n{{fun"]),
    ],
)
def test_variables_are_completed_between_braces_of_the_body(complete: Complete, source: str, expected: list[str]) -> None:
    assert complete(source) == expected


@pytest.mark.parametrize(
    "source", ["%%hermes run --format\nLook at \\{{d", "%%hermes run --format\nLook at {{df}} d", "x = {{d"]
)
def test_elsewhere_braces_are_not_ours(shell: InteractiveShell, complete: Complete, source: str) -> None:
    assert in_body(context(shell), source, source.count("\n"), source.splitlines()[-1]) is None


def test_a_variable_that_would_stay_as_typed_says_so(shell: InteractiveShell, complete: Complete) -> None:
    kinds = {line: in_body(context(shell), f"{line}\n{{{{d", 1, "{{d") for line in ("%%hermes run", "%%hermes run --format")}
    assert kinds == {
        "%%hermes run": ("d", "variable (needs --format)", ["df"]),
        "%%hermes run --format": ("d", "variable", ["df"]),
    }
