"""The promotion widget against the loopback plane, without a browser: what clicks do, and what is shown then."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.testing import Hang, Say, ScriptedModel
from hermes_nb.tools.decorator import tool
from hermes_nb.widgets import _action, promote
from hermes_nb.widgets._comm import VIEW
from hermes_nb.widgets._target import EMPTY, config_of, targets
from hermes_nb.widgets.promote import INSTALL, WAITING, Promotion, promotion
from tests.flyte.agents import KEY, REMOTE, bind, opened
from tests.flyte.loopback import LoopbackPlane
from tests.flyte.loopback.state import ABORTED
from tests.flyte.scripts import TWO_CITIES, by_turn
from tests.widgets.test_turn import EVENTS, FINAL, Rig


@pytest.fixture
def hermes(plane: LoopbackPlane, tmp_path: Path) -> Iterator[Hermes]:
    with opened(tmp_path / "state") as hermes:
        yield hermes


class Desk:
    """A promotion, and what was said to its browser."""

    def __init__(self, bound: Any, **options: Any) -> None:
        self.names = {"cluster": Flyte(**REMOTE)}
        self.said: list[dict[str, Any]] = []
        self.promotion = Promotion(bound, lambda: self.names, is_open=False, **options)

    @property
    def data(self) -> dict[str, Any]:
        return self.promotion.sheet.data

    def click(self, **message: Any) -> None:
        self.promotion.sheet._heard(message, lambda answer: self.said.append(dict(answer)))

    async def wait(self, is_so: Callable[[dict[str, Any]], Any]) -> dict[str, Any]:
        async with asyncio.timeout(90):
            while not is_so(self.data):
                await asyncio.sleep(0.05)
        return self.data

    async def opened(self) -> dict[str, Any]:
        self.click(t="open")
        return await self.wait(lambda d: d["is_open"] and not d["is_looking"])

    def submit(self, prompt: str = "Weather in Paris and Rome?", **given: Any) -> None:
        self.click(t="submit", form={**self.data["form"], "prompt": prompt, **given}, n=self.data["n"])


async def test_clicks_from_the_button_to_the_report(plane: LoopbackPlane, hermes: Hermes) -> None:
    n_before = len(plane.store.runs)
    with ScriptedModel(by_turn(TWO_CITIES)) as model:
        desk = Desk(bind(hermes, model), card=[("model", "scripted")])
        assert (desk.data["plan"], desk.data["is_open"]) == (None, False)
        data = await desk.opened()
        assert data["plan"]["may_submit"] is True, data
        assert data["form"]["target"] == "cluster"
        form = {**data["form"], "prompt": "Weather in Paris and Rome?"}
        for _ in range(2):  # two tabs that click before either has heard of the other
            desk.click(t="submit", form=form, n=0)
        data = await desk.wait(lambda d: d["progress"] and d["progress"]["is_done"] and d["has_report"])
    assert len(plane.store.runs) == n_before + 1
    assert (data["progress"]["status"], data["progress"]["text"]) == ("completed", "Both sunny.")
    assert (data["progress"]["n_model_calls"], data["progress"]["n_tool_calls"]) == (3, 2)
    assert data["progress"]["run"] in plane.store.runs
    assert "Both sunny." in data["result"]
    desk.click(t="report", by="tab")
    async with asyncio.timeout(20):
        while not desk.said:
            await asyncio.sleep(0.05)
    assert (desk.said[0]["by"], desk.said[0]["error"]) == ("tab", "")
    assert "final answer" in desk.said[0]["html"]
    assert "fonts.googleapis" not in desk.said[0]["html"]
    assert KEY not in str(desk.said) + str(data)
    static = desk.promotion.bundle()
    for form_ in ("text/html", "text/plain"):
        for shown in ("model", data["progress"]["run"], "Both sunny.", "get_weather"):
            assert shown in static[form_]


async def test_what_stands_in_the_way_comes_with_its_cell_and_cure(hermes: Hermes) -> None:
    lock = threading.Lock()

    @tool(approval=True)
    def locked() -> int:
        """Locks."""
        with lock:
            return 1

    with ScriptedModel([Say("Hi.")]) as model:
        desk = Desk(bind(hermes, model, locked))
        data = await desk.opened()
        found = {f["code"]: f for f in data["plan"]["findings"]}
        assert found["unpicklable"]["variable"] == "lock"
        assert "inside the function" in found["unpicklable"]["cure"]
        assert found["approval"]["severity"] == "stops"
        desk.submit()
        assert (desk.data["progress"], desk.data["n"]) == (None, 0)
        assert "can't run on Flyte yet" in desk.data["error"]
        desk.click(t="look", form={**desk.data["form"], "yes": True})
        data = await desk.wait(lambda d: not d["is_looking"])
        assert "approval" not in {f["code"] for f in data["plan"]["findings"]}
    assert not model.requests
    assert "stops" in desk.promotion.bundle()["text/plain"]


async def test_a_form_that_was_changed_is_looked_at_before_it_is_sent(hermes: Hermes) -> None:
    with ScriptedModel([Say("Hi.")]) as model:
        desk = Desk(bind(hermes, model))
        await desk.opened()
        desk.submit(target="flyte", endpoint="not an address")
        data = await desk.wait(lambda d: not d["is_looking"])
        assert "is no address" in data["error"]
        assert (data["plan"], data["progress"]) == (None, None)


async def test_a_run_is_stopped_by_a_click_and_another_can_follow(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel([Hang(), Say("Again.")]) as model:
        desk = Desk(bind(hermes, model))
        await desk.opened()
        desk.submit("Think.")
        await asyncio.to_thread(model.wait_for_requests, 1, 60)
        desk.click(t="again")  # not while it runs
        name = (await desk.wait(lambda d: d["progress"]["run"]))["progress"]["run"]
        desk.click(t="stop")
        data = await desk.wait(lambda d: d["progress"]["is_done"] and d["progress"]["status"] == "stopped")
        model.release()
        desk.click(t="again")
        data = await desk.wait(lambda d: d["progress"] is None and not d["is_looking"])
        assert data["plan"]["may_submit"] is True
    async with asyncio.timeout(20):
        while plane.run(name).root.phase != ABORTED:
            await asyncio.sleep(0.1)


async def test_an_empty_question_is_refused_and_the_last_one_is_offered(hermes: Hermes) -> None:
    with ScriptedModel([Say("Hi.")]) as model:
        bound = bind(hermes, model)
        await bound.run("First question?")
        desk = Desk(bound)
        assert (await desk.opened())["form"]["prompt"] == "First question?"
        desk.submit(" ")
        assert desk.data["error"] == "Write what the agent is asked there."


async def test_the_same_refusal_twice_is_told_twice(
    plane: LoopbackPlane, hermes: Hermes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A browser hears of what changes: between the two there is nothing to be seen of the first."""

    def refuse(*_: Any) -> None:
        raise UsageError("No room there.")

    monkeypatch.setattr("hermes_nb.flyte.promotion.submission.submit_plan", refuse)
    with ScriptedModel([]) as model:
        desk = Desk(bind(hermes, model))
        await desk.opened()
        told: list[tuple[bool, str]] = []
        tell = desk.promotion.sheet.tell

        def note(**changes: Any) -> None:
            tell(**changes)
            told.append((desk.data["is_submitting"], desk.data["error"]))

        monkeypatch.setattr(desk.promotion.sheet, "tell", note)
        for _ in range(2):
            desk.submit()
    assert told == [(True, ""), (False, "No room there.")] * 2


