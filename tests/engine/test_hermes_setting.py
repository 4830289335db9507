"""Each key of Hermes's configuration takes effect or is refused: the table against Hermes itself."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from hermes_nb.model.hermes_setting import EFFECTIVE, REFUSED, problem

pytestmark = pytest.mark.hermes

# Key -> (a value that is not the default, the expression in which a running Hermes shows it).
SHOWN: dict[str, tuple[Any, str]] = {
    "agent.api_max_retries": (7, "agent._api_max_retries"),
    "agent.environment_hint": ("In a lab.", "'In a lab.' in prompt() and 'In a lab.'"),
    "agent.environment_probe": (True, "agent._environment_probe"),
    "agent.image_input_mode": ("text", "routing.decide_image_input_mode('custom', 'm', config())"),
    "agent.parallel_tool_call_guidance": (False, "agent._parallel_tool_call_guidance"),
    "agent.task_completion_guidance": (False, "agent._task_completion_guidance"),
    "agent.tool_use_enforcement": (True, "agent._tool_use_enforcement"),
    "auxiliary.compression": ({"model": "small"}, "{'model': auxiliary('compression', 'model')}"),
    "auxiliary.vision": ({"model": "seer"}, "{'model': auxiliary('vision', 'model')}"),
    "auxiliary.web_extract": ({"model": "reader"}, "{'model': auxiliary('web_extract', 'model')}"),
    "browser.cdp_url": ("http://127.0.0.1:9", "browser._get_cdp_override().startswith('http') and 'http://127.0.0.1:9'"),
    "browser.command_timeout": (41, "browser._get_command_timeout()"),
    "browser.headed": (True, "browser._is_headed_mode()"),
    "code_execution.max_tool_calls": (5, "code._load_config()['max_tool_calls']"),
    "code_execution.mode": ("strict", "code._get_execution_mode()"),
    "code_execution.timeout": (33, "code._load_config()['timeout']"),
    "compression.abort_on_summary_failure": (True, "agent.context_compressor.abort_on_summary_failure"),
    "compression.enabled": (False, "agent.compression_enabled"),
    "compression.protect_first_n": (1, "agent.context_compressor.protect_first_n"),
    "compression.protect_last_n": (9, "agent.context_compressor.protect_last_n"),
    "compression.target_ratio": (0.33, "agent.context_compressor.summary_target_ratio"),
    "compression.threshold": (0.77, "agent.context_compressor.threshold_percent"),
    "delegation.child_timeout_seconds": (45, "delegate._get_child_timeout()"),
    "delegation.max_concurrent_children": (2, "delegate._get_max_concurrent_children()"),
    "delegation.max_spawn_depth": (2, "delegate._get_max_spawn_depth()"),
    "delegation.orchestrator_enabled": (False, "delegate._get_orchestrator_enabled()"),
    "file_read_max_chars": (1234, "files._get_max_read_chars()"),
    "model.context_length": (77_000, "agent.context_compressor.context_length"),
    "model.max_tokens": (512, "agent.max_tokens"),
    "model.ollama_num_ctx": (8192, "agent._ollama_num_ctx"),
    "model.supports_vision": (True, "routing._lookup_supports_vision('custom', 'm', config())"),
    "memory.memory_char_limit": (500, "agent._memory_store.memory_char_limit"),
    "memory.memory_enabled": (False, "agent._memory_enabled"),
    "memory.nudge_interval": (4, "agent._memory_nudge_interval"),
    "memory.user_char_limit": (400, "agent._memory_store.user_char_limit"),
    "memory.user_profile_enabled": (False, "agent._user_profile_enabled"),
    "security.allow_private_urls": (True, "fresh_private_urls()"),
    "security.website_blocklist": (
        {"enabled": True, "domains": ["example.com"]},
        "website.check_website_access('http://example.com/') is not None and {'enabled': True, 'domains': ['example.com']}",
    ),
    "skills.creation_nudge_interval": (6, "agent._skill_nudge_interval"),
    "skills.disabled": (["cooking"], "sorted(skills.get_disabled_skill_names())"),
    "skills.external_dirs": (["/tmp"], "[str(p) for p in skills.get_external_skills_dirs()]"),
    "skills.inline_shell": (True, "preprocessing.load_skills_config().get('inline_shell')"),
    "skills.inline_shell_timeout": (3, "preprocessing.load_skills_config().get('inline_shell_timeout')"),
    "skills.template_vars": (False, "preprocessing.load_skills_config().get('template_vars')"),
    "terminal.cwd": ("/tmp", "terminal()['cwd']"),
    "terminal.timeout": (21, "terminal()['timeout']"),
    "tool_loop_guardrails.hard_stop_after": ({"exact_failure": 9}, "{'exact_failure': guard().exact_failure_block_after}"),
    "tool_loop_guardrails.hard_stop_enabled": (True, "guard().hard_stop_enabled"),
    "tool_loop_guardrails.warn_after": ({"exact_failure": 4}, "{'exact_failure': guard().exact_failure_warn_after}"),
    "tool_loop_guardrails.warnings_enabled": (False, "guard().warnings_enabled"),
    "tool_output.max_bytes": (1111, "limits.get_max_bytes()"),
    "tool_output.max_line_length": (222, "limits.get_max_line_length()"),
    "tool_output.max_lines": (333, "limits.get_max_lines()"),
    "web.backend": ("tavily", "web._load_web_config()['backend']"),
    "web.extract_backend": ("tavily", "web._load_web_config()['extract_backend']"),
    "web.extract_char_limit": (3333, "web._get_extract_char_limit()"),
    "web.search_backend": ("tavily", "web._load_web_config()['search_backend']"),
    "tts.provider": ("openai", "tts._get_provider(tts._load_tts_config())"),
    "image_gen.model": ("fal-ai/flux-2/klein/9b", "image._resolve_fal_model()[0]"),
    "image_gen.provider": ("openai", "image._read_configured_image_provider()"),
    "x_search.model": ("grok-5", "x._get_x_search_model()"),
    "x_search.retries": (1, "x._get_x_search_retries()"),
    "x_search.timeout_seconds": (50, "x._get_x_search_timeout_seconds()"),
    **{
        f"tts.{voice}": ({"voice": "v"}, f"{{'voice': tts._load_tts_config()[{voice!r}]['voice']}}")
        for voice in ("deepinfra edge elevenlabs gemini kittentts minimax mistral neutts openai piper xai".split())
    },
    **{
        f"delegation.{key}": (value, f"delegate._load_config()[{key!r}]")
        for key, value in {
            "api_key": "k",
            "api_mode": "chat_completions",
            "base_url": "http://127.0.0.1:9/v1",
            "max_iterations": 8,
            "max_summary_chars": 900,
            "model": "child",
            "provider": "custom",
            "reasoning_effort": "low",
        }.items()
    },
}

PROBE = """
import json, os, sys
from pathlib import Path
from hermes_nb.engine.hermes.agent import ModelRoute, WorkerAgent
from hermes_nb.engine.hermes.bootstrap import Bootstrap
from hermes_nb.engine.hermes.outcome import ModelIdentity
from hermes_nb.model.mask import Masker

