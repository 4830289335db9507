"""Kills a worker, its kernel, or both, at random moments of a turn, and checks everything that is promised of what is left.

The proof is the endpoint's own log: every request it ever got, beside what the journal had committed when the kill was over.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hermes_nb.engine.endpoint import ChatRequest
from hermes_nb.model.event import Event
from hermes_nb.model.span import fold
from hermes_nb.testing import Call, Say, ScriptedModel, Step

N_STEPS = 6
WAIT_S = 90.0
_PROJECT = Path(__file__).resolve().parents[2]


@dataclass
class Report:
    """What came of some kills."""

    n_kills: int = 0
    n_missed: int = 0
    n_repeated: int = 0
    n_asked: int = 0
    n_events: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.n_kills} kills ({', '.join(f'{n} {kind}' for kind, n in sorted(self.kinds.items()))}), after"
            f" {', '.join(f'{k} steps: {n}' for k, n in sorted(self.moments.items()))}; {self.n_repeated} requests in flight"
            f" repeated ({', '.join(f'{n} {kind}' for kind, n in sorted(self.repeated.items())) or 'none'}),"
            f" {self.n_asked} tools asked about, {self.n_events} events and {self.lost} lost, {self.n_missed} kills came too"
            f" late; {len(self.faults)} faults"
        )


class Rig:
    """Kernels, one after another, on one state folder and one endpoint.

    Args:
        folder: Where the state goes.
        seed: Of the random moments.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.random = folder, random.Random(seed)
        self.calls = folder / "calls.jsonl"
        self.calls.touch()
        self.log: list[tuple[int, int, float]] = []  # run, step, when: every request that arrived
        self.model = ScriptedModel(self._step)
        self.model.start()
        self.kernel: Kernel | None = None
        self.turn_s = 1.5
        self.report = Report()

    def close(self) -> None:
        if self.kernel is not None:
            self.kernel.close()
        self.model.close()

    def _step(self, request: ChatRequest) -> Step:
        asked = [str(m.get("content")) for m in request.messages if m["role"] == "user"]
        found = re.fullmatch(r"run (\d+)", asked[0]) if len(asked) == 1 else None
        if found is None or request.messages[0]["role"] != "system":
            told = [(m["role"], str(m.get("content"))[:200]) for m in request.messages]
            self._fault(-1, f"a request that is none of a turn's: {told}")
            return Say("?")
        run = int(found[1])
        n = sum(m["role"] == "tool" for m in request.messages)
        self.log.append((run, n, time.monotonic()))
        if n >= N_STEPS:
            told = [str(m["content"]) for m in request.messages if m["role"] == "tool"]
            return Say("; ".join(told), first_byte_delay_s=0.03, delay_s=0.003, deltas=12)
        return Call("pay" if n % 3 == 1 else "look", {"run": run, "n": n}, first_byte_delay_s=0.04)

    # -- one kill --------------------------------------------------------------------------------------------------
    def kill_once(self, run: int) -> None:
        """One turn, killed at a random moment, gone on with, and checked."""
        kernel = self._alive()
        kind = self.random.choice(("worker", "kernel", "both"))
        wait_s = self.random.uniform(0.0, self.turn_s)
        kernel.tell(run=run)
        started = kernel.hear("started")
        began = time.monotonic()
        done = kernel.hear("done", timeout_s=wait_s)
        if done is not None:
            self.turn_s = 0.7 * self.turn_s + 0.3 * (time.monotonic() - began)
            self.report.n_missed += 1
            self._check_answer(run, done)
            return
        self._kill(kernel, kind)
        committed = _Committed.of(self.folder, started["turn"])
        at_kill = len(self.log), len(self._calls(run))
        if kind == "worker":
            failed = kernel.hear("done", timeout_s=WAIT_S)
            if failed is None:
                self._fault(run, "the kernel did not hear of its worker's end")
                return
            if failed["status"] == "completed":  # nothing was taken yet: the kernel asked another worker by itself
                done = failed
        kernel = self._alive()
        if done is None and not committed.is_started:
            self.report.kinds["before it was taken"] += 1
            return  # the question never left the kernel that died
        if done is None:
            kernel.tell(resume=started["turn"])
            kernel.hear("started", timeout_s=WAIT_S)
            done = kernel.hear("done", timeout_s=WAIT_S)
        self.report.n_kills += 1
        self.report.kinds[kind] += 1
        self.report.moments[f"{committed.n_responses:2}"] += 1
        if done is None:
            self._fault(run, "the resumed turn did not end")
            return
        self._check_answer(run, done)
        n_repeated = self._check_requests(run, committed, at_kill[0], kind)
        self._check_calls(run, committed, at_kill[1], int(done["n_asked"]))
        self._check_events(run, started, committed, n_repeated)

    def _alive(self) -> Kernel:
        if self.kernel is None or not self.kernel.is_alive:
            self.kernel = Kernel(self.folder / "state", self.model.base_url, self.calls)
        return self.kernel

    def _kill(self, kernel: Kernel, kind: str) -> None:
        worker = kernel.worker
        if kind == "both":
            os.kill(worker, signal.SIGKILL)
        if kind in ("kernel", "both"):
            kernel.kill()
        else:
            os.kill(worker, signal.SIGKILL)
        until = time.monotonic() + 10
        pause = threading.Event()
        while _lives(worker):
            if time.monotonic() > until:
                self._fault(-1, f"the worker {worker} outlived its kernel")
                os.kill(worker, signal.SIGKILL)
            pause.wait(0.01)

    # -- what is promised --------------------------------------------------------------------------------------------
    def _check_answer(self, run: int, done: dict[str, Any]) -> None:
        names = ["pay" if n % 3 == 1 else "look" for n in range(N_STEPS)]
        right = "; ".join(f"{name} {n} of run {run}" for n, name in enumerate(names))
        if (done["status"], done["text"]) != ("completed", right):
            self._fault(run, f"ended {done['status']} with {done['text']!r}: {done['error']}")

    def _check_requests(self, run: int, committed: _Committed, n_before: int, kind: str) -> int:
        own = [(n, i) for i, (r, n, _) in enumerate(self.log) if r == run]
        counts = Counter(n for n, _ in own)
        again = [n for n, i in own if i >= n_before and n < committed.n_responses]
        if again:
            self._fault(run, f"committed responses {again} were requested again")
        repeated = sum(count - 1 for count in counts.values())
        self.report.n_repeated += repeated
        self.report.repeated.update({kind: repeated} if repeated else {})
        if repeated > 1:
            self._fault(run, f"{repeated} requests were repeated after one kill: {dict(counts)}")
        return repeated

    def _check_calls(self, run: int, committed: _Committed, n_before: int, n_asked: int) -> None:
        calls = self._calls(run)
        counts = Counter(c["n"] for c in calls)
        again = [c["n"] for c in calls[n_before:] if c["n"] < committed.n_results]
        if again:
            self._fault(run, f"tools with committed results ran again: {again}")
        twice = [c for c in calls if counts[c["n"]] > 1]
        if any(count > 2 for count in counts.values()) or len({c["n"] for c in twice}) > 1:
            self._fault(run, f"more than one tool ran again: {dict(counts)}")
        if any(c["name"] == "pay" for c in twice) and not n_asked:
            self._fault(run, "a tool that may not run twice ran again unasked")
        self.report.n_asked += n_asked

    def _check_events(self, run: int, started: dict[str, Any], committed: _Committed, n_repeated: int) -> None:
        with contextlib.closing(sqlite3.connect(self.folder / "state" / "store.db", timeout=10)) as db:
            rows = db.execute(
                "SELECT v, producer, seq, at_unix_s, session_id, turn_id, span_id, parent_id, attempt, kind, data"
                " FROM events WHERE turn_id = ? ORDER BY rowid", (started["turn"],),
            ).fetchall()  # fmt: skip
        events = [Event(*row[:-1], json.loads(row[-1])) for row in rows]
        stored = {e.key for e in events}
        lost = [e for e in committed.events if e.key not in stored]
        self.report.n_events += len(stored)
        self.report.lost += len(lost)
        if lost:
            self._fault(run, f"{len(lost)} committed events are not in the store, e.g. {lost[0]}")
        seqs = sorted(e.seq for e in committed.events if e.producer == committed.events[-1].producer)
        if seqs and seqs != list(range(seqs[0], seqs[-1] + 1)):  # a kill may come before the first
            self._fault(run, f"the worker's events have gaps: {seqs}")
        calls = [s for s in fold(events) if s.kind == "model"]
        if n_repeated > sum(s.status == "killed" for s in calls):
            self._fault(run, f"a repeated request is not marked: {[(s.attempt, s.status) for s in calls]}")
        cut = [s for s in calls if s.status == "running"]
        if cut:
            told = " ".join(f"{e.producer[-3:]}#{e.seq}@{e.attempt}:{e.kind}:{e.span_id[-4:]}" for e in events)
            self._fault(run, f"a request that was cut off is not marked: {cut[0].span_id} in {told}")

    def _calls(self, run: int) -> list[dict[str, Any]]:
        lines = self.calls.read_text().splitlines()
        return [call for call in map(json.loads, lines) if call["run"] == run]

    def _fault(self, run: int, what: str) -> None:
        self.report.faults.append(f"run {run}: {what}")


