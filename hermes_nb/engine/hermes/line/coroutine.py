"""async-hermes-agent 0.20: agent, middleware, hooks, handlers and callbacks are coroutines (see `coroutine_agent`).

Gone since 0.19, with what stands in their place: `_anthropic_messages_create`, `_run_codex_stream` and
`_abort_request_openai_client` (all requests go by `_execute_model_request`), `set_hermes_interactive_context` (the variable
HERMES_INTERACTIVE), `_openrouter_prewarm_done` and `delegation_live_log` (nothing: neither is done any more).
"""

from __future__ import annotations

from hermes_nb.engine.hermes.line import threaded
from hermes_nb.engine.hermes.line.private_name import CORE, GUARD, Line, PrivateName

_GONE = frozenset(
    {
        "run_agent.AIAgent._abort_request_openai_client",
        "run_agent.AIAgent._anthropic_messages_create",
        "run_agent.AIAgent._ensure_primary_openai_client",
        "run_agent.AIAgent._run_codex_stream",
        "run_agent._openrouter_prewarm_done",
        "tools.approval.set_hermes_interactive_context",
        "tools.delegation_live_log.create_live_transcripts",
        "tools.mcp_tool._run_on_mcp_loop",
        "tools.delegate_tool._build_top_level_description",
        # Its own are right: one context, and the sockets of all transports.
        "agent.ssl_verify.resolve_httpx_verify",
        "agent.agent_runtime_helpers._iter_pool_sockets",
    }
)

LINE = Line(
    distribution="async-hermes-agent",
    versions=("0.20.4.",),
    kind="coroutine",
    names=(
        *(name for name in threaded.LINE.names if name.path not in _GONE),
        PrivateName("run_agent.AIAgent.hard_interrupt", CORE),
        PrivateName("model_tools._ensure_builtin_tools_discovered", CORE),
        PrivateName("tools.mcp_tool._activate_mcp_scope", CORE),
        PrivateName("tools.mcp_tool.refresh_agent_mcp_tools", CORE),
        PrivateName("run_agent.AIAgent._deduplicate_tool_calls", GUARD),
        PrivateName("run_agent.AIAgent._execute_model_request", "summary"),
    ),
)
