"""The handle of a promotion: what a widget polls, from the events alone and against the loopback plane."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

from hermes_nb.flyte.promotion.preflight import checked, preflight
from hermes_nb.flyte.promotion.submission import Progress, Submission, progress_of, submit_plan
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.flyte.task.report import events_in
from hermes_nb.model.event import Event, EventNumberer
from hermes_nb.testing import Call, Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from tests.flyte.agents import KEY, REMOTE, bind, opened
from tests.flyte.loopback import LoopbackPlane
from tests.flyte.scripts import by_turn, n_replies


def make(*told: tuple[str, dict[str, Any]]) -> list[Event]:
    numberer = EventNumberer("n", iter(float(n) for n in range(1, 100)).__next__)
    return [numberer.make(kind, session_id="s", turn_id="t", span_id="t", data=data) for kind, data in told]


def test_progress_is_the_newest_of_each_thing_told() -> None:
    events = make(
        ("flyte.run", {"phase": "submitting"}),
        ("flyte.run", {"phase": "running", "run": "r1", "url": "https://flyte.example/r1", "attempt": 1}),
        ("turn.started", {"prompt": "Hi", "agent": "a"}),
        ("flyte.log", {"lines": ["one"]}),
        ("flyte.run", {"phase": "running", "run": "r1", "attempt": 2}),
        ("flyte.log", {"lines": ["one", "two"]}),
        ("turn.failed", {"text": "", "error": "No.", "hint": "Run r1."}),
    )
    now = progress_of(events, status="failed", is_done=True)
    assert now == Progress(
        phase="running",
        status="failed",
        is_done=True,
        run="r1",
        url="https://flyte.example/r1",
        attempt=2,
        log=("one", "two"),
        error="No. Run r1.",
    )
    assert progress_of([]) == Progress(status="running")


async def test_a_widget_sees_phase_link_log_and_report_while_the_run_goes_on(plane: LoopbackPlane, tmp_path: Path) -> None:
    @tool(remote="inline")
    def look(city: str) -> str:
        """Look."""
        print("looking at", city, "with", os.environ["HERMES_NB_MODEL_KEY"])
        return "sunny"

    is_seen = asyncio.Event()

    def step(request: Any) -> Any:
        if not n_replies(request):
            return Call("look", {"city": "Rome"})
        return Hang()  # until it is released

    with opened(tmp_path / "state") as hermes, ScriptedModel(step) as model:
        plan = await preflight(bind(hermes, model, look), Flyte(**REMOTE))
        assert plan.to_dict()["may_submit"] is True
        assert [(f["code"], f["severity"]) for f in plan.to_dict()["findings"]] == [("loopback-model", "note")]
        handle = submit_plan(plan, "Weather in Rome?")
        phases: list[str] = []
        async with asyncio.timeout(90):
            async for now in handle.changes():
                phases += [now.phase] if now.phase and now.phase not in phases else []
                if now.n_tool_calls and any("looking at Rome" in line for line in now.log) and not is_seen.is_set():
                    assert not now.is_done
                    assert now.run in plane.store.runs
                    assert KEY not in str(now.log)
                    report = await handle.report_html()
                    assert next(e.kind for e in events_in(report)) == "turn.started"
                    is_seen.set()
                    model.release()
            result = await handle
    assert result.text == "Released."
    assert phases[0] == "submitting"
    assert phases[-1] == "succeeded"
    assert "running" in phases
    assert handle.progress.n_model_calls == 2
    assert "final answer" in await handle.report_html()


async def test_a_local_one_has_the_same_handle(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as hermes, ScriptedModel(by_turn([Say("Hi.")])) as model:
        plan = await preflight(bind(hermes, model), Flyte(mode="local"))
        handle = submit_plan(plan, "Hello?")
        result = await asyncio.wait_for(handle, 60)
        now = handle.progress
        assert (result.status, now.phase, now.text, now.run, now.url) == ("completed", "succeeded", "Hi.", "", "")
        assert Path(now.report_path).name == "report.html"
        assert "final answer" in await handle.report_html()


async def test_a_handle_can_be_stopped_before_it_starts(tmp_path: Path) -> None:
    with opened(tmp_path / "state") as hermes, ScriptedModel([Say("Hi.")]) as model:
        handle = submit_plan(checked(bind(hermes, model), Flyte(mode="local")), "Hello?")
        result = await asyncio.wait_for(handle.stop(), 20)
        assert (result.status, handle.progress.is_done) == ("stopped", True)
        assert not model.requests
        assert isinstance(repr(Submission(handle.turn)), str)


async def test_large_globals_are_sent_once_however_often_and_by_how_many_children_they_are_used(
    plane: LoopbackPlane, tmp_path: Path
) -> None:
    big, n_bytes = os.urandom(4_000_000), 4_000_000  # not to be compressed

    @tool
    def size(part: str) -> int:
        """Size."""
        return len(big)

    def sent() -> list[int]:  # of the files that hold pickles
        return [path.stat().st_size for path in (plane.store.root / "uploads").rglob("*.z") if path.is_file()]

    steps: list[Any] = [Call("size", {"part": "a"}), Call("size", {"part": "b"}), Say("Big.")]
    with opened(tmp_path / "state") as hermes, ScriptedModel(lambda request: by_turn(steps)(request)) as model:
        bound, before, sizes = bind(hermes, model, size), len(sent()), []
        for n_calls in (2, 0):
            del steps[: 2 - n_calls]
            plan = await preflight(bound, Flyte(**REMOTE))
            result = await asyncio.wait_for(submit_plan(plan, "How big?"), 120)
            assert [t.content for t in result.tools] == [str(n_bytes)] * n_calls
            sizes.append(sent())
    first, second = sizes
    assert first == second
    assert len(first) == before + 1
    assert n_bytes < max(first) < n_bytes * 1.1
