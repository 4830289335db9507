"""What of hermes-agent we replace or rely on without a promise, each with its version and reason.

All of hermes-agent 0.19.0. A test of `tests/engine/test_quirk.py` fails when a quirk is gone, so that its cure goes too.

- `agent.process_bootstrap._install_safe_stdio` puts a `__slots__` wrapper over sys.stdout at each agent and turn:
  nothing is installed.
- `agent.ssl_verify.resolve_httpx_verify` answers True, which makes httpx parse the CA bundle thrice per request (56 ms):
  one shared SSLContext.
- `AIAgent._dump_api_request_debug` writes whole requests, with pieces of the key, to `sessions/` after an error: not
  written.
- `AIAgent._subdirectory_hints` appends AGENTS.md files found near path-like arguments to tool results: off, as context
  files are.
- `AIAgent._handle_max_iterations` and `AIAgent._compress_context` call the model where no middleware sees it: wrapped,
  so that the log says so (`turn.py`).
- "Retrying API call in %ss" in its log is the only word about a wait before it is over: read by a logging filter.
- `hermes_cli.middleware` goes on after an Exception of a middleware, unrecorded: ours raise BaseExceptions.
"""

from __future__ import annotations

import importlib
import inspect
import logging
import re
import ssl
import threading
import traceback
from collections.abc import Callable
from importlib.metadata import version
from types import SimpleNamespace
from typing import Any

from hermes_nb.model.mask import Masker

UPSTREAM = "0.19"
# Tools that the agent loop answers itself, whatever the registry says (`agent/tool_executor.py`).
LOOP_TOOLS = frozenset({"todo", "memory", "session_search", "clarify", "delegate_task", "read_terminal"})
_RETRY = re.compile(r"Retrying API call in ([\d.]+)s \(attempt (\d+)/(\d+)\)")


def load(masker: Masker) -> SimpleNamespace:
    """Import Hermes, disarm it, and return the names the engine uses."""
    _mask_log_records(masker)
    upstream("agent.process_bootstrap")._install_safe_stdio = _nothing
    run_agent, plugins = upstream("run_agent"), upstream("hermes_cli.plugins")
    if inspect.iscoroutinefunction(run_agent.AIAgent.run_conversation):
        raise ImportError(
            "async-hermes-agent is installed where hermes-agent is needed. Run %pip uninstall async-hermes-agent and"
            " %pip install --force-reinstall 'hermes-agent>=0.19,<0.20'."
        )
    for name in ("agent.agent_init", "agent.conversation_loop"):
        upstream(name)._install_safe_stdio = _nothing
    _share_ssl_context(upstream("agent.ssl_verify"))
    approval, pricing, toolsets = upstream("tools.approval"), upstream("agent.usage_pricing"), upstream("toolsets")
    return SimpleNamespace(
        AIAgent=run_agent.AIAgent,
        registry=upstream("tools.registry").registry,
        version=version("hermes-agent"),
        toolset_names=toolsets.get_toolset_names,
        is_toolset=toolsets.validate_toolset,
        normalize_usage=pricing.normalize_usage,
        estimate_usage_cost=pricing.estimate_usage_cost,
        set_approval_callback=upstream("tools.terminal_tool").set_approval_callback,
        set_interactive=approval.set_hermes_interactive_context,
        set_session_key=approval.set_current_session_key,
        providers=upstream("hermes_cli.auth").PROVIDER_REGISTRY,
        resolve_provider=upstream("hermes_cli.runtime_provider").resolve_runtime_provider,
        plugins=plugins.PluginContext(plugins.PluginManifest(name="hermes_nb"), plugins.get_plugin_manager()),
    )


def upstream(name: str) -> Any:
    """A module of hermes-agent, which is untyped."""
    return importlib.import_module(name)


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _share_ssl_context(ssl_verify: Any) -> None:
    original: Callable[..., Any] = ssl_verify.resolve_httpx_verify
    lock = threading.Lock()
    contexts: list[ssl.SSLContext] = []

    def resolve(**options: Any) -> Any:
        verify = original(**options)
        if verify is not True:
            return verify
        with lock:
            if not contexts:
                import certifi

                contexts.append(ssl.create_default_context(cafile=certifi.where()))
            return contexts[0]

    ssl_verify.resolve_httpx_verify = resolve


def tame(agent: Any) -> None:
    """What each new AIAgent needs."""
    agent.suppress_status_output = True
    agent._dump_api_request_debug = _nothing
    agent._subdirectory_hints = SimpleNamespace(check_tool_call=_nothing)
    agent._print_fn = _nothing


def _mask_log_records(masker: Masker) -> None:
    """Every log record of the process loses the secrets known when it is made."""
    make = logging.getLogRecordFactory()

    def masked(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        try:
            text = record.getMessage()
        except (TypeError, ValueError):
            return record
        clean = masker.text(text)
        if clean is not text:
            record.msg, record.args = clean, None
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = masker.text("".join(traceback.format_exception(*record.exc_info)).rstrip())
        return record

    logging.setLogRecordFactory(masked)


class RetryListener(logging.Filter):
    """Hears Hermes say how long it waits before it asks the model again.

    Args:
        on_wait: Called on the turn's thread with (wait_s, n_retry, n_retries_max).
    """

    def __init__(self, on_wait: Callable[[float, int, int], None]) -> None:
        super().__init__()
        self._on_wait = on_wait

    def install(self) -> None:
        """Listen from now on."""
        logging.getLogger("agent.conversation_loop").addFilter(self)

    def filter(self, record: logging.LogRecord) -> bool:
        """Always True: nothing is dropped."""
        if isinstance(record.msg, str) and record.msg.startswith("Retrying API call in"):
            found = _RETRY.match(record.getMessage())
            if found:
                self._on_wait(float(found[1]), int(found[2]), int(found[3]))
        return True