async def test_an_ended_turns_button_opens_the_form_with_its_question_once(plane: LoopbackPlane, hermes: Hermes) -> None:
    n_before = len(plane.store.runs)
    with ScriptedModel(by_turn(TWO_CITIES)) as model:
        rig = Rig(bind(hermes, model))
        rig.hear(t="ready", keeps=True)
        assert rig.of("all")[-1]["may_promote"] is True
        rig.hear(t="do", n=1, do="promote", turn="t1")
        assert (rig.of("said")[-1]["ok"], len(rig.cell.outputs)) == (False, 1), "it runs still"
        rig.feed(*EVENTS)
        rig.sink.finish(FINAL)
        rig.turn.is_done = True
        for n in (2, 3):  # a second click, or one in another view
            rig.hear(t="do", n=n, do="promote", turn="t1")
        assert [m["ok"] for m in rig.of("said")[-2:]] == [True, True]
        made = rig.sink._promotion
        assert made is not None
        _, form = rig.cell.outputs.values()  # below the turn, in the same cell
        assert set(form) == {VIEW, "text/html", "text/plain"}
        data = made.sheet.data
        assert (data["form"]["prompt"], data["is_open"], data["sought_unix_s"] > 0) == (rig.turn.prompt, True, True)
        await until(lambda: not made.sheet.data["is_looking"])
        filled = {**made.sheet.data["form"], "loopback": True}
        made.sheet._heard({"t": "look", "form": filled}, lambda _: None)
        await until(lambda: not made.sheet.data["is_looking"])
        assert made.sheet.data["plan"]["may_submit"] is True, made.sheet.data
        for _ in range(2):
            made.sheet._heard({"t": "submit", "form": filled, "n": 0}, lambda _: None)
        await until(lambda: made.sheet.data["progress"] and made.sheet.data["progress"]["is_done"])
    assert made.sheet.data["progress"]["text"] == "Both sunny."
    assert len(plane.store.runs) == n_before  # its target was this machine
    assert sum(turn.prompt == rig.turn.prompt for turn in hermes.turns) == 1


