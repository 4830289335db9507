"""The executors alone: what is left when a loop ends under them."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import warnings
from types import SimpleNamespace
from typing import Any

from hermes_nb.host.execution.executor import LoopLane


def test_a_loop_that_closes_before_it_runs_a_tool_leaves_no_warning() -> None:
    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda loop, context: None)
    job: Any = SimpleNamespace(caller=SimpleNamespace(context=contextvars.copy_context()))
    nothing: Any = None
    lane = LoopLane(nothing, nothing, nothing, nothing)
    lane.put(job, loop)
    loop.call_soon(loop.stop)  # behind the start, before the first step
    loop.run_forever()
    loop.close()
    (task,) = lane._tasks
    assert not task.done()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        del task, lane
        gc.collect()
    assert [str(w.message) for w in warned] == []
