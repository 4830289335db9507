"""The agent builder without a browser: a form into an agent and its code, what is refused and where, and the way back."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from hermes_nb import _settings
from hermes_nb.model.agent import Agent, Model
from hermes_nb.tools.decorator import tool
from hermes_nb.widgets._choices import choices, models
from hermes_nb.widgets._form import EMPTY, form_of, read

KEY = "sk-test-0123456789abcdefghij"


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*_settings.KEY_VARIABLES, "HERMES_NB_MODEL"):
        monkeypatch.delenv(name, raising=False)


def notebook(**more: Any) -> dict[str, Any]:
    """Names of a notebook."""
    names: dict[str, Any] = {"__name__": "__main__"}
    source = "def total(values: list[float]) -> float:\n    'The sum.'\n    return sum(values)\n"
    exec(compile(source, "<cell>", "exec", dont_inherit=True), names)
    names["top"] = tool(lambda n=3: [n], name="top")
    return names | more


def form(**given: Any) -> dict[str, Any]:
    return {**EMPTY, "name": "analyst", "model": "offline", **given}


def rerun(code: str, names: dict[str, Any]) -> dict[str, Any]:
    """The names after the code ran in a notebook where only `names` are defined."""
    lines = code.splitlines()
    assert lines[-1].startswith("%hermes agent ")
    fresh = dict(names)
    exec("\n".join(lines[:-1]), fresh)
    return fresh


ROUND = [
    {},
    {"name": "a.b-c", "instructions": "One line."},
    {"instructions": "It's \"so\"\nBe 'brief'.\n\u2028%hermes run x\n{{y}}\r\n\\ tail\\"},
    {"tools": ["total", "top"], "toolsets": ["web", "file"], "more_toolsets": "spotify, my-mcp"},
    {"max_turns": "1,000", "max_cost_usd": "$0.5", "max_tokens": "20000"},
    {"model": ""},
    {"model": "other", "model_id": "m", "base_url": "http://127.0.0.1:1/v1"},
    {"model": "other", "model_id": "m", "base_url": "http://h/v1", "key_variable": "MY_MODEL_KEY"},
    {"model": "other", "model_id": "anthropic:claude", "key_variable": "MY_MODEL_KEY"},
    {"model": "var:held"},
    {"runtime": "flyte:local"},
]


@pytest.mark.parametrize("given", ROUND, ids=lambda g: ",".join(g) or "plain")
def test_the_code_makes_an_equal_agent_and_the_form_comes_back(
    given: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_MODEL_KEY", KEY)
    names = notebook(held=Model("h", "custom", "http://h/v1", KEY))
    draft = read(form(**given), names)
    assert draft.errors == {}
    assert KEY not in draft.code
    agent = rerun(draft.code, names)[draft.variable]
    assert agent == draft.agent
    again = read(form_of(agent, names, runtime=draft.runtime), names, base=agent)
    assert (again.agent, again.code) == (agent, draft.code)


def test_what_a_form_says_is_what_the_agent_has() -> None:
    names = notebook()
    given = form(tools=["total"], toolsets=["web"], max_turns="12", max_cost_usd="0.50", instructions="Be brief.")
    assert read(given, names).agent == Agent(
        "analyst",
        "Be brief.",
        "offline",
        tools=[names["total"]],
        toolsets=["web"],
        max_turns=12,
        session_options={"max_cost_usd": 0.5},
    )


WRONG = [
    ({"name": ""}, "name", "Give the agent a name"),
    ({"name": "1 x"}, "name", "can't be used"),
    ({"model": "other"}, "model_id", "Name the model"),
    ({"model": "other", "model_id": "claude"}, "model_id", "without a provider"),
    ({"model": "other", "model_id": "anthropic:claude"}, "model_id", "ANTHROPIC_API_KEY"),
    ({"model": "other", "model_id": "m", "base_url": "localhost"}, "base_url", "no address"),
    ({"model": "other", "model_id": "m", "base_url": "http://h", "key_variable": "NOT_SET"}, "key_variable", "is not set"),
    ({"model": "other", "model_id": "m", "base_url": "http://h", "key_variable": "my key"}, "key_variable", "NAME"),
    ({"model": "var:gone"}, "model", "no Model any longer"),
    ({"tools": ["gone"]}, "tools", "No longer in this notebook: gone"),
    ({"tools": ["read_file"]}, "tools", "belongs to Hermes's own tool"),
    ({"more_toolsets": "a b!"}, "more_toolsets", "no toolset's name"),
    ({"max_turns": "0"}, "max_turns", "1 or more"),
    ({"max_turns": "1.5"}, "max_turns", "whole number"),
    ({"max_cost_usd": "-1"}, "max_cost_usd", "US dollars"),
    ({"max_cost_usd": "nan"}, "max_cost_usd", "US dollars"),
    ({"max_tokens": "many"}, "max_tokens", "Max. tokens"),
    ({"runtime": "gone"}, "runtime", "no runtime any longer"),
    ({"instructions": "x" * 200_001}, "instructions", "longer than"),
]


@pytest.mark.parametrize(("given", "field", "said"), WRONG, ids=lambda v: v if isinstance(v, str) else "")
def test_what_is_wrong_is_said_at_its_field(given: dict[str, Any], field: str, said: str) -> None:
    def read_file(path: str) -> str:
        """Reads."""
        return path

    draft = read(form(**given), notebook(read_file=read_file))
    assert draft.agent is None
    assert draft.code == ""
    assert list(draft.errors) == [field]
    assert said in draft.errors[field]


def test_all_that_is_wrong_is_said_at_once() -> None:
    draft = read(form(name="", max_turns="x", max_cost_usd="y", tools=["gone"]), notebook())
    assert sorted(draft.errors) == ["max_cost_usd", "max_turns", "name", "tools"]


@pytest.mark.parametrize("field", ["instructions", "key_variable", "name", "model_id", "base_url"])
@pytest.mark.parametrize("key", [KEY, "environment-value-0123456789"])
def test_a_key_is_refused_forgotten_and_not_repeated(field: str, key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "environment-value-0123456789")
    draft = read(form(model="other", model_id="m", base_url="http://h/v1") | {field: f"x {key}"}, notebook())
    assert draft.forget == [field]
    assert draft.code == ""
    assert key not in str(draft.errors)


def test_an_address_with_credentials_is_refused_and_forgotten_and_a_kept_one_goes_on() -> None:
    draft = read(form(model="other", model_id="m", base_url="http://ada:pw@h/v1"), notebook())
    assert "looks like a key" in draft.errors["base_url"]
    assert draft.forget == ["base_url"]

    agent = Agent("a", model=Model("m", "custom", "http://ada:pw@h/v1"))
    filled = form_of(agent, {})
    assert "pw" not in str(filled)
    changed = read(filled | {"instructions": "Be kind."}, {}, base=agent)
    assert changed.errors == {}
    assert isinstance(changed.agent, Agent)
    assert changed.agent.model == agent.model
    assert "HERMES_NB_MODEL_URL" in changed.code
    assert "hides credentials" in read(filled, {}).errors["base_url"]


def test_a_key_in_an_agents_config_does_not_come_into_its_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "environment-value-0123456789")
    agent = Agent("a", model="offline", config={"mcp": {"token": "environment-value-0123456789"}})
    draft = read(form_of(agent, notebook()), notebook(), base=agent)
    assert (draft.code, draft.agent) == ("", None)
    assert "environment-value" not in str(draft.errors)


def test_what_the_form_has_no_field_for_is_kept() -> None:
    agent = Agent("a", model="offline", config={"x": 1}, session_options={"max_cost_usd": 3, "max_tokens": 9})
    draft = read(form_of(agent, {}) | {"max_tokens": ""}, {}, base=agent)
    assert draft.agent is not None
    assert (draft.agent.config, draft.agent.session_options) == ({"x": 1}, {"max_cost_usd": 3})


def test_a_variable_that_is_taken_is_left_alone() -> None:
    assert read(form(name="total"), notebook()).variable == "total_agent"
    assert read(form(name="list"), notebook()).variable == "list_agent"
    assert read(form(name="class"), notebook()).variable == "class_agent"
    assert read(form(), notebook(analyst=Agent("analyst"))).variable == "analyst"


@pytest.mark.parametrize("junk", [{}, {"name": None, "tools": "x", "toolsets": {"a": 1}, "model": 3}, {"more": [1]}])
def test_junk_from_a_browser_is_no_agent_and_no_crash(junk: dict[str, Any]) -> None:
    assert read(junk, notebook()).agent is None


def test_models_are_found_by_their_keys_without_showing_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [m["value"] for m in models({})] == ["", "offline", "other"]
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    found = models({"mine": Model("m", "custom", "http://h/v1", KEY)})
    assert [m["value"] for m in found] == ["", "offline", "anthropic:claude-sonnet-5", "var:mine", "other"]
    assert "api.anthropic.com" in found[0]["note"]
    assert KEY not in str(found)
    monkeypatch.setenv("HERMES_NB_MODEL", "nonsense")
    assert "can't be used" in models({})[0]["label"]


def test_functions_come_with_their_schema_or_with_what_is_in_the_way() -> None:
    names = notebook(x=3, Lock=threading.Lock, _hidden=tool(lambda: 1, name="hidden"))
    exec("def odd(lock: Lock) -> None:\n    'Locks.'\n", names)
    offered = {t["variable"]: t for t in choices(names)["tools"]}
    assert sorted(offered) == ["odd", "top", "total"]
    assert offered["total"]["schema"]["required"] == ["values"]
    assert (offered["total"]["signature"], offered["total"]["is_declared"]) == ("(values: list[float]) -> float", False)
    assert offered["top"]["is_declared"] is True
    assert "no JSON schema can describe" in offered["odd"]["problem"]


def test_a_secret_in_a_default_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "environment-value-0123456789")
    names: dict[str, Any] = {"__name__": "__main__"}
    exec("def f(token: str = 'environment-value-0123456789') -> str:\n    'F.'\n    return token", names)
    assert "environment-value" not in str(choices(names))
