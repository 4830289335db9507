"""What of hermes-agent we replace or rely on without a promise, each with its version and reason.

What has another name, or is a coroutine, in another line of versions: `line`, `coroutine_agent`.
A test of `tests/engine/test_patch.py` fails when a quirk is gone, so that its cure goes too.

- `agent.process_bootstrap._install_safe_stdio` puts a `__slots__` wrapper over sys.stdout at each agent and turn:
  nothing is installed.
- `agent.ssl_verify.resolve_httpx_verify` answers True, which makes httpx parse the CA bundle thrice per request (56 ms):
  one shared SSLContext.
- `agent.ssl_guard._validate_bundle_path` parses the CA bundle for each agent (25 ms): once for each file (`certificate`).
- `run_agent._openrouter_prewarm_done`: the first agent on OpenRouter fetches its list of models unasked: marked as done.
- `agent.model_metadata.fetch_endpoint_model_metadata` sends 6 GETs to the endpoint after the first reply, for prices: its
  cache is filled for endpoints on loopback, which have none.
- `AIAgent._dump_api_request_debug` writes whole requests, with pieces of the key, to `sessions/` after an error: not
  written.
- `tools.delegation_live_log` keeps what delegated agents say in files that no deletion finds, and puts their paths into the
  result, which is saved with the notebook: nothing is kept but our log, and the model is not told of such files.
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
- `AIAgent._strip_think_blocks`, `agent.think_scrubber`, `agent.memory_manager.StreamingContextScrubber` and
  `has_incomplete_scratchpad` cut everything between tags out of answers, examples and quotations too: thoughts that lead a
  reply are told from it before Hermes sees it (`thought`), and nothing else is cut.
- `AIAgent._extract_reasoning` and `_build_assistant_message` take what stands between tags in an answer for reasoning: they
  see no tags.
- `agent.agent_runtime_helpers._iter_pool_sockets`, by which an interrupt finds the sockets to shut, looks in a client's own
  transport alone, and Hermes's clients send by mounted ones: looked for in all, so that a stop closes a request that has
  had no answer yet.
- `openai._streaming.Stream._iter_events` and Hermes's loop over it rely on what no endpoint but OpenAI's holds to: replaced
  (`event_stream`, `chunk`).
- `agent.redact` takes minutes over long words: two of its patterns are replaced (`redaction`).
- `hermes_cli.middleware` goes on after an Exception of a middleware, unrecorded: ours raise BaseExceptions.
"""

from __future__ import annotations

import contextvars
import copy
import importlib
import inspect
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

from hermes_nb.engine.hermes import certificate, event_stream, log_record, redaction
from hermes_nb.engine.hermes.coroutine_loop import settled
from hermes_nb.engine.hermes.line import lines
from hermes_nb.engine.hermes.line.private_name import MissingNames, has, probe
from hermes_nb.engine.hermes.observer import TurnObserver, hear, same_words, spending
from hermes_nb.engine.hermes.thought import ThoughtStream
from hermes_nb.model.mask import Masker

# Tools that the agent loop answers itself, whatever the registry says (`agent/tool_executor.py`).
LOOP_TOOLS = frozenset({"todo", "memory", "session_search", "clarify", "delegate_task", "read_terminal"})
_STOP_POLL_S = 0.1
# How the summary at the turn limit is asked for where it is not by chat completions (`handle_max_iterations`).
_SUMMARY_CALLS = {"anthropic_messages": "_anthropic_messages_create", "codex_responses": "_run_codex_stream"}
_BUNDLE_CHECK = "agent.ssl_guard._validate_bundle_path"
_TRANSCRIPTS = re.compile(r"LIVE TRANSCRIPTS:.*?(?:\n\n|\Z)", re.S)  # of the description of `delegate_task`


