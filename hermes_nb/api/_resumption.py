"""Where a turn that was cut off continues: on the runtime it ran on, or on another one, which is then said."""

from __future__ import annotations

from collections.abc import Coroutine, Generator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_nb import _registry
from hermes_nb.api._launch import resumed
from hermes_nb.errors import UnknownNameError, UsageError
from hermes_nb.host.base import Caller
from hermes_nb.runtimes._base import NamedRuntime, label_of
from hermes_nb.sessions.session import Session
from hermes_nb.turns.request import TurnTerms
from hermes_nb.turns.resume import Resumable, find, to_resume

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.api.turn import Turn
    from hermes_nb.runtimes._base import Runtime

Steps = Generator[Coroutine[Any, Any, Any], Any, "Turn"]


def resume_blocking(bound: BoundAgent, turn_id: str | None, terms: TurnTerms, caller: Caller, **options: Any) -> Turn:
    """`resume_awaited` for a thread that may block."""
    steps = _steps(bound, turn_id, terms, caller, **options)
    step = next(steps)
    while True:
        try:
            step = steps.send(bound.hermes.io.call(step))
        except StopIteration as end:
            turn: Turn = end.value
            return turn


async def resume_awaited(bound: BoundAgent, turn_id: str | None, terms: TurnTerms, caller: Caller, **options: Any) -> Turn:
    """Go on with a turn.

    Args:
        bound: The agent that was asked.
        turn_id: The turn, or its session; None for the newest unfinished one of the agent.
        terms: How it is run.
        caller: Who runs its tools.
        **options: `live`, to go on although the agent changed; `on`, a runtime to go on with instead of the turn's own.
    """
    steps = _steps(bound, turn_id, terms, caller, **options)
    step = next(steps)
    while True:
        try:
            step = steps.send(await bound.hermes.io.awaited(step))
        except StopIteration as end:
            turn: Turn = end.value
            return turn


def _steps(
    bound: BoundAgent,
    turn_id: str | None,
    terms: TurnTerms,
    caller: Caller,
    *,
    live: bool = False,
    on: Runtime | None = None,
) -> Steps:
    hermes = bound.hermes
    found: Resumable = yield find(hermes, turn_id, agent=bound.name)
    if found.agent == bound.name:  # that it is another agent's is said below
        own: Session = yield hermes.conversations.reload_session(found.session_id)
        bound.instance.check_session(own, bound.name)
    before = str(found.runtime.get("type") or "process")
    runtime = on if on is not None else bound.instance.runtime
    if on is None and (found.run or found.journal is not None):  # else nothing of it ran there
        runtime = _same_runtime(hermes, bound, found, before)
    if found.run and runtime.to_dict().get("type") == before:  # the run lives without this machine
        module = _registry.load("runtimes", before.partition(":")[0])
        order = yield module.order_of(runtime, found.run)
        turn: Turn = module.followed(hermes, runtime, found.run, order, quiet=not terms.show)
        return turn
    target = bound
    if runtime is not bound.instance.runtime and runtime != bound.instance.runtime:
        target = hermes.bind_aside(replace(bound.config, tools=list(bound.tools)), runtime)
    if target.runtime_name != before:
        text = f"The turn ran on {before} before; from here on it runs on {target.runtime_name}."
        if found.journal is None:
            text += " Nothing that it committed there is here, so all of it is asked again."
        target.notices.add("runtime", text)
    elif found.runtime.get("unkept") and not any(i.runtime is runtime and i.agents for i in _others(hermes, target)):
        kept = ", ".join(found.runtime["unkept"])
        target.notices.add(
            "runtime", f"{before} goes on without its {kept}, which no log keeps; --on VARIABLE (on=) names it whole."
        )
    taken, session = yield to_resume(target, found.turn_id, live=live)
    bound.session_id = session.id
    return resumed(target, taken, session, terms, caller=caller)


def _others(hermes: Hermes, target: BoundAgent) -> list[Any]:
    return [i for i in hermes.instances.values() if i is not target.instance]


def _same_runtime(hermes: Hermes, bound: BoundAgent, found: Resumable, name: str) -> Runtime:
    """The runtime a turn ran on: the agent's own, one that is open in this process, or one made of its label.

    Raises:
        UsageError: It can't be made here.
    """
    own = bound.instance.runtime
    if bound.runtime_name == name or name == "process":
        return own
    for instance in reversed(list(hermes.instances.values())):
        if label_of(instance.runtime).get("runtime_label", {"type": ""}) == found.runtime:
            return instance.runtime
    try:
        module = _registry.load("runtimes", name.partition(":")[0])
        kind = getattr(module, name.partition(":")[0].title().replace("_", ""))
        made: Runtime = kind.from_label(found.runtime) if issubclass(kind, NamedRuntime) else kind()
    except (UnknownNameError, AttributeError, ImportError, TypeError) as exc:
        raise UsageError(
            f"Turn {found.turn_id} ran on {name}, which can't be opened here: {exc} To go on elsewhere, name a runtime:"
            " %hermes resume --on process, or resume(on=Process())."
        ) from exc
    return made