bootstrap = Bootstrap(Path(sys.argv[1]), Masker([]))
bootstrap.prepare()
hermes = bootstrap.hermes()
import importlib
def module(name): return importlib.import_module(name)
routing, delegate, code, files = map(module, ("agent.image_routing", "tools.delegate_tool", "tools.code_execution_tool",
                                              "tools.file_tools"))
browser, limits, web, tts = map(module, ("tools.browser_tool", "tools.tool_output_limits", "tools.web_tools",
                                         "tools.tts_tool"))
image, x, website, skills, preprocessing = map(module, ("tools.image_generation_tool", "tools.x_search_tool",
    "tools.website_policy", "agent.skill_utils", "agent.skill_preprocessing"))
url_safety, terminal_tool = module("tools.url_safety"), module("tools.terminal_tool")
from hermes_cli.config import load_config as config, DEFAULT_CONFIG, _EXTRA_KNOWN_ROOT_KEYS
auxiliary = lambda task, key: module("agent.auxiliary_client")._get_auxiliary_task_config(task).get(key)
guard = lambda: agent._tool_guardrails.config
def prompt(): return agent._build_system_prompt()
def fresh_private_urls():
    return url_safety._global_allow_private_urls()
def terminal():
    return terminal_tool._get_env_config()

found, wrong = {}, {}
for key, (value, expression) in json.load(open(sys.argv[2])).items():
    section, _, name = key.partition(".")
    spec = {"config": {section: {name: value} if name else value}, "toolsets": ["memory", "terminal"]}
    route = ModelRoute("custom", "http://127.0.0.1:9/v1", "k" * 20)
    before = WorkerAgent({**spec, "config": {}}, hermes, ModelIdentity("m", "custom", ""), route, bootstrap.configured)
    agent = before._build("s", {})
    before.enforce_config()
    try:
        eval(expression)  # whatever Hermes remembers of another agent's setting does not stay
    except Exception:
        pass
    bound = WorkerAgent(spec, hermes, ModelIdentity("m", "custom", "http://127.0.0.1:9/v1"), route, bootstrap.configured)
    try:
        agent = bound._build("s", {})
        bound.enforce_config()
        found[key] = eval(expression)
    except Exception as exc:
        wrong[key] = repr(exc)
