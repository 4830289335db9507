"""Many agents in one worker: binding is quick, and what is built ahead stands in no turn's way."""

from __future__ import annotations

import time

import pytest

from tests.engine.conftest import Script
from tests.engine.rig import Worker

pytestmark = pytest.mark.hermes


def test_a_turn_waits_for_no_other_agent_to_be_built(shared: Worker, script: Script) -> None:
    shared.bind(script.url, agent_id="first")
    for n in range(20):
        shared.bind(script.url, agent_id=f"many{n}", is_awaited=False)
    script.in_turn(["Here."])
    began_s = time.monotonic()
    done = shared.run("x", agent_id="many19")
    assert done["text"] == "Here."
    # One AIAgent takes about a second of CPU; twenty would take twenty.
    assert time.monotonic() - began_s < 10
    assert all(shared.wait_kind("bound", agent_id=f"many{n}") for n in range(20))


def test_an_agent_that_is_bound_again_serves_the_turn_right_after(shared: Worker, script: Script) -> None:
    for _ in range(2):  # bound again, too
        shared.bind(script.url, agent_id="ahead")
        script.in_turn(["Here."])
        assert shared.run("x", agent_id="ahead")["text"] == "Here."
