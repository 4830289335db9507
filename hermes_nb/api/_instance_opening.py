"""Makes instances: new ones, and those that an earlier kernel left."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb._near import unknown_options
from hermes_nb.api.instance import Instance, Unbound
from hermes_nb.errors import HermesNbError, StoreError, UnknownNameError, UsageError, WorkerError, WorkerStartError
from hermes_nb.model import mcp_server
from hermes_nb.model.agent import Agent, Model
from hermes_nb.model.owner import owner_text
from hermes_nb.runtimes._base import Runtime
from hermes_nb.runtimes.process import Process
from hermes_nb.workers.client import WorkerClient
from hermes_nb.workers.instance_record import InstanceRecord
from hermes_nb.workers.state_dir import InstanceDir, claim_folder, claim_instance, instance_folders

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.workers.state_dir import StateDir

OPTIONS = ("working_dir",)


def checked_options(given: Any) -> dict[str, Any]:
    """Options of an instance as they are kept.

    Raises:
        UsageError: One is unknown, or has a value that it can't have.
    """
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise UsageError(f"create_instance: options takes a dict, e.g. {{'working_dir': '/data'}}, not {given!r}.")
    if (said := unknown_options("create_instance: options", given, OPTIONS)) is not None:
        raise UsageError(said)
    folder = given.get("working_dir")
    if folder is None:
        return {}
    if not isinstance(folder, str | Path) or not Path(folder).expanduser().is_dir():
        raise UsageError(f"create_instance: options: working_dir must be a folder that is there, not {str(folder)!r}.")
    return {"working_dir": str(Path(folder).expanduser().absolute())}


def made(
    hermes: Hermes,
    state: StateDir,
    name: str,
    runtime: Runtime,
    *,
    owner: Mapping[str, str],
    options: Mapping[str, Any] | None = None,
) -> Instance:
    """An instance of that name, in the folder that an earlier kernel left of it where there is one; starts nothing.

    Raises:
        UsageError: That folder belongs to another owner.
        StoreError: It can't be read or written.
    """
    return _in_folder(hermes, claim_instance(state, name), name, runtime, owner=owner, options=options or {})


def _in_folder(
    hermes: Hermes, folder: InstanceDir, name: str, runtime: Runtime, *, owner: Mapping[str, str], options: Mapping[str, Any]
) -> Instance:
    try:
        record = InstanceRecord.read(folder.path)
        if record is not None and dict(record.owner) != dict(owner):
            raise UsageError(
                f"Instance {name!r} of {hermes.state_dir} belongs to {owner_text(record.owner)}, not to {owner_text(owner)}."
                " Take another name, or open it with that owner (owner=...)."
            )
    except BaseException:
        folder.release()
        raise
    working_dir = Path(options.get("working_dir") or hermes.working_dir)
    worker = WorkerClient(
        runtime,
        folder,
        working_dir,
        lambda text: hermes.warn("worker", text),
        agent_of=lambda agent_id: instance.agent_of(agent_id),
    )
    instance = Instance(hermes, name, runtime, worker, owner=owner, options=options)
    if record is not None:
        instance.id = record.id
    return instance


async def bound_within(instance: Instance, agents: Sequence[Agent], timeout_s: float) -> None:
    """Bind agents in a new instance, or take all of it back.

    Raises:
        WorkerStartError: It was not up in time.
    """
    hermes, name = instance.hermes, instance.name
    try:
        async with asyncio.timeout(timeout_s):
            for agent in agents:
                await instance.add_agent(agent, timeout_s=timeout_s)
        instance.keep()
    except BaseException as exc:  # what was made is taken back, so that the call can be made again
        instance.worker.give_up()
        await hermes.io.awaited(hermes.remove_instance(instance, retain_data=not instance.worker.folder.is_new))
        if isinstance(exc, TimeoutError) and not isinstance(exc, HermesNbError):
            raise WorkerStartError(
                f"Instance {name!r} was not up within {timeout_s:g} s, and was taken back. Its runtime is"
                f" {instance.runtime!r}. %hermes doctor says what is odd; a longer time: timeout_s=S."
            ) from None
        raise


async def opened(hermes: Hermes, instance_id: str, runtime: Runtime | None) -> Instance:
    """See `Hermes.open_instance`."""
    for instance in hermes.instances.values():
        if instance_id in (instance.id, instance.name) and not instance.is_aside:
            return instance
    path, record = _found(hermes, instance_id)
    name = path.name if record is None else record.name
    if name in hermes.instances:
        raise UsageError(
            f"Instance {path.name!r} was named {name!r} when it was made, and one of that name is open here. Delete that"
            " (retain_data=True keeps its folder), or open this one with another Hermes."
        )
    chosen = _runtime_of(hermes, path.name, record, runtime)
    folder = claim_folder(path)
    if folder is None:
        raise UsageError(f"Instance {path.name!r} is open in another kernel. Close that one first; its folder is {path}.")
    options = dict(record.options) if record is not None else {}
    instance = _in_folder(hermes, folder, name, chosen, owner=hermes.owner, options=options)
    instance.is_opened = True
    instance.is_shared = record is not None and record.is_shared
    hermes.instances[name] = instance
    try:
        for told in record.agents if record is not None else ():
            await _bind_again(instance, told)
    except BaseException:
        await hermes.io.awaited(hermes.remove_instance(instance, retain_data=True))
        raise
    instance.keep()
    return instance


def _found(hermes: Hermes, instance_id: str) -> tuple[Path, InstanceRecord | None]:
    """The folder that is meant by an instance's id, its own name, or that of its instance."""
    records: dict[Path, InstanceRecord | None] = {}
    for path in instance_folders(hermes.state_dir):
        try:
            records[path] = InstanceRecord.read(path)
        except StoreError:
            if path.name == instance_id:
                raise
    for fits in (
        [p for p, r in records.items() if r is not None and r.id == instance_id],
        [p for p, r in records.items() if p.name == instance_id and (r is not None or (p / "journal.db").exists())],
        [p for p, r in records.items() if r is not None and r.name == instance_id],
    ):
        if len(fits) == 1:
            return fits[0], records[fits[0]]
    known = ", ".join(sorted(p.name for p, r in records.items() if r is not None)) or "none"
    raise UnknownNameError(f"No instance {instance_id!r} in {hermes.state_dir}. Known: {known}.")


