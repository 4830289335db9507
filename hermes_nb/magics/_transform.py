"""How a `%hermes run` of a cell comes to await: input transformers of IPython.

IPython turns `%%hermes run` into `get_ipython().run_cell_magic('hermes', 'run', body)`, a plain call, which can only
block; and it takes `%hermes run Which one?` for a wish to see help on `one`. Three transformers change that:

- a cleanup transformer, the first to see a cell, makes that call itself, so that no other one (prompts, indentation)
  touches the body: it arrives byte for byte;
- a token transformer takes `%hermes ...` lines before IPython looks for question marks at their ends;
- a post transformer puts `await` before the calls that wait and gives them a second magic name, whose function returns
  a coroutine. Only where it can be awaited: at the top level of a cell that a kernel or a terminal runs as a coroutine.
  Everywhere else (inside a function, under `%%time` or `%%capture`, `ip.run_cell(...)` in a callback, with
  `%autoawait off`) the plain call stays, which blocks.

`In[]` then would show the second name; `restore_inputs` puts back what was typed.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import threading
import tokenize
from collections.abc import Callable
from types import FrameType
from typing import Any

from hermes_nb import _syntax

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

NAME = "hermes"
AWAITED, AWAITED_VALUE = "_hermes", "_hermes_value"  # as a statement; as the value of an assignment

_HEAD = re.compile(rf"\s*%%{NAME}(?![\w?])")
_MISREAD = re.compile(rf"\s*%{NAME}\s+\S.*\?\s*$")
_NEWLINE = re.compile(r"\r\n|\r|\n")
_LAYOUT = frozenset({tokenize.INDENT, tokenize.DEDENT})


class Transformer:
    """Rewrites cells of one shell.

    Args:
        shell: The shell.
        is_ours: Whether `%hermes` is this package's at the moment; nothing is rewritten when not.
        waits: Whether a line (what follows `%hermes`) is of a sub-command that waits.
    """

    def __init__(self, shell: InteractiveShell, is_ours: Callable[[], bool], waits: Callable[[str], bool]) -> None:
        self._shell = shell
        self._is_ours = is_ours
        self._waits = waits
        self._line_transform = _line_transform(is_ours)

    def install(self) -> None:
        """Take part in the shell's transformations."""
        self._shell.input_transformers_cleanup.insert(0, self.keep_body)
        self._shell.input_transformer_manager.token_transformers.append(self._line_transform)
        self._shell.input_transformers_post.append(self.put_await)

    def remove(self) -> None:
        """Undo `install`."""
        for transformers, ours in (
            (self._shell.input_transformers_cleanup, self.keep_body),
            (self._shell.input_transformer_manager.token_transformers, self._line_transform),
            (self._shell.input_transformers_post, self.put_await),
        ):
            if ours in transformers:
                transformers.remove(ours)

    def keep_body(self, lines: list[str]) -> list[str]:
        """`%%hermes` cells as the call they mean, the body untouched; other cells as they are."""
        first = next((i for i, line in enumerate(lines) if line.strip()), None)
        if first is None or not _HEAD.match(lines[first]) or not self._is_ours():
            return lines
        line = lines[first].strip().removeprefix(f"%%{NAME}").strip()
        # IPython refuses an empty body with a message of its own; a newline reaches our parser, which knows better.
        body = "".join(lines[first + 1 :]) or "\n"
        return [f"get_ipython().run_cell_magic({NAME!r}, {line!r}, {body!r})\n"]

    # A terminal asks whether a cell is complete by running the transformers without side effects: that must see `%%`.
    keep_body.has_side_effects = True  # type: ignore[attr-defined]

    def put_await(self, lines: list[str]) -> list[str]:
        """The cell with `await` before the calls that wait, when it can await."""
        text = "".join(lines)
        if f"_magic('{NAME}'" not in text or not self._is_ours() or not self._can_await(sys._getframe(1)):
            return lines
        rewritten = awaiting(text, self._waits)
        return lines if rewritten is None else rewritten.splitlines(keepends=True)

    def _can_await(self, frame: FrameType) -> bool:
        """Whether the cell being transformed will be awaited: by a kernel, or by a shell that starts its loop for it.

        Args:
            frame: The frame of `InteractiveShell.transform_cell`. In a kernel its caller is a coroutine, `do_execute`;
                else it is `run_cell`, which can await on no loop that is running already.
        """
        caller = frame.f_back
        if caller is None or _runs_user_code(caller):
            return False
        if caller.f_code.co_flags & inspect.CO_COROUTINE:
            return True
        shell = self._shell
        awaits = shell.autoawait and shell.loop_runner is shell.loop_runner_map["asyncio"][0]
        return bool(awaits) and threading.current_thread() is threading.main_thread() and not _has_running_loop()

    def restore_inputs(self) -> None:
        """Show the last cell in `In` as it was typed."""
        history = self._shell.history_manager
        if history is None:
            return
        parsed, raw = history.input_hist_parsed, history.input_hist_raw
        if parsed and len(parsed) == len(raw) and any(f"_magic('{name}'" in parsed[-1] for name in (AWAITED, AWAITED_VALUE)):
            parsed[-1] = raw[-1]


