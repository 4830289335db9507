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
                "Go.",
                tools=tools,
                model="scripted",
                base_url=model.base_url,
                api_key="x-0123456789",
                api_mode="chat_completions",
                **options,
            )
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

    # 9 again: two at once, and the same one twice beside a third, from threads
    async def overlapping(*tools: Any) -> list[str]:
        waiting = asyncio.Barrier(len(tools))
        loop = asyncio.get_running_loop()

        def step(request: Any) -> Any:
            if request.body["messages"][-1]["role"] == "tool":
                return Say(request.body["messages"][-1]["content"])
            asyncio.run_coroutine_threadsafe(waiting.wait(), loop).result(20)  # each was made before any calls
            return Call(request.body["tools"][0]["function"]["name"]) if request.body.get("tools") else Say("no tool")

        with ScriptedModel(step) as model:
            options = {"base_url": model.base_url, "api_key": "x-0123456789", "api_mode": "chat_completions"}
            return list(
                await asyncio.gather(*(adapter.run_agent("Go.", tools=[t], model="scripted", **options) for t in tools))
            )

    second = adapter.tool(version_two)
    found["overlapping"] = await overlapping(first, second)
    found["thrice"] = await overlapping(first, second, first)

    def other() -> str:
        """Renamed for the model."""
        return "three"

    named = adapter.tool(other, name="which")
    found["named"] = await overlapping(named, first)
    found["renamed"] = (other.__name__, named is other)
    with ScriptedModel(
        lambda r: Say(r.body["messages"][-1]["content"]) if r.body["messages"][-1]["role"] == "tool" else Call("which")
    ) as model:
        options = {
            "model": "scripted",
            "base_url": model.base_url,
            "api_key": "x-0123456789",
            "api_mode": "chat_completions",
        }
        found["threads"] = list(
            await asyncio.gather(
                *(
                    asyncio.to_thread(adapter.run_agent_sync, "Go.", tools=[t], **options)
                    for t in (first, second, first, second)
                )
            )
        )

    # whole numbers where a list of floats is wanted
    @env.task
    async def mean(values: list[float]) -> float:
        """Mean."""
        assert all(isinstance(v, float) for v in values), values
        return sum(values) / len(values)

    requests = await ask([adapter.tool(mean)], Call("mean", {"values": [1, 2]}), Say("Done."))
    found["mean"] = next((m["content"] for m in requests[-1]["messages"] if m["role"] == "tool"), "")

    from run_agent import AIAgent as OwnAgent

    with ScriptedModel([Call("mean", {"values": [1, 2]}), Say("Done.")]) as model:
        own = OwnAgent(
            model="scripted",
            base_url=model.base_url,
            api_key="x-0123456789",
            api_mode="chat_completions",
            quiet_mode=True,
            enabled_toolsets=["flyte"],
        )
        found["own_answer"] = await adapter.run_agent("Go.", agent=own)
        asked = model.requests[-1].body["messages"]
        found["own_mean"] = next((m["content"] for m in asked if m["role"] == "tool"), "")

    # 11: the agent itself, as a notebook holds it
    import cloudpickle

    if IS_OURS:
        import tempfile
        from pathlib import Path

        from hermes_nb import Agent, Hermes, Model
        from hermes_nb.flyte.promotion.preflight import checked
        from hermes_nb.flyte.run.runtime import Flyte

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
