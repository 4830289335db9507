"""Run as a script: `python trap_script.py plain|ours`. Does what each trap is about and prints what came of it, as JSON."""

import asyncio
import json
import sys
from typing import Any

from hermes_nb.testing import Call, Say, ScriptedModel

IS_OURS = sys.argv[1] == "ours"
found: dict[str, Any] = {}


async def main() -> None:
    import flyte
    import flyte.report
    import flyteplugins.agents.hermes as plain

    import hermes_nb.flyte as ours

    adapter: Any = ours if IS_OURS else plain
    stdout = sys.stdout

    env = flyte.TaskEnvironment("traps")

    @env.task
    async def weather(city: str) -> str:
        """Weather."""
        return f"{city}: sunny"

    weather_tool = adapter.tool(weather)

    # 3: a wrapper that was pickled says it is registered, in a process that has registered nothing
    from tools.registry import registry

    async def ask(tools: list[Any], *steps: Any, **options: Any) -> list[dict[str, Any]]:
        with ScriptedModel(list(steps)) as model:
            await adapter.run_agent(
                "Go.", tools=tools, model="scripted", base_url=model.base_url, api_key="x-0123456789",
                api_mode="chat_completions", **options,
            )  # fmt: skip
            return [r.body for r in model.requests]

    registry.deregister("weather")
    requests = await ask([weather_tool], Call("weather", {"city": "Rome"}), Say("Done."))
    found["tools_seen"] = [t["function"]["name"] for t in requests[0].get("tools") or []]
    # 4: outside a run the tool's answer is what the function says
    weather_tool = adapter.tool(weather)
    requests = await ask([weather_tool], Call("weather", {"city": "Rome"}), Say("Done."))
    found["tool_said"] = next((m["content"] for m in requests[-1]["messages"] if m["role"] == "tool"), "")

    # 8: a name of Hermes's own
    def read_file(path: str) -> str:
        """Mine."""
        return "mine"

    try:
        adapter.tool(read_file)
        found["own_name"] = registry.get_toolset_for_tool("read_file")
    except ValueError as exc:
        found["own_name"] = type(exc).__name__

    # 9: a tool defined again does not change the agent that was given the first
    def version_one() -> str:
        """One."""
        return "one"

    def version_two() -> str:
        """Two."""
        return "two"

    version_one.__name__ = version_two.__name__ = "which"
    first = adapter.tool(version_one)
    adapter.tool(version_two)
    requests = await ask([first], Call("which"), Say("Done."))
    found["which"] = next((m["content"] for m in requests[-1]["messages"] if m["role"] == "tool"), "")

    # whole numbers where a list of floats is wanted
    @env.task
    async def mean(values: list[float]) -> float:
        """Mean."""
        assert all(isinstance(v, float) for v in values), values
        return sum(values) / len(values)

    requests = await ask([adapter.tool(mean)], Call("mean", {"values": [1, 2]}), Say("Done."))
    found["mean"] = next((m["content"] for m in requests[-1]["messages"] if m["role"] == "tool"), "")

    # 11: the agent itself, as a notebook holds it
    import cloudpickle

    if IS_OURS:
        import tempfile
        from pathlib import Path

        from hermes_nb import Agent, Hermes, Model
        from hermes_nb.flyte.preflight import checked
        from hermes_nb.flyte.runtime import Flyte

        with tempfile.TemporaryDirectory() as folder:
            hermes = Hermes.open_local(state=Path(folder))
            bound = hermes.bind(Agent("a", model=Model("m", "custom", "http://localhost:1/v1"), tools=[version_one]))
            shipped: Any = checked(bound, Flyte(mode="local")).task()
            hermes.close()
    else:
        from run_agent import AIAgent

        held = AIAgent(model="m", base_url="http://localhost:1/v1", api_key="x-0123456789", quiet_mode=True)

        @env.task
        async def shipped(prompt: str) -> str:
            """Uses the agent of the notebook."""
            return str(held.chat(prompt))

    try:
        found["shipped"] = len(cloudpickle.dumps(shipped)) > 0
    except TypeError as exc:
        found["shipped"] = f"{type(exc).__name__}: {exc}"

    # 1: stdout stays what it was
    found["stdout_kept"] = sys.stdout is stdout
    # 2: a report in a kernel
    from IPython.core.interactiveshell import InteractiveShell

    InteractiveShell.instance()
    found["report"] = type(flyte.report.Report("r").get_final_report()).__name__
    print(json.dumps(found), file=sys.__stdout__)


asyncio.run(main())
