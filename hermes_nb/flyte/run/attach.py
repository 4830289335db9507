"""Bringing a run back: after a restart, from another notebook, finished or not, as a turn of its session."""

from __future__ import annotations

from typing import Any, cast

from hermes_nb.api._launch import begun
from hermes_nb.api.turn import Turn
from hermes_nb.flyte.config import FlyteConfig
from hermes_nb.flyte.promotion.submit import connect, get, request_in
from hermes_nb.model.agent import Agent, Model
from hermes_nb.turns.request import PreparedTurn
from hermes_nb.turns.runner import TurnRunner

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.runtimes._base import Runtime


async def order_of(config: FlyteConfig, name: str) -> dict[str, Any]:
    """What a run was asked, from its inputs.

    Raises:
        UsageError: No such run here, or it is not one of an agent.
    """
    await connect(config)
    return await request_in(await get(name))


def followed(hermes: Hermes, config: FlyteConfig, name: str, order: dict[str, Any], *, quiet: bool) -> Turn:
    """The turn of a run, once it is known what it was asked. Not on the IO loop."""
    bound = hermes.agents.get(str(order["agent"]))
    runtime = cast("Runtime", config)
    other = hermes.bind_on(bound, runtime) if bound is not None else hermes.bind_aside(_stand_in(order), runtime)
    caller = hermes.host.caller(blocks=False, background=True)
    adopted = hermes.conversations.adopt_session(str(order["session_id"]), other.name, str(order.get("date") or ""))
    prepared = PreparedTurn(
        turn_id=str(order["turn_id"]),
        prompt=str(order["prompt"]),
        caller=caller,
        sink=hermes.host.open_sink(caller, quiet=quiet),
        shown_in=None if quiet else hermes.host.cell_id(),
        labels={"attach": name},
    )
    return begun(other, TurnRunner(other, hermes.io.call(adopted), prepared), keeps_offers=False)


def _stand_in(order: dict[str, Any]) -> Agent:
    """A declaration for an agent this notebook does not have; it can only be followed."""
    return Agent(str(order["agent"]), model=Model.offline())
