"""Each quirk of hermes-agent we cure is still there: a test that fails here says that its cure can go."""

from __future__ import annotations

import importlib.util
import json
import os
import ssl
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hermes_nb.engine.hermes import certificate, patch

pytestmark = pytest.mark.hermes

# Run beside an untouched Hermes; prints what is true of it as JSON.
PROBE = """
import inspect, json, logging, os, ssl, sys
facts = {}
stdout = sys.stdout
from run_agent import AIAgent
import run_agent
from agent import agent_runtime_helpers, chat_completion_helpers, conversation_loop, model_metadata, ssl_verify
from agent.tool_dispatch_helpers import make_tool_result_message
from hermes_cli import middleware, plugins
from tools.registry import registry

agent = AIAgent(base_url="http://127.0.0.1:9/v1", api_key="k" * 20, provider="custom", model="m", quiet_mode=True,
                enabled_toolsets=[], skip_context_files=True, skip_memory=True)
facts["stdout_is_wrapped"] = sys.stdout is not stdout and "__slots__" in vars(type(sys.stdout))
facts["bundle_is_read_for_each_agent"] = "ssl.create_default_context" in inspect.getsource(
    __import__("agent.ssl_guard", fromlist=["x"])._validate_bundle_path)
facts["verify_is_true"] = ssl_verify.resolve_httpx_verify() is True
facts["dumps_requests"] = "request_dump_" in inspect.getsource(agent_runtime_helpers.dump_api_request_debug)
facts["hints"] = hasattr(agent._subdirectory_hints, "check_tool_call")
summary = inspect.getsource(chat_completion_helpers.handle_max_iterations)
facts["summary_bypasses_middleware"] = '_ensure_primary_openai_client(reason="iteration_limit_summary")' in summary
facts["summary_calls"] = all(f"agent.{call}(" in summary for call in ("_anthropic_messages_create", "_run_codex_stream"))
facts["waits_are_buffered"] = all(
    text in inspect.getsource(conversation_loop)
    for text in ('_buffer_status(f"⏳ Retrying in {wait_time:.1f}s (attempt', 'Waiting {wait_time:.1f}s (attempt'))
facts["prewarms_openrouter"] = not run_agent._openrouter_prewarm_done.is_set()
facts["probes_endpoints"] = model_metadata.fetch_endpoint_model_metadata("http://127.0.0.1:9/v1") == {} and (
    "http://127.0.0.1:9/v1" in model_metadata._endpoint_model_metadata_cache)

ctx = plugins.PluginContext(plugins.PluginManifest(name="t"), plugins.get_plugin_manager())
def broken(request, next_call, **context):
    raise ValueError("mine")
ctx.register_middleware("llm_execution", broken)
logging.disable(logging.CRITICAL)
facts["middleware_fails_open"] = middleware.run_llm_execution_middleware({}, lambda r: "went on") == "went on"

schema = {"name": "terminal", "description": "", "parameters": {"type": "object", "properties": {}}}
registry.register(name="terminal", toolset="mine", schema=schema, handler=lambda a, **k: "mine")
facts["owned_names_are_refused_silently"] = registry.get_toolset_for_tool("terminal") != "mine"

from types import SimpleNamespace as N
calls = [N(id=str(i), function=N(name="f", arguments="{}")) for i in range(2)]
facts["identical_calls_are_dropped"] = len(agent._deduplicate_tool_calls(calls)) == 1
twice = [{"role": "user", "content": "q"}]
for n in "12":
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    twice.append({"role": "assistant", "content": "", "tool_calls": [call]})
    twice.append({"role": "tool", "tool_call_id": "c", "content": n})
facts["ids_used_again_are_dropped"] = [
    m["content"] for m in agent._sanitize_api_messages(twice) if m["role"] == "tool"] == ["1"]
facts["asks_no_one_about_scripts"] = __import__("tools.approval", fromlist=["x"]).check_execute_code_guard(
    "import os", "local")["approved"]
facts["approves_by_model"] = "smart" == __import__("hermes_cli.config", fromlist=["x"]).DEFAULT_CONFIG["approvals"]["mode"]
tagged = "Use `<think>` and `</think>`, or <memory-context>this</memory-context>."
facts["cuts_answers"] = agent._strip_think_blocks(tagged) != tagged
facts["cuts_streams"] = (agent._stream_think_scrubber.feed("Two: <think>x</think>.") != "Two: <think>x</think>."
    and "this" not in agent._stream_context_scrubber.feed("\\n<memory-context>\\nthis\\n</memory-context>\\n"))
facts["waits_for_scratchpads"] = conversation_loop.has_incomplete_scratchpad("<REASONING_SCRATCHPAD>")
message = N(content="One <think>x</think> two.", tool_calls=None)
facts["takes_words_for_thoughts"] = agent._extract_reasoning(message) == "x"
facts["finds_thoughts_once_more"] = "'<think>(.*?)</think>'" in inspect.getsource(
    chat_completion_helpers.build_assistant_message)
facts["says_length_of_bad_arguments"] = 'effective_finish_reason = "length"' in inspect.getsource(chat_completion_helpers)
import httpx
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from agent.process_bootstrap import build_keepalive_http_client
class Quick(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.send_header("content-length", "1"); self.end_headers()
    def log_message(self, *a): pass
server = HTTPServer(("127.0.0.1", 0), Quick)
Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_port}"
def n_sockets(sender):
    with sender.stream("GET", url):
        return len(list(agent_runtime_helpers._iter_pool_sockets(N(_client=sender))))
facts["misses_sockets_of_mounts"] = (n_sockets(httpx.Client()), n_sockets(build_keepalive_http_client(url))) == (1, 0)
import time
from agent import redact
def took(n):
    began = time.process_time()
    redact._CFG_DOTTED_RE.sub("", "ACGT" * n)
    return time.process_time() - began
facts["redacts_in_square_time"] = took(900) > 5 * took(300)
from tools import delegate_tool, delegation_live_log
_, _, paths = delegation_live_log.create_live_transcripts([{"goal": "Goal"}])
facts["keeps_transcripts"] = "Goal" in open(paths[0]).read()
facts["tells_of_transcripts"] = "LIVE TRANSCRIPTS:" in delegate_tool._build_top_level_description()
agent.interrupt()
facts["interrupt_stays"] = agent._interrupt_requested
print(json.dumps(facts), file=stdout)
"""


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    home = tmp_path_factory.mktemp("untouched")
    config = {"model": {"context_length": 200_000, "ollama_num_ctx": 0}, "agent": {"environment_probe": False}}
    (home / "config.yaml").write_text(json.dumps(config))
    ran = subprocess.run(
        [sys.executable, "-P", "-c", PROBE],
        env={"HERMES_HOME": str(home), "PATH": "/usr/bin:/bin", "HOME": str(home)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=home,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize(
    "fact",
    [
        "stdout_is_wrapped",
        "bundle_is_read_for_each_agent",
        "verify_is_true",
        "dumps_requests",
        "hints",
        "summary_bypasses_middleware",
        "summary_calls",
        "waits_are_buffered",
        "prewarms_openrouter",
        "probes_endpoints",
        "middleware_fails_open",
        "owned_names_are_refused_silently",
        "identical_calls_are_dropped",
        "asks_no_one_about_scripts",
        "ids_used_again_are_dropped",
        "approves_by_model",
        "redacts_in_square_time",
        "interrupt_stays",
        "cuts_answers",
        "cuts_streams",
        "waits_for_scratchpads",
        "takes_words_for_thoughts",
        "finds_thoughts_once_more",
        "says_length_of_bad_arguments",
        "misses_sockets_of_mounts",
        "keeps_transcripts",
        "tells_of_transcripts",
    ],
)
def test_the_quirk_is_still_there(facts: dict[str, Any], fact: str) -> None:
    assert facts[fact] is True


def test_the_quirks_are_those_of_the_version_installed() -> None:
    assert version("hermes-agent").startswith("0.19.")


def test_tools_the_loop_answers_itself_are_known() -> None:
    found = importlib.util.find_spec("agent")
    assert found is not None
    assert found.origin is not None
    text = (Path(found.origin).parent / "tool_executor.py").read_text(encoding="utf-8")
    for name in ("todo", "memory", "session_search", "clarify", "delegate_task"):
        assert f'function_name == "{name}"' in text
        assert name in patch.LOOP_TOOLS


class Ear:
    """Hears what `quirk.listen` tells, and lets summaries through."""

    is_stopping = False

    def __init__(self) -> None:
        self.asked: list[Any] = []
        self.n_unseen = 0

    def call_model(self, request: Any, next_call: Any, context: Any) -> Any:
        self.asked.append((request, context["api_request_id"]))
        return next_call(request)

    def on_unseen_summary(self) -> None:
        self.n_unseen += 1


class FakeAgent:
    """The calls of `agent.chat_completion_helpers.handle_max_iterations`, by API mode."""

    model, provider = "m", "p"

    def __init__(self, api_mode: str) -> None:
        self.api_mode = api_mode

    def _handle_max_iterations(self, messages: Any, n: int) -> Any:
        if self.api_mode == "codex_responses":
            return self._run_codex_stream({"input": messages})
        if self.api_mode == "anthropic_messages":
            return self._anthropic_messages_create({"messages": messages})
        return "by another way"

    def _run_codex_stream(self, request: Any) -> Any:
        return f"codex {request}"

    def _anthropic_messages_create(self, request: Any) -> Any:
        return f"anthropic {request}"


@pytest.mark.parametrize(
    ("api_mode", "answer", "asked", "n_unseen"),
    [
        ("codex_responses", "codex {'input': ['q']}", {"input": ["q"]}, 0),
        ("anthropic_messages", "anthropic {'messages': ['q']}", {"messages": ["q"]}, 0),
        ("bedrock_converse", "by another way", None, 1),
    ],
)
def test_a_summary_is_heard_in_each_api_mode_or_said_to_be_unseen(
    api_mode: str, answer: str, asked: Any, n_unseen: int
) -> None:
    agent: Any = FakeAgent(api_mode)
    ear: Any = Ear()
    end = patch.listen(agent, ear)
    assert agent._handle_max_iterations(["q"], 3) == answer
    assert ear.asked == ([(asked, "iteration_limit_summary")] if asked else [])
    assert ear.n_unseen == n_unseen
    end()
    assert vars(agent) == {"api_mode": api_mode}


class _Upstream:
    """`agent.ssl_verify` in small: a new context at each call, as Hermes makes it when certificates are named."""

    def __init__(self) -> None:
        self.n_made = 0

    def resolve_httpx_verify(
        self, *, ca_bundle: str | None = None, ssl_verify: Any = None, base_url: str = ""
    ) -> bool | ssl.SSLContext:
        if ssl_verify is False:
            return False
        if not (ca_bundle or os.environ.get("SSL_CERT_FILE")):
            return True
        self.n_made += 1
        return ssl.create_default_context()


@pytest.mark.parametrize("named_by", ["nothing", "environment", "provider"])
def test_requests_with_the_same_certificates_share_a_context(
    named_by: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HERMES_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    bundle = tmp_path / "ca.pem"
    bundle.write_text("one")
    options = {"ca_bundle": str(bundle)} if named_by == "provider" else {}
    if named_by == "environment":
        monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    upstream = _Upstream()
    certificate.share_context(upstream)
    first = upstream.resolve_httpx_verify(**options)
    assert isinstance(first, ssl.SSLContext)
    assert upstream.resolve_httpx_verify(**options, base_url="https://other.example") is first
    assert upstream.resolve_httpx_verify(**options, ssl_verify=False) is False
    bundle.write_text("replaced")
    assert (upstream.resolve_httpx_verify(**options) is first) == (named_by == "nothing")
    monkeypatch.setenv("CURL_CA_BUNDLE", str(tmp_path / "another.pem"))
    assert upstream.resolve_httpx_verify(**options) is not first


def test_a_bundle_is_checked_once_and_again_when_it_is_replaced_or_did_not_pass(tmp_path: Path) -> None:
    bundle, checked = tmp_path / "ca.pem", list[str]()

    def validate(label: str, value: str, *, require_substantial: bool = False) -> None:
        checked.append(label)
        if "broken" in bundle.read_text():
            raise ValueError("broken")

    upstream = SimpleNamespace(_validate_bundle_path=validate)
    certificate.check_once(upstream)
    bundle.write_text("broken")
    for _ in range(2):
        with pytest.raises(ValueError, match="broken"):
            upstream._validate_bundle_path("a", str(bundle))
    bundle.write_text("sound, and longer")
    for _ in range(2):
        upstream._validate_bundle_path("b", str(bundle))
    upstream._validate_bundle_path("c", str(bundle), require_substantial=True)
    bundle.write_text("replaced")
    upstream._validate_bundle_path("d", str(bundle))
    assert checked == ["a", "a", "b", "c", "d"]