def load(masker: Masker) -> SimpleNamespace:
    """Import Hermes, look for every private name that is used of it, disarm it, and return the names the engine uses.

    Raises:
        ImportError: There is none, or it lacks what the engine can't do without (`MissingNames`).
    """
    log_record.install(masker)
    line, installed = lines.installed()
    bootstrap = upstream("agent.process_bootstrap")
    if has("agent.process_bootstrap._install_safe_stdio"):
        bootstrap._install_safe_stdio = _nothing
    found = probe(line, installed)
    if found.is_refused:
        raise MissingNames(found)
    run_agent, plugins = upstream("run_agent"), upstream("hermes_cli.plugins")
    if line.kind == "threaded" and inspect.iscoroutinefunction(run_agent.AIAgent.run_conversation):
        raise ImportError(
            "async-hermes-agent is installed over hermes-agent. Have one of them in an environment: %hermes engine install."
        )
    for name in ("agent.agent_init", "agent.conversation_loop"):
        upstream(name)._install_safe_stdio = _nothing
    redaction.make_linear(upstream("agent.redact"))
    _keep_words(run_agent.AIAgent)
    if has("tools.delegation_live_log"):
        _keep_no_transcripts(upstream("tools.delegation_live_log"), upstream("tools.delegate_tool"))
    pricing, toolsets = upstream("agent.usage_pricing"), upstream("toolsets")
    hermes = SimpleNamespace(
        AIAgent=run_agent.AIAgent,
        registry=upstream("tools.registry").registry,
        version=installed,
        probe=found,
        toolset_names=toolsets.get_toolset_names,
        is_toolset=toolsets.validate_toolset,
        normalize_usage=getattr(pricing, "normalize_usage", _nothing),
        estimate_usage_cost=getattr(pricing, "estimate_usage_cost", _no_price),
        enter_turn=_enter_turn,
        leave_turn=_leave_turn,
        environment={},
        tame=tame,
        listen=listen,
        find_tools=_nothing,  # they are registered when Hermes is imported
        providers=upstream("hermes_cli.auth").PROVIDER_REGISTRY,
        resolve_provider=upstream("hermes_cli.runtime_provider").resolve_runtime_provider,
        plugins=plugins.PluginContext(plugins.PluginManifest(name="hermes_nb"), plugins.get_plugin_manager()),
    )
    if line.kind == "coroutine":
        return importlib.import_module("hermes_nb.engine.hermes.coroutine_agent").adapted(hermes)  # type: ignore[no-any-return]
    certificate.share_context(upstream("agent.ssl_verify"))
    if has(_BUNDLE_CHECK):  # not in the tables: without it nothing is lost but time
        certificate.check_once(upstream(_BUNDLE_CHECK.rpartition(".")[0]))
    _find_all_sockets(upstream("agent.agent_runtime_helpers"))
    if has("agent.context_compressor.call_llm"):
        _hear_helpers(upstream("agent.context_compressor"))
    run_agent._openrouter_prewarm_done.set()
    run_agent.AIAgent._dump_api_request_debug = _nothing
    return hermes


def upstream(name: str) -> Any:
    """A module of hermes-agent, which is untyped."""
    return importlib.import_module(name)


def resolved(path: str, task_id: str) -> Path:
    """The file that a path means to Hermes's file tools in a turn, links followed."""
    found: Path = settled(upstream("tools.file_tools")._resolve_path_for_task(path, task_id))
    return found.resolve()


def danger(name: str, arguments: Mapping[str, Any]) -> str:
    """What Hermes finds dangerous in a command; "" when it finds nothing."""
    if name != "terminal":
        return ""
    found = settled(upstream("tools.approval").detect_dangerous_command(str(arguments.get("command") or "")))
    return str(found[2] or "")


def sees_images(provider: str, model: str) -> bool:
    """Whether images go to a model as they are."""
    if not has("agent.image_routing.decide_image_input_mode"):
        return False
    routing, config = upstream("agent.image_routing"), upstream("hermes_cli.config").load_config()
    return bool(settled(routing.decide_image_input_mode(provider, model, config)) == "native")


def _nothing(*_: Any, **__: Any) -> None:
    return None


def _no_price(*_: Any, **__: Any) -> SimpleNamespace:
    return SimpleNamespace(amount_usd=None)


def _keep_no_transcripts(live_log: Any, delegate_tool: Any) -> None:
    describe = delegate_tool._build_top_level_description
    live_log.create_live_transcripts = lambda tasks, *_, **__: (None, [None] * len(tasks), [])
    delegate_tool._build_top_level_description = lambda: _TRANSCRIPTS.sub("", describe())


def _enter_turn(session_id: str, approve: Callable[..., str]) -> None:
    """What Hermes keeps per thread: who approves, which session, and that nobody can be told anything later."""
    upstream("tools.terminal_tool").set_approval_callback(approve)
    upstream("tools.approval").set_hermes_interactive_context(True)
    name_session(session_id)


def name_session(session_id: str) -> None:
    """Tell Hermes which session this thread, or task, works for."""
    context = upstream("gateway.session_context")
    upstream("tools.approval").set_current_session_key(f"hermes_nb:{session_id}")
    context.set_current_session_id(session_id)
    context._SESSION_ASYNC_DELIVERY.set(False)  # so that delegated work is done within the turn


def _leave_turn() -> None:
    upstream("tools.terminal_tool").set_approval_callback(None)


def _find_all_sockets(helpers: Any) -> None:
    """An interrupt shuts the sockets of all transports of a client."""
    original: Callable[[Any], Iterator[Any]] = helpers._iter_pool_sockets

    def sockets(client: Any) -> Iterator[Any]:
        sender = getattr(client, "_client", None)
        mounted = getattr(sender, "_mounts", None) or {}
        for transport in {id(t): t for t in (getattr(sender, "_transport", None), *mounted.values())}.values():
            yield from original(SimpleNamespace(_client=SimpleNamespace(_transport=transport)))

    helpers._iter_pool_sockets = sockets


class _AsItIs:
    """Stands where Hermes cuts tags out of text that streams in."""

    def feed(self, text: str) -> str:
        return text

    def flush(self) -> str:
        return ""

    def reset(self) -> None:
        return None


