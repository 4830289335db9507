"""Promoting an agent: shown first, then submitted as a turn of its conversation."""

from __future__ import annotations

from typing import Any, cast

from hermes_nb.errors import UsageError
from hermes_nb.flyte.promotion.plan import Plan
from hermes_nb.flyte.promotion.preflight import preflight
from hermes_nb.flyte.promotion.submit import refuse
from hermes_nb.turns.request import TurnRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.turn import Turn
    from hermes_nb.runtimes._base import Runtime


async def promote(bound: BoundAgent, prompt: str | None, *, config: Any, quiet: bool = True) -> Turn:
    """Look, refuse or submit; the turn's handle, whose run goes on.

    Args:
        bound: The agent, with its tools and conversation as they are now.
        prompt: What to ask; None asks the session's last question again.
        config: Where and how: a `Flyte`.
        quiet: Show nothing while it runs.

    Raises:
        UsageError: Something stands in the way, or there is nothing to ask. Nothing was sent.
    """
    asked = prompt or last_question(bound)
    plan = await preflight(bound, config)
    refuse(plan)
    return submitted(bound, asked, plan, quiet=quiet)


def submitted(bound: BoundAgent, prompt: str, plan: Plan, *, quiet: bool = False, background: bool = False) -> Turn:
    """The turn of a plan: what was looked at is what is submitted."""
    other = bound.hermes.bind_on(bound, cast("Runtime", plan.config))
    request = TurnRequest(prompt=prompt, session_id=bound.session_id, show=not quiet, background=background, plan=plan)
    return other.submit(request)


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
