"""A journal that the kernel keeps: a step is used when it says so, and not before; what it kept is not asked for again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from hermes_nb.offline_model.endpoint import RequestedCall
from tests.engine.conftest import Script
from tests.engine.rig import Worker, spec

pytestmark = pytest.mark.hermes
GIVEN = [spec("add", args=["x"])]


def kept(worker: Worker, n: int) -> dict[str, Any]:
    """The worker's n-th step."""
    return worker.wait(lambda m: m["kind"] == "step.kept" and m["step"] == n)


def kinds(worker: Worker) -> list[str]:
    """What the worker has said so far."""
    return [m["kind"] for m in worker.messages]


def test_a_step_waits_for_the_kernel_which_may_say_other_things_meanwhile(
    spawn: Callable[..., Worker], script: Script
) -> None:
    worker = spawn(is_journal_ours=True)
    worker.bind(script.url, tools=GIVEN)
    worker.tools["add"] = lambda x: x + "!"
    script.in_turn([RequestedCall("c", "add", '{"x": "a"}')], ["Done."])
    turn_id = worker.start("go", tools=GIVEN)
    response = kept(worker, 1)
    assert (response["table"], response["fields"]["turn_id"]) == ("responses", turn_id)
    assert "tool.call" not in kinds(worker)
    worker.send("step.stored", step=1)
    result = kept(worker, 2)
    assert (result["table"], result["fields"]["name"]) == ("tool_results", "add")
    assert len(script.requests) == 1  # the result is not told to the model yet
    assert not worker.events(turn_id, "tool.completed")
    worker.send("turn.steer", turn_id=turn_id, text="be brief")  # it waits for the step, and may not keep its answer out
    worker.send("step.stored", step=2)
    worker.wait_kind("steer.result", turn_id=turn_id)
    kept(worker, 3)
    assert "turn.done" not in kinds(worker)
    worker.send("step.stored", step=3)
    assert worker.done(turn_id)["text"] == "Done."
    assert not worker.journal.exists()

    steps = [kept(worker, n) for n in (1, 2, 3)]
    script.in_turn(["Paid again."])
    brought = {t: [s["fields"] for s in steps if s["table"] == t] for t in ("responses", "tool_results")}
    worker.start("go", tools=GIVEN, turn_id=turn_id, attempt=2, kept=brought)
    done = worker.wait(lambda m: m["kind"] == "turn.done" and m["turn_id"] == turn_id, at=len(worker.messages) - 1)
    assert (done["text"], len(script.requests)) == ("Done.", 0)


def test_a_step_that_can_not_be_kept_ends_the_turn_before_anything_comes_of_it(
    spawn: Callable[..., Worker], script: Script
) -> None:
    worker = spawn(is_journal_ours=True)
    worker.bind(script.url, tools=GIVEN)
    script.in_turn([RequestedCall("c", "add", '{"x": "a"}')], ["Done."])
    turn_id = worker.start("go", tools=GIVEN)
    kept(worker, 1)
    worker.send("step.stored", step=1, error="The journal j can't be written: the disk is full.")
    done = worker.done(turn_id)
    assert (done["status"], done["error_type"]) == ("failed", "StoreError")
    assert "the disk is full" in done["error"]
    assert "tool.call" not in kinds(worker)
    assert len(script.requests) == 1
