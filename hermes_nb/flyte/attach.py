"""Bringing a run back: after a restart, from another notebook, finished or not, as a turn of its session."""

from __future__ import annotations

from typing import Any

from hermes_nb.flyte.runtime import Flyte
from hermes_nb.flyte.submit import connect, get, request_in
from hermes_nb.model.agent import Agent, Model
from hermes_nb.sessions.turn import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.sessions.hermes import Hermes


async def attach_run(
    hermes: Hermes, name: str, *, quiet: bool = True, config: Any = None, **options: Any
) -> Turn:
    """The turn of a run, which follows it to its end; its events go into the store under their own session.

    Args:
        hermes: Where it is brought to.
        name: The run's name.
        quiet: Show nothing while it is followed.
        config: A `Flyte`, to find the control plane; None makes one of `options`.
        **options: Fields of `Flyte`, to find the control plane.

    Raises:
        UsageError: No such run here, or it is not one of an agent.
    """
    config = config or Flyte(**options)
    return followed(hermes, config, name, await order_of(config, name), quiet=quiet)


async def order_of(config: Flyte, name: str) -> dict[str, Any]:
    """What a run was asked, from its inputs.

    Raises:
        UsageError: No such run here, or it is not one of an agent.
    """
    await connect(config)
    return await request_in(await get(name))


def followed(hermes: Hermes, config: Flyte, name: str, order: dict[str, Any], *, quiet: bool) -> Turn:
    """The turn of a run, once it is known what it was asked. Not on the IO loop."""
    bound = hermes.agents.get(str(order["agent"]))
    other = hermes.bind_on(bound, config) if bound is not None else hermes.bind_aside(_stand_in(order), config)
    caller = hermes.host.caller(blocks=False, background=True)
    adopted = hermes.adopt_session(str(order["session_id"]), other.name, str(order.get("date") or ""))
    turn = Turn(
        other, hermes.io.call(adopted), turn_id=str(order["turn_id"]), prompt=str(order["prompt"]), caller=caller,
        sink=hermes.host.open_sink(caller, quiet=quiet), shown_in=None if quiet else hermes.host.cell_id(),
        timeout_s=None, labels={"attach": name},
    )  # fmt: skip
    hermes.turns.append(turn)
    hermes.io.soon(turn.begin)
    return turn


def _stand_in(order: dict[str, Any]) -> Agent:
    """A declaration for an agent this notebook does not have; it can only be followed."""
    return Agent(str(order["agent"]), model=Model.offline())
