"""What each key of Hermes's configuration does here: it takes effect, or it is refused with the way to say it.

`Agent(config=...)` is read by a Hermes that runs turns in a worker and nothing else: no terminal of its own, no gateway, no
scheduler. A key that only those read would be accepted and do nothing, so it is refused when the agent is bound.
tests/engine/test_hermes_setting.py sets each key of `EFFECTIVE`, sees its effect, and compares both with Hermes's own list,
so that a key which a newer Hermes adds has to be decided here first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_nb._near import near

# Kind of a value -> (the types it may have, what the refusal calls it).
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "switch": ((bool,), "True or False"),
    "count": ((int,), "a whole number of 0 or more"),
    "number": ((int, float), "a number of 0 or more"),
    "text": ((str,), "text"),
    "texts": ((list, tuple), "a list of texts"),
    "settings": ((dict,), "a dict"),
    "switch or texts": ((bool, str, list, tuple), "True, False, 'auto' or a list of texts"),
}

_ENDPOINT = {
    "provider": "text",
    "model": "text",
    "base_url": "text",
    "api_key": "text",
    "timeout": "number",
    "extra_body": "settings",
    "reasoning_effort": "text",
}

# Section -> key -> kind of its value: what takes effect. A section of one value has the key "".
EFFECTIVE: dict[str, dict[str, str]] = {
    "model": {"context_length": "count", "max_tokens": "count", "ollama_num_ctx": "count", "supports_vision": "switch"},
    "agent": {
        "api_max_retries": "count",
        "environment_hint": "text",
        "environment_probe": "switch",
        "image_input_mode": "text",
        "parallel_tool_call_guidance": "switch",
        "task_completion_guidance": "switch",
        "tool_use_enforcement": "switch or texts",
    },
    "compression": {
        "abort_on_summary_failure": "switch",
        "enabled": "switch",
        "protect_first_n": "count",
        "protect_last_n": "count",
        "target_ratio": "number",
        "threshold": "number",
    },
    "tool_loop_guardrails": {
        "hard_stop_after": "settings",
        "hard_stop_enabled": "switch",
        "warn_after": "settings",
        "warnings_enabled": "switch",
    },
    "tool_output": {"max_bytes": "count", "max_line_length": "count", "max_lines": "count"},
    "file_read_max_chars": {"": "count"},
    "memory": {
        "memory_char_limit": "count",
        "memory_enabled": "switch",
        "nudge_interval": "count",
        "user_char_limit": "count",
        "user_profile_enabled": "switch",
    },
    "skills": {
        "creation_nudge_interval": "count",
        "disabled": "texts",
        "external_dirs": "texts",
        "inline_shell": "switch",
        "inline_shell_timeout": "number",
        "template_vars": "switch",
    },
    "delegation": {
        "api_key": "text",
        "api_mode": "text",
        "base_url": "text",
        "child_timeout_seconds": "number",
        "max_concurrent_children": "count",
        "max_iterations": "count",
        "max_spawn_depth": "count",
        "max_summary_chars": "count",
        "model": "text",
        "orchestrator_enabled": "switch",
        "provider": "text",
        "reasoning_effort": "text",
    },
    "auxiliary": {"compression": "settings", "vision": "settings", "web_extract": "settings"},
    "code_execution": {"max_tool_calls": "count", "mode": "text", "timeout": "number"},
    "web": {"backend": "text", "extract_backend": "text", "extract_char_limit": "count", "search_backend": "text"},
    "browser": {"cdp_url": "text", "command_timeout": "number", "headed": "switch"},
    "security": {"allow_private_urls": "switch", "website_blocklist": "settings"},
    "terminal": {"cwd": "text", "timeout": "number"},
    "tts": {
        "deepinfra": "settings",
        "edge": "settings",
        "elevenlabs": "settings",
        "gemini": "settings",
        "kittentts": "settings",
        "minimax": "settings",
        "mistral": "settings",
        "neutts": "settings",
        "openai": "settings",
        "piper": "settings",
        "provider": "text",
        "xai": "settings",
    },
    "image_gen": {"model": "text", "provider": "text"},
    "x_search": {"model": "text", "retries": "count", "timeout_seconds": "number"},
}
_AUXILIARY = {**_ENDPOINT, "context_length": "count", "download_timeout": "number"}

_TERMINAL = "belongs to Hermes's own terminal, dashboard and updates, which are not started here"
_GATEWAY = "belongs to Hermes's messaging gateway, which is not started here"
_SCHEDULER = "belongs to Hermes's scheduler and boards, which are not started here"
_ENVIRONMENT = "is read before an agent's config is in force; say it by Process(options={'environment': {...}})"
_PLACE = "moves commands into a container or to another machine, past the notebook's approvals; choose a runtime instead"
_CODING = "puts the working directory's git status and last commits into the prompt, unasked; tell it in instructions="
_APPROVAL = "is never left to an agent's config: its tools ask in the cell, and %hermes approve answers"
_MODEL = "is chosen by Agent(model=Model(id, provider, base_url=..., api_key=...))"
_CONTROL = "is kept by hermes_nb, in the session's log"
_HELPER = "is a model call that hermes_nb does not make"
_MCP = "is said by Agent(mcp=[McpStdio(...), McpHttp(...)])"
_PLUGIN = "runs code in the worker that no log sees; give functions by tools="

# Section, or section.key, -> why it is refused, as the end of a sentence.
REFUSED: dict[str, str] = {
    "_config_version": "is Hermes's own mark of its file",
    "agent.clarify_timeout": "is the turn's timeout_s",
    "agent.coding_context": _CODING,
    "agent.coding_instructions": _CODING,
    "agent.disabled_toolsets": "is not needed: an agent has the toolsets that Agent(toolsets=[...]) names",
    "agent.gateway_auto_continue_freshness": _GATEWAY,
    "agent.gateway_notify_interval": _GATEWAY,
    "agent.gateway_timeout": _GATEWAY,
    "agent.gateway_timeout_warning": _GATEWAY,
    "agent.intent_ack_continuation": "starts model calls that no question asked for",
    "agent.local_stream_stale_timeout": "is the turn's timeout_s",
    "agent.max_turns": "is Agent(max_turns=...)",
    "agent.max_verify_nudges": _CODING,
    "agent.reasoning_effort": "is said by Model(..., reasoning_effort=...)",
    "agent.reasoning_overrides": "is said by Model(..., reasoning_effort=...)",
    "agent.restart_drain_timeout": _GATEWAY,
    "agent.service_tier": "is read by Hermes's own terminal alone",
    "agent.verify_guidance": _CODING,
    "agent.verify_on_stop": _CODING,
    "always_log_local": _GATEWAY,
    "approvals": _APPROVAL,
    "auxiliary.approval": _APPROVAL,
    "auxiliary.background_review": _HELPER,
    "auxiliary.curator": _HELPER,
    "auxiliary.goal_judge": _HELPER,
    "auxiliary.kanban_decomposer": _SCHEDULER,
    "auxiliary.mcp": _HELPER,
    "auxiliary.memory_query_rewrite": _HELPER,
    "auxiliary.moa_aggregator": _HELPER,
    "auxiliary.moa_reference": _HELPER,
    "auxiliary.monitor": _HELPER,
    "auxiliary.profile_describer": _HELPER,
    "auxiliary.skills_hub": _HELPER,
    "auxiliary.title_generation": _HELPER,
    "auxiliary.transient_retries": "is said by agent.api_max_retries",
    "auxiliary.triage_specifier": _SCHEDULER,
    "auxiliary.tts_audio_tags": _HELPER,
    "bedrock": _ENVIRONMENT,
    "browser.allow_private_urls": "is said by security.allow_private_urls",
    "browser.allow_unsafe_evaluate": _APPROVAL,
    "browser.auto_local_for_private_urls": "is said by security.allow_private_urls",
    "browser.camofox": _ENVIRONMENT,
    "browser.dialog_policy": "needs a browser that Hermes's own terminal supervises",
    "browser.dialog_timeout_s": "needs a browser that Hermes's own terminal supervises",
    "browser.engine": "is chosen once a worker, by its environment",
    "browser.inactivity_timeout": _ENVIRONMENT,
    "browser.record_sessions": "keeps files that no deletion of a session finds",
    "browser.restrict_evaluate": _APPROVAL,
    "checkpoints": "is Hermes's undo of files, which its terminal alone offers",
    "command_allowlist": _APPROVAL,
    "compression.codex_app_server_auto": "belongs to OpenAI's Codex server, which is not started here",
    "compression.codex_gpt55_autoraise": "is the threshold: say compression.threshold",
    "compression.codex_gpt55_autoraise_notice": _TERMINAL,
    "compression.hygiene_hard_message_limit": _GATEWAY,
    "compression.in_place": _CONTROL,
    "computer_use": "has one key, of a telemetry that is off",
    "context": "names a plug-in of Hermes, and none is loaded",
    "context_file_max_chars": "is of AGENTS.md and the like, which are never read unasked; say it in instructions=",
    "credential_pool_strategies": "is of keys that Hermes keeps itself; a Model has one key",
    "cron": _SCHEDULER,
    "curator": _HELPER,
    "custom_providers": _MODEL,
    "dashboard": _TERMINAL,
    "delegation.inherit_mcp_toolsets": "is so: what an agent delegates to has its toolsets",
    "delegation.subagent_auto_approve": _APPROVAL,
    "desktop": _TERMINAL,
    "discord": _GATEWAY,
    "display": _TERMINAL,
    "fallback_model": "is said by Model(..., fallbacks=[...])",
    "fallback_providers": "is said by Model(..., fallbacks=[...])",
    "filter_silence_narration": _GATEWAY,
    "gateway": _GATEWAY,
    "goals": _HELPER,
    "group_sessions_per_user": _GATEWAY,
    "honcho": "is an external memory, which is not started here; toolsets=['memory'] keeps notes in files",
    "hooks": _PLUGIN,
    "hooks_auto_accept": _PLUGIN,
    "human_delay": _GATEWAY,
    "kanban": _SCHEDULER,
    "known_plugin_toolsets": _PLUGIN,
    "logging": "is the worker's, whose log holds no text of people, models or tools",
    "lsp": "starts language servers beside the agent, which no log sees",
    "matrix": _GATEWAY,
    "max_concurrent_sessions": _GATEWAY,
    "max_live_sessions": _GATEWAY,
    "mattermost": _GATEWAY,
    "mcp": _MCP,
    "mcp_discovery_timeout": _MCP,
    "mcp_servers": _MCP,
    "memory.provider": "is an external memory, which is not started here; toolsets=['memory'] keeps notes in files",
    "memory.write_approval": "is not needed: what is written to memory is an event of the turn",
    "moa": _HELPER,
    "model_catalog": _MODEL,
    "multiplex_profiles": _GATEWAY,
    "network": "is read at the start of Hermes's own terminal alone",
    "onboarding": _TERMINAL,
    "openrouter": "is read by Hermes's own terminal alone",
    "paste_collapse_char_threshold": _TERMINAL,
    "paste_collapse_threshold": _TERMINAL,
    "paste_collapse_threshold_fallback": _TERMINAL,
    "personalities": "is said by Agent(instructions=...)",
    "platform_hints": _GATEWAY,
    "platform_toolsets": "is Agent(toolsets=[...])",
    "platforms": _GATEWAY,
    "plugins": _PLUGIN,
    "prefill_messages_file": "is read by Hermes's own terminal alone; say it in instructions=",
    "privacy": _GATEWAY,
    "profile_routes": _GATEWAY,
    "prompt_caching": "is said by Model(..., prompt_cache=...)",
    "providers": _MODEL,
    "quick_commands": _TERMINAL,
    "require_mention": _GATEWAY,
    "reset_triggers": _GATEWAY,
    "secrets": _ENVIRONMENT,
    "security.acked_advisories": _TERMINAL,
    "security.allow_lazy_installs": "is never left to an agent: install the package, or %hermes engine install",
    "security.redact_secrets": "is hermes_nb's: secrets are masked in all that is kept or shown",
    "security.tirith_enabled": "downloads a program at the first command",
    "security.tirith_fail_open": "downloads a program at the first command",
    "security.tirith_path": "downloads a program at the first command",
    "security.tirith_timeout": "downloads a program at the first command",
    "session_reset": _GATEWAY,
    "sessions": _CONTROL,
    "signal": _GATEWAY,
    "skills.guard_agent_created": _APPROVAL,
    "skills.write_approval": "is so: writing a skill asks in the cell",
    "slack": _GATEWAY,
    "smart_model_routing": _MODEL,
    "streaming": _GATEWAY,
    "stt": _GATEWAY,
    "stt_echo_transcripts": _GATEWAY,
    "telegram": _GATEWAY,
    "terminal.auto_source_bashrc": _ENVIRONMENT,
    "terminal.backend": _PLACE,
    "terminal.container_cpu": _PLACE,
    "terminal.container_disk": _PLACE,
    "terminal.container_memory": _PLACE,
    "terminal.container_persistent": _PLACE,
    "terminal.daemon_term_grace_seconds": _GATEWAY,
    "terminal.daytona_image": _PLACE,
    "terminal.docker_env": _PLACE,
    "terminal.docker_extra_args": _PLACE,
    "terminal.docker_forward_env": _PLACE,
    "terminal.docker_image": _PLACE,
    "terminal.docker_mount_cwd_to_workspace": _PLACE,
    "terminal.docker_network": _PLACE,
    "terminal.docker_run_as_host_user": _PLACE,
    "terminal.docker_volumes": _PLACE,
    "terminal.env_passthrough": _ENVIRONMENT,
    "terminal.home_mode": _ENVIRONMENT,
    "terminal.modal_image": _PLACE,
    "terminal.modal_mode": _PLACE,
    "terminal.persistent_shell": _PLACE,
    "terminal.shell_init_files": _ENVIRONMENT,
    "terminal.singularity_image": _PLACE,
    "thread_sessions_per_user": _GATEWAY,
    "timezone": "is the session's: dates in a prompt are those of its first day",
    "tools": "hides tools behind a search; an agent has few enough to be shown them",
    "toolsets": "is Agent(toolsets=[...])",
    "unauthorized_dm_behavior": _GATEWAY,
    "updates": _TERMINAL,
    "vertex": _ENVIRONMENT,
    "video_gen": "is chosen by the keys there are; say them by Process(options={'environment': {...}})",
    "voice": _TERMINAL,
    "whatsapp": _GATEWAY,
    "x_search.reasoning_effort": "is not sent by Hermes 0.19",
}


def problem(config: Mapping[str, Any]) -> str | None:
    """What is wrong with an agent's config, in a sentence that names the key; None when each key takes effect."""
    for name, value in config.items():
        section = str(name)
        if section in REFUSED:
            return _refused(section)
        if section not in EFFECTIVE:
            known = [*EFFECTIVE, *REFUSED]
            return f"config: Hermes has no setting {section!r}.{near(section, known)} Known: {', '.join(sorted(EFFECTIVE))}."
        keys = EFFECTIVE[section]
        said = _misfit(section, value, keys[""]) if "" in keys else _in_section(section, value, keys)
        if said is not None:
            return said
    return None


def _in_section(section: str, given: Any, keys: Mapping[str, str]) -> str | None:
    if not isinstance(given, Mapping):
        return f"config: {section} takes a dict with any of {', '.join(sorted(keys))}, not {given!r}."
    for name, value in given.items():
        path = f"{section}.{name}"
        if path in REFUSED:
            return _refused(path)
        if name not in keys:
            return (
                f"config: Hermes has no setting {path!r}.{near(str(name), keys)}"
                f" Known in {section}: {', '.join(sorted(keys))}."
            )
        said = _misfit(path, value, keys[str(name)])
        if said is None and section == "auxiliary":
            said = _in_section(path, value, _AUXILIARY)
        if said is not None:
            return said
    return None


def _misfit(path: str, value: Any, kind: str) -> str | None:
    types, called = _KINDS[kind]
    is_fit = isinstance(value, types) and (bool in types or not isinstance(value, bool))
    if is_fit and kind in ("count", "number"):
        is_fit = value >= 0
    return None if is_fit else f"config: {path} must be {called}, not {value!r}."


def _refused(path: str) -> str:
    return f"config: {path!r} has no effect here: it {REFUSED[path]}."
