"""`Agent(mcp=[...])`: refused without its variables, told by the card, kept with the instance, ended with the agent."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hermes_nb.api._card import card_of
from hermes_nb.api.hermes import Hermes
from hermes_nb.errors import UsageError
from hermes_nb.model.agent import Agent
from hermes_nb.model.agent_code import agent_code
from hermes_nb.model.mcp_server import McpStdio

pytestmark = pytest.mark.hermes
SERVER = str(Path(__file__).parents[1] / "engine" / "mcp_server_script.py")


def test_a_variable_that_is_not_set_is_named_at_bind(hermes: Hermes) -> None:
    server = McpStdio("calc", "run", env={"KEY": "NO_SUCH_VARIABLE_HERE"})
    with pytest.raises(UsageError, match="Agent 'm': MCP server 'calc' needs the variable NO_SUCH_VARIABLE_HERE"):
        hermes.bind(Agent("m", model="offline", mcp=[server]))


async def test_the_card_tells_its_tools_and_what_failed_and_a_later_kernel_has_it(tmp_path: Path) -> None:
    pytest.importorskip("mcp")
    servers = [McpStdio("calc", sys.executable, [SERVER, "plain"]), McpStdio("gone", "no-such-program")]
    async with Hermes.local(state=tmp_path / "state", cleanup=False) as hermes:
        instance = await hermes.create_instance("served")
        bound = await instance.add_agent(Agent("m", model="offline", mcp=servers))
        told = bound.tools_by_toolset
        assert told["mcp-calc"].tools == ("mcp__calc__add", "mcp__calc__greeting")
        assert told["mcp-gone"].missing == {"gone": "a server that answers: there is no program 'no-such-program'"}
        assert "mcp__calc__add" in card_of(bound)["toolsets"]["mcp-calc"]
    async with Hermes.local(state=tmp_path / "state") as hermes:
        instance = await hermes.open_instance("served")
        assert list(instance.agents["m"].config.mcp) == servers


def test_code_of_an_agent_says_it() -> None:
    agent = Agent("m", model="offline", mcp=[McpStdio("calc", "run", ["-x"])])
    written = agent_code(agent, "m", name_of=lambda value: None, key_variable=lambda model: None)
    made: dict[str, object] = {}
    exec(written.replace("%hermes agent m", ""), made)
    assert made["m"] == agent
