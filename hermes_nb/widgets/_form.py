"""The agent builder's form as data: an agent into it, it into an agent and its code, or into what is wrong in each field."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hermes_nb import _settings
from hermes_nb.api._agent_name import key_variable, name_in
from hermes_nb.errors import HermesNbError
from hermes_nb.model.agent import OFFLINE, Agent, Model
from hermes_nb.model.agent_code import agent_code, variable_for
from hermes_nb.model.credential import Address, address, revealed
from hermes_nb.model.mask import MASK
from hermes_nb.model.secret_shape import find
from hermes_nb.tools.decorator import as_tool
from hermes_nb.tools.name import unique
from hermes_nb.tools.secret import environment_masker
from hermes_nb.turns.model_choice import choose
from hermes_nb.widgets._choices import OTHER, VARIABLE, is_runtime, named_runtimes

MAX_INSTRUCTIONS = 200_000
EMPTY: dict[str, Any] = {
    "name": "",
    "model": "",
    "model_id": "",
    "base_url": "",
    "key_variable": "",
    "instructions": "",
    "tools": [],
    "toolsets": [],
    "more_toolsets": "",
    "max_turns": "",
    "max_cost_usd": "",
    "max_tokens": "",
    "runtime": "process",
}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_RUNTIMES = ("process", "flyte", "flyte:local")


@dataclass
class Draft:
    """What a form means.

    Attributes:
        agent: The agent; None while something is wrong.
        variable: The variable its code puts it into.
        code: The cell that makes it; "" while something is wrong.
        runtime: Where its turns run; "process" is beside the kernel.
        errors: What is wrong, by field.
        forget: Fields that hold a key, and must not stay on the screen.
    """

    agent: Agent | None = None
    variable: str = ""
    code: str = ""
    runtime: str = "process"
    errors: dict[str, str] = field(default_factory=dict)
    forget: list[str] = field(default_factory=list)


def form_of(agent: Agent, namespace: Mapping[str, Any], *, runtime: str = "process") -> dict[str, Any]:
    """A form filled in with an agent."""
    form: dict[str, Any] = {**EMPTY, "name": agent.name, "instructions": agent.instructions, "runtime": runtime}
    form |= _model_fields(agent, namespace)
    form["tools"] = [name for tool in agent.tools if (name := name_in(namespace, tool)) is not None]
    form["toolsets"] = list(agent.toolsets or ())
    limits = {"max_turns": agent.max_turns, **{k: agent.session_options.get(k) for k in ("max_cost_usd", "max_tokens")}}
    return form | {name: "" if value is None else f"{value:.15g}" for name, value in limits.items()}


def _model_fields(agent: Agent, namespace: Mapping[str, Any]) -> dict[str, str]:
    model = agent.model
    if model is None:
        return {"model": OFFLINE if agent.provider == OFFLINE else ""}
    if isinstance(model, str):
        whole = f"{agent.provider}:{model}" if agent.provider else model
        return {"model": OFFLINE} if OFFLINE in (model, agent.provider) else {"model": OTHER, "model_id": whole}
    held = name_in(namespace, model)
    if held:
        return {"model": VARIABLE + held}
    if model.provider == OFFLINE:
        return {"model": OFFLINE}
    name = model.id if model.base_url else f"{model.provider}:{model.id}"
    return {"model": OTHER, "model_id": name, "base_url": model.base_url or "", "key_variable": key_variable(model) or ""}


def read(form: Mapping[str, Any], namespace: Mapping[str, Any], *, base: Agent | None = None) -> Draft:
    """What a form means, with everything that is wrong in it at once.

    Args:
        form: As `EMPTY`, filled in; what is missing counts as empty.
        namespace: The notebook's variables.
        base: The agent that is changed; what the form has no field for is kept.
    """
    given = {name: form.get(name, value) for name, value in EMPTY.items()}
    given |= {k: v if isinstance(v, list) else [] for k, v in given.items() if isinstance(EMPTY[k], list)}
    given |= {k: str(v or "") for k, v in given.items() if isinstance(EMPTY[k], str)}
    draft = Draft()
    _refuse_keys(given, draft)
    fields: dict[str, Any] = {
        "name": _field(draft, "name", lambda: _name(given["name"])),
        "instructions": given["instructions"],
        "model": _field(draft, "model", lambda: _model(given, namespace, draft, base)),
        "tools": _field(draft, "tools", lambda: _tools(given["tools"], namespace)) or (),
        "toolsets": _field(draft, "more_toolsets", lambda: _toolsets(given)) or None,
        "max_turns": _field(draft, "max_turns", lambda: _count(given["max_turns"], "Max. model calls")),
    }
    limits = {
        "max_cost_usd": _field(draft, "max_cost_usd", lambda: _amount(given["max_cost_usd"])),
        "max_tokens": _field(draft, "max_tokens", lambda: _count(given["max_tokens"], "Max. tokens")),
    }
    if len(given["instructions"]) > MAX_INSTRUCTIONS:
        text = f"Instructions are longer than {MAX_INSTRUCTIONS:,} characters. Shorten them."
        draft.errors.setdefault("instructions", text)
    draft.runtime = _field(draft, "runtime", lambda: _runtime(given["runtime"], namespace)) or "process"
    if not draft.errors:
        kept = dict(base.session_options) if base is not None else {}
        options = {**kept, **limits}
        fields["session_options"] = {k: v for k, v in options.items() if v is not None}
        agent = Agent(**fields) if base is None else replace(base, provider=None, **fields)
        # What would be refused when it is bound:
        _field(draft, "model_id" if given["model"] == OTHER else "model", lambda: choose(agent))
        if not draft.errors:
            _field(draft, "name", lambda: _write(draft, agent, namespace))
    return draft


def _write(draft: Draft, agent: Agent, namespace: Mapping[str, Any]) -> None:
    options = "" if draft.runtime == "process" else f"--on {draft.runtime}"
    variable = variable_for(agent.name, namespace)
    key = revealed(agent.model.api_key) if isinstance(agent.model, Model) else None
    code = agent_code(agent, variable, name_of=lambda v: name_in(namespace, v), key_variable=key_variable, options=options)
    if (key and key in code) or environment_masker().text(code) != code:
        raise ValueError("A key of the environment would stand in the agent's code. Take it out of its config and options.")
    draft.agent, draft.variable, draft.code = agent, variable, code


def _field(draft: Draft, name: str, make: Callable[[], Any]) -> Any:
    """What `make` gives; None, with the error noted, where it raises what people are told."""
    try:
        return make()
    except (HermesNbError, ValueError) as exc:
        draft.errors.setdefault(name, environment_masker().text(str(exc)))
        return None


def _refuse_keys(given: dict[str, Any], draft: Draft) -> None:
    masker = environment_masker()
    for name, text in given.items():
        if isinstance(text, str) and (find(text) or masker.text(text) != text or (name == "base_url" and _hides(text))):
            draft.errors[name] = "This looks like a key; keys stay out of notebooks. Name the variable that holds it."
            draft.forget.append(name)


def _hides(url: str) -> bool:
    return isinstance(address(url), Address)


def _name(name: str) -> str:
    if not name.strip():
        raise ValueError("Give the agent a name, e.g. analyst.")
    return Agent(name.strip()).name


def _model(given: Mapping[str, Any], namespace: Mapping[str, Any], draft: Draft, base: Agent | None) -> str | Model | None:
    chosen: str = given["model"]
    if chosen.startswith(VARIABLE):
        held = namespace.get(chosen.removeprefix(VARIABLE))
        if not isinstance(held, Model):
            raise ValueError(f"Variable {chosen.removeprefix(VARIABLE)!r} holds no Model any longer. Look again.")
        return held
    if chosen != OTHER:
        return chosen or None
    model_id, url = str(given["model_id"]).strip(), str(given["base_url"]).strip()
    if not model_id:
        draft.errors.setdefault("model_id", "Name the model, e.g. openrouter:anthropic/claude-sonnet-5.")
        return None
    variable = given["key_variable"].strip()
    key = _field(draft, "key_variable", lambda: _key(variable))
    if not url:
        if variable:
            provider, _, rest = model_id.partition(":")
            return Model(rest or model_id, provider if rest else "", None, key)
        return model_id
    if not re.match(r"https?://[^/\s]+", url):
        draft.errors.setdefault("base_url", f"{url!r} is no address. Write one such as http://127.0.0.1:8000/v1.")
        return None
    old = base.model.base_url if base is not None and isinstance(base.model, Model) else None
    if MASK in url and (old is None or str.__str__(old) != url):
        said = "This address hides credentials. Put the Model into a variable, and choose that."
        draft.errors.setdefault("base_url", said)
        return None
    return Model(model_id, "custom", old if MASK in url else url, key)


def _key(variable: str) -> str | None:
    if not variable:
        return None
    if not _VARIABLE.fullmatch(variable):
        raise ValueError("Write the NAME of a variable of the environment, e.g. MY_MODEL_KEY, not the key itself.")
    value = _settings.variable(variable)
    if value is None:
        raise ValueError(f"{variable} is not set in this kernel's environment. Set it there, or in a cell, and try again.")
    return value


def _tools(names: list[Any], namespace: Mapping[str, Any]) -> list[Any]:
    missing = [n for n in names if n not in namespace]
    if missing:
        raise ValueError(f"No longer in this notebook: {', '.join(map(str, missing))}. Look again.")
    functions = [namespace[n] for n in names]
    unique(as_tool(f) for f in functions)
    return functions


def _toolsets(given: Mapping[str, Any]) -> list[str]:
    more = [t for t in re.split(r"[,\s]+", given["more_toolsets"]) if t]
    wrong = [t for t in [*given["toolsets"], *more] if not re.fullmatch(r"[A-Za-z0-9_:.-]{1,80}", str(t))]
    if wrong:
        raise ValueError(f"{wrong[0]!r} is no toolset's name. Separate names by commas.")
    return list(dict.fromkeys([*map(str, given["toolsets"]), *more]))


def _count(text: str, what: str) -> int | None:
    if not text.strip():
        return None
    plain = text.strip().replace(",", "").replace("_", "")
    if not re.fullmatch(r"\d{1,12}", plain) or int(plain) < 1:
        raise ValueError(f"{what} is a whole number of 1 or more; leave it empty for none of its own.")
    return int(plain)


def _amount(text: str) -> float | None:
    plain = text.strip().removeprefix("$").strip()
    if not plain:
        return None
    if not re.fullmatch(r"\d{1,9}(\.\d{1,9})?|\.\d{1,9}", plain):
        raise ValueError("Max. cost is an amount in US dollars, e.g. 0.50; leave it empty for none.")
    return float(plain)


def _runtime(name: str, namespace: Mapping[str, Any]) -> str:
    known = name in (*_RUNTIMES, *named_runtimes()) or (not keyword.iskeyword(name) and is_runtime(namespace.get(name)))
    if not known:
        raise ValueError(f"{name!r} is no runtime any longer. Look again.")
    return name