async def test_a_closed_form_leaves_nothing_and_opens_again(plane: LoopbackPlane, hermes: Hermes) -> None:
    with ScriptedModel([]) as model:
        rig = Rig(bind(hermes, model))
        rig.hear(t="ready", keeps=True)
        rig.turn.is_done = True
        rig.hear(t="do", n=1, do="promote", turn="t1")
        made = rig.sink._promotion
        assert made is not None
        made.sheet._heard({"t": "ready", "keeps": True}, lambda _: None)
        await until(lambda: not made.sheet.data["is_looking"])
        made.sheet._heard({"t": "close"}, lambda _: None)
        assert made.bundle() == {"text/html": "<div></div>", "text/plain": ""}
        rig.hear(t="do", n=2, do="promote", turn="t1")
        assert (made.sheet.data["is_open"], len(rig.cell.outputs)) == (True, 2)
        await until(lambda: not made.sheet.data["is_looking"])
        made.sheet.freeze()  # a front end that keeps no static form
        rig.hear(t="do", n=3, do="promote", turn="t1")
        assert len(rig.cell.outputs) == 3
        again = rig.sink._promotion
        assert again is not None
        assert again is not made
        await until(lambda: not again.sheet.data["is_looking"])


@pytest.mark.parametrize(("is_installed", "runtime"), [(False, "process"), (True, "flyte:local")])
async def test_where_it_can_not_go_to_flyte_a_turn_has_no_button(
    monkeypatch: pytest.MonkeyPatch, is_installed: bool, runtime: str
) -> None:
    find = _action.importlib.util.find_spec
    gone = None if is_installed else "flyte"
    monkeypatch.setattr(_action.importlib.util, "find_spec", lambda name: None if name == gone else find(name))
    rig = Rig(SimpleNamespace(runtime_name=runtime))
    rig.hear(t="ready", keeps=True)
    assert rig.of("all")[-1]["may_promote"] is False
    rig.turn.is_done = True
    rig.hear(t="do", n=1, do="promote", turn="t1")
    assert (rig.of("said")[-1]["ok"], len(rig.cell.outputs)) == (False, 1)


async def until(is_so: Callable[[], Any]) -> None:
    async with asyncio.timeout(90):
        while not is_so():
            await asyncio.sleep(0.05)


async def test_without_flyte_it_says_what_to_install(hermes: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    find = promote.importlib.util.find_spec
    monkeypatch.setattr(promote.importlib.util, "find_spec", lambda name: None if name == "flyte" else find(name))
    with ScriptedModel([]) as model:
        desk = Desk(bind(hermes, model))
        data = await desk.opened()
    assert data["missing"] == INSTALL
    assert "not installed" in data["error"]


def test_targets_are_the_notebooks_own_first(hermes: Hermes) -> None:
    names = {"n": 3, "cluster": Flyte(project="p", domain="d", endpoint="flyte.example.com"), "Flyte": Flyte, "_x": Flyte()}
    assert [t["value"] for t in targets(names)] == ["cluster", "flyte:local", "flyte"]
    assert "flyte.example.com, p / d" in targets(names)[0]["note"]
    config = config_of({**EMPTY, "target": "cluster", "loopback": True, "yes": True}, names)
    assert (config.project, config.yes, list(config.allow)) == ("p", True, ["loopback-model"])
    assert config_of({**EMPTY, "target": "flyte", "project": " x "}, {}).project == "x"
    for wrong in ({"target": "gone"}, {"target": "flyte", "project": "a b"}, {"target": "flyte", "endpoint": "a:x y"}):
        with pytest.raises(UsageError):
            config_of({**EMPTY, **wrong}, names)


@pytest.mark.parametrize("message", [None, 3, {}, {"t": "submit"}, {"t": "stop"}, {"t": "report"}, {"t": "eval"}])
def test_a_message_that_means_nothing_does_no_harm(hermes: Hermes, message: Any) -> None:
    with ScriptedModel([]) as model:
        made = promotion(bind(hermes, model))
        made.sheet._heard(message, lambda answer: pytest.fail(str(answer)))
    assert made.submission is None
    assert made.bundle()["text/plain"] == WAITING


async def test_options_beside_a_config_are_refused_and_nothing_is_sent(hermes: Hermes) -> None:
    with ScriptedModel([Say("no")]) as model:
        bound = bind(hermes, model)
        with pytest.raises(UsageError, match=r"config= or single options, not both. Put retries into config"):
            await bound.promote("Hi", config=Flyte(**REMOTE), retries=2)
        with pytest.raises(TypeError, match=r"Flyte takes no 'retires'. Did you mean 'retries'"):
            await bound.promote("Hi", retires=2)
        assert model.requests == []
