"""What of hermes-agent we replace or rely on without a promise, each with its version and reason.

All of hermes-agent 0.19.0. A test of `tests/engine/test_quirk.py` fails when a quirk is gone, so that its cure goes too.

- `agent.process_bootstrap._install_safe_stdio` puts a `__slots__` wrapper over sys.stdout at each agent and turn:
  nothing is installed.
- `agent.ssl_verify.resolve_httpx_verify` answers True, which makes httpx parse the CA bundle thrice per request (56 ms):
  one shared SSLContext.
- `run_agent._openrouter_prewarm_done`: the first agent on OpenRouter fetches its list of models unasked: marked as done.
- `agent.model_metadata.fetch_endpoint_model_metadata` sends 6 GETs to the endpoint after the first reply, for prices: its
  cache is filled for endpoints on loopback, which have none.
- `AIAgent._dump_api_request_debug` writes whole requests, with pieces of the key, to `sessions/` after an error: not
  written.
- `AIAgent._subdirectory_hints` appends AGENTS.md files found near path-like arguments to tool results: off, as context
  files are.
- `AIAgent._handle_max_iterations` and `AIAgent._compress_context` call the model where no middleware sees it: wrapped,
  so that the log says so.
- `agent.context_compressor.call_llm`, by which `_compress_context` asks for its summary, is replaced: the answer is
  committed, so that a resumed turn shortens its conversation to the same and goes on from there.
- A wait before a retry is only said to `AIAgent._buffer_status` and `_buffer_vprint`, which keep it until the turn failed:
  heard there.
- `tools.file_tools._resolve_path_for_task` says which file a path means; relied on to tell who may be read unasked.
- `AIAgent._sanitize_api_messages` drops calls whose id was used before in the conversation, with their results: ids are made
  unique (`call_id`).
- `hermes_cli.middleware` goes on after an Exception of a middleware, unrecorded: ours raise BaseExceptions.
"""

from __future__ import annotations

import contextlib
import contextvars
import importlib
import inspect
import logging
import os
import re
import ssl
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol
from urllib.parse import urlsplit

from hermes_nb import _settings
from hermes_nb.model.mask import Masker

UPSTREAM = "0.19"
# Tools that the agent loop answers itself, whatever the registry says (`agent/tool_executor.py`).
LOOP_TOOLS = frozenset({"todo", "memory", "session_search", "clarify", "delegate_task", "read_terminal"})
_STOP_POLL_S = 0.1
# How the summary at the turn limit is asked for where it is not by chat completions (`handle_max_iterations`).
_SUMMARY_CALLS = {"anthropic_messages": "_anthropic_messages_create", "codex_responses": "_run_codex_stream"}
_WAIT = re.compile(r"(?:Retrying in|Waiting) ([\d.]+)s(?: \(attempt (\d+)/(\d+)\))?")


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
    _hear_helpers(upstream("agent.context_compressor"))
    run_agent._openrouter_prewarm_done.set()
    run_agent.AIAgent._dump_api_request_debug = _nothing
    pricing, toolsets = upstream("agent.usage_pricing"), upstream("toolsets")
    return SimpleNamespace(
        AIAgent=run_agent.AIAgent,
        registry=upstream("tools.registry").registry,
        version=version("hermes-agent"),
        toolset_names=toolsets.get_toolset_names,
        is_toolset=toolsets.validate_toolset,
        normalize_usage=pricing.normalize_usage,
        estimate_usage_cost=pricing.estimate_usage_cost,
        enter_turn=_enter_turn,
        leave_turn=_leave_turn,
        providers=upstream("hermes_cli.auth").PROVIDER_REGISTRY,
        resolve_provider=upstream("hermes_cli.runtime_provider").resolve_runtime_provider,
        plugins=plugins.PluginContext(plugins.PluginManifest(name="hermes_nb"), plugins.get_plugin_manager()),
    )


def upstream(name: str) -> Any:
    """A module of hermes-agent, which is untyped."""
    return importlib.import_module(name)


def resolved(path: str, task_id: str) -> Path:
    """The file that a path means to Hermes's file tools in a turn, links followed."""
    found: Path = upstream("tools.file_tools")._resolve_path_for_task(path, task_id)
    return found.resolve()


def danger(name: str, arguments: Mapping[str, Any]) -> str:
    """What Hermes finds dangerous in a command; "" when it finds nothing."""
    if name != "terminal":
        return ""
    found = upstream("tools.approval").detect_dangerous_command(str(arguments.get("command") or ""))
    return str(found[2] or "")


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _enter_turn(session_id: str, approve: Callable[..., str]) -> None:
    """What Hermes keeps per thread: who approves, which session, and that nobody can be told anything later."""
    approval, context = upstream("tools.approval"), upstream("gateway.session_context")
    upstream("tools.terminal_tool").set_approval_callback(approve)
    approval.set_hermes_interactive_context(True)
    approval.set_current_session_key(f"hermes_nb:{session_id}")
    context.set_current_session_id(session_id)
    context.declare_stateless_channel()  # so that delegated work is done within the turn


