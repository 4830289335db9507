"""Seed 000 as scripts use it, by `hermes_nb.flyte`. Shipped to the plane as a code bundle."""

import os
from typing import Any

import flyte

from hermes_nb.flyte import run_agent, run_agent_sync, tool

env = flyte.TaskEnvironment("scripts")


@tool
@env.task
async def mean(values: list[float]) -> float:
    """Mean of some numbers."""
    return sum(values) / len(values)


@tool(name="shout", description="Say it loudly.")
def loud(text: str) -> str:
    return text.upper()


def endpoint() -> dict[str, Any]:
    return {"api_key": "sk-x-0123456789", "base_url": os.environ["MODEL_URL"], "api_mode": "chat_completions"}


@env.task(report=True, retries=1)
async def ask(prompt: str, key: str) -> str:
    return await run_agent(
        prompt, tools=[mean, loud], model="scripted", instructions="Be brief.", name="calc", memory_key=key or None,
        **endpoint(),
    )  # fmt: skip


@env.task(report=True)
def ask_sync(prompt: str) -> str:
    return run_agent_sync(prompt, tools=[loud], model="scripted", **endpoint())
