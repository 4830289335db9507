from __future__ import annotations

import pickle
from typing import Any

import pytest

from hermes_nb.model.agent import Agent
from hermes_nb.model.mcp_server import McpHttp, McpStdio, from_told

SECRET = "hush-0123456789abcdef"
VALUES = {"TOKEN": SECRET}


@pytest.mark.parametrize(
    ("server", "told"),
    [
        (McpStdio("s", "run", ["-x"], {"KEY": "TOKEN"}), {"command": "run", "args": ["-x"], "env": {"KEY": SECRET}}),
        (
            McpHttp("h", "https://a.example/mcp", {"Authorization": "Bearer ${TOKEN}", "X-Team": "a"}),
            {"url": "https://a.example/mcp", "headers": {"Authorization": f"Bearer {SECRET}", "X-Team": "a"}},
        ),
    ],
)
def test_variables_are_read_when_it_is_resolved_and_stand_nowhere(server: Any, told: dict[str, Any]) -> None:
    resolved = server.resolved(VALUES.get)
    assert {name: resolved[name] for name in told} == told
    with pytest.raises(LookupError, match="needs the variable TOKEN, which is not set"):
        server.resolved({}.get)
    assert SECRET not in repr(server) + str(server.told())
    assert SECRET.encode() not in pickle.dumps(server)
    assert from_told(server.told()) == server


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: McpStdio("Big", "run"), "can't be named 'Big'"),
        (lambda: McpStdio("s", ""), "command takes a program"),
        (lambda: McpStdio("s", "run", "-x"), "args takes a list of texts, not '-x'"),
        (lambda: McpStdio("s", "run", env={"KEY": "sk-0123456789"}), "env takes names of variables"),
        (lambda: McpStdio("s", "run", timeout_s=0), "timeout_s must be a number of seconds, not 0"),
        (lambda: McpHttp("h", "ftp://a"), "url takes an address that begins with http"),
        (lambda: McpHttp("h", "https://u:p@a.example"), "url holds a password"),
        (lambda: McpHttp("h", "https://a.example", {"X-Api-Key": "abc"}), "the header 'X-Api-Key' looks like a secret"),
        (lambda: Agent("a", mcp=["files"]), "mcp takes a list of servers"),
        (lambda: Agent("a", mcp=McpStdio("s", "run")), "mcp takes a list of servers"),
        (lambda: Agent("a", mcp=[McpStdio("s", "run"), McpHttp("s", "http://a")]), "two MCP servers are named 's'"),
    ],
)
def test_what_can_t_be_is_refused_by_name(make: Any, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        make()
