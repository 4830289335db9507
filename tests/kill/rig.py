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
import shutil
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

from hermes_nb.model.event import Event
from hermes_nb.model.span import fold
from hermes_nb.offline_model.endpoint import ChatRequest
from hermes_nb.testing import Call, Say, ScriptedModel, Step

N_STEPS = 6
WAIT_S = 90.0
_PROJECT = Path(__file__).resolve().parents[2]


@dataclass
class Report:
    """What came of some kills."""

    n_kills: int = 0
    n_missed: int = 0
    n_twice: int = 0
    n_repeated: int = 0
    n_asked: int = 0
    n_events: int = 0
    moments: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    repeated: Counter[str] = field(default_factory=Counter)
    lost: int = 0
    faults: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        def told(counts: Counter[str]) -> str:
            return ", ".join(f"{n} {what}" for what, n in sorted(counts.items())) or "none"

        moments = ", ".join(f"{k} steps: {n}" for k, n in sorted(self.moments.items()))
        return (
            f"{self.n_kills} kills ({told(self.kinds)}; {self.n_twice} turns twice), after {moments};"
            f" {self.n_repeated} requests in flight repeated ({told(self.repeated)}), {self.n_asked} tools asked about,"
            f" {self.n_events} events and {self.lost} lost, {self.n_missed} kills came too late; {len(self.faults)} faults"
        )


