"""Which cell runs, what was typed in it, and which turns it started when it last ran."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Run:
    """One execution of a cell; `key` is the same for each execution of that cell."""

    key: str
    raw: str
    turns: list[Any] = field(default_factory=list)


class Cells:
    """The cells that run, innermost last, of each thread (a kernel's subshells run in their own).

    IPython's `pre_run_cell` and `post_run_cell` feed it. A cell that is run silently is not seen.

    Args:
        cell_named: The id that the client gives the running cell, for clients whose ids IPython does not know; "" for none.
            A cell without an id is known by its text.
    """

    def __init__(self, cell_named: Callable[[], str] = str) -> None:
        self._cell_named = cell_named
        self._running: dict[int, list[tuple[object, Run]]] = {}
        self._before: dict[str, Run] = {}

    def enter(self, info: Any) -> None:
        """A cell starts; `info` is IPython's ExecutionInfo."""
        raw = str(info.raw_cell)
        run = Run(str(getattr(info, "cell_id", None) or self._cell_named() or raw), raw)
        self._running.setdefault(threading.get_ident(), []).append((info, run))

    def leave(self, result: Any) -> None:
        """A cell ended; `result` is IPython's ExecutionResult, None when it was cancelled."""
        running = self._running.get(threading.get_ident(), [])
        info = getattr(result, "info", None)
        index = next((i for i, (entered, _) in enumerate(running) if entered is info), None)
        if index is None:
            if result is not None:
                return  # an empty cell, which IPython ends without having started it
            index = len(running) - 1
        for _, run in running[max(index, 0) :]:
            if run.turns:
                self._before[run.key] = run
        del running[max(index, 0) :]

    def current(self) -> Run:
        """The outermost cell that runs on this thread; one without a key when none does."""
        running = self._running.get(threading.get_ident())
        return running[0][1] if running else Run("", "")

    def key_of(self, turn: Any) -> str | None:
        """The key of the cell that started a turn; None when no cell did."""
        running = [run for entered in list(self._running.values()) for _, run in list(entered)]
        for run in (*running, *list(self._before.values())):
            if any(turn is own for own in run.turns):
                return run.key
        return None

    def typed_body(self, cell: str) -> str:
        """A cell magic's body as typed: without the newline that IPython adds to a cell that does not end in one."""
        raw = self.current().raw
        if cell.endswith("\n") and raw and not raw.endswith("\n") and (raw.endswith(cell[:-1])):
            return cell[:-1]
        return cell

    def previous_turn(self, run: Run) -> Any | None:
        """The turn at this place when the cell ran before: the n-th of that run for the n-th of this one."""
        before = self._before.get(run.key) if run.key else None
        place = len(run.turns)
        return before.turns[place] if before is not None and place < len(before.turns) else None

    def replace(self, before: Any, turn: Any) -> None:
        """A turn has taken the place of another: `previous_turn` gives the new one."""
        for run in self._before.values():
            run.turns[:] = [turn if one is before else one for one in run.turns]
