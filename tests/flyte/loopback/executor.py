"""Runs task actions as local subprocesses, with exactly the argv the SDK serialized for the container."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import shutil
import signal
import sys
from dataclasses import dataclass, field
from pathlib import Path

from flyteidl2.core import catalog_pb2, execution_pb2

from tests.flyte.loopback.state import (
    ABORTED,
    FAILED,
    RUNNING,
    SUCCEEDED,
    ActionRecord,
    Attempt,
    RunRecord,
    Store,
    now,
    read_error,
)


@dataclass
class Crash:
    """SIGKILL an attempt of a task, the way a lost node would, once a condition is met.

    task: suffix of the task name ("env.fn" or "fn"); attempt: which attempt dies;
    after_traces: die as soon as this many `flyte.trace` results of that attempt are recorded;
    after_children: die as soon as this many child tasks of that attempt have succeeded.
    """

    task: str
    attempt: int = 1
    after_traces: int | None = None
    after_children: int | None = None
    fired: bool = field(default=False, init=False)

    def applies_to(self, action: ActionRecord) -> bool:
        same_task = action.task_name == self.task or action.task_name.endswith("." + self.task)
        return not self.fired and same_task and len(action.attempts) == self.attempt


class Executor:
    def __init__(self, store: Store, *, org: str, env: dict[str, str], secrets: dict[str, str]) -> None:
        self.store = store
        self.org = org
        self.env = env  # extra environment of every container
        self.secrets = secrets  # secret key -> value, injected for tasks that request them
        self.endpoint = ""  # set once the server has a port
        self.crashes: list[Crash] = []
        self._procs: dict[tuple[str, str], asyncio.subprocess.Process] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._busy: set[Path] = set()  # workdirs in use

    # -- lifecycle
    def submit(self, run: RunRecord, action: ActionRecord) -> None:
        """Start executing a task action in the background."""
        run.actions[action.name] = action
        hit = self.store.cache.get(action.cache_key) if action.cache_key else None
        if hit is not None:
            action.cache_status = catalog_pb2.CACHE_HIT
            action.finish(SUCCEEDED, output_uri=hit)
            run.publish(action)
            return
        run.publish(action)
        task = asyncio.get_running_loop().create_task(self._execute(run, action))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def abort(self, run: RunRecord, action: ActionRecord, reason: str) -> None:
        if not action.done:
            action.abort_reason = reason
            action.finish(ABORTED)
            run.publish(action)
        self._kill(run, action)

    async def close(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        for proc in list(self._procs.values()):
            _kill_group(proc)
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- crash injection
    def check_crashes(self, run: RunRecord, parent_name: str) -> None:
        """Called whenever a child of `parent_name` has been recorded or has finished."""
        parent = run.actions.get(parent_name)
        if parent is None or not parent.attempts:
            return
        since = parent.attempts[-1].started
        fresh = [a for a in run.actions.values() if a.parent == parent_name and a.created >= since and a.done]
        traces = sum(a.trace is not None for a in fresh)
        children = sum(a.spec is not None and a.phase == SUCCEEDED for a in fresh)
        for crash in self.crashes:
            if not crash.applies_to(parent):
                continue
            if (crash.after_traces is not None and traces >= crash.after_traces) or (
                crash.after_children is not None and children >= crash.after_children
            ):
                crash.fired = True
                self._kill(run, parent)

    # -- one action
    async def _execute(self, run: RunRecord, action: ActionRecord) -> None:
        assert action.spec is not None
        budget = action.spec.task_template.metadata.retries.retries + 1
        for number in range(1, budget + 1):
            if action.done:
                return
            prefix = action.base / action.name / str(number)
            prefix.mkdir(parents=True, exist_ok=True)
            attempt = Attempt(number, prefix, log_path=prefix / "container.log")
            action.attempts.append(attempt)
            action.phase = RUNNING
            run.publish(action)
            code = await self._run_container(run, action, attempt)
            attempt.ended = now()
            if action.done:  # aborted meanwhile
                attempt.phase = ABORTED
                return
            attempt.error = read_error(prefix)
            if attempt.error is None and code != 0:
                attempt.error = execution_pb2.ExecutionError(
                    code="ContainerExited",
                    message=f"container exited with {code}; log: {attempt.log_path}",
                    kind=execution_pb2.ExecutionError.SYSTEM,
                    recoverability=execution_pb2.ContainerError.RECOVERABLE,
                )
            if attempt.error is None:
                attempt.phase = SUCCEEDED
                if action.cache_key:
                    self.store.cache[action.cache_key] = str(prefix)
                    action.cache_status = catalog_pb2.CACHE_POPULATED
                action.finish(SUCCEEDED, output_uri=str(prefix))
                break
            attempt.phase = FAILED
            last = number == budget or attempt.error.recoverability == execution_pb2.ContainerError.NON_RECOVERABLE
            if last:
                action.finish(FAILED, error=attempt.error)
                break
        run.publish(action)
        self.check_crashes(run, action.parent)

    async def _run_container(self, run: RunRecord, action: ActionRecord, attempt: Attempt) -> int:
        workdir = self._acquire_workdir(action)
        args = self._argv(run, action, attempt)
        with attempt.log_path.open("wb") as log:
            proc = await asyncio.create_subprocess_exec(
                *args,
                cwd=workdir,
                env=self._environ(run, action, workdir),
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
                start_new_session=True,
            )
            key = (run.id.name, action.name)
            self._procs[key] = proc
            try:
                return await proc.wait()
            finally:
                _kill_group(proc)
                self._procs.pop(key, None)
                self._busy.discard(workdir)

    def _acquire_workdir(self, action: ActionRecord) -> Path:
        """A fresh cwd and HOME for a container.

        An action gets the same path on every attempt (and, one run at a time, in every run), as it
        would inside an image: agents put these paths into prompts, and prompts into replay keys.
        """
        base = self.store.root / "containers" / action.name
        candidates = (base if n == 1 else base.with_name(f"{base.name}-{n}") for n in itertools.count(1))
        workdir = next(p for p in candidates if p not in self._busy)
        self._busy.add(workdir)
        shutil.rmtree(workdir, ignore_errors=True)
        workdir.mkdir(parents=True)
        return workdir

    def _argv(self, run: RunRecord, action: ActionRecord, attempt: Attempt) -> list[str]:
        values = {
            "{{.input}}": action.input_uri,
            "{{.outputPrefix}}": str(attempt.prefix),
            # As on a cluster: what lies above `rd/<id>` is shared by all runs, and keyed memory is kept there.
            "{{.rawOutputDataPrefix}}": str(self.store.root / "rd" / f"{run.id.name}-{action.name}-{attempt.number}"),
            "{{.checkpointOutputPrefix}}": str(attempt.prefix / "checkpoint"),
            "{{.prevCheckpointPrefix}}": (
                str(attempt.prefix.parent / str(attempt.number - 1) / "checkpoint") if attempt.number > 1 else ""
            ),
            "{{.runName}}": run.id.name,
            "{{.actionName}}": action.name,
            "{{.runStartTime}}": run.root.created.isoformat(),
        }
        container = action.spec.task_template.container
        argv = [values.get(arg, arg) for arg in [*container.command, *container.args]]
        bin_dir = Path(sys.executable).parent
        argv[0] = shutil.which(argv[0], path=str(bin_dir)) or argv[0]
        return argv

    def _environ(self, run: RunRecord, action: ActionRecord, workdir: Path) -> dict[str, str]:
        template = action.spec.task_template
        env = {k: os.environ[k] for k in ("PATH", "LANG", "TMPDIR") if k in os.environ}
        env |= {
            "HOME": str(workdir),
            "PYTHONUNBUFFERED": "1",
            # LocalFileSystem stands in for the object store, where parent "folders" need no creating.
            "FSSPEC_FILE": '{"auto_mkdir": true}',
            "ACTION_NAME": action.name,
            "RUN_NAME": run.id.name,
            "FLYTE_INTERNAL_EXECUTION_PROJECT": run.id.project,
            "FLYTE_INTERNAL_EXECUTION_DOMAIN": run.id.domain,
            "_U_ORG_NAME": run.id.org or self.org,
            "_U_RUN_BASE": str(run.base),
            "_U_EP_OVERRIDE": self.endpoint,
            "_U_INSECURE": "true",
            "FLYTE_ATTEMPT_NUMBER": str(len(action.attempts) - 1),
        }
        env |= self.env
        for secret in template.security_context.secrets:
            if secret.env_var and secret.key in self.secrets:
                env[secret.env_var] = self.secrets[secret.key]
        env |= {kv.key: kv.value for kv in template.container.env}
        env |= {kv.key: kv.value for kv in run.spec.envs.values}
        return env

    def _kill(self, run: RunRecord, action: ActionRecord) -> None:
        proc = self._procs.get((run.id.name, action.name))
        if proc is not None:
            _kill_group(proc)


def _kill_group(proc: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(proc.pid, signal.SIGKILL)
