"""Each of Hermes's toolsets gives tools that are in the request, or is refused with what its tools need."""

from __future__ import annotations

import pytest

from hermes_nb.model.toolset_offer import requirement
from hermes_nb.tools.toolset import OTHERS, TOOLSETS
from tests.engine.conftest import Script
from tests.engine.rig import Worker

pytestmark = pytest.mark.hermes


@pytest.mark.parametrize("toolset", sorted({t.name for t in TOOLSETS} | OTHERS))
def test_a_toolset_is_in_the_request_or_refused(toolset: str, shared: Worker, script: Script) -> None:
    answer = shared.bind(script.url, agent_id=f"of-{toolset}", toolsets=[toolset])
    if answer["kind"] == "bind.failed":
        assert answer["error"].startswith(f"The toolset {toolset!r} gives no tool here: "), answer
        assert "something that Hermes does not name" not in answer["error"]
        assert answer["error_type"] == "UsageError"
        assert "Process(options={'environment': {...}})" in answer["hint"]
        return
    offer = answer["tools_by_toolset"][toolset]
    assert "something that Hermes does not name" not in str(offer["missing"])
    shared.run("x", agent_id=f"of-{toolset}", session_id=f"of-{toolset}")
    sent = {t["name"] for t in script.requests[-1].tools}
    assert set(offer["tools"]) == sent
    assert offer["tools"]
    assert not set(offer["missing"]) & sent


def test_two_toolsets_are_told_apart(shared: Worker, script: Script) -> None:
    told = shared.bind(script.url, agent_id="two", toolsets=["todo", "memory"])["tools_by_toolset"]
    assert told == {"todo": {"tools": ["todo"], "missing": {}}, "memory": {"tools": ["memory"], "missing": {}}}


def test_a_key_that_is_there_gives_its_tools(spawn: type[Worker], script: Script) -> None:
    worker = spawn(environment={"TAVILY_API_KEY": "tvly-0123456789abcdef"})
    assert worker.bind(script.url, toolsets=["web"])["tools_by_toolset"]["web"] == {
        "tools": ["web_extract", "web_search"],
        "missing": {},
    }


def test_a_requirement_is_one_of_ours_or_a_key_that_hermes_names() -> None:
    assert requirement("web_search", ["EXA_API_KEY", "FIRECRAWL_API_URL", "TAVILY_API_KEY"]) == (
        "one of EXA_API_KEY, TAVILY_API_KEY"
    )
    assert requirement("x_search", ["XAI_API_KEY"]) == "XAI_API_KEY"
    assert requirement("spotify_queue") == "a Spotify account that `hermes auth spotify` signed in"
    assert requirement("no_such_tool") == ""
