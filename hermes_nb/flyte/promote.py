"""Promoting an agent: shown first, then submitted as a turn of its conversation."""

from __future__ import annotations

from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.flyte.plan import Plan
from hermes_nb.flyte.preflight import preflight
from hermes_nb.flyte.runtime import Flyte
from hermes_nb.flyte.submit import refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.sessions.agent import BoundAgent
    from hermes_nb.sessions.turn import Turn


async def promote(
    bound: BoundAgent, prompt: str | None = None, *, config: Flyte | None = None, quiet: bool = True, **options: Any
) -> Turn:
    """Look, refuse or submit; the turn's handle, whose run goes on.

    Args:
        bound: The agent, with its tools and conversation as they are now.
        prompt: What to ask; None asks the session's last question again.
        config: Where and how; None makes a `Flyte` of `options`.
        quiet: Show nothing while it runs.
        **options: Fields of `Flyte`.

    Raises:
        UsageError: Something stands in the way, or there is nothing to ask. Nothing was sent.
    """
    config = config or Flyte(**options)
    asked = prompt or last_question(bound)
    refuse(await preflight(bound, config))
    return submitted(bound, asked, config, quiet=quiet)


def submitted(bound: BoundAgent, prompt: str, config: Flyte, **options: Any) -> Turn:
    """The turn, without looking first: its own start does that again."""
    return bound.hermes.bind_on(bound, config).submit(prompt, session_id=bound.session_id, **options)


def last_question(bound: BoundAgent) -> str:
    """The newest question of the agent's conversation in this process.

    Raises:
        UsageError: There is none.
    """
    for turn in reversed(bound.hermes.turns):
        if turn.session_id == bound.session_id and turn.agent_name == bound.name:
            return turn.prompt
    raise UsageError(f"Agent {bound.name!r} has not been asked anything yet. Write a question below %%hermes promote.")


def describe(plan: Plan) -> str:
    """What would run, for people: the agent, its tools, what travels, what stands in the way."""
    spec, bundle = plan.spec, plan.bundle
    model = spec.model
    lines = [
        f"Agent {spec.agent!r} on Flyte ({plan.config.mode}): {model['id']} ({model['provider']}),"
        f" {plan.config.retries} retries",
        "Python {python}, hermes-agent {hermes-agent}, flyte {flyte}, adapter {flyteplugins-agents-hermes}".format_map(
            spec.versions
        ),
        "Secrets: " + (", ".join(f"{v} from {k!r}" for v, k in spec.secrets.items()) or "none"),
        f"Travels: {bundle.size_bytes / 1000:.0f} kB; local modules: {', '.join(spec.local_modules) or 'none'};"
        f" packages: {', '.join(spec.packages) or 'none'}",
    ]
    words = {"child": "an action of its own", "task": "your task", "inline": "inside the turn"}
    lines += [f"Tool {t['name']}: {words[t['how']]}" for t in spec.tools if t["how"] in words]
    lines += [f"{'STOPS' if f in plan.fatal else 'note'} [{f.code}] {f}" for f in plan.findings]
    return "\n".join(lines)