class Rig:
    """Kernels, one after another, on one state folder and one endpoint.

    Args:
        folder: Where the state goes.
        seed: Of the random moments.
        is_far: Whether workers have a disk of their own, which each kill takes away.
    """

    def __init__(self, folder: Path, seed: int, *, is_far: bool = False) -> None:
        self.disk = folder / "disk" if is_far else None
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
            sent = [(m["role"], str(m.get("content"))[:200]) for m in request.messages]
            self._fault(-1, f"a request that is none of a turn's: {sent}")
            return Say("?")
        run = int(found[1])
        n = sum(m["role"] == "tool" for m in request.messages)
        self.log.append((run, n, time.monotonic()))
        if n >= N_STEPS:
            told = [str(m["content"]) for m in request.messages if m["role"] == "tool"]
            return Say("; ".join(told), first_byte_delay_s=0.03, delay_s=0.003, deltas=12)
        return Call("pay" if n % 3 == 1 else "look", {"run": run, "n": n}, first_byte_delay_s=0.04)

    # -- one turn --------------------------------------------------------------------------------------------------
    def kill_once(self, run: int) -> None:
        """One turn, killed at a random moment (one in four: and again when it goes on), gone on with, and checked."""
        n_wanted = 2 if self.random.random() < 0.25 else 1
        order: dict[str, Any] = {"run": run}
        kills: list[_Kill] = []
        while True:
            kernel = self._alive()
            kernel.tell(**order)
            started = kernel.hear("started", timeout_s=WAIT_S)
            if started is None:
                self._fault(run, f"the turn did not begin: {order}")
                return
            began = time.monotonic()
            is_last = len(kills) >= n_wanted
            done = kernel.hear("done", timeout_s=WAIT_S if is_last else self.random.uniform(0.0, self.turn_s))
            if done is not None or is_last:
                break
            killed, kill = kernel.worker, self._kill(kernel, started["turn"])
            if kill.kind == "worker":
                done = kernel.hear("done", timeout_s=WAIT_S)
                if done is None or not kernel.has_another(killed):
                    self._fault(run, "the kernel did not hear of its worker's end")
                    return
            elif not kill.committed.is_started:
                self.report.kinds["before it was taken"] += 1
                return  # the question never left the kernel that died
            kills.append(kill)
            if done is not None and done["status"] == "completed":
                break  # nothing was taken yet: the kernel asked another worker by itself
            order = {"resume": started["turn"]}
        if not kills:
            self.turn_s = 0.7 * self.turn_s + 0.3 * (time.monotonic() - began)
            self.report.n_missed += 1
        for kill in kills:
            self.report.n_kills += 1
            self.report.kinds[kill.kind] += 1
            self.report.moments[f"{kill.committed.n_responses:2}"] += 1
        self.report.n_twice += len(kills) > 1
        if done is None:
            self._fault(run, "the resumed turn did not end")
            return
        ends = [e for kill in kills for e in kill.committed.events if e.kind == "turn.completed"]
        if done["status"] == "refused" and "there is nothing to resume" in done["error"] and ends:
            self.report.kinds["after its end"] += 1  # the kill came when all was committed, and before it was heard
            done = {"status": "completed", "text": ends[-1].data["text"], "error": ""}
        self._check_answer(run, done)
        if kills:
            n_repeated = self._check_requests(run, kills)
            events = self._check_events(run, started["turn"], kills[-1].committed, n_repeated)
            self._check_calls(run, kills, sum(e.kind == "approval.requested" for e in events))

    def _alive(self) -> Kernel:
        if self.kernel is None or not self.kernel.is_alive:
            self.kernel = Kernel(self.folder / "state", self.model.base_url, self.calls, self.disk)
        return self.kernel

    def _kill(self, kernel: Kernel, turn_id: str) -> _Kill:
        kind, worker = self.random.choice(("worker", "kernel", "both")), kernel.worker
        homes = [] if self.disk is None else list(self.disk.iterdir())  # of this worker, no later one
        assert self.disk is None or len(homes) == 1
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
        for home in homes:
            shutil.rmtree(home)
        committed = _Committed.of(self.folder, turn_id)
        return _Kill(kind, committed, len(self.log), len(self.calls.read_text().splitlines()))

    # -- what is promised --------------------------------------------------------------------------------------------
    def _check_answer(self, run: int, done: dict[str, Any]) -> None:
        names = ["pay" if n % 3 == 1 else "look" for n in range(N_STEPS)]
        right = "; ".join(f"{name} {n} of run {run}" for n, name in enumerate(names))
        if (done["status"], done["text"]) != ("completed", right):
            self._fault(run, f"ended {done['status']} with {done['text']!r}: {done['error']}")

    def _check_requests(self, run: int, kills: list[_Kill]) -> int:
        own = [(n, i) for i, (r, n, _) in enumerate(self.log) if r == run]
        counts = Counter(n for n, _ in own)
        for kill in kills:
            again = [n for n, i in own if i >= kill.n_requests and n < kill.committed.n_responses]
            if again:
                self._fault(run, f"committed responses {again} were requested again")
        repeated = sum(count - 1 for count in counts.values())
        self.report.n_repeated += repeated
        self.report.repeated.update({kills[-1].kind: repeated} if repeated else {})
        if repeated > len(kills):
            self._fault(run, f"{repeated} requests were repeated after {len(kills)} kills: {dict(counts)}")
        return repeated

    def _check_calls(self, run: int, kills: list[_Kill], n_asked: int) -> None:
        calls = [(i, c) for i, c in enumerate(map(json.loads, self.calls.read_text().splitlines())) if c["run"] == run]
        counts = Counter(c["n"] for _, c in calls)
        for kill in kills:
            again = [c["n"] for i, c in calls if i >= kill.n_calls and c["n"] < kill.committed.n_results]
            if again:
                self._fault(run, f"tools with committed results ran again: {again}")
        n_again = sum(count - 1 for count in counts.values())
        if n_again > len(kills):
            self._fault(run, f"more tools ran again than there were kills: {dict(counts)}")
        n_paid_again = sum(counts[n] - 1 for n in {c["n"] for _, c in calls if c["name"] == "pay"})
        if n_paid_again > n_asked:
            self._fault(run, "a tool that may not run twice ran again unasked")
        self.report.n_asked += n_asked

    def _check_events(self, run: int, turn_id: str, committed: _Committed, n_repeated: int) -> list[Event]:
        with contextlib.closing(sqlite3.connect(self.folder / "state" / "store.db", timeout=10)) as db:
            rows = db.execute(
                "SELECT v, producer, seq, at_unix_s, session_id, turn_id, span_id, parent_id, attempt, kind, data"
                " FROM events WHERE turn_id = ? ORDER BY rowid",
                (turn_id,),
            ).fetchall()
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
        return events

    def _fault(self, run: int, what: str) -> None:
        self.report.faults.append(f"run {run}: {what}")


@dataclass(frozen=True)
class _Kill:
    """One kill: what died, what was committed then, and how many requests and calls there had been of all runs."""

    kind: str
    committed: _Committed
    n_requests: int
    n_calls: int


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

    def __init__(self, state: Path, base_url: str, calls: Path, disk: Path | None) -> None:
        log = (state.parent / "kernels.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.kill.kernel", str(state), base_url, str(calls), *([str(disk)] if disk else [])],
            cwd=_PROJECT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
        )
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

    def has_another(self, worker: int) -> bool:
        """Wait until a worker that was killed is known to be gone, and the next one is there."""
        self.tell(gone=worker)
        return self.hear("ready") is not None and self.worker != worker

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
