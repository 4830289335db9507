"""Servers of the Model Context Protocol that an agent may use: declarations, without I/O and without secrets.

What is secret is named by the variable of the environment that holds it, and read when the agent is bound; no repr, log,
pickle or folder has a value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any
from urllib.parse import urlsplit

from hermes_nb._near import suggesting

_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET = re.compile(r"auth|key|token|secret|password|cookie", re.IGNORECASE)


@suggesting
@dataclass(frozen=True)
class McpStdio:
    """A server that the agent's worker starts as a program, and ends with the agent.

    Args:
        name: What it is called: its tools are `mcp__<name>__<tool>`. Small letters, digits and `_`; one in a worker.
        command: The program.
        args: Its arguments.
        env: Variable of the server -> variable of this environment that holds its value. It gets PATH, HOME and the like
            besides, and no key.
        connect_timeout_s: How long it may take to say which tools it has.
        timeout_s: How long a call may take.

    Raises:
        ValueError: A value can't be; the message names it.
    """

    name: str
    command: str
    args: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    connect_timeout_s: float = field(default=15.0, kw_only=True)
    timeout_s: float = field(default=120.0, kw_only=True)

    def __post_init__(self) -> None:
        _check(self)
        if not isinstance(self.command, str) or not self.command.strip():
            raise ValueError(f"MCP server {self.name!r}: command takes a program, e.g. 'npx', not {self.command!r}.")
        if isinstance(self.args, str) or not all(isinstance(arg, str) for arg in self.args):
            raise ValueError(f"MCP server {self.name!r}: args takes a list of texts, not {self.args!r}.")
        object.__setattr__(self, "args", tuple(self.args))
        for name, variable in self.env.items():
            if not _VARIABLE.fullmatch(str(name)) or not isinstance(variable, str) or not _VARIABLE.fullmatch(variable):
                raise ValueError(
                    f"MCP server {self.name!r}: env takes names of variables, e.g. {{'GITHUB_TOKEN': 'GITHUB_TOKEN'}}: the"
                    f" value of {name!r} is read from the one it names, and stands nowhere."
                )

    def told(self) -> dict[str, Any]:
        """It as plain data, without values of variables."""
        return {**asdict(self), "args": list(self.args), "env": dict(self.env)}

    def resolved(self, variable: Callable[[str], str | None]) -> dict[str, Any]:
        """What the worker is told: command, args, env with values, timeouts.

        Raises:
            LookupError: A variable is not set; the message names it.
        """
        env = {name: _value(self.name, source, variable) for name, source in self.env.items()}
        return {"command": self.command, "args": list(self.args), "env": env, **_terms(self)}


@suggesting
@dataclass(frozen=True)
class McpHttp:
    """A server at an address, spoken to by streamable HTTP.

    Args:
        name: As of `McpStdio`.
        url: Its address.
        headers: Headers of each request; `${VARIABLE}` in a value is read from the environment. One that looks like a secret
            (Authorization, X-Api-Key ...) has to have such a reference.
        connect_timeout_s: As of `McpStdio`.
        timeout_s: As of `McpStdio`.

    Raises:
        ValueError: A value can't be; the message names it.
    """

    name: str
    url: str
    headers: Mapping[str, str] = field(default_factory=dict)
    connect_timeout_s: float = field(default=15.0, kw_only=True)
    timeout_s: float = field(default=120.0, kw_only=True)

    def __post_init__(self) -> None:
        _check(self)
        parts = urlsplit(self.url if isinstance(self.url, str) else "")
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"MCP server {self.name!r}: url takes an address that begins with http:// or https://.")
        if parts.username or parts.password:
            raise ValueError(f"MCP server {self.name!r}: url holds a password. Say it by headers={{...: '${{VARIABLE}}'}}.")
        for header, value in self.headers.items():
            if not isinstance(value, str) or (_SECRET.search(str(header)) and not _REFERENCE.search(value)):
                raise ValueError(
                    f"MCP server {self.name!r}: the header {header!r} looks like a secret. Put it into a variable and write"
                    f" headers={{{str(header)!r}: 'Bearer ${{VARIABLE}}'}}."
                )

    def told(self) -> dict[str, Any]:
        """It as plain data, without values of variables."""
        return {**asdict(self), "headers": dict(self.headers)}

    def resolved(self, variable: Callable[[str], str | None]) -> dict[str, Any]:
        """What the worker is told: url, headers with values, timeouts.

        Raises:
            LookupError: A variable is not set; the message names it.
        """
        headers = {
            str(name): _REFERENCE.sub(lambda m: _value(self.name, m[1], variable), value)
            for name, value in self.headers.items()
        }
        return {"url": self.url, "headers": headers, **_terms(self)}


McpServer = McpStdio | McpHttp


def from_told(told: Mapping[str, Any]) -> McpServer:
    """A server as its `told` says it."""
    return McpHttp(**told) if "url" in told else McpStdio(**told)


def _check(server: McpServer) -> None:
    if not isinstance(server.name, str) or not _NAME.fullmatch(server.name):
        raise ValueError(
            f"An MCP server can't be named {server.name!r}: a small letter, then small letters, digits or '_', 32 at most."
        )
    for what in ("connect_timeout_s", "timeout_s"):
        value = getattr(server, what)
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 86_400:
            raise ValueError(f"MCP server {server.name!r}: {what} must be a number of seconds, not {value!r}.")


def _terms(server: McpServer) -> dict[str, Any]:
    """Its time limits, and that its tools alone are wanted: no tools that list its resources and prompts."""
    only = {"resources": False, "prompts": False}
    return {"timeout": server.timeout_s, "connect_timeout": server.connect_timeout_s, "tools": only}


def _value(server: str, name: str, variable: Callable[[str], str | None]) -> str:
    value = variable(name)
    if value is None:
        raise LookupError(
            f"MCP server {server!r} needs the variable {name}, which is not set. Set it before the agent is bound."
        )
    return value
