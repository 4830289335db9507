"""What Hermes remembers of a configuration for as long as its process lives, and forgets here when another one is in force.

All of hermes-agent 0.19.0: its processes have one configuration, a worker has one for each of its agents.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

# Module -> names and the values by which they say that nothing was read yet.
_UNREAD: dict[str, dict[str, Any]] = {
    "tools.tool_output_limits": {"_cached_limits": None},
    "tools.file_tools": {"_max_read_chars_cached": None},
    "tools.browser_tool": {
        "_command_timeout_resolved": False,
        "_headed_mode_resolved": False,
        "_allow_private_urls_resolved": False,
        "_auto_local_for_private_urls_resolved": False,
        "_cloud_provider_resolved": False,
    },
    "tools.terminal_tool": {"_terminal_config_bridge_attempted": False},
}
_FORGETTING = {"tools.url_safety": "_reset_allow_private_cache", "tools.website_policy": "invalidate_cache"}
_TERMINAL = "TERMINAL_"  # variables that Hermes makes of `terminal` in the configuration


def terminal_variables(environment: Mapping[str, str]) -> frozenset[str]:
    """Names of those variables that are there."""
    return frozenset(name for name in environment if name.startswith(_TERMINAL))


def forget(environment: MutableMapping[str, str], given: frozenset[str]) -> None:
    """Let the next reading of each setting be one of the configuration that is in force now.

    Args:
        environment: The process's.
        given: Variables it was given: they stay.
    """
    for name in terminal_variables(environment) - given:
        del environment[name]
    for module, names in _UNREAD.items():
        for name, value in names.items():
            if hasattr(loaded := sys.modules.get(module), name):
                setattr(loaded, name, value)
    for module, name in _FORGETTING.items():
        forgetting: Callable[[], Any] | None = getattr(sys.modules.get(module), name, None)
        if forgetting is not None:
            forgetting()
