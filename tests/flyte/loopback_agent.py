"""An agent by the adapter alone, as its documentation has it; what `hermes_nb.flyte` is compared with."""

import os
import pathlib

import flyte
from flyteplugins.agents.hermes import run_agent, tool

env = flyte.TaskEnvironment("agents")


@tool
@env.task
async def get_weather(city: str) -> str:
    """Weather of a city."""
    return f"{city}: 21C, sunny"


def steady_prompt() -> None:
    """Keep Hermes's probe of the host's Python out of the system prompt; under load it changes, and with it the key."""
    home = pathlib.Path.home() / ".hermes"
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text("agent:\n  environment_probe: false\n")


@env.task(report=True, retries=2)
async def ask(prompt: str) -> str:
    steady_prompt()
    return str(
        await run_agent(
            prompt,
            tools=[get_weather],
            model="scripted",
            instructions="Answer briefly.",
            name="weather-bot",
            api_key=os.environ["OPENAI_API_KEY"],
            base_url=os.environ["MODEL_URL"],
            api_mode="chat_completions",
            max_iterations=6,
        )
    )