def _runtime_of(hermes: Hermes, name: str, record: InstanceRecord | None, runtime: Runtime | None) -> Runtime:
    """Where an instance goes on: as it is named now, else as it was."""
    own = hermes.default_runtime
    if runtime is not None or record is None:
        return runtime or own or Process()
    kind = str(record.runtime.get("type") or "process")
    if own is not None and own.to_dict().get("type") == kind:
        return own
    if kind != "process":
        raise UsageError(f"Instance {name!r} ran on {kind}. Name it anew: open_instance({name!r}, runtime=...).")
    if unkept := record.runtime.get("unkept"):
        hermes.warn(
            "instance",
            f"Instance {name!r} had variables of its own, whose values are not kept: {', '.join(map(str, unkept))}."
            f" Give them anew: open_instance({name!r}, runtime=Process(options={{'environment': ...}})).",
        )
    return Process(executable=str(record.runtime.get("executable") or "hermes"))


async def _bind_again(instance: Instance, told: Mapping[str, Any]) -> None:
    """Bind an agent as an earlier kernel declared it; what can't be is kept as unbound, with the reason."""
    name = str(told["declaration"]["name"])
    try:
        if unkept := told.get("unkept"):
            raise UsageError(f"its {' and '.join(unkept)} can't be kept in a file.")
        bound = await instance.add_agent(_declared(told["declaration"]), profile_id=str(told["profile_id"]))
    except WorkerError:
        raise
    except (HermesNbError, ValueError, KeyError, TypeError) as exc:
        if (refused := instance.agents.pop(name, None)) is not None:
            instance.hermes.io.soon(instance.worker.unbind, refused.agent_id)
        instance.unbound[name] = Unbound(dict(told), str(exc))
        return
    if told.get("had_key") and bound.config.model is not None:
        text = "Its key was given in code, which no folder keeps: requests go with the key of the environment, if any."
        bound.notices.add("instance", f"{text} Add the agent again with it: instance.add_agent(Agent(...)).")
    if names := told.get("tools"):
        text = (
            f"Agent {name!r} had the tools {', '.join(names)}, which no folder keeps. Attach them: bound.add_tools([...])."
        )
        bound.notices.add("instance", text)


def _declared(told: Mapping[str, Any]) -> Agent:
    model = told.get("model")
    servers = tuple(mcp_server.from_told(server) for server in told.get("mcp") or ())
    return Agent(**{**told, "mcp": servers, "model": Model.from_told(model) if isinstance(model, Mapping) else model})
