"""What the panel is told, and how it is heard, without a browser; `tests/browser/test_extension.py` has one."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell

from hermes_nb.magics import _panel, _panel_comm, context
from hermes_nb.magics._panel_comm import PanelComms
from tests.store.conftest import event, turn_events

Run = Callable[[str], str]


class Line:
    """The kernel's end of a comm, as `comm_manager` hands it over: keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.is_closed = False
        self.news = threading.Condition()

    def on_msg(self, callback: Callable[[Any], None]) -> None:
        self._hear = callback

    def on_close(self, callback: Callable[[Any], None]) -> None:
        self.bye = callback

    def send(self, data: dict[str, Any]) -> None:
        with self.news:
            self.sent.append(data)
            self.news.notify_all()

    def close(self) -> None:
        self.is_closed = True

    def say(self, **request: Any) -> None:
        self._hear({"content": {"data": request}})

    def wait(self, is_there: Callable[[dict[str, Any]], bool], timeout_s: float = 30) -> dict[str, Any]:
        with self.news:
            assert self.news.wait_for(lambda: any(map(is_there, self.sent)), timeout_s), self.sent[-1:]
            return next(filter(is_there, self.sent))


class Manager:
    """As much of a kernel as a panel needs."""

    def __init__(self) -> None:
        self.targets: dict[str, Callable[[Any, Any], None]] = {}
        self.comm_manager = self

    def register_target(self, name: str, opened: Callable[[Any, Any], None]) -> None:
        self.targets[name] = opened

    def open(self) -> Line:
        line = Line()
        self.targets[_panel_comm.TARGET](line, {"content": {"data": {}}})
        return line


@pytest.fixture
def kernel(shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch) -> Any:
    manager = Manager()
    monkeypatch.setattr(shell, "kernel", manager, raising=False)
    panels = PanelComms(shell, context(shell))
    panels.install()
    yield manager
    panels.remove()


def test_before_anything_is_used_agents_are_listed_and_nothing_is_made(shell: InteractiveShell, run: Run) -> None:
    run("from hermes_nb import Agent\nanalyst = Agent('analyst', model='m', provider='custom')\nhelper = analyst")
    told = _panel.state(context(shell))
    assert [(a["name"], a["model"], a["provider"], a["is_bound"]) for a in told["agents"]] == [
        ("analyst", "m", "custom", False)
    ]
    assert (told["is_open"], told["sessions"], told["turns"], told["runs"]) == (False, [], [], [])
    assert not Path(".hermes-nb").exists()


def test_a_hello_opens_what_is_stored_and_makes_nothing_where_nothing_is(shell: InteractiveShell, run: Run) -> None:
    magic = shell._hermes_nb_magic  # type: ignore[attr-defined]
    assert magic.hello()
    assert not Path(".hermes-nb").exists()
    run("%hermes sessions")
    run("%unload_ext hermes_nb\n%load_ext hermes_nb")
    assert context(shell).opened_hermes is None
    assert shell._hermes_nb_magic.hello()  # type: ignore[attr-defined]
    assert context(shell).opened_hermes is not None


def test_bound_agents_and_sessions_with_forks_and_runs_are_told(shell: InteractiveShell, run: Run) -> None:
    run("from hermes_nb import Agent\nanalyst = Agent('analyst', model='offline')")
    run("%hermes agent analyst --default")
    hermes = context(shell).hermes

    async def store() -> None:
        opened = await hermes.conversations.opened_store()
        long = "Which?\n" + "x" * 300 + "\ud800"
        await opened.ingest(turn_events(prompt=long.encode("utf-8", "replace").decode(), usage={"input_tokens": 7}))
        await opened.ingest([event(3, "turn.started", turn="t2", prompt="And?", agent="analyst")])
        await opened.ingest([event(4, "flyte.run", turn="t2", run="r1", phase="running", url="https://flyte/r1")])

    hermes.io.call(store())
    hermes.io.call(hermes.conversations.fork("s", title="another way"))
    told = _panel.state(context(shell))
    (agent,) = told["agents"]
    assert (agent["name"], agent["provider"], agent["is_bound"], agent["is_default"]) == ("analyst", "offline", True, True)
    parent, fork = told["sessions"]
    assert (parent["session_id"], parent["depth"], parent["n_turns"], parent["is_unfinished"]) == ("s", 0, 2, True)
    assert (parent["input_tokens"], parent["output_tokens"], parent["cost"]) == (7, None, "")
    assert len(parent["title"]) <= 200
    assert "\n" not in parent["title"]
    assert (fork["title"], fork["depth"], fork["n_turns"], fork["is_unfinished"]) == ("another way", 1, 0, False)
    (flyte,) = told["runs"]
    assert (flyte["run"], flyte["phase"], flyte["url"], flyte["session_id"]) == ("r1", "running", "https://flyte/r1", "s")


def test_changes_are_told_once_and_nothing_is_told_when_nothing_changed(kernel: Manager, run: Run) -> None:
    line = kernel.open()
    assert line.sent[0]["agents"] == []
    run("from hermes_nb import Agent\nanalyst = Agent('analyst', model='offline')")
    line.wait(lambda told: [a["name"] for a in told["agents"]] == ["analyst"])
    n_sent = len(line.sent)
    threading.Event().wait(3 * _panel_comm.LOOK_S)
    assert len(line.sent) == n_sent


def test_a_running_turn_is_told_and_stopped(kernel: Manager, shell: InteractiveShell, run: Run) -> None:
    from hermes_nb.testing import Hang, ScriptedModel

    with ScriptedModel([Hang("Once ", "upon a time.")]) as model:
        run("from hermes_nb import Agent, Model")
        run(f"teller = Agent('teller', model=Model('scripted', 'custom', base_url={model.base_url!r}))")
        line = kernel.open()
        run("%hermes run --background -a teller Tell me a story.")
        told = line.wait(lambda told: any(turn["status"] == "running" for turn in told["turns"]))
        (turn,) = told["turns"]
        assert (turn["agent"], turn["prompt"], turn["question"]) == ("teller", "Tell me a story.", None)
        line.say(do="stop", turn=turn["turn_id"])
        line.wait(lambda told: told["turns"] == [] and any(s["is_unfinished"] for s in told["sessions"]))
    (ended,) = context(shell).hermes.turns
    assert ended.status == "stopped"


def test_an_unknown_request_is_answered_with_what_to_do(kernel: Manager) -> None:
    line = kernel.open()
    line.say(do="dance")
    told = line.wait(lambda told: "error" in told)
    assert "'dance'" in told["error"]
    assert "Reload the page" in told["error"]


def test_panels_that_went_are_forgotten_and_all_hear_the_end(kernel: Manager, shell: InteractiveShell, run: Run) -> None:
    lines = [kernel.open() for _ in range(_panel_comm.MAX_PANELS + 1)]
    assert [line.is_closed for line in lines] == [True] + [False] * _panel_comm.MAX_PANELS
    lines[1].bye({})
    run("from hermes_nb import Agent\nanalyst = Agent('analyst')")
    lines[-1].wait(lambda told: bool(told["agents"]))
    assert all(not told["agents"] for told in lines[1].sent)


def test_unloading_says_good_bye(kernel: Manager, shell: InteractiveShell, run: Run) -> None:
    run("%reload_ext hermes_nb")  # now the shell's own magic answers
    line = kernel.open()
    run("%unload_ext hermes_nb")
    assert line.is_closed
    assert kernel.targets == {}
    run("%load_ext hermes_nb")
    assert list(kernel.targets) == [_panel_comm.TARGET]
