"""The control-plane services the SDK client and the in-container controller call, over one Store."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from connectrpc.code import Code
from connectrpc.errors import ConnectError
from flyteidl2.actions import actions_service_connect, actions_service_pb2
from flyteidl2.cluster import payload_pb2 as cluster_pb2
from flyteidl2.cluster import service_connect as cluster_connect
from flyteidl2.common import identifier_pb2
from flyteidl2.common import run_pb2 as common_run_pb2
from flyteidl2.core import types_pb2  # noqa: F401  (registers the types that interfaces embed)
from flyteidl2.dataproxy import dataproxy_service_connect, dataproxy_service_pb2
from flyteidl2.imagebuilder import definition_pb2 as image_pb2
from flyteidl2.imagebuilder import payload_pb2 as image_payload_pb2
from flyteidl2.imagebuilder import service_connect as image_connect
from flyteidl2.logs.dataplane import payload_pb2 as logs_pb2
from flyteidl2.project import project_service_connect, project_service_pb2
from flyteidl2.task import common_pb2, task_definition_pb2, task_service_connect, task_service_pb2
from flyteidl2.workflow import (
    queue_service_connect,
    queue_service_pb2,
    run_definition_pb2,
    run_service_connect,
    run_service_pb2,
    state_service_connect,
    state_service_pb2,
)

from tests.flyte.loopback.executor import Executor
from tests.flyte.loopback.state import FAILED, RECOVERED, ROOT_ACTION, SUCCEEDED, ActionRecord, RunRecord, Store, read_error


def local_path(uri: str) -> Path:
    return Path(uri.removeprefix("file://"))


class Runs(run_service_connect.RunService):
    def __init__(self, store: Store, executor: Executor, tasks: Tasks) -> None:
        self.store, self.executor, self.tasks = store, executor, tasks

    async def create_run(self, request: Any, ctx: Any) -> Any:
        if request.HasField("run_id"):
            run_id = request.run_id
        else:
            project = request.project_id
            run_id = self.store.new_run_id(project.organization, project.name, project.domain)
        spec = request.task_spec if request.HasField("task_spec") else self.tasks.spec(request.task_id)
        run = self.store.add_run(run_id, request.run_spec)
        inputs = run.base / ROOT_ACTION / "inputs.pb"
        inputs.parent.mkdir(parents=True)
        if request.HasField("offloaded_input_data"):
            inputs.write_bytes(local_path(request.offloaded_input_data.uri).read_bytes())
        else:
            inputs.write_bytes(request.inputs.SerializeToString())
        self._recover(run)
        root = ActionRecord(
            id=identifier_pb2.ActionIdentifier(run=run_id, name=ROOT_ACTION),
            parent="",
            input_uri=str(inputs),
            base=run.base,
            spec=spec,
        )
        self.executor.submit(run, root)
        return run_service_pb2.CreateRunResponse(run=run_definition_pb2.Run(action=root.to_action()))

    def _recover(self, run: RunRecord) -> None:
        """`flyte.rerun(..., recover=True)`: adopt what already succeeded in the source run."""
        relation = run.spec.relation
        if relation.relation_type != common_run_pb2.RELATION_TYPE_RECOVER:
            return
        forced = set(run.spec.recover.force_rerun_actions)
        for old in self.store.run(relation.related_to).actions.values():
            if old.name == ROOT_ACTION or old.name in forced or old.phase not in (SUCCEEDED, RECOVERED):
                continue
            action = ActionRecord(
                id=identifier_pb2.ActionIdentifier(run=run.id, name=old.name),
                parent=old.parent,
                input_uri=old.input_uri,
                base=run.base,
                spec=old.spec,
                trace=old.trace,
                group=old.group,
            )
            action.finish(RECOVERED, output_uri=old.output_uri)
            run.actions[action.name] = action

    async def get_run_details(self, request: Any, ctx: Any) -> Any:
        return run_service_pb2.GetRunDetailsResponse(details=self._details(self.store.run(request.run_id)))

    def _details(self, run: RunRecord) -> run_definition_pb2.RunDetails:
        return run_definition_pb2.RunDetails(run_spec=run.spec, action=run.root.to_details())

    async def get_action_details(self, request: Any, ctx: Any) -> Any:
        return run_service_pb2.GetActionDetailsResponse(details=self.store.action(request.action_id).to_details())

    async def watch_action_details(self, request: Any, ctx: Any) -> AsyncIterator[Any]:
        watched = self.store.action(request.action_id)
        async for action in self.store.run(request.action_id.run).changes([watched]):
            if action is watched:
                yield run_service_pb2.WatchActionDetailsResponse(details=watched.to_details())
                if watched.done:
                    return

    async def list_runs(self, request: Any, ctx: Any) -> Any:
        runs = [run_definition_pb2.Run(action=r.root.to_action()) for r in reversed(self.store.runs.values())]
        return run_service_pb2.ListRunsResponse(runs=runs)

    async def list_actions(self, request: Any, ctx: Any) -> Any:
        actions = sorted(self.store.run(request.run_id).actions.values(), key=lambda a: a.created)
        for f in request.request.filters:
            if f.field == "phase":
                actions = [a for a in actions if str(a.phase) in f.values]
        return run_service_pb2.ListActionsResponse(actions=[a.to_action() for a in actions])

    async def abort_run(self, request: Any, ctx: Any) -> Any:
        run = self.store.run(request.run_id)
        for action in list(run.actions.values()):
            self.executor.abort(run, action, request.reason)
        return run_service_pb2.AbortRunResponse()

    async def abort_action(self, request: Any, ctx: Any) -> Any:
        run, action = self.store.run(request.action_id.run), self.store.action(request.action_id)
        self.executor.abort(run, action, request.reason)
        return run_service_pb2.AbortActionResponse()


class Children:
    """What the in-container controller does: enqueue children of an action and watch them."""

    def __init__(self, store: Store, executor: Executor) -> None:
        self.store, self.executor = store, executor

    def enqueue(self, req: Any) -> None:
        """`req`: an EnqueueActionRequest or an actions.Action; both carry the same fields."""
        run = self.store.run(req.action_id.run)
        if req.action_id.name in run.actions:
            raise ConnectError(Code.ALREADY_EXISTS, f"action {req.action_id.name} exists")
        action = ActionRecord(
            id=req.action_id,
            parent=req.parent_action_name,
            input_uri=req.input_uri,
            base=Path(req.run_output_base),
            group=req.group,
        )
        if req.HasField("task"):
            action.spec = req.task.spec
            action.cache_key = req.task.cache_key.value
            self.executor.submit(run, action)
        elif req.HasField("trace"):
            action.trace = req.trace
            error = read_error(action.base / action.name) if req.trace.phase == FAILED else None
            action.finish(req.trace.phase, output_uri=req.trace.outputs.output_uri, error=error)
            run.actions[action.name] = action
            run.publish(action)
            self.executor.check_crashes(run, action.parent)
        else:
            raise ConnectError(Code.UNIMPLEMENTED, "conditions are not supported by the loopback plane")

    def abort(self, action_id: identifier_pb2.ActionIdentifier, reason: str) -> None:
        self.executor.abort(self.store.run(action_id.run), self.store.action(action_id), reason)

    async def updates(self, parent: identifier_pb2.ActionIdentifier) -> AsyncIterator[dict[str, Any]]:
        run = self.store.run(parent.run)
        snapshot = [a for a in run.actions.values() if a.parent == parent.name]
        async for action in run.changes(snapshot):
            if action is None:
                yield {"control_message": state_service_pb2.ControlMessage(sentinel=True)}
            elif action.parent == parent.name:
                yield {"action_update": action.to_update()}


class Queue(queue_service_connect.QueueService):
    def __init__(self, children: Children) -> None:
        self.children = children

    async def enqueue_action(self, request: Any, ctx: Any) -> Any:
        self.children.enqueue(request)
        return queue_service_pb2.EnqueueActionResponse()

    async def abort_queued_action(self, request: Any, ctx: Any) -> Any:
        self.children.abort(request.action_id, request.reason)
        return queue_service_pb2.AbortQueuedActionResponse()


class State(state_service_connect.StateService):
    def __init__(self, children: Children) -> None:
        self.children = children

    async def watch(self, request: Any, ctx: Any) -> AsyncIterator[Any]:
        async for fields in self.children.updates(request.parent_action_id):
            yield state_service_pb2.WatchResponse(**fields)


class Actions(actions_service_connect.ActionsService):
    """The service that replaces Queue + State when containers run with _U_USE_ACTIONS=1."""

    def __init__(self, children: Children) -> None:
        self.children = children

    async def enqueue(self, request: Any, ctx: Any) -> Any:
        self.children.enqueue(request.action)
        return actions_service_pb2.EnqueueResponse()

    async def abort(self, request: Any, ctx: Any) -> Any:
        self.children.abort(request.action_id, request.reason)
        return actions_service_pb2.AbortResponse()

    async def watch_for_updates(self, request: Any, ctx: Any) -> AsyncIterator[Any]:
        async for fields in self.children.updates(request.parent_action_id):
            yield actions_service_pb2.WatchForUpdatesResponse(**fields)


class DataProxy(dataproxy_service_connect.DataProxyService):
    def __init__(self, store: Store) -> None:
        self.store = store
        self.base_url = ""  # set once the server has a port

    def url(self, path: Path) -> str:
        return f"{self.base_url}/files/{path.relative_to(self.store.root)}"

    async def create_upload_location(self, request: Any, ctx: Any) -> Any:
        folder = request.filename_root or base64.urlsafe_b64encode(request.content_md5).decode().rstrip("=")
        path = self.store.root / "uploads" / request.project / request.domain / folder / request.filename
        return dataproxy_service_pb2.CreateUploadLocationResponse(signed_url=self.url(path), native_url=str(path))

    async def upload_inputs(self, request: Any, ctx: Any) -> Any:
        data = request.inputs.SerializeToString(deterministic=True)
        path = self.store.root / "uploads" / "inputs" / f"{uuid.uuid4().hex}.pb"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        offloaded = common_run_pb2.OffloadedInputData(uri=str(path), inputs_hash=hashlib.sha256(data).hexdigest())
        return dataproxy_service_pb2.UploadInputsResponse(offloaded_input_data=offloaded)

    async def get_action_data(self, request: Any, ctx: Any) -> Any:
        action = self.store.action(request.action_id)
        resp = dataproxy_service_pb2.GetActionDataResponse(inputs_uri=action.input_uri, outputs_uri=action.output_uri)
        inputs = local_path(action.input_uri)
        if inputs.is_file():
            resp.inputs.CopyFrom(common_pb2.Inputs.FromString(inputs.read_bytes()))
        outputs = local_path(action.output_uri) if action.output_uri else None
        if outputs is not None and outputs.is_dir():  # a task's is its prefix, a trace's the file itself
            outputs /= "outputs.pb"
        if outputs is not None and outputs.is_file():
            resp.outputs.CopyFrom(common_pb2.Outputs.FromString(outputs.read_bytes()))
        return resp

    async def create_download_link(self, request: Any, ctx: Any) -> Any:
        attempt_id = request.action_attempt_id
        action = self.store.action(attempt_id.action_id)
        attempt = action.attempts[(attempt_id.attempt or len(action.attempts)) - 1]
        if request.artifact_type != dataproxy_service_pb2.ARTIFACT_TYPE_REPORT:
            raise ConnectError(Code.UNIMPLEMENTED, "only reports can be downloaded")
        report = attempt.prefix / "report.html"
        urls = [self.url(report)] if report.is_file() else []
        return dataproxy_service_pb2.CreateDownloadLinkResponse(
            pre_signed_urls=dataproxy_service_pb2.PreSignedURLs(signed_url=urls)
        )

    async def tail_logs(self, request: Any, ctx: Any) -> AsyncIterator[Any]:
        action = self.store.action(request.action_id)
        attempt = action.attempts[(request.attempt or len(action.attempts)) - 1]
        with attempt.log_path.open(encoding="utf-8", errors="replace") as log:
            while True:
                done = attempt.ended is not None
                lines = [
                    logs_pb2.LogLine(message=line.rstrip("\n"), originator=logs_pb2.LogLineOriginator.USER)
                    for line in log.readlines()
                ]
                if lines:
                    yield dataproxy_service_pb2.TailLogsResponse(
                        logs=[dataproxy_service_pb2.TailLogsResponse.Logs(lines=lines)]
                    )
                if done:
                    return
                await asyncio.sleep(0.1)


class Tasks(task_service_connect.TaskService):
    """Deployed tasks, so `flyte.deploy` and `flyte.remote.Task.get` work too."""

    def __init__(self) -> None:
        self.specs: dict[str, list[task_definition_pb2.TaskDetails]] = {}

    def spec(self, task_id: Any) -> task_definition_pb2.TaskSpec:
        return self._find(task_id).spec

    def _find(self, task_id: Any) -> task_definition_pb2.TaskDetails:
        for details in reversed(self.specs.get(task_id.name, [])):
            if not task_id.version or details.task_id.version == task_id.version:
                return details
        raise ConnectError(Code.NOT_FOUND, f"task {task_id.name!r} {task_id.version!r} not found")

    async def deploy_task(self, request: Any, ctx: Any) -> Any:
        details = task_definition_pb2.TaskDetails(task_id=request.task_id, spec=request.spec)
        self.specs.setdefault(request.task_id.name, []).append(details)
        return task_service_pb2.DeployTaskResponse()

    async def get_task_details(self, request: Any, ctx: Any) -> Any:
        return task_service_pb2.GetTaskDetailsResponse(details=self._find(request.task_id))

    async def list_tasks(self, request: Any, ctx: Any) -> Any:
        latest = [versions[-1] for versions in self.specs.values()]
        tasks = [task_definition_pb2.Task(task_id=d.task_id, metadata=d.metadata) for d in latest]
        return task_service_pb2.ListTasksResponse(tasks=tasks)


class Clusters(cluster_connect.ClusterService):
    async def select_cluster(self, request: Any, ctx: Any) -> Any:
        return cluster_pb2.SelectClusterResponse()  # no endpoint: the control plane serves data itself


class Projects(project_service_connect.ProjectService):
    """The one project there is, with the one domain."""

    def __init__(self, name: str, domain: str) -> None:
        self.name, self.domain = name, domain

    async def get_project(self, request: Any, ctx: Any) -> Any:
        if request.id != self.name:
            raise ConnectError(Code.NOT_FOUND, f"project {request.id!r} not found")
        domains = [project_service_pb2.Domain(id=self.domain, name=self.domain)]
        project = project_service_pb2.Project(id=self.name, name=self.name, domains=domains)
        return project_service_pb2.GetProjectResponse(project=project)


class Images(image_connect.ImageService):
    """Every image "exists": containers are subprocesses of this interpreter's environment."""

    async def get_image(self, request: Any, ctx: Any) -> Any:
        fqin = f"loopback.invalid/{request.id.name}"
        return image_payload_pb2.GetImageResponse(image=image_pb2.Image(id=request.id, fqin=fqin))


def applications(store: Store, executor: Executor, project: str, domain: str) -> tuple[list[Any], DataProxy]:
    """The ASGI application of each service, and the data proxy (which needs the server's URL)."""
    tasks, proxy, children = Tasks(), DataProxy(store), Children(store, executor)
    apps = [
        run_service_connect.RunServiceASGIApplication(Runs(store, executor, tasks)),
        queue_service_connect.QueueServiceASGIApplication(Queue(children)),
        state_service_connect.StateServiceASGIApplication(State(children)),
        actions_service_connect.ActionsServiceASGIApplication(Actions(children)),
        dataproxy_service_connect.DataProxyServiceASGIApplication(proxy),
        task_service_connect.TaskServiceASGIApplication(tasks),
        cluster_connect.ClusterServiceASGIApplication(Clusters()),
        image_connect.ImageServiceASGIApplication(Images()),
        project_service_connect.ProjectServiceASGIApplication(Projects(project, domain)),
    ]
    return apps, proxy
