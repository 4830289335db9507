"""MCP servers of a worker's agents: connected by Hermes when an agent is bound, ended when no agent needs them.

Hermes (0.19) keys them by name for a process, so one name is one server here. Their tools go through the same middleware as
all of Hermes's: asked about, recorded, shown.
"""

from __future__ import annotations

import inspect
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb.engine.hermes import patch
from hermes_nb.engine.hermes.coroutine_loop import settled
from hermes_nb.engine.hermes.toolset_offer import Offer

if TYPE_CHECKING:
    from hermes_nb.model.message_part import McpServerTold

TOOLSET = "mcp-{name}"
_END_S = 15.0
_lock = threading.Lock()
_configs: dict[str, McpServerTold] = {}
_holders: dict[str, set[int]] = {}


class McpError(Exception):
    """An agent's servers can't be had; `kind` and `hint` as of a BindError."""

    def __init__(self, message: str, *, kind: str = "UsageError", hint: str = "") -> None:
        super().__init__(message)
        self.kind, self.hint = kind, hint


def values(server: McpServerTold) -> list[str]:
    """What of a server may be a secret: values of its environment and of its headers, and their last words."""
    found = [str(v) for values in (server.get("env"), server.get("headers")) for v in (values or {}).values()]
    return [word for value in found for word in {value, value.rpartition(" ")[2]}]


def connect(holder: int, servers: Mapping[str, McpServerTold]) -> dict[str, Offer]:
    """Connect what is not connected yet; returns the tools of each server, or why it gives none, by its toolset.

    Args:
        holder: Whoever needs them, for `leave`.
        servers: Name to command or url, as Hermes's `mcp_servers` has them.

    Raises:
        McpError: The package mcp is missing, or another agent has another server of one of the names.
    """
    if not servers:
        return {}
    client = patch.upstream("tools.mcp_tool")
    if not client._MCP_AVAILABLE:
        raise McpError(
            "MCP servers need the package mcp where Hermes is, and it is not installed there.",
            kind="MissingPackageError",
            hint=f"Run !uv pip install --python {sys.executable} 'mcp==1.26.0' and restart the kernel.",
        )
    with _lock:
        for name, config in servers.items():
            if _configs.get(name, config) != config:
                raise McpError(f"Another agent of this worker has another MCP server {name!r}. Give it a name of its own.")
        _configs.update(servers)
        for name in servers:
            _holders.setdefault(name, set()).add(holder)
        settled(client.register_mcp_servers({name: dict(config) for name, config in servers.items() if _can_start(config)}))
        found: dict[str, Offer] = _within(
            client, lambda: {TOOLSET.format(name=name): _offer(client, name, config) for name, config in servers.items()}
        )
        return found


def _within(client: Any, function: Callable[[], Any]) -> Any:
    """Call what reads Hermes's table of servers where it is to be read: each loop of async-hermes-agent has its own."""
    if not inspect.iscoroutinefunction(client.register_mcp_servers):
        return function()

    async def there() -> Any:
        await client._activate_mcp_scope()
        return function()

    return settled(there())


def _can_start(config: McpServerTold) -> bool:
    return "command" not in config or shutil.which(str(config["command"])) is not None


def _offer(client: Any, name: str, config: McpServerTold) -> Offer:
    server = client._servers.get(name)
    tools = sorted(getattr(server, "_registered_tool_names", None) or ())
    if tools:
        return {"tools": tools, "missing": {}}
    why = client._server_connect_errors.get(name)
    if not _can_start(config):
        why = f"there is no program {config['command']!r}"
    elif why in ("CancelledError", "TimeoutError", ""):
        why = f"it said nothing within {config.get('connect_timeout')} s"
    elif why is None:
        why = "it has no tools" if server is not None else "Hermes's own check refused its command"
    return {"tools": [], "missing": {name: f"a server that answers: {why}"}}


def leave(holder: int) -> None:
    """Let go of an agent's servers: end those that no other needs, with their processes."""
    with _lock:
        for name in [name for name, holders in _holders.items() if holder in holders]:
            _holders[name].discard(holder)
            if not _holders[name]:
                del _holders[name], _configs[name]
                _end(name)


def _end(name: str) -> None:
    client = patch.upstream("tools.mcp_tool")

    def taken() -> Any:
        with client._lock:
            return client._servers.pop(name, None)

    server = _within(client, taken)
    if server is None:
        return
    if inspect.iscoroutinefunction(client.register_mcp_servers):
        settled(server.shutdown())
    else:
        client._run_on_mcp_loop(server.shutdown, timeout=_END_S)


def end_all() -> None:
    """End every server of this process."""
    with _lock:
        names = list(_configs)
        _configs.clear()
        _holders.clear()
        if names:
            settled(patch.upstream("tools.mcp_tool").shutdown_mcp_servers())
