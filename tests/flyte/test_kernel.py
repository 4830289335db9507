"""From a real kernel: to Flyte by magic, a restart in the middle, and back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import flyte.remote
import pytest

from hermes_nb.testing import Call, Hang, ScriptedModel
from tests.flyte.loopback import LoopbackPlane
from tests.flyte.loopback.state import ABORTED
from tests.flyte.scripts import TWO_CITIES, asked, by_turn, n_replies
from tests.magics.kernel import Cell, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.timeout(300)]

SETUP = """
import flyte, sys
before = (sys.excepthook, list(sys.path))
flyte.init(**{init!r})
hook = sys.excepthook
%load_ext hermes_nb
from hermes_nb import Agent, Model, tool
from hermes_nb.flyte import Flyte
model = Model("scripted", "custom", {url!r}, "sk-scripted-0123456789abcdef")
cluster = Flyte(secrets={{"HERMES_NB_MODEL_KEY": "model-key"}}, allow=["loopback-model"])
"""
AGENT = """
TABLE = {"Paris": 21, "Rome": 25}
@tool
def get_weather(city: str) -> dict:
    "Weather of a city."
    return {"city": city, "celsius": TABLE[city]}
analyst = Agent("analyst", "Be brief.", model, tools=[get_weather])
%hermes agent analyst
"""
LOOKER = """
@tool(remote="inline")
def look(city: str) -> str:
    "Look at a city."
    print("looking at", city)
    return "sunny"
looker = Agent("looker", "Be brief.", model, tools=[look])
%hermes agent looker
"""


@pytest.fixture
def kernel(tmp_path: Path, flyte_home: Path) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path, {"HOME": str(flyte_home), "DO_NOT_TRACK": "1"})
    yield kernel
    kernel.close()


def test_there_and_back(plane: LoopbackPlane, kernel: Kernel) -> None:
    with ScriptedModel(by_turn(TWO_CITIES)) as model:
        setup = SETUP.format(init=plane.init_kwargs(), url=model.base_url)
        assert kernel.run(setup).error is None
        assert kernel.run(AGENT).error is None
        looked = kernel.run("%hermes promote analyst --dry-run")
        assert "Tool get_weather: an action of its own" in looked.out
        assert "[no-secret]" in looked.out  # `--on` names what holds the secret
        refused = kernel.run("%%hermes promote analyst\nWeather?")
        assert "[loopback-model]" in refused.out + refused.err
        assert not model.requests
        local = kernel.run("%%hermes run --on flyte:local -o here\nWeather in Paris and Rome?")
        assert local.error is None, local.error
        assert "Both sunny." in local.text
        remote = kernel.run("%%hermes promote analyst --on cluster -o there\nWeather in Paris and Rome?")
        assert remote.error is None, remote.error
        assert "Both sunny." in remote.text
        assert "Flyte succeeded" in remote.text
        same = "[here.text == there.text, len(here.frame()) == len(there.frame()), here.session_id == there.session_id]"
        assert kernel.value(same) == [True, True, True]
        touched = kernel.run("print(sys.excepthook == hook, sys.stdout.__class__.__name__)")
        assert touched.out.strip() == "True OutStream"
    assert asked(model) == [0, 1, 2] * 2


def test_a_restarted_kernel_takes_its_run_up_again(plane: LoopbackPlane, tmp_path: Path, flyte_home: Path) -> None:
    environment = {"HOME": str(flyte_home), "DO_NOT_TRACK": "1"}
    with ScriptedModel(by_turn(TWO_CITIES)) as model:
        setup = SETUP.format(init=plane.init_kwargs(), url=model.base_url)
        first = Kernel(tmp_path, environment)
        try:
            for cell in (setup, AGENT):
                first.ok(cell)
            first.ok("%%hermes promote analyst --on cluster --background -o turn\nWeather in Paris and Rome?")
            model.wait_for_requests(1, 60)
            name = list(plane.store.runs)[-1]
        finally:
            first.close()  # SIGKILL
        second = Kernel(tmp_path, environment)
        try:
            second.ok(setup)
            back = second.ok(f"%hermes resume {name} -o back")
            assert "Both sunny." in back.text
            assert second.value("[back.status, sorted(set(back.frame().kind))]") == ["completed", ["model", "tool", "turn"]]
        finally:
            second.close()
    assert asked(model) == [0, 1, 2]


def look_once() -> Call:
    return Call("look", {"city": "Rome"}, usage={"prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25})


def live(cell: Cell) -> str:
    """What a cell shows now, as Markdown."""
    return "\n".join(data.get("text/markdown", "") for data in cell.shown)


def test_phase_link_log_and_tokens_stream_into_the_cell_and_an_interrupt_aborts(
    plane: LoopbackPlane, kernel: Kernel
) -> None:
    with ScriptedModel(lambda request: Hang() if n_replies(request) else look_once()) as model:
        for cell in (SETUP.format(init=plane.init_kwargs(), url=model.base_url), LOOKER):
            assert kernel.run(cell).error is None
        cell = kernel.start("%%hermes promote looker --on cluster\nThink.")
        # the log and the report come by ways of their own, the report at most once a second
        kernel.until(lambda: all(text in live(cell) for text in ("looking at Rome\n", "20 tokens in, 5 out")), 90)
        model.wait_for_requests(2, 60)
        name = list(plane.store.runs)[-1]
        shown = live(cell)
        assert live(cell).count("**Flyte**") == 1  # a run is one row, with its latest phase
        log = shown.split("<pre>")[1].split("</pre>")[0]
        assert "looking at Rome" in log  # the container's own log, while it runs
        assert f"running · {name}" in shown
        assert f'href="{flyte.remote.Run.get(name).url}"' in shown
        assert '`look("Rome")`' in shown  # the row of the call
        began_s = time.monotonic()
        kernel.interrupt()
        done = kernel.finish(cell)
        assert done.error is not None
        assert done.error["ename"] == "KeyboardInterrupt"
        assert time.monotonic() - began_s < 10
        flyte.remote.Run.get(name).wait(quiet=True)  # the cell does not wait for the abort it has sent
        assert plane.run(name).root.phase == ABORTED
        model.release()
