"""Runs a coroutine step by step with something set up around each step, and taken down while it waits."""

from __future__ import annotations

import types
from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

_T = TypeVar("_T")


@types.coroutine
def stepwise(coroutine: Coroutine[Any, Any, _T], around: Callable[[Callable[[], Any]], Any]) -> Generator[Any, Any, _T]:
    """Await `coroutine`; each of its steps is run by `around(step)`, which calls `step()` once and returns its value."""
    sent: Any = None
    thrown: BaseException | None = None
    while True:
        ended: list[_T] = []

        def step(sent: Any = sent, thrown: BaseException | None = thrown, ended: list[_T] = ended) -> Any:
            try:
                return coroutine.send(sent) if thrown is None else coroutine.throw(thrown)
            except StopIteration as stop:
                ended.append(stop.value)
                return None

        try:
            waited_for = around(step)
        except BaseException:
            coroutine.close()
            raise
        if ended:
            return ended[0]
        sent, thrown = None, None
        try:
            sent = yield waited_for
        except GeneratorExit:
            coroutine.close()
            raise
        except BaseException as exc:  # noqa: BLE001 - whatever is thrown in belongs to the coroutine
            thrown = exc
