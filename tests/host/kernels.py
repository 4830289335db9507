"""A real kernel and what its cells send, message by message."""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager
from traitlets import Unicode

PROJECT = Path(__file__).parent.parent.parent
# Another interpreter (with another ipykernel) may be tried: HERMES_NB_TEST_KERNEL_PYTHON=/path/to/python
PYTHON = os.environ.get("HERMES_NB_TEST_KERNEL_PYTHON", sys.executable)

SETUP = """
import asyncio, faulthandler, signal, sys, threading, time
faulthandler.register(signal.SIGUSR1, file=open("threads.txt", "w"))
from tests.host.fake_turn import FakeTurn
from hermes_nb.host.detect import current
from hermes_nb.tools.decorator import tool
host = current()
"""


class _Manager(KernelManager):
    """Starts kernels of `PYTHON` that find this project, in a folder."""

    folder = Unicode()

    def start_kernel(self, **options: Any) -> Any:
        env = {k: v for k, v in os.environ.items() if not k.startswith(("COV", "PYTEST"))}
        return super().start_kernel(**{**options, "cwd": self.folder, "env": {**env, "PYTHONPATH": str(PROJECT)}})


def kernel_manager(folder: Path) -> KernelManager:
    manager = _Manager(folder=str(folder))
    spec = manager.kernel_spec
    assert spec is not None
    spec.argv = [PYTHON, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    return manager


class Reply:
    """What one cell has sent so far.

    Attributes:
        messages: Its messages, in order; more may come after the reply.
        content: The reply's content; empty before it came.
    """

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.content: dict[str, Any] = {}

    def of(self, *kinds: str) -> list[dict[str, Any]]:
        return [m["content"] for m in self.messages if m["header"]["msg_type"] in kinds]

    @property
    def text(self) -> str:
        return "".join(c["text"] for c in self.of("stream") if c["name"] == "stdout")

    @property
    def errors(self) -> list[str]:
        return [c["ename"] for c in self.of("error")]

    @property
    def images(self) -> int:
        return sum("image/png" in c["data"] for c in self.of("display_data"))

    @property
    def stderr(self) -> str:
        return "".join(c["text"] for c in self.of("stream") if c["name"] == "stderr")


class Kernel:
    """Starts a kernel; `run` runs a cell and waits for it, `send` does not wait."""

    def __init__(self, cwd: Path) -> None:
        self.manager = kernel_manager(cwd)
        self.manager.start_kernel()
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=60)
        self.cells: dict[str, Reply] = {}

    def send(self, code: str, *, cell_id: str | None = None, allow_stdin: bool = False) -> str:
        message = self.client.session.msg(
            "execute_request",
            {
                "code": code,
                "silent": False,
                "store_history": True,
                "user_expressions": {},
                "allow_stdin": allow_stdin,
                "stop_on_error": False,
            },
            metadata={"cellId": cell_id} if cell_id else {},
        )
        self.client.shell_channel.send(message)
        key = str(message["header"]["msg_id"])
        self.cells[key] = Reply()
        return key

    def run(self, code: str, *, timeout_s: float = 30.0, check: bool = True, **options: Any) -> Reply:
        reply = self.finish(self.send(code, **options), timeout_s=timeout_s)
        if check:
            assert not reply.of("error"), "\n".join(reply.of("error")[0]["traceback"])
        return reply

    def finish(self, key: str, *, timeout_s: float = 30.0) -> Reply:
        """Wait until the cell is idle."""
        self.pump(lambda: self._is_idle(key), timeout_s)
        return self.cells[key]

    def until(self, key: str, text: str, *, timeout_s: float = 30.0) -> None:
        """Wait until the cell has printed `text`."""
        self.pump(lambda: text in self.cells[key].text, timeout_s)

    def pump(self, is_enough: Any, timeout_s: float = 30.0) -> None:
        """Read messages until `is_enough()`."""
        import queue

        end_s = time.monotonic() + timeout_s
        while not is_enough():
            left_s = end_s - time.monotonic()
            assert left_s > 0, f"nothing came in {timeout_s} s: {self._dump()}"
            try:
                message = self.client.get_iopub_msg(timeout=min(left_s, 0.05))
            except queue.Empty:
                continue
            message["received_s"] = time.monotonic()
            parent = message["parent_header"].get("msg_id", "")
            self.cells.setdefault(parent, Reply()).messages.append(message)

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def value(self, expression: str) -> Any:
        """A JSON value from the kernel."""
        return json.loads(self.run(f"import json; print(json.dumps({expression}))").text)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def _is_idle(self, key: str) -> bool:
        # Both: ipykernel 7.0 to 7.3 may lose a request that arrives while it replies (ipython/ipykernel#1554).
        while self.client.shell_channel.msg_ready():
            message = self.client.get_shell_msg(timeout=1)
            self.cells.setdefault(message["parent_header"].get("msg_id", ""), Reply()).content = message["content"]
        cell = self.cells[key]
        return bool(cell.content) and any(s["execution_state"] == "idle" for s in cell.of("status"))

    def _dump(self) -> str:
        """The last messages, and where the kernel's threads are."""
        messages = "\n".join(
            f"{key} {m['header']['msg_type']} {str(m['content'])[:300]}"
            for key, reply in list(self.cells.items())[-4:]
            for m in reply.messages
        )
        threads = Path(self.manager.folder, "threads.txt")
        if threads.exists() and self.manager.is_alive():
            self.manager.signal_kernel(signal.SIGUSR1)
            end_s = time.monotonic() + 5
            while "Current thread" not in threads.read_text() and time.monotonic() < end_s:
                pass
            messages += "\n" + threads.read_text()
        return messages[-12_000:]