class Thoughts:
    """Tells thoughts from the answer while one agent's replies stream in."""

    def __init__(self, agent: Any) -> None:
        self._agent, self._stream = agent, ThoughtStream()

    def feed(self, text: str) -> str:
        """Take a piece; the part of it that belongs to the answer."""
        return self._told(self._stream.feed(text))

    def flush(self) -> str:
        """The reply is over; what was held back of the answer."""
        told = self._told(self._stream.end())
        self._stream.reset()
        return told

    def reset(self) -> None:
        """Another reply begins."""
        self._stream.reset()

    def _told(self, parts: tuple[str, str]) -> str:
        if parts[0]:
            self._agent._fire_reasoning_delta(parts[0])
        return parts[1]


def _keep_words(cls: Any) -> None:
    """No AIAgent of this process, delegated ones included, cuts an answer."""
    extract, build = cls._extract_reasoning, cls._build_assistant_message
    flatten = upstream("agent.message_content").flatten_message_text

    def without_text(message: Any) -> Any:
        content = getattr(message, "content", None)
        if not isinstance(content, str) or not content:
            return message
        copied = copy.copy(message)
        copied.content = None
        return copied

    def built(agent: Any, message: Any, finish_reason: str) -> dict[str, Any]:
        made: dict[str, Any] = build(agent, message, finish_reason)
        if made.get("reasoning") and not agent._extract_reasoning(message):
            made["reasoning"] = None
            if "reasoning_content" in made and not getattr(message, "reasoning_content", None):
                made["reasoning_content"] = " "
        return made

    cls._strip_think_blocks = lambda agent, content: content if isinstance(content, str) else flatten(content) or ""
    cls._extract_reasoning = lambda agent, message: extract(agent, without_text(message))
    cls._build_assistant_message = built
    upstream("agent.conversation_loop").has_incomplete_scratchpad = lambda content: False
    agent_init = upstream("agent.agent_init")
    agent_init.StreamingThinkScrubber = agent_init.StreamingContextScrubber = _AsItIs


# Who commits what a helper model answers meanwhile, on this thread.
HELPED: contextvars.ContextVar[Callable[[Mapping[str, Any], Callable[[], Any]], Any] | None] = contextvars.ContextVar(
    "hermes_nb_helped", default=None
)


def _hear_helpers(compressor: Any) -> None:
    original: Callable[..., Any] = compressor.call_llm

    def call_llm(*args: Any, **options: Any) -> Any:
        heard = HELPED.get()
        if heard is None:
            return original(*args, **options)
        return heard({"messages": options.get("messages") or []}, lambda: original(*args, **options))

    compressor.call_llm = call_llm


def tame(agent: Any) -> None:
    """What each new AIAgent needs."""
    event_stream.install(upstream("openai._streaming"))  # not before: it takes half a second to import
    know_no_prices(agent)
    agent._stream_think_scrubber = Thoughts(agent)
    agent.suppress_status_output = True
    agent._subdirectory_hints = SimpleNamespace(check_tool_call=_nothing)
    agent._print_fn = _nothing


def know_no_prices(agent: Any) -> None:
    """An endpoint on loopback is not asked for prices: it has none."""
    if urlsplit(agent.base_url or "").hostname in ("127.0.0.1", "localhost", "::1"):
        metadata = upstream("agent.model_metadata")
        base_url = metadata._normalize_base_url(agent.base_url)
        metadata._endpoint_model_metadata_cache[base_url] = {}
        metadata._endpoint_model_metadata_cache_time[base_url] = float("inf")


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


def listen(agent: Any, listener: TurnObserver) -> Callable[[], None]:
    """Tell `listener` of one agent's retries, summary and compression; returns what ends it."""
    cls = type(agent)

    def buffer_status(text: str) -> None:
        hear(text, listener)
        cls._buffer_status(agent, text)

    def buffer_vprint(text: str) -> None:
        hear(text, listener)
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
                request,
                lambda r: client.chat.completions.create(**r),
                lambda: agent._abort_request_openai_client(client, reason="stop"),
            )

        return SimpleNamespace(chat=SimpleNamespace(completions=SimpleNamespace(create=create)))

    def compress(messages: list[Any], *args: Any, **options: Any) -> Any:
        n_before, before = len(messages), [dict(m) for m in messages if isinstance(m, Mapping)]
        listener.on_compressing()
        token = HELPED.set(listener.call_helper)
        try:
            with spending() as spent:
                result = cls._compress_context(agent, messages, *args, **options)
        finally:
            HELPED.reset(token)
        listener.on_compressed(n_before, len(result[0]), spent, is_shorter=not same_words(before, result[0]))
        return result

    replaced = {
        "_buffer_status": buffer_status,
        "_buffer_vprint": buffer_vprint,
        "_handle_max_iterations": summarise,
        "_compress_context": compress,
        "_ensure_primary_openai_client": client_for,
    }
    replaced = {name: ours for name, ours in replaced.items() if hasattr(cls, name)}
    vars(agent).update(replaced)

    def end() -> None:
        for name in replaced:
            vars(agent).pop(name, None)

    return end
