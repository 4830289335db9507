"""One call of a tool in a task of its own: what comes back to the agent's run."""

import base64
import json
import pickle
import threading

import cloudpickle
import pytest

from hermes_nb.flyte.task.call import run_tool
from hermes_nb.tools.decorator import tool

pytestmark = pytest.mark.flyte


async def test_a_cut_frame_comes_back_whole_for_more() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"i": range(500)})

    @tool(max_result_chars=600)
    def rows() -> object:
        """All rows."""
        return frame

    outcome = json.loads(await run_tool(cloudpickle.dumps(rows), "{}", 0))
    result_id, value = pickle.loads(base64.b64decode(outcome["kept"]))
    assert f"result_id='{result_id}'" in outcome["content"]
    assert value.equals(frame)


async def test_a_cut_result_that_can_not_travel_does_not_fail_the_call() -> None:
    @tool(max_result_chars=600)
    def held() -> object:
        """A lock and texts."""
        import threading

        return {"lock": threading.Lock(), "texts": ["x" * 50] * 100}

    with pytest.raises(TypeError):
        pickle.dumps(threading.Lock())
    outcome = json.loads(await run_tool(cloudpickle.dumps(held), "{}", 0))
    assert outcome["status"] == "ok"
    assert "kept" not in outcome
