"""JupyterLab's visual debugger on a notebook with an agent: it halts in a tool's cell, and holds nothing of ours."""

from __future__ import annotations

import itertools
import queue
import sys
import time
from typing import Any

import pytest

from hermes_nb.testing import Call, Say
from tests.magics.conftest import SETUP, Asked, prompt
from tests.magics.kernel import TIMEOUT_S, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

TOOLS = """import asyncio

@tool
def plain(n: int = 2) -> str:
    "Plain."
    x = n * 7
    return f"y={x + 1}"

@tool
async def awaiting(n: int = 2) -> str:
    "Awaiting."
    await asyncio.sleep(0)
    x = n * 7
    return f"y={x + 1}"

@tool(parallel=True)
def threaded(n: int = 2) -> str:
    "Threaded."
    x = n * 7
    return f"y={x + 1}"

@tool(timeout_s=0.3)
def hurried(n: int = 2) -> str:
    "Hurried."
    x = n * 7
    return f"y={x + 1}"

@tool
def quick() -> str:
    "Quick."
    return "quick"
"""
LINES = [n for n, line in enumerate(TOOLS.splitlines(), 1) if "return f" in line]
STOP_S = 5.0
FORMS = {
    "magic": "%%hermes run -s new -o answer\n{}",
    "bound": "answer = await bound.run({!r}, session_id=await bound.new_session())",
}


