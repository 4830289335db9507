"""hermes-agent 0.18 and 0.19: an agent that runs on the thread that asks it. What each name is for says `hermes.patch`.

0.18.2 runs, and is not taken unless it is named: it takes an answer whose connection broke for a whole one, calls tools with
arguments that are no object, and counts no helper models.

Later versions are read in their public sources (they need Python 3.14). Gone in 0.21.3: `set_current_session_key` and
`set_hermes_interactive_context` of `tools.approval`, which are in `tools.approval_context` there.
"""

from __future__ import annotations

from hermes_nb.engine.hermes.line.private_name import CORE, GUARD, Line, PrivateName

_AGENT = "run_agent.AIAgent"


def _of(need: str, *paths: str, absent_in: tuple[str, ...] = ()) -> list[PrivateName]:
    return [PrivateName(path, need, absent_in) for path in paths]


LINE = Line(
    distribution="hermes-agent",
    versions=("0.19.",),
    kind="threaded",
    names=(
        *_of(
            CORE,
            *(f"{_AGENT}.{name}" for name in ("run_conversation", "interrupt", "clear_interrupt", "close")),
            f"{_AGENT}.reset_session_state",
            f"{_AGENT}._get_transport",
            "tools.registry.registry.register",
            "tools.registry.registry.get_entry",
            "tools.registry.registry.get_toolset_for_tool",
            "toolsets.get_toolset_names",
            "toolsets.resolve_toolset",
            "toolsets.validate_toolset",
            "hermes_cli.auth.PROVIDER_REGISTRY",
            "hermes_cli.config.load_config",
            "hermes_cli.plugins.PluginContext.register_hook",
            "hermes_cli.plugins.PluginContext.register_middleware",
            "hermes_cli.plugins.PluginManifest",
            "hermes_cli.plugins.get_plugin_manager",
            "hermes_cli.runtime_provider.resolve_runtime_provider",
            "gateway.session_context.set_current_session_id",
        ),
        *_of(
            GUARD,
            "agent.process_bootstrap._install_safe_stdio",
            "agent.agent_init._install_safe_stdio",
            "agent.conversation_loop._install_safe_stdio",
            "agent.conversation_loop.has_incomplete_scratchpad",
            "agent.agent_init.StreamingThinkScrubber",
            "agent.agent_init.StreamingContextScrubber",
            "agent.message_content.flatten_message_text",
            "agent.redact._CFG_DOTTED_RE",
            "agent.redact._CFG_VALUE",
            "agent.redact._SECRET_CFG_NAMES",
            "agent.redact._TELEGRAM_RE",
            "agent.ssl_verify.resolve_httpx_verify",
            "agent.agent_runtime_helpers._iter_pool_sockets",
            "agent.model_metadata._endpoint_model_metadata_cache",
            "agent.model_metadata._endpoint_model_metadata_cache_time",
            "agent.model_metadata._normalize_base_url",
            "run_agent._openrouter_prewarm_done",
            *(f"{_AGENT}.{name}" for name in ("_build_assistant_message", "_dump_api_request_debug", "_extract_reasoning")),
            f"{_AGENT}._strip_think_blocks",
            f"{_AGENT}._fire_reasoning_delta",
            "gateway.session_context._SESSION_ASYNC_DELIVERY",
            "tools.approval.detect_dangerous_command",
            "tools.approval.set_current_session_key",
            "tools.approval.set_hermes_interactive_context",
            "tools.delegate_tool._build_top_level_description",
            "tools.file_tools._resolve_path_for_task",
            "tools.terminal_tool.set_approval_callback",
            "agent.anthropic_adapter._forbids_sampling_params",
            "agent.auxiliary_client._fixed_temperature_for_model",
            "hermes_constants.get_hermes_home",
            "hermes_constants.set_hermes_home_override",
            "hermes_constants.reset_hermes_home_override",
            *(
                f"tools.mcp_tool.{name}"
                for name in (
                    *("register_mcp_servers", "shutdown_mcp_servers", "_run_on_mcp_loop"),
                    *("_MCP_AVAILABLE", "_lock", "_servers", "_server_connect_errors"),
                )
            ),
        ),
        # 0.18 has no live transcripts that would have to be switched off.
        *_of(GUARD, "tools.delegation_live_log.create_live_transcripts", absent_in=("0.18.",)),
        *_of("helpers", "agent.aux_accounting.set_accounting_context", "agent.aux_accounting.reset_accounting_context"),
        *_of("steer", f"{_AGENT}.steer"),
        *_of("usage", "agent.usage_pricing.normalize_usage"),
        *_of("cost", "agent.usage_pricing.estimate_usage_cost"),
        *_of("images", "agent.image_routing.decide_image_input_mode"),
        *_of("retries", f"{_AGENT}._buffer_status", f"{_AGENT}._buffer_vprint"),
        *_of(
            "summary",
            f"{_AGENT}._handle_max_iterations",
            f"{_AGENT}._ensure_primary_openai_client",
            f"{_AGENT}._abort_request_openai_client",
            f"{_AGENT}._anthropic_messages_create",
            f"{_AGENT}._run_codex_stream",
        ),
        *_of("compression", f"{_AGENT}._compress_context", "agent.context_compressor.call_llm"),
    ),
)
