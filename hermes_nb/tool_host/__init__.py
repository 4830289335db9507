"""Functions of this process for programs that speak MCP or HTTP: behind a capability, on loopback unless said otherwise."""

from hermes_nb.tool_host.host import ToolHost as ToolHost
from hermes_nb.tool_host.listener import Listener as Listener