def _leave_turn() -> None:
    upstream("tools.terminal_tool").set_approval_callback(None)


_CA_VARIABLES = ("HERMES_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def _share_ssl_context(ssl_verify: Any) -> None:
    """One TLS context for each set of certificates, as Hermes chooses them, instead of one for each request."""
    original: Callable[..., Any] = ssl_verify.resolve_httpx_verify
    lock = threading.Lock()
    contexts: dict[tuple[Any, ...], ssl.SSLContext] = {}

    def resolve(*, ca_bundle: str | None = None, ssl_verify: Any = None, base_url: str = "") -> Any:
        named = [ca_bundle or "", *(_settings.variable(name) or "" for name in _CA_VARIABLES)]
        key = (*named, *(_file_mark(path) for path in named), repr(ssl_verify))
        with lock:
            if key not in contexts:
                verify = original(ca_bundle=ca_bundle, ssl_verify=ssl_verify, base_url=base_url)
                if verify is True:
                    import certifi

                    verify = ssl.create_default_context(cafile=certifi.where())
                if not isinstance(verify, ssl.SSLContext):
                    return verify
                contexts[key] = verify
            return contexts[key]

    ssl_verify.resolve_httpx_verify = resolve


def _file_mark(path: str) -> tuple[int, int] | None:
    """What tells that a file was replaced."""
    try:
        found = os.stat(Path(path.strip()).expanduser()) if path.strip() else None  # noqa: PTH116
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size)


# Who commits what a helper model answers meanwhile, on this thread.
_HELPED: contextvars.ContextVar[Callable[[Mapping[str, Any], Callable[[], Any]], Any] | None] = contextvars.ContextVar(
    "hermes_nb_helped", default=None
)


def _hear_helpers(compressor: Any) -> None:
    original: Callable[..., Any] = compressor.call_llm

    def call_llm(*args: Any, **options: Any) -> Any:
        heard = _HELPED.get()
        if heard is None:
            return original(*args, **options)
        return heard({"messages": options.get("messages") or []}, lambda: original(*args, **options))

    compressor.call_llm = call_llm


def tame(agent: Any) -> None:
    """What each new AIAgent needs."""
    if urlsplit(agent.base_url or "").hostname in ("127.0.0.1", "localhost", "::1"):
        metadata = upstream("agent.model_metadata")
        base_url = metadata._normalize_base_url(agent.base_url)
        metadata._endpoint_model_metadata_cache[base_url] = {}
        metadata._endpoint_model_metadata_cache_time[base_url] = float("inf")
    agent.suppress_status_output = True
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


class Spent:
    """What Hermes's helper models cost meanwhile (compression, vision, web pages); stands where its accounting goes."""

    def __init__(self) -> None:
        self.usage: Counter[str] = Counter()
        self.cost_usd: float | None = None

    def record_auxiliary_usage(self, session_id: str, task: str, **counts: Any) -> None:
        """Called by `agent.aux_accounting` for each response."""
        del session_id, task
        cached = counts.get("cache_read_tokens", 0), counts.get("cache_write_tokens", 0)
        self.usage["input_tokens"] += counts.get("input_tokens", 0) + sum(cached)
        for name in ("output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens"):
            if counts.get(name):
                self.usage[name] += counts[name]
        cost = counts.get("estimated_cost_usd")
        self.cost_usd = self.cost_usd if cost is None else (self.cost_usd or 0.0) + cost

    def data(self) -> dict[str, Any]:
        """usage and cost_usd, where there are any."""
        found: dict[str, Any] = {"usage": dict(self.usage)} if self.usage else {}
        return found | ({} if self.cost_usd is None else {"cost_usd": self.cost_usd})


@contextlib.contextmanager
def spending() -> Iterator[Spent]:
    """Count what helper models cost within the block, on this thread and those Hermes gives its context."""
    accounting = upstream("agent.aux_accounting")
    spent = Spent()
    token = accounting.set_accounting_context(spent, "hermes_nb")
    try:
        yield spent
    finally:
        accounting.reset_accounting_context(token)


