"""A real kernel, cell by cell, as a notebook front end sees it."""

from __future__ import annotations

import json
import os
import queue
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager

PROJECT = Path(__file__).resolve().parents[2]
TIMEOUT_S = 60.0
# Another interpreter, with another IPython or ipykernel, may be tried.
PYTHON = os.environ.get("HERMES_NB_TEST_KERNEL_PYTHON", sys.executable)


@dataclass
class Cell:
    """One execution: its messages and its reply."""

    messages: list[dict[str, Any]] = field(default_factory=list)
    reply: dict[str, Any] = field(default_factory=dict)
    is_idle: bool = False

    def contents(self, kind: str) -> list[dict[str, Any]]:
        return [m["content"] for m in self.messages if m["header"]["msg_type"] == kind]

    def stream(self, name: str) -> str:
        return "".join(c["text"] for c in self.contents("stream") if c["name"] == name)

    @property
    def out(self) -> str:
        return self.stream("stdout")

    @property
    def err(self) -> str:
        return self.stream("stderr")

    @property
    def error(self) -> dict[str, Any] | None:
        """The error that is shown, None when none is."""
        return next(iter(self.contents("error")), None)

    @property
    def shown(self) -> list[dict[str, str]]:
        """What is displayed in the end: the last form of each output, in order."""
        forms: dict[str, dict[str, str]] = {}
        for message in self.messages:
            content = message["content"]
            if message["header"]["msg_type"] in ("display_data", "update_display_data", "execute_result"):
                key = (content.get("transient") or {}).get("display_id") or message["header"]["msg_id"]
                forms[key] = content["data"]
        return list(forms.values())

    @property
    def text(self) -> str:
        """The plain text of what is displayed in the end."""
        return "\n".join(data.get("text/plain", data.get("text/markdown", "")) for data in self.shown)

    @property
    def status(self) -> str:
        return str(self.reply.get("status", ""))


class Kernel:
    """A kernel process in a folder of its own; `run` runs a cell to its end, `start` only starts it."""

    def __init__(self, folder: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.manager = KernelManager()
        spec = self.manager.kernel_spec
        assert spec is not None
        options = ["-f", "{connection_file}", "--HistoryManager.hist_file=:memory:"]
        spec.argv = [PYTHON, "-m", "ipykernel_launcher", *options]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("COV", "PYTEST", "HERMES"))}
        ours = {"PYTHONPATH": str(PROJECT), "PYDEVD_DISABLE_FILE_VALIDATION": "1", "IPYTHONDIR": str(folder / ".ipython")}
        self.manager.start_kernel(cwd=str(folder), env={**kept, **ours, **(environment or {})})
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=TIMEOUT_S)
        self._cells: dict[str, Cell] = {}
        self.debug_events: list[dict[str, Any]] = []

    def start(
        self, source: str, *, cell_id: str | None = None, allow_stdin: bool = False, metadata: dict[str, Any] | None = None
    ) -> Cell:
        message = self.client.session.msg(
            "execute_request",
            {"code": source, "silent": False, "store_history": True, "user_expressions": {}, "allow_stdin": allow_stdin},
            metadata=metadata or {"cellId": cell_id or f"cell-{len(self._cells)}"},
        )
        self.client.shell_channel.send(message)
        cell = self._cells[str(message["header"]["msg_id"])] = Cell()
        return cell

    def run(self, source: str, *, cell_id: str | None = None, timeout_s: float = TIMEOUT_S) -> Cell:
        return self.finish(self.start(source, cell_id=cell_id), timeout_s=timeout_s)

    def ok(self, source: str, **options: Any) -> Cell:
        """Run a cell that must succeed."""
        cell = self.run(source, **options)
        assert cell.status == "ok", (cell.reply.get("evalue"), cell.err, cell.error)
        return cell

    def finish(self, cell: Cell, *, timeout_s: float = TIMEOUT_S) -> Cell:
        self.until(lambda: cell.is_idle and bool(cell.reply), timeout_s)
        return cell

    def value(self, expression: str) -> Any:
        """A JSON value of the kernel."""
        found = self.ok(f"import json as _json; print(_json.dumps({expression}))").out
        return json.loads(found)

    def until(self, is_enough: Callable[[], bool], timeout_s: float = TIMEOUT_S) -> None:
        """Read messages until it is enough."""
        end_s = time.monotonic() + timeout_s
        while not is_enough():
            assert time.monotonic() < end_s, f"not enough came in {timeout_s:g} s: {self._cells}"
            self._read()

    def _read(self) -> None:
        for channel, timeout_s in ((self.client.shell_channel, 0), (self.client.iopub_channel, 0.05)):
            try:
                message = channel.get_msg(timeout=timeout_s)
            except queue.Empty:
                continue
            if message["header"]["msg_type"] == "debug_event":
                self.debug_events.append(message["content"])
                continue
            cell = self._cells.get(message["parent_header"].get("msg_id", ""))
            if cell is None:
                continue
            if message["header"]["msg_type"] == "execute_reply":
                cell.reply = message["content"]
            elif message["header"]["msg_type"] == "status":
                cell.is_idle = message["content"]["execution_state"] == "idle"
            else:
                cell.messages.append(message)

    def complete(self, source: str) -> dict[str, Any]:
        """The reply to a complete_request at the end of the source."""
        reply: dict[str, Any] = self.client.complete(source, reply=True, timeout=TIMEOUT_S)["content"]
        return reply

    def asked(self) -> str:
        """The prompt of the question that a cell asks next."""
        return str(self.client.get_stdin_msg(timeout=TIMEOUT_S)["content"]["prompt"])

    def interrupt(self) -> None:
        self.manager.interrupt_kernel()

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