known = {k: sorted(v) if isinstance(v, dict) else [] for k, v in DEFAULT_CONFIG.items()}
known |= {k: [] for k in _EXTRA_KNOWN_ROOT_KEYS}
print("FOUND", json.dumps({"found": found, "wrong": wrong, "known": known}, default=str))
"""


@pytest.fixture(scope="module")
def probed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a Hermes shows under each setting, and the settings it knows."""
    folder = tmp_path_factory.mktemp("settings")
    (folder / "shown.json").write_text(json.dumps(SHOWN), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-P", "-c", PROBE, str(folder / "home"), str(folder / "shown.json")],
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
        env={"HOME": str(folder), "PATH": "/usr/bin:/bin"},
        cwd=folder,
    )
    (line,) = (line for line in done.stdout.splitlines() if line.startswith("FOUND "))
    assert line, done.stderr
    answer: dict[str, Any] = json.loads(line.removeprefix("FOUND "))
    return answer


def paths() -> list[str]:
    """Each setting that takes effect, as section.key."""
    return [f"{section}.{key}".rstrip(".") for section, keys in EFFECTIVE.items() for key in keys]


@pytest.mark.parametrize("path", paths())
def test_a_setting_that_is_taken_takes_effect(path: str, probed: dict[str, Any]) -> None:
    assert path in SHOWN, "no expression shows its effect"
    assert probed["found"].get(path, probed["wrong"].get(path)) == SHOWN[path][0]
    section, _, name = path.partition(".")
    assert problem({section: {name: SHOWN[path][0]} if name else SHOWN[path][0]}) is None


@pytest.mark.parametrize("path", sorted(REFUSED))
def test_a_setting_without_effect_is_refused_by_name_with_its_reason(path: str) -> None:
    section, _, name = path.partition(".")
    said = problem({section: {name: 1} if name else 1})
    assert said is not None
    assert said.startswith(f"config: {path!r} has no effect here: it ")
    assert section not in EFFECTIVE or name


def test_each_setting_of_hermes_is_decided(probed: dict[str, Any]) -> None:
    decided = {*paths(), *REFUSED}
    undecided = [
        path
        for section, keys in probed["known"].items()
        if section not in decided
        for path in ([f"{section}.{key}" for key in keys] if section in EFFECTIVE and keys else [section])
        if path not in decided and path.partition(".")[0] not in REFUSED and path not in EFFECTIVE
    ]
    assert undecided == []


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"compresion": {}}, "no setting 'compresion'. Did you mean 'compression'?"),
        ({"compression": {"treshold": 0.5}}, "no setting 'compression.treshold'. Did you mean 'threshold'?"),
        ({"compression": {"threshold": "half"}}, "compression.threshold must be a number of 0 or more, not 'half'"),
        ({"compression": {"enabled": 1}}, "compression.enabled must be True or False, not 1"),
        ({"model": {"max_tokens": True}}, "model.max_tokens must be a whole number of 0 or more, not True"),
        ({"model": "gpt-5"}, "model takes a dict with any of context_length"),
        ({"auxiliary": {"vision": {"modl": "x"}}}, "no setting 'auxiliary.vision.modl'. Did you mean 'model'?"),
        ({"mcp_servers": {"a": {}}}, "it is said by Agent(mcp=[McpStdio(...)"),
    ],
)
def test_what_is_no_setting_is_named(config: dict[str, Any], said: str) -> None:
    assert said in str(problem(config))
