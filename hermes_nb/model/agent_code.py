"""An agent as the code of a notebook cell that makes it again. Keys are named by their variable, never written out."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from typing import Any

from hermes_nb.model.agent import OFFLINE, Agent, Model, is_agent_name
from hermes_nb.model.credential import Address

WIDTH = 88  # characters of a line; a longer one has each of its parts on a line of its own
NEW_KEY_VARIABLE = "HERMES_NB_MODEL_KEY"  # for a key that is in no variable of the environment
NEW_URL_VARIABLE = "HERMES_NB_MODEL_URL"  # for an address that holds credentials
_ORDER = (
    "instructions",
    "model",
    "provider",
    "tools",
    "toolsets",
    "mcp",
    "max_turns",
    "config",
    "profile_options",
    "session_options",
)


def variable_for(name: str, taken: Mapping[str, Any]) -> str:
    """A variable for an agent of that name: its name as an identifier, that of an `Agent` of this name, else a free one.

    Args:
        name: The agent's name.
        taken: The notebook's variables.
    """
    plain = re.sub(r"\W", "_", name, flags=re.ASCII)
    candidates = [plain, f"{plain}_agent", *(f"{plain}_agent_{n}" for n in range(2, 1000))]
    return next(c for c in candidates if _is_free(c, name, taken))


def how_to_make(name: str, taken: Mapping[str, Any], *, options: str = "") -> str:
    """How an agent of a name is made: `Make one: x = Agent('x')`; where none can be named so, what a name is.

    Args:
        name: The name that was wanted.
        taken: The notebook's variables.
        options: More arguments, e.g. `, instructions='...'`.
    """
    if not is_agent_name(name):
        return f"No agent can be named {name!r}: a letter, then letters, digits, '_', '.' or '-' (ASCII, 64 at most)."
    return f"Make one: {variable_for(name, taken)} = Agent({name!r}{options})"


def _is_free(variable: str, name: str, taken: Mapping[str, Any]) -> bool:
    if keyword.iskeyword(variable) or keyword.issoftkeyword(variable) or hasattr(builtins, variable):
        return False
    held = taken.get(variable)
    return variable not in taken or (isinstance(held, Agent) and held.name == name)


def agent_code(
    agent: Agent,
    variable: str,
    *,
    name_of: Callable[[Any], str | None],
    key_variable: Callable[[Model], str | None] = lambda model: None,
    options: str = "",
) -> str:
    """A cell that makes the agent and binds it.

    Args:
        agent: The agent.
        variable: The variable it is put into.
        name_of: The notebook's variable that holds a tool or a `Model`; None when none does.
        key_variable: The variable of the environment that holds a model's key; None when none does.
        options: What follows on the `%hermes agent` line.

    Raises:
        ValueError: A tool is in no variable of the notebook, so that no code can name it.
    """
    shown = {f.name: getattr(agent, f.name) for f in fields(agent)}
    lines, imports, needs_os = [f"    {quoted(agent.name)},"], ["Agent"], False
    for name in _ORDER:
        value = shown[name]
        if not value:  # each of them means nothing by default
            continue
        if name == "instructions":
            text = _long(value)
        elif name == "model" and isinstance(value, Model):
            held = name_of(value)
            text = held or _model(value, key_variable, f"    {name}=")
            if not held:
                imports += ["Model"] * text.startswith("Model(")
                needs_os = "os.environ" in text
        elif name == "tools":
            text = _fitted(f"    {name}=", "[", [_tool(tool, agent, name_of) for tool in value], "]")
        elif name == "mcp":
            text = _fitted(f"    {name}=", "[", [repr(server) for server in value], "]")
            imports += sorted({type(server).__name__ for server in value})
        elif name == "toolsets":
            text = _fitted(f"    {name}=", "[", [quoted(toolset) for toolset in value], "]")
        else:
            text = _plain(value)
        lines.append(f"    {name}={text},")
    head = (["import os", ""] if needs_os else []) + [f"from hermes_nb import {', '.join(imports)}", ""]
    line = f"%hermes agent {variable} {options}".rstrip()
    return "\n".join([*head, f"{variable} = Agent(", *lines, ")", line])


def _plain(value: Any) -> str:
    """Plain data as Python writes it, texts in double quotes."""
    if isinstance(value, str):
        return quoted(value)
    if type(value) is dict:
        return "{" + ", ".join(f"{_plain(k)}: {_plain(v)}" for k, v in value.items()) + "}"
    if type(value) is list:
        return "[" + ", ".join(map(_plain, value)) + "]"
    return repr(value)


def _tool(tool: Any, agent: Agent, name_of: Callable[[Any], str | None]) -> str:
    name = name_of(tool)
    if name is None:
        what = getattr(tool, "name", None) or getattr(tool, "__name__", repr(tool))
        raise ValueError(f"Agent {agent.name!r} has the tool {what!r}, which is in no variable of this notebook.")
    return name


def _fitted(before: str, opening: str, parts: list[str], closing: str) -> str:
    """The parts in their brackets: on the line that begins with `before`, or each on its own where that is too long."""
    whole = f"{opening}{', '.join(parts)}{closing}"
    if len(before) + len(whole) + 1 <= WIDTH:
        return whole
    return "\n".join([opening, *(f"        {part}," for part in parts), f"    {closing}"])


def _model(model: Model, key_variable: Callable[[Model], str | None], before: str) -> str:
    if model.provider == OFFLINE:
        return quoted(OFFLINE)
    if model.base_url is None and model.api_key is None and not model.options and not model.fallbacks:
        return quoted(f"{model.provider}:{model.id}")
    parts = [quoted(model.id), quoted(model.provider)]
    if isinstance(model.base_url, Address):
        parts.append(f"os.environ[{quoted(NEW_URL_VARIABLE)}]")
    elif model.base_url:
        parts.append(quoted(model.base_url))
    if model.api_key:
        parts.append(f"api_key=os.environ[{quoted(key_variable(model) or NEW_KEY_VARIABLE)}]")
    parts += [f"{name}={_plain(list(v) if isinstance(v, tuple) else v)}" for name, v in model.options.items()]
    if model.fallbacks:
        parts.append(f"fallbacks=[{', '.join(_whole(other, key_variable) for other in model.fallbacks)}]")
    return _fitted(before, "Model(", parts, ")")


def _whole(model: Model, key_variable: Callable[[Model], str | None]) -> str:
    text = _model(model, key_variable, "")
    return text if text.startswith("Model(") else f"Model({quoted(model.id)}, {quoted(model.provider)})"


def _long(text: str) -> str:
    """A text over several lines, one literal a line; any text, byte for byte."""
    if "\n" not in text:
        return quoted(text)
    lines = "\n".join(f"        {quoted(line)}" for line in text.splitlines(keepends=True))
    return f"(\n{lines}\n    )"


def quoted(text: str) -> str:
    """A text as Python writes it, in double quotes where that takes no escapes."""
    written = repr(text)
    return f'"{written[1:-1]}"' if written[0] == "'" and '"' not in written and "\\'" not in written else written