def _line_transform(is_ours: Callable[[], bool]) -> type:
    """IPython's own transformation of `%` lines, for `%hermes ` lines, with precedence over that of `?`."""
    from IPython.core.inputtransformer2 import EscapedCommand

    class HermesLine(EscapedCommand):
        """`%hermes` followed by something; `%hermes?` stays IPython's."""

        priority = 1

        @classmethod
        def find(cls, tokens_by_line: Any) -> HermesLine | None:
            """The first such line; in strings and inside other lines there is none."""
            if not is_ours():
                return None
            for tokens in tokens_by_line:
                words = [token for token in tokens if token.type not in _LAYOUT]
                if len(words) > 2 and (words[0].string, words[1].string) == ("%", NAME):
                    sign, name, after = words[:3]
                    is_followed = sign.end == name.start and name.end != after.start  # not `% hermes`, not `%hermes?`
                    return cls(sign.start) if is_followed else None
            return None

    return HermesLine


def misread(source: str) -> list[str]:
    """The `%hermes` lines with a question mark at their end, below the line of this cell that loads the extension.

    IPython transforms a cell whole before it runs any of it: these it took for a wish to see help.
    """
    _, loads, below = source.partition(f"load_ext {__name__.partition('.')[0]}")
    return [line.strip() for line in below.splitlines() if _MISREAD.match(line)] if loads else []


def _runs_user_code(frame: FrameType) -> bool:
    """Whether a frame is called by a cell's code, at whatever depth."""
    from IPython.core.interactiveshell import InteractiveShell

    runs_code = InteractiveShell.run_code.__code__
    above: FrameType | None = frame
    while above is not None:
        if above.f_code is runs_code:
            return True
        above = above.f_back
    return False


def _has_running_loop() -> bool:
    import asyncio

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def awaiting(text: str, waits: Callable[[str], bool]) -> str | None:
    """Source with `await` before each top-level `%hermes` call that waits.

    Args:
        text: Source of a cell, magics already turned into calls.
        waits: Whether a magic's line is of a sub-command that waits.

    Returns:
        The new source; None when nothing is to be awaited or the source can't be parsed.
    """
    try:
        tree = _syntax.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    calls = {call: name for call, name in _top_level_calls(tree.body) if waits(_line(call))}
    if not calls:
        return None
    # The parser counts lines by these three ends alone, and columns in UTF-8 bytes.
    starts = [0, *(match.end() for match in _NEWLINE.finditer(text))]
    for call, awaited in sorted(calls.items(), key=lambda c: (c[0].lineno, c[0].col_offset), reverse=True):
        name = call.args[0]
        begin = _offset(text, starts, call.lineno, call.col_offset)
        name_begin = _offset(text, starts, name.lineno, name.col_offset)
        name_end = _offset(text, starts, name.end_lineno or name.lineno, name.end_col_offset or 0)
        text = f"{text[:begin]}await {text[begin:name_begin]}{awaited!r}{text[name_end:]}"
    return text


def _offset(text: str, starts: list[int], lineno: int, col_offset: int) -> int:
    start = starts[lineno - 1]
    end = starts[lineno] if lineno < len(starts) else len(text)
    return start + len(text[start:end].encode("utf-8", "surrogatepass")[:col_offset].decode("utf-8", "surrogatepass"))


def _top_level_calls(body: list[ast.stmt]) -> list[tuple[ast.Call, str]]:
    """The `%hermes` calls outside of functions and classes, each with the magic that awaits it: as a statement, or as the
    value of an assignment."""
    found: list[tuple[ast.Call, str]] = []
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                continue
            case ast.Expr(value=ast.Call() as call) | ast.Assign(value=ast.Call() as call):
                if _is_hermes(call):
                    found.append((call, AWAITED if isinstance(statement, ast.Expr) else AWAITED_VALUE))
            case _:
                for child in ast.iter_child_nodes(statement):
                    if isinstance(child, ast.ExceptHandler | ast.match_case):
                        found += _top_level_calls(child.body)
                found += _top_level_calls([c for c in ast.iter_child_nodes(statement) if isinstance(c, ast.stmt)])
    return found


def _is_hermes(call: ast.Call) -> bool:
    match call:
        case ast.Call(
            func=ast.Attribute(
                value=ast.Call(func=ast.Name(id="get_ipython"), args=[]), attr="run_cell_magic" | "run_line_magic"
            ),
            args=[ast.Constant(value=name), ast.Constant(value=str()), *_],
        ):
            return bool(name == NAME)
    return False


def _line(call: ast.Call) -> str:
    argument = call.args[1]
    return str(argument.value) if isinstance(argument, ast.Constant) else ""
