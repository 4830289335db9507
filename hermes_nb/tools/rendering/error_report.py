"""What the model and the log learn from an exception: its message and the user's own lines, without secrets."""

from __future__ import annotations

import linecache
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

from hermes_nb.model.mask import Masker
from hermes_nb.tools.rendering.encoder import clean

MAX_LINES = 6
MAX_LINE_CHARS = 200
MAX_MESSAGE_CHARS = 4_000
_PACKAGE = str(Path(__file__).resolve().parents[2])
_CELL_FILE = re.compile(r"<ipython-input-(\d+)-\w+>|.*[/\\]ipykernel_\d+[/\\]\d+\.py")


def message(error: BaseException, masker: Masker) -> str:
    """The error's own message, bounded and without secrets; says so where it has none or `str()` of it raises."""
    try:
        text = str(error)
    except Exception as exc:  # noqa: BLE001 - the exception's own code
        text = f"(its message could not be read: str() raised {type(exc).__name__})"
    text = clean(masker.text(text))
    if len(text) > MAX_MESSAGE_CHARS:
        text = f"{text[:MAX_MESSAGE_CHARS]}... {len(text) - MAX_MESSAGE_CHARS:,} of {len(text):,} characters left out"
    return text


def headline(error: BaseException, masker: Masker) -> str:
    """`ValueError: the message`; the class alone where there is no message."""
    text = message(error, masker)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def causes(error: BaseException, masker: Masker) -> list[str]:
    """Headlines of what led to the error: its cause or context, then theirs; of a group, its first members. One that
    says the same as the error itself is left out."""
    found: list[str] = []
    seen = {id(error)}
    if isinstance(error, BaseExceptionGroup):
        found += [headline(e, masker) for e in error.exceptions[:5]]
    at = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    while at is not None and id(at) not in seen and len(found) < 5:
        seen.add(id(at))
        found.append(headline(at, masker))
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    own = headline(error, masker)
    return [line for line in dict.fromkeys(found) if line != own]


def user_lines(error: BaseException, masker: Masker) -> list[str]:
    """Where in the user's own code it went wrong, outermost first: `cell 3, line 5, in f: return 1 / n`.

    Frames of installed packages, of the standard library and of this package are left out; so is a file's folder
    unless it lies below the working directory. Of many lines the first and the last ones are kept.
    """
    lines = [masker.text(_line(frame, number)) for frame, number in _frames(error.__traceback__) if _is_user(frame)]
    lines = [clean(line) for line in lines]
    if len(lines) <= MAX_LINES:
        return lines
    return [lines[0], f"... {len(lines) - MAX_LINES:,} more lines", *lines[1 - MAX_LINES :]]


def full_traceback(error: BaseException, masker: Masker) -> str:
    """The traceback from the first frame outside this package on, with causes, without secrets."""
    try:
        text = "".join(traceback.format_exception(type(error), error, outside(error.__traceback__)))
    except Exception as exc:  # noqa: BLE001 - the exception's own __str__ or __notes__
        text = f"{type(error).__name__} (its traceback could not be written: {type(exc).__name__})\n"
    return clean(masker.text(text))


def outside(at: TracebackType | None) -> TracebackType | None:
    """The traceback from its first frame outside this package on; None when there is none."""
    while at is not None and at.tb_frame.f_code.co_filename.startswith(_PACKAGE):
        at = at.tb_next
    return at


def _frames(at: TracebackType | None) -> Iterator[tuple[FrameType, int]]:
    while at is not None:
        yield at.tb_frame, at.tb_lineno
        at = at.tb_next


def _is_user(frame: FrameType) -> bool:
    name = frame.f_code.co_filename
    if _CELL_FILE.fullmatch(name):
        return True
    if name.startswith("<"):  # <frozen importlib>, <string>: a cell of a plain interpreter is the user's
        return frame.f_globals.get("__name__") == "__main__"
    return not name.startswith((_PACKAGE, *_installed()))


def _installed() -> tuple[str, ...]:
    """Folders whose code is not the user's. A project folder that contains its own environment is."""
    folders = {sysconfig.get_path(n) for n in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(f for f in folders if f) + ((sys.prefix + "/lib",) if sys.prefix != sys.base_prefix else ())


def _line(frame: FrameType, number: int) -> str:
    code = frame.f_code
    source = linecache.getline(code.co_filename, number, frame.f_globals).strip()
    source = source if len(source) <= MAX_LINE_CHARS else source[:MAX_LINE_CHARS] + "..."
    name = code.co_name.strip("<>")
    where = f"{_place(frame)}, line {number}" + (f", in {name}" if name != "module" else "")
    return f"{where}: {source}" if source else where


def _place(frame: FrameType) -> str:
    """`cell 3` for code of a notebook, a path below the working directory or a bare file name for code of a file."""
    name = frame.f_code.co_filename
    if match := _CELL_FILE.fullmatch(name):
        number = match[1] or _cell_number(name, frame.f_globals.get("In"))
        return f"cell {number}" if number else "a cell"
    if name.startswith("<"):
        return "the interpreter" if name != "<string>" else name
    path = Path(name)
    try:
        return str(path.relative_to(Path.cwd()))
    except (ValueError, OSError):
        return path.name


def _cell_number(name: str, inputs: Any) -> int | None:
    """The number of the cell whose source a file of the kernel holds: the last `In[n]` with that text."""
    source = "".join(linecache.getlines(name)).strip()
    if not source or not isinstance(inputs, list):
        return None
    return next((n for n in range(len(inputs) - 1, 0, -1) if str(inputs[n]).strip() == source), None)
