"""The adapter as scripts use it, by `hermes_nb.flyte`. Shipped to the plane as a code bundle."""

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
        prompt,
        tools=[mean, loud],
        model="scripted",
        instructions="Be brief.",
        name="calc",
        memory_key=key or None,
        **endpoint(),
    )


@env.task(report=True)
def ask_sync(prompt: str) -> str:
    return run_agent_sync(prompt, tools=[loud], model="scripted", **endpoint())


def streamed(text: str | None) -> None:
    print(f"delta {text!r}", flush=True)


@env.task(report=True, retries=1)
async def ask_own(prompt: str) -> str:
    from run_agent import AIAgent

    agent = AIAgent(
        model="scripted",
        quiet_mode=True,
        enabled_toolsets=["flyte"],
        skip_context_files=True,
        skip_memory=True,
        stream_delta_callback=streamed,
        **endpoint(),
    )
    return await run_agent(prompt, agent=agent, instructions="Be brief, this once.", name="own")


@env.task(retries=1)
async def ask_again(prompt: str) -> str:
    return await run_agent(prompt, tools=[mean], model="scripted", durable=False, observability=False, **endpoint())