class Listener(Protocol):
    """Who hears what Hermes says in passing; called on the turn's thread, `on_reconnect` also on Hermes's own."""

    def on_wait(self, wait_s: float, n_retry: int, n_retries_max: int) -> None:
        """Hermes waits before it asks the model again."""

    def on_reconnect(self, reason: str, n_retry: int, n_retries_max: int) -> None:
        """The stream broke; Hermes asks again at once. 0 where it does not count."""

    @property
    def is_stopping(self) -> bool:
        """Whether the turn is to end."""

    def call_model(self, request: Mapping[str, Any], next_call: Callable[..., Any], context: Mapping[str, Any]) -> Any:
        """The limit of model calls is reached; Hermes asks for a summary, on a client of its own."""

    def on_unseen_summary(self) -> None:
        """The same, by a way that can't be recorded."""

    def on_compressing(self) -> None:
        """The conversation is about to be shortened, by a model call; may raise a BaseException to prevent it."""

    def call_helper(self, request: Mapping[str, Any], send: Callable[[], Any]) -> Any:
        """The answer of the model that shortens the conversation: `send` asks it."""

    def on_compressed(self, n_before: int, n_after: int, spent: Spent) -> None:
        """The conversation was shortened, by a model call that cost `spent`."""


def _reconnect(text: str) -> tuple[str, int, int]:
    """(reason, n_retry, n_retries_max) of what Hermes says about a stream that broke or fell silent."""
    broke = re.search(r"stream drop.*?\((\w+)\).*?retry (\d+)/(\d+)", text)
    if broke:
        return f"The stream broke ({broke[1]}).", int(broke[2]) - 1, int(broke[3]) - 1
    silent = re.search(r"No response from provider for (\d+)s", text)
    return (f"No answer for {silent[1]} s." if silent else " ".join(text.split())), 0, 0


class _Later:
    """A call in a thread of its own."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self._done = threading.Event()
        self._error: Exception | None = None
        self._value: Any = None
        threading.Thread(target=self._run, args=(call,), name="hermes-nb-summary", daemon=True).start()

    def _run(self, call: Callable[[], Any]) -> None:
        try:
            self._value = call()
        except Exception as exc:  # noqa: BLE001 - raised where the value is asked for
            self._error = exc
        finally:
            self._done.set()

    def is_there(self, timeout_s: float) -> bool:
        return self._done.wait(timeout_s)

    def value(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


def listen(agent: Any, listener: Listener) -> Callable[[], None]:
    """Tell `listener` of one agent's retries, summary and compression; returns what ends it."""
    cls = type(agent)

    def said(text: str) -> None:
        found = _WAIT.search(text)
        if found:
            n_retry = int(found[2] or 1) - (found[0].startswith("Waiting"))
            listener.on_wait(float(found[1]), max(n_retry, 1), int(found[3] or 0))
        elif "reconnecting" in text.lower():
            listener.on_reconnect(*_reconnect(text))

    def buffer_status(text: str) -> None:
        said(text)
        cls._buffer_status(agent, text)

    def buffer_vprint(text: str) -> None:
        said(text)
        cls._buffer_vprint(agent, text)

    def heard(request: Mapping[str, Any], send: Callable[[Mapping[str, Any]], Any], abort: Callable[[], None]) -> Any:
        def sent(request: Mapping[str, Any]) -> Any:
            answer = _Later(lambda: send(request))
            while not answer.is_there(_STOP_POLL_S):
                if listener.is_stopping:
                    abort()
                    raise InterruptedError("Stopped while the model wrote its summary.")
            return answer.value()

        context = {"api_request_id": "iteration_limit_summary", "model": agent.model, "provider": agent.provider}
        return listener.call_model(request, sent, context)

    def summarise(*args: Any) -> Any:
        name = _SUMMARY_CALLS.get(agent.api_mode)
        if name is None and agent.api_mode != "chat_completions":
            listener.on_unseen_summary()
        if name is not None:
            vars(agent)[name] = lambda request: heard(request, lambda r: getattr(cls, name)(agent, r), _nothing)
        try:
            return cls._handle_max_iterations(agent, *args)
        finally:
            vars(agent).pop(name, None)

    def client_for(*, reason: str) -> Any:
        client = cls._ensure_primary_openai_client(agent, reason=reason)
        if not reason.startswith("iteration_limit_summary"):
            return client

        def create(**request: Any) -> Any:
            return heard(
                request, lambda r: client.chat.completions.create(**r),
                lambda: agent._abort_request_openai_client(client, reason="stop"),
            )  # fmt: skip

        return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))

    def compress(messages: list[Any], *args: Any, **options: Any) -> Any:
        n_before = len(messages)
        listener.on_compressing()
        token = _HELPED.set(listener.call_helper)
        try:
            with spending() as spent:
                result = cls._compress_context(agent, messages, *args, **options)
        finally:
            _HELPED.reset(token)
        listener.on_compressed(n_before, len(result[0]), spent)
        return result

    replaced = {
        "_buffer_status": buffer_status, "_buffer_vprint": buffer_vprint, "_handle_max_iterations": summarise,
        "_compress_context": compress, "_ensure_primary_openai_client": client_for,
    }  # fmt: skip
    vars(agent).update(replaced)

    def end() -> None:
        for name in replaced:
            vars(agent).pop(name, None)

    return end
