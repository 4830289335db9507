"""What stands between agents and their models, as `%hermes doctor` tells it: keys, proxies, certificates, engines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from hermes_nb import _provider, _settings
from hermes_nb.engine import connection_fault
from hermes_nb.errors import UsageError
from hermes_nb.magics._context import PROCESS, Context
from hermes_nb.model.credential import shown


def keys() -> str:
    """Which variables hold keys, by name."""
    ours = [name for name in _settings.KEY_VARIABLES if _settings.variable(name)]
    others = [name for name in _key_variables() if name not in ours]
    told = [f"{', '.join(ours)}; the first one is used"] if ours else []
    if others:
        told.append(f"for agents that name their provider{' also' if ours else ''}: {', '.join(others)}")
    return "; ".join(told) or "none found"


def ways() -> list[tuple[str, str]]:
    """The proxy and the file of certificates that requests to models go by, where the environment names any."""
    rows = []
    environment = _settings.worker_environment()
    variable, proxy = connection_fault.proxy_variable()
    if variable:
        spared = ", ".join((environment.get("no_proxy") or "").split(","))
        rows.append(("proxy", f"{variable}={shown(proxy)}" + (f", but not for {spared}" if spared else "")))
    variable, path = connection_fault.ca_variable()
    if variable:
        rows.append(("certificates", f"{variable}={path}"))
    return rows


def problems(context: Context) -> list[str]:
    """Return what is known to keep agents from their models, in sentences; opens no connection, starts nothing."""
    found = [*_keys_that_fail(), *connection_fault.environment_problems(_settings.worker_environment())]
    for whose, said in _of_runtimes(context):
        if said not in found:
            found.append(f"{whose}: {said}")
    return [*found, *_of_agents(context)]


def _key_variables() -> list[str]:
    """Variables of providers that hold something; not those that programs other than models' clients use, too."""
    known = [name for names in _provider.PROVIDERS.values() for name in names]
    known += [name for _, name in _provider.ENDPOINTS.values() if name]
    names = sorted({name for name in known if name.endswith("API_KEY")} - _settings.KEY_VARIABLES.keys())
    return [name for name in (*_settings.KEY_VARIABLES, *names) if _settings.variable(name)]


def _keys_that_fail() -> Iterator[str]:
    for name in _key_variables():
        try:
            _settings.key(name)
        except UsageError as exc:
            yield str(exc)


def _of_runtimes(context: Context) -> Iterator[tuple[str, str]]:
    """What is wrong with runtimes that have a say in which Hermes runs, and with which variables."""
    hermes = context.opened_hermes
    if hermes is None:
        return
    runtimes: list[tuple[str, Any]] = []
    for name, instance in hermes.instances.items():
        if instance.agents and not instance.is_aside:
            runtimes.append((f"worker {name}", instance.runtime))
    for agent in context.agents:
        on = context.runs_on(agent)
        if on is None or on.partition(":")[0] in (PROCESS, "flyte"):
            continue
        try:
            runtime = context.runtime(on)
        except UsageError as exc:
            yield f"agent {agent!r} runs on {on}, which can't be used", str(exc)
            continue
        runtimes.append((f"{type(runtime).__name__} {on} of agent {agent!r}", runtime))
    for whose, runtime in runtimes:
        if (said := getattr(runtime, "problem", _nothing)()) is not None:
            yield whose, said
        for said in connection_fault.environment_problems(getattr(runtime, "worker_variables", dict)()):
            yield whose, said


def _nothing() -> None:
    return None


def _of_agents(context: Context) -> Iterator[str]:
    """Agents that can't be asked, and those whose last turn failed."""
    hermes = context.opened_hermes
    if hermes is None:
        return
    last = {turn.agent_name: turn for turn in hermes.turns if turn.is_done}
    for instance in list(hermes.instances.values()):
        for name, bound in instance.agents.items():
            result = None if name not in last else last[name].result
            if (said := instance.worker.problem_of(bound.agent_id)) is not None and not instance.is_aside:
                yield f"agent {name!r} can't be bound: {said}"
            elif result is not None and result.status == "failed" and result.error:
                yield f"agent {name!r}: its last turn failed: {result.error}"