@dataclass(frozen=True)
class _Committed:
    """What the journals had of a turn when nobody wrote any more."""

    n_responses: int
    n_results: int
    events: list[Event]

    @property
    def is_started(self) -> bool:
        return bool(self.events)

    @classmethod
    def of(cls, folder: Path, turn_id: str) -> _Committed:
        best = cls(0, 0, [])
        for path in (folder / "state").glob("instances/*/journal.db"):
            with contextlib.closing(sqlite3.connect(path, timeout=10)) as db:
                n = [
                    db.execute(f"SELECT count(*) FROM {table} WHERE turn_id = ?", (turn_id,)).fetchone()[0]
                    for table in ("responses", "tool_results")
                ]
                rows = db.execute("SELECT body FROM events WHERE turn_id = ? ORDER BY row", (turn_id,)).fetchall()
            if rows:
                best = cls(n[0], n[1], [Event.from_json(body) for (body,) in rows])
        return best


class Kernel:
    """One kernel process."""

    def __init__(self, state: Path, base_url: str, calls: Path) -> None:
        log = (state.parent / "kernels.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kill.kernel", str(state), base_url, str(calls)],
            cwd=_PROJECT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log,
        )  # fmt: skip
        log.close()
        self._heard: queue.Queue[dict[str, Any] | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()
        self.worker = 0
        ready = self.hear("ready", timeout_s=WAIT_S)
        assert ready is not None, (state.parent / "kernels.log").read_text()[-3000:]

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._heard.put(json.loads(line))
        self._heard.put(None)

    def tell(self, **order: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write((json.dumps(order) + "\n").encode())
        self._process.stdin.flush()

    def hear(self, kind: str, timeout_s: float = WAIT_S) -> Any:
        """The next message of that kind; None when none comes in time."""
        until = time.monotonic() + timeout_s
        while True:
            try:
                message = self._heard.get(timeout=max(0.0, until - time.monotonic()))
            except queue.Empty:
                return None
            if message is None:
                return None
            self.worker = message.get("worker") or self.worker
            if message["kind"] == kind:
                return message

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):  # what was not read any more
            self._process.stdin.close()

    def close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self.kill()


def _lives(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in ("Z", "X")
    except OSError:
        return False