class Debugger:
    """What JupyterLab's debugger sends to a kernel, by its control channel."""

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self._seq = itertools.count(1)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        """The reply's body."""
        client, message = self.kernel.client, self.tell(command, **arguments)
        end_s = time.monotonic() + TIMEOUT_S
        while True:
            try:
                reply = client.control_channel.get_msg(timeout=0.1)
            except queue.Empty:
                assert time.monotonic() < end_s, f"no reply to {command}"
                continue
            if reply["parent_header"].get("msg_id") == message["header"]["msg_id"]:
                assert reply["content"].get("success", True), reply["content"]
                return dict(reply["content"].get("body") or {})

    def tell(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Ask without waiting for the reply; the message."""
        content = {"type": "request", "seq": next(self._seq), "command": command, "arguments": arguments}
        message: dict[str, Any] = self.kernel.client.session.msg("debug_request", content)
        self.kernel.client.control_channel.send(message)
        return message

    def attach(self, source: str) -> str:
        """Attach, without a breakpoint; the file that stands for a cell's source."""
        self.ask("initialize", clientID="test", adapterID="", pathFormat="path", linesStartAt1=True, columnsStartAt1=True)
        self.ask("attach")
        file = str(self.ask("dumpCell", code=source)["sourcePath"])
        self.halt_at(file, [])
        self.ask("configurationDone")
        return file

    def halt_at(self, file: str, lines: list[int]) -> None:
        breakpoints = [{"line": n} for n in lines]
        self.ask("setBreakpoints", breakpoints=breakpoints, source={"path": file}, sourceModified=False)

    def halted(self) -> int:
        """Wait until a thread is halted; its id."""
        events = self.kernel.debug_events
        self.kernel.until(lambda: any(e["event"] == "stopped" for e in events))
        thread_id = next(int(e["body"]["threadId"]) for e in events if e["event"] == "stopped")
        events.clear()
        return thread_id

    def variables(self, thread_id: int) -> dict[str, str]:
        """What the innermost frame of a halted thread holds."""
        frame = self.ask("stackTrace", threadId=thread_id)["stackFrames"][0]
        scope = self.ask("scopes", frameId=frame["id"])["scopes"][0]
        found = self.ask("variables", variablesReference=scope["variablesReference"])["variables"]
        return {v["name"]: v["value"] for v in found}


@pytest.fixture(scope="module")
def module_debugger(module_kernel: Kernel, module_model: Asked) -> Debugger:
    kernel = module_kernel
    module_model.answer = _call_what_is_asked_for
    kernel.ok(SETUP.format(url=module_model.scripted.base_url))
    kernel.ok(TOOLS)
    kernel.ok("%hermes agent analyst --tools plain,awaiting,threaded,hurried,quick --default -o bound")
    kernel.ok(FORMS["magic"].format("quick"))  # whatever starts with a turn is there before the debugger is
    return Debugger(kernel)


def _call_what_is_asked_for(request: Any) -> Any:
    last = request.messages[-1]
    return Say(f"Got: {last['content']}") if last["role"] == "tool" else Call(prompt(request), {})


@pytest.fixture
def debugger(module_debugger: Debugger, kernel: Kernel, model: Asked) -> Debugger:
    model.answer = _call_what_is_asked_for
    return module_debugger


@pytest.fixture(scope="module")
def file(module_debugger: Debugger) -> str:
    """The file of the tools' cell, as the attached debugger knows it."""
    return module_debugger.attach(TOOLS)


def test_it_holds_no_thread_of_ours(debugger: Debugger) -> None:
    """What starts later, too: pools and the store have their threads by now."""
    debugger.kernel.ok("import threading")
    threads = debugger.kernel.value(
        "[[t.name, (getattr(t, '_target', None) or type(t)).__module__.split('.')[0],"
        " getattr(t, 'pydev_do_not_trace', False) and getattr(t, 'is_pydev_daemon_thread', False)]"
        " for t in threading.enumerate() if t is not threading.main_thread()]"
    )
    assert ["hermes-nb-io", "hermes_nb", True] in threads
    assert [name for name, room, is_free in threads if not is_free and room not in ("ipykernel", "IPython")] == []


@pytest.mark.parametrize(("name", "form"), [("plain", "magic"), ("awaiting", "bound"), ("threaded", "magic")])
def test_it_halts_in_a_tool_and_goes_on(debugger: Debugger, file: str, name: str, form: str) -> None:
    kernel = debugger.kernel
    debugger.halt_at(file, LINES)
    cell = kernel.start(FORMS[form].format(name))
    thread_id = debugger.halted()
    assert debugger.variables(thread_id) == {"n": "2", "x": "14"}
    assert not cell.reply
    debugger.ask("continue", threadId=thread_id)
    assert kernel.finish(cell).status == "ok"
    assert kernel.value("answer.text") == "Got: y=15"


def test_a_tools_time_limit_stands_still_where_it_halts(debugger: Debugger, file: str) -> None:
    kernel = debugger.kernel
    debugger.halt_at(file, LINES)
    cell = kernel.start(FORMS["magic"].format("hurried"))
    thread_id = debugger.halted()
    halted_s = time.monotonic()
    kernel.until(lambda: time.monotonic() - halted_s > 0.6)
    debugger.ask("continue", threadId=thread_id)
    assert kernel.finish(cell).status == "ok"
    assert kernel.value("answer.text") == "Got: y=15"


def test_a_stop_where_it_halts_ends_the_turn_and_not_the_kernel(debugger: Debugger, file: str) -> None:
    """Last: debugpy (1.8.22) sends nothing more once a thread that it had halted went on by itself, also without us.

    From Python 3.12 on it keeps the interrupt until the thread goes on, also without us.
    """
    kernel = debugger.kernel
    debugger.halt_at(file, LINES)
    cell = kernel.start(FORMS["magic"].format("plain"))
    thread_id = debugger.halted()
    began_s = time.monotonic()
    kernel.interrupt()
    if sys.version_info >= (3, 12):
        debugger.tell("continue", threadId=thread_id)
    assert kernel.finish(cell).reply["ename"] == "KeyboardInterrupt"
    assert time.monotonic() - began_s < STOP_S
    assert kernel.value("answer.status") == "stopped"
    kernel.ok(FORMS["magic"].format("quick"))
    assert kernel.value("answer.text") == "Got: quick"
