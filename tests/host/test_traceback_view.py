from __future__ import annotations

from collections.abc import Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from hermes_nb.host.output.traceback_view import coloured
from hermes_nb.model.mask import Masker
from hermes_nb.views._ansi import plain

SECRET = "sk-secret-0123456789"
CELL = f"""def broken(key):
    return {{"n": 1}}[key]  # {SECRET}
"""


@pytest.fixture
def error() -> Iterator[BaseException]:
    was_there = InteractiveShell.initialized()
    shell = InteractiveShell.instance()
    shell.run_cell(CELL)  # type: ignore[no-untyped-call]
    try:
        shell.user_ns["broken"](f"revenue {SECRET}")
    except KeyError as exc:
        yield exc
    finally:
        if not was_there:
            InteractiveShell.clear_instance()


def test_it_has_the_line_of_the_cell_and_colours_but_no_secret(error: BaseException) -> None:
    masker = Masker([SECRET])
    text = coloured(error, masker)
    assert "\x1b[" in text
    assert 'return {"n": 1}[key]' in plain(text)
    assert "KeyError" in text
    assert SECRET not in plain(text)


def test_a_secret_that_colours_run_through_is_masked_too(error: BaseException) -> None:
    split = '{"n": 1}[key]'  # IPython colours each part of it
    assert split in plain(coloured(error, Masker()))
    assert split not in plain(coloured(error, Masker([split])))
