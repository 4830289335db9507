"""In-memory run/action records, their watchers, and their translation to flyteidl2 messages."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from flyteidl2.common import identifier_pb2, phase_pb2
from flyteidl2.core import catalog_pb2, execution_pb2
from flyteidl2.task import common_pb2, run_pb2, task_definition_pb2
from flyteidl2.workflow import run_definition_pb2, state_service_pb2
from google.protobuf.timestamp_pb2 import Timestamp

QUEUED = phase_pb2.ACTION_PHASE_QUEUED
RUNNING = phase_pb2.ACTION_PHASE_RUNNING
SUCCEEDED = phase_pb2.ACTION_PHASE_SUCCEEDED
FAILED = phase_pb2.ACTION_PHASE_FAILED
ABORTED = phase_pb2.ACTION_PHASE_ABORTED
RECOVERED = phase_pb2.ACTION_PHASE_RECOVERED
TERMINAL = (SUCCEEDED, FAILED, ABORTED, RECOVERED, phase_pb2.ACTION_PHASE_TIMED_OUT)
ROOT_ACTION = "a0"
_CLOSED = object()  # what a watcher finds in its queue when the plane stops


def now() -> datetime:
    return datetime.now(UTC)


def timestamp(value: datetime | None) -> Timestamp | None:
    if value is None:
        return None
    proto = Timestamp()
    proto.FromDatetime(value)
    return proto


def read_error(prefix: Path) -> execution_pb2.ExecutionError | None:
    """The error the runtime uploaded under an output prefix, if it did."""
    path = prefix / "error.pb"
    if not path.is_file():
        return None
    doc = execution_pb2.ErrorDocument.FromString(path.read_bytes())
    return execution_pb2.ExecutionError(
        code=doc.error.code,
        message=doc.error.message,
        kind=doc.error.origin,
        error_uri=str(path),
        recoverability=doc.error.kind,
    )


@dataclass
class Attempt:
    number: int
    prefix: Path  # the {{.outputPrefix}} of this attempt
    log_path: Path
    phase: int = RUNNING
    started: datetime = field(default_factory=now)
    ended: datetime | None = None
    error: execution_pb2.ExecutionError | None = None


@dataclass
class ActionRecord:
    """One node of a run: a task (has a spec and attempts) or a trace (recorded, never executed)."""

    id: identifier_pb2.ActionIdentifier
    parent: str
    input_uri: str
    base: Path  # the run base dir, shared by every action of the run
    spec: task_definition_pb2.TaskSpec | None = None
    trace: run_definition_pb2.TraceAction | None = None
    group: str = ""
    cache_key: str = ""
    cache_status: int = catalog_pb2.CACHE_DISABLED
    phase: int = QUEUED
    output_uri: str = ""
    error: execution_pb2.ExecutionError | None = None
    abort_reason: str = ""
    attempts: list[Attempt] = field(default_factory=list)
    created: datetime = field(default_factory=now)
    ended: datetime | None = None

    @property
    def name(self) -> str:
        return self.id.name

    @property
    def task_name(self) -> str:
        return self.spec.task_template.id.name if self.spec else (self.trace.name if self.trace else "")

    @property
    def done(self) -> bool:
        return self.phase in TERMINAL

    def finish(self, phase: int, *, output_uri: str = "", error: execution_pb2.ExecutionError | None = None) -> None:
        self.phase, self.output_uri, self.error, self.ended = phase, output_uri, error, now()

    # -- wire form
    def to_update(self) -> state_service_pb2.ActionUpdate:
        """What the in-container controller watches for."""
        uri = self.output_uri
        if not uri and self.spec is not None:  # where its outputs are going to be
            uri = str(self.base / self.name / str(max(1, len(self.attempts))))
        return state_service_pb2.ActionUpdate(action_id=self.id, phase=self.phase, output_uri=uri, error=self.error)

    def to_action(self) -> run_definition_pb2.Action:
        return run_definition_pb2.Action(id=self.id, metadata=self._metadata(), status=self._status())

    def to_details(self) -> run_definition_pb2.ActionDetails:
        details = run_definition_pb2.ActionDetails(
            id=self.id,
            metadata=self._metadata(),
            status=self._status(),
            attempts=[self._attempt(a) for a in self.attempts],
        )
        if self.spec is not None:
            details.task.CopyFrom(self.spec)
        elif self.trace is not None:
            details.trace.CopyFrom(self.trace.spec)
        if self.error is not None:
            details.error_info.CopyFrom(_error_info(self.error))
        if self.phase == ABORTED:
            details.abort_info.reason = self.abort_reason
        return details

    def _metadata(self) -> run_definition_pb2.ActionMetadata:
        meta = run_definition_pb2.ActionMetadata(
            parent=self.parent, group=self.group, funtion_name=self.task_name.rsplit(".", 1)[-1]
        )
        if self.spec is not None:
            tid = self.spec.task_template.id
            meta.action_type = run_definition_pb2.ACTION_TYPE_TASK
            meta.environment_name = self.spec.environment.name
            meta.task.id.CopyFrom(
                task_definition_pb2.TaskIdentifier(
                    org=tid.org, project=tid.project, domain=tid.domain, name=tid.name, version=tid.version
                )
            )
            meta.task.task_type = self.spec.task_template.type
            meta.task.short_name = self.spec.short_name
        else:
            meta.action_type = run_definition_pb2.ACTION_TYPE_TRACE
            meta.trace.name = self.task_name
        return meta

    def _status(self) -> run_definition_pb2.ActionStatus:
        end = self.ended or now()
        return run_definition_pb2.ActionStatus(
            phase=self.phase,
            start_time=timestamp(self.created),
            end_time=timestamp(self.ended),
            attempts=max(1, len(self.attempts)),
            cache_status=self.cache_status,
            duration_ms=int((end - self.created).total_seconds() * 1000),
        )

    def _attempt(self, a: Attempt) -> run_definition_pb2.ActionAttempt:
        return run_definition_pb2.ActionAttempt(
            attempt=a.number,
            phase=a.phase,
            start_time=timestamp(a.started),
            end_time=timestamp(a.ended),
            logs_available=True,
            error_info=_error_info(a.error) if a.error else None,
            cache_status=self.cache_status,
            outputs=common_pb2.OutputReferences(
                output_uri=str(a.prefix / "outputs.pb"), report_uri=str(a.prefix / "report.html")
            ),
            phase_transitions=[
                run_definition_pb2.PhaseTransition(
                    phase=RUNNING, start_time=timestamp(a.started), end_time=timestamp(a.ended)
                )
            ],
        )


def _error_info(err: execution_pb2.ExecutionError) -> run_definition_pb2.ErrorInfo:
    user = err.kind == execution_pb2.ExecutionError.USER
    kind = run_definition_pb2.ErrorInfo.KIND_USER if user else run_definition_pb2.ErrorInfo.KIND_SYSTEM
    return run_definition_pb2.ErrorInfo(code=err.code, message=err.message, kind=kind)


@dataclass
class RunRecord:
    id: identifier_pb2.RunIdentifier
    spec: run_pb2.RunSpec
    base: Path
    actions: dict[str, ActionRecord] = field(default_factory=dict)
    listeners: set[asyncio.Queue[Any]] = field(default_factory=set)

    @property
    def root(self) -> ActionRecord:
        return self.actions[ROOT_ACTION]

    def publish(self, action: ActionRecord) -> None:
        """Wake every watcher of this run. Call after each change to `action`."""
        for q in self.listeners:
            q.put_nowait(action)

    async def changes(self, snapshot: list[ActionRecord]) -> AsyncIterator[ActionRecord | None]:
        """Yield `snapshot`, then None (in sync), then each action as it changes."""
        q: asyncio.Queue[Any] = asyncio.Queue()
        self.listeners.add(q)
        try:
            for action in snapshot:
                yield action
            yield None
            while (action := await q.get()) is not _CLOSED:
                yield action
        finally:
            self.listeners.discard(q)


class Store:
    """All runs of the plane, plus its task cache."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.runs: dict[str, RunRecord] = {}
        self.cache: dict[str, str] = {}  # cache key -> output prefix

    def run(self, run_id: identifier_pb2.RunIdentifier) -> RunRecord:
        try:
            return self.runs[run_id.name]
        except KeyError:
            raise ConnectError(Code.NOT_FOUND, f"run {run_id.name!r} not found") from None

    def action(self, action_id: identifier_pb2.ActionIdentifier) -> ActionRecord:
        try:
            return self.run(action_id.run).actions[action_id.name]
        except KeyError:
            raise ConnectError(Code.NOT_FOUND, f"action {action_id.name!r} not found") from None

    def new_run_id(self, org: str, project: str, domain: str) -> identifier_pb2.RunIdentifier:
        name = f"r{uuid.uuid4().hex[:19]}"
        return identifier_pb2.RunIdentifier(org=org, project=project, domain=domain, name=name)

    def close(self) -> None:
        """End every watch."""
        for run in self.runs.values():
            for q in run.listeners:
                q.put_nowait(_CLOSED)

    def add_run(self, run_id: identifier_pb2.RunIdentifier, spec: run_pb2.RunSpec) -> RunRecord:
        if run_id.name in self.runs:
            raise ConnectError(Code.ALREADY_EXISTS, f"run {run_id.name!r} already exists")
        base = self.root / "runs" / run_id.name
        base.mkdir(parents=True)
        self.runs[run_id.name] = run = RunRecord(id=run_id, spec=spec, base=base)
        return run
