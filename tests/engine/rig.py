"""Drives a real worker over its pipes, as a kernel would."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from hermes_nb.engine import wire
from hermes_nb.environments import boot

ENGINE = "HERMES_NB_TEST_ENGINE"  # set by the matrix, for the engine's tests on another Hermes
ALLOWED = ("PATH", "HOME", "LANG", "TZ", "LD_LIBRARY_PATH")


def spec(name: str, description: str = "A tool.", **options: Any) -> dict[str, Any]:
    """A ToolSpec as it crosses the wire; `args` names string parameters."""
    names = options.pop("args", ())
    schema = {"type": "object", "properties": {n: {"type": "string"} for n in names}, "required": list(names)}
    return {"name": name, "description": description, "parameters": schema, **options}


class Worker:
    """A worker process under test.

    Args:
        folder: Where its home, journal and log go.
        environment: Variables besides the allow-list.
        is_journal_ours: Whether this side keeps the journal: then nothing is, unless the test does it.
        python: The interpreter, to which the engine goes over its pipe; None means what HERMES_NB_TEST_ENGINE names, else
            the tests' own.
    """

    def __init__(
        self,
        folder: Path,
        *,
        producer: str = "w1",
        environment: Mapping[str, str] = {},
        python: str | None = None,
        is_journal_ours: bool = False,
    ) -> None:
        self.folder = folder
        self.home = folder / "home"
        self.journal = folder / "journal.sqlite"
        self.log = folder / f"{producer}.log"
        folder.mkdir(parents=True, exist_ok=True)
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        env = {k: v for k, v in os.environ.items() if k in ALLOWED} | dict(environment)
        journal = "-" if is_journal_ours else str(self.journal)
        files = ["--home", str(self.home), "--journal", journal, "--producer", producer, "--log", str(self.log)]
        python = python or os.environ.get(ENGINE)
        ends = ["--read-fd", str(read_there), "--write-fd", str(write_there)]
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [python, "-P", "-c", boot.BOOT, *files]
                if python
                else [sys.executable, "-P", "-m", "hermes_nb.engine", *ends, *files],
                env=env,
                cwd=folder,
                stdin=read_there if python else subprocess.DEVNULL,
                stdout=write_there if python else log,
                stderr=log,
                pass_fds=() if python else (read_there, write_there),
                start_new_session=True,
            )
        os.close(read_there)
        os.close(write_there)
        if python:
            with os.fdopen(os.dup(write_here), "wb") as pipe:
                pipe.write(boot.preamble(python=sys.version_info[:2]))
        self._write_fd, self._read_fd = write_here, read_here
        self._sender = wire.Sender(write_here)
        self._turns = itertools.count(1)
        self._started_at: dict[str, int] = {}
        self._allowing: set[str] = set()
        self.messages: list[dict[str, Any]] = []
        self._changed = threading.Condition()
        self._is_over = False
        self.tools: dict[str, Callable[..., Any]] = {}
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        for message in wire.read_messages(self._read_fd):
            if message["kind"] == "tool.call" and message["name"] in self.tools:
                threading.Thread(target=self._run_tool, args=(message,), daemon=True).start()
            if message["kind"] == "event" and message["event"]["kind"] == "approval.requested":
                self._allow(message["event"])
            with self._changed:
                self.messages.append(dict(message))
                self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def _allow(self, asked: Mapping[str, Any]) -> None:
        if asked["turn_id"] in self._allowing:
            self.send("answer", turn_id=asked["turn_id"], request_id=asked["data"]["request_id"], answer="once")

    def _run_tool(self, message: Mapping[str, Any]) -> None:
        started, at = time.time(), time.monotonic()
        try:
            value = self.tools[message["name"]](**json.loads(message["arguments"] or "{}"))
            outcome = {"status": "ok", "result": value if isinstance(value, str) else json.dumps(value)}
        except Exception as exc:  # noqa: BLE001 - a tool's error is its result
            outcome = {
                "status": "error",
                "result": json.dumps({"error": str(exc)}),
                "error": str(exc),
                "error_type": type(exc).__name__,
            }
        self.send(
            "tool.result",
            turn_id=message["turn_id"],
            call_id=message["call_id"],
            result_chars=len(outcome["result"]),
            started_at_unix_s=started,
            duration_ms=(time.monotonic() - at) * 1000,
            **outcome,
        )

    def send(self, kind: str, **keys: Any) -> None:
        """One message to the worker."""
        self._sender.send(kind, **keys)

    def wait(self, matches: Callable[[dict[str, Any]], bool], timeout_s: float = 30, at: int = 0) -> dict[str, Any]:
        """The first message from the `at`th that matches, past or to come."""
        deadline = time.monotonic() + timeout_s
        with self._changed:
            while True:
                for message in self.messages[at:]:
                    if matches(message):
                        return message
                at = len(self.messages)
                left = deadline - time.monotonic()
                if self._is_over or left <= 0:
                    raise AssertionError(
                        f"No such message ({'the worker ended' if self._is_over else 'timeout'}); last ones:"
                        f" {[m.get('event', m) for m in self.messages[-6:]]}\n{self.log.read_text()[-3000:]}"
                    )
                self._changed.wait(left)

    def wait_kind(self, kind: str, timeout_s: float = 30, **keys: Any) -> dict[str, Any]:
        """The first message of that kind whose keys are these."""
        return self.wait(lambda m: m["kind"] == kind and all(m.get(k) == v for k, v in keys.items()), timeout_s)

    def wait_event(self, kind: str, turn_id: str, timeout_s: float = 30, **data: Any) -> dict[str, Any]:
        """The first event of that kind in a turn."""
        return self.wait(
            lambda m: (
                m["kind"] == "event"
                and m["event"]["kind"] == kind
                and m["event"]["turn_id"] == turn_id
                and all(m["event"]["data"].get(k) == v for k, v in data.items())
            ),
            timeout_s,
        )["event"]

    def bind(self, base_url: str, *, agent_id: str = "a", is_awaited: bool = True, **agent: Any) -> dict[str, Any]:
        """Bind an agent on a scripted endpoint; the worker's answer."""
        n_before = len(self.messages)
        model = {"id": "scripted", "provider": "custom", "base_url": base_url, "api_key": "test-key-0123456789"}
        self.send(
            "bind",
            agent_id=agent_id,
            agent={
                "name": agent_id,
                "instructions": "",
                "model": model,
                "tools": [],
                "toolsets": [],
                "max_turns": None,
                "config": {},
            }
            | agent,
        )
        if not is_awaited:
            return {}
        return self.wait(lambda m: m["kind"] in ("bound", "bind.failed") and m["agent_id"] == agent_id, at=n_before)

    def start(self, prompt: Any, *, agent_id: str = "a", allow: bool = False, **keys: Any) -> str:
        """Start a turn; its id. `allow` allows, once each, what it asks for."""
        turn_id = keys.pop("turn_id", None) or f"t{next(self._turns)}"
        if allow:
            self._allowing.add(turn_id)
        with self._changed:
            self._started_at[turn_id] = len(self.messages)
        self.send(
            "turn.start",
            **{
                "turn_id": turn_id,
                "session_id": "s1",
                "agent_id": agent_id,
                "prompt": prompt,
                "history": [],
                "attempt": 1,
                "date": "2026-01-15",
                "tools": [],
                "timeout_s": None,
                "runtime": "process",
                "n_prior_turns": 0,
                **keys,
            },
        )
        return turn_id

    def done(self, turn_id: str, timeout_s: float = 30) -> dict[str, Any]:
        """The turn's `turn.done`, of its last attempt."""
        at = self._started_at[turn_id]
        return self.wait(lambda m: m["kind"] == "turn.done" and m["turn_id"] == turn_id, timeout_s, at)

    def run(self, prompt: Any, **keys: Any) -> dict[str, Any]:
        """Start a turn and wait for its end."""
        return self.done(self.start(prompt, **keys))

    def events(self, turn_id: str, kind: str | None = None) -> list[dict[str, Any]]:
        """Events of a turn so far."""
        with self._changed:
            found = [m["event"] for m in self.messages if m["kind"] == "event" and m["event"]["turn_id"] == turn_id]
        return [e for e in found if kind is None or e["kind"] == kind]

    def kinds(self, turn_id: str) -> list[str]:
        """Kinds of a turn's events, deltas left out."""
        return [e["kind"] for e in self.events(turn_id) if not e["kind"].endswith(".delta")]

    def text_streamed(self, turn_id: str) -> str:
        """All deltas of a turn."""
        return "".join(e["data"]["text"] for e in self.events(turn_id, "model.delta"))

    def kill(self) -> None:
        """SIGKILL, and wait."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)

    def close(self) -> None:
        """End it, as a kernel that goes away does."""
        if self._write_fd >= 0:
            os.close(self._write_fd)
            self._write_fd = -1
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.kill()
        self._reader.join(5)
        if self._read_fd >= 0:
            os.close(self._read_fd)
            self._read_fd = -1
