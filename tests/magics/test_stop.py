"""Stop, wherever the turn is and whoever asks for it: in a second, nothing runs on, what there was is kept."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from hermes_nb.testing import Call, Hang, Say
from tests.magics.conftest import Asked
from tests.magics.kernel import Cell, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

STOP_S = 1.0
TOOLS = """
import asyncio, os, threading, time
from hermes_nb.magics import context

ran = []

@tool
async def waits() -> str:
    "Wait."
    ran.append("waits")
    print("it waits", flush=True)
    await asyncio.sleep(60)
    return "waited"

@tool
def sleeps() -> str:
    "Sleep."
    ran.append("sleeps")
    print("it sleeps", flush=True)
    time.sleep(60)
    return "slept"

stopper = Agent("stopper", model=model, tools=[{tools}])
%hermes agent stopper

def stop_soon():
    def run():
        while not os.path.exists("stop"):
            time.sleep(0.01)
        os.remove("stop")
        context(get_ipython()).hermes.turns[-1].stop()
    threading.Thread(target=run, daemon=True).start()
"""


class Place:
    """Where the turn is when it is stopped.

    Args:
        step: What the model does.
        is_there: Whether the turn is there.
        partial: The partial answer, as a text that is a beginning of it.
    """

    def __init__(self, step: Callable[[], object], is_there: Callable[[Cell, Asked], bool], partial: str = "") -> None:
        self.step, self.is_there, self.partial = step, is_there, partial


PLACES = {
    "first byte": Place(lambda: Say("late", first_byte_delay_s=60), lambda cell, model: bool(model.prompts)),
    "streaming": Place(lambda: Hang("Once upon ", "a time."), lambda cell, model: "Once upon" in cell.text, "Once upon"),
    "async tool": Place(lambda: [Call("waits"), Call("sleeps")], lambda cell, model: "it waits" in cell.out),
    "sync tool": Place(lambda: [Call("sleeps"), Call("waits")], lambda cell, model: "it sleeps" in cell.out),
}


SOURCES = {
    "awaiting": "%%hermes run -s new -a stopper -o answer\n{}",
    "blocking": "def f():\n    %hermes run -s new -a stopper -o answer {}\nf()",
}


@pytest.fixture
def stopper(kernel: Kernel) -> Kernel:
    kernel.ok(TOOLS.format(tools="waits, sleeps"))
    return kernel


@pytest.mark.parametrize("who", ["interrupt", "thread"])
@pytest.mark.parametrize(
    ("where", "how"),
    # Where the caller blocks its loop, an agent with async tools is refused.
    [(where, how) for where in PLACES for how in SOURCES if (where, how) != ("async tool", "blocking")],
)
def test_a_stop_is_heard_in_a_second_and_nothing_runs_on(
    stopper: Kernel, model: Asked, where: str, how: str, who: str
) -> None:
    kernel, place = stopper, PLACES[where]
    if how == "blocking":
        kernel.ok(TOOLS.format(tools="sleeps"))
    kernel.ok("answer = None; ran.clear()" + ("; stop_soon()" if who == "thread" else ""))
    step = place.step()
    model.answer = lambda request: step
    cell = kernel.start(SOURCES[how].format("Tell me"))
    kernel.until(lambda: place.is_there(cell, model))
    began_s = time.monotonic()
    if who == "interrupt":
        kernel.interrupt()
    else:
        _set_from_outside(kernel)
    kernel.finish(cell)
    assert time.monotonic() - began_s < STOP_S
    assert (cell.status, cell.reply["ename"]) == ("error", "KeyboardInterrupt")
    assert cell.error is not None
    assert len(cell.error["traceback"]) == 1
    assert "Stopped by you" in cell.text
    # shown, bound and stored
    assert place.partial in cell.text
    assert kernel.value("[answer.status, answer.text.strip()]") == ["stopped", place.partial]
    kernel.ok("bound = context(get_ipython()).agents['stopper']")
    kernel.ok("store = bound.hermes.io.call(bound.hermes.conversations.opened_store())")
    stored = kernel.value("[e.kind for e in bound.hermes.io.call(store.events(turn_id=answer.turn_id))]")
    # On a machine that is busy a tool may still unwind: then that is said, last.
    assert [kind for kind in stored if kind != "warning"][-1] == "turn.stopped"
    # nothing runs on
    assert len(model.prompts) == 1
    assert kernel.value("len(ran)") == (1 if "tool" in where else 0)
    # the next turn is its own
    model.answer = None
    assert "You said: Still there?" in kernel.ok("%hermes run -a stopper Still there?").text
    assert model.prompts == ["Tell me", "Still there?"]
    assert kernel.value("len(ran)") == (1 if "tool" in where else 0)


def _set_from_outside(kernel: Kernel) -> None:
    """Let the thread of the kernel stop the turn, while a cell runs: by a file it looks for."""
    (kernel.folder / "stop").touch()
