"""`%hermes agent`: bind an agent, one of the notebook or one made here, and show its card."""

from __future__ import annotations

import argparse
import dataclasses
from typing import Any

from hermes_nb._near import near
from hermes_nb._require import lack_of_widgets
from hermes_nb.errors import AgentNotFoundError, UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, name_list, positive_count, variable_name
from hermes_nb.magics._table import show, show_bundle
from hermes_nb.model.agent import OFFLINE, Agent, Model, is_agent_name
from hermes_nb.model.agent_code import how_to_make
from hermes_nb.views import _card

SUMMARY = "bind an agent of this notebook, or make one, and show its card"
EXAMPLES = (
    "%hermes agent analyst",
    "%hermes agent helper --model anthropic/claude-sonnet-5 --provider openrouter --tools top_customers,plot",
    "%%hermes agent helper --provider offline\nYou answer in one sentence.",
    "%hermes agent --ui",
)
NOTES = """\
NAME is a variable that holds an Agent, or the name of one; with options and no such Agent, a new one is made. Options given
for an Agent of the notebook count for this binding; the variable is left as it is. The body of %%hermes agent is taken as
its instructions. Without NAME the bound agents are listed. Binding again tells what changed. When the cell of a bound agent
runs again (a corrected key, other instructions), its next turn takes what the variable holds then and names what changed,
in a chat and for the bound agent in a variable of -o, too.
--ui opens a form that makes an agent (with NAME: changes it) and puts its code into a new cell. --code puts the code of an
agent into a new cell. --on says where its turns run, unless %hermes run --on says otherwise."""
TAKES_CELL = True

_OPTIONS = ("model", "provider", "base_url", "instructions", "tools", "toolsets", "max_turns")


def parser() -> Parser:
    """The options."""
    parser = Parser("agent")
    parser.add_argument("agent", nargs="?", metavar="NAME", help="the agent's variable or name")
    parser.add_argument("--model", metavar="ID", help="the model, as its provider spells it")
    parser.add_argument("--provider", metavar="NAME", help="openrouter, anthropic, openai-api, ..., custom or offline")
    parser.add_argument("--base-url", metavar="URL", help="endpoint of an OpenAI-compatible server (provider custom)")
    parser.add_argument("--instructions", metavar="TEXT", help="what the model is told about its job")
    parser.add_argument("--tools", metavar="F,...", type=name_list, help="functions of this notebook it may call")
    parser.add_argument("--toolsets", metavar="T,...", type=name_list, help="toolsets of Hermes it gets besides")
    parser.add_argument("--max-turns", metavar="N", type=positive_count, help="most model calls of one turn")
    parser.add_argument(
        "--on", metavar="RUNTIME", help="where its turns run: process, flyte, flyte:local, or a variable with a runtime"
    )
    parser.add_argument("--ui", action="store_true", help="open a form; it makes the agent, and its code in a new cell")
    parser.add_argument("--code", action="store_true", help="put the agent's code into a new cell; no key is in it")
    parser.add_argument("--default", action="store_true", help="ask this one when %%hermes run has no -a")
    parser.add_argument("-o", "--out", metavar="NAME", type=variable_name, help="put the bound agent into this variable")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Bind and show the card; the worker starts in the background."""
    if cell is not None and cell.strip():
        if options.instructions is not None:
            raise UsageError("Instructions stand in --instructions and in the cell. Keep one of them.")
        options.instructions = cell
    if options.ui:
        _open_form(context, options)
        return
    if options.agent is None:
        _list(context, options)
        return
    if options.code:
        _write_code(context, options)
        return
    binding = context.bind(_agent(context, options), on=options.on, source=context.find(options.agent))
    if options.default:
        context.default_agent = binding.bound.name
    if options.out is not None:
        context.user_ns[options.out] = binding.bound
    title, rows = f"Agent {binding.bound.name}", _card.lines(context.card(binding.bound), binding.changes)
    _show_card(context, binding.bound, title, rows)


def _show_card(context: Context, bound: Any, title: str, rows: list[tuple[str, str]]) -> None:
    """The card; with its button where widgets work."""
    if not lack_of_widgets():
        from hermes_nb.widgets.promote import Promotion

        Promotion(bound, context.variables, card=rows, is_open=False).show()
    else:
        show_bundle(_card.as_text(title, rows), _card.as_html(title, rows))


def _open_form(context: Context, options: argparse.Namespace) -> None:
    if any(getattr(options, name) is not None for name in (*_OPTIONS, "on", "out")) or options.default or options.code:
        raise UsageError("--ui takes no other options: they are fields of the form. %hermes agent [NAME] --ui opens it.")
    from hermes_nb.widgets.builder import AgentBuilder

    def bind(agent: Agent, variable: str, runtime: str) -> Any:
        bound = context.bind(agent, on=runtime).bound
        context.user_ns[variable] = agent
        return bound

    agent = None if options.agent is None else _agent(context, options)
    context.hermes  # noqa: B018 - what it warns of is said here, and not where a click is answered
    runtime = "process" if agent is None else context.runs_on(agent.name) or "process"
    AgentBuilder(context.variables, bind, agent=agent, runtime=runtime).show()


def _write_code(context: Context, options: argparse.Namespace) -> None:
    from hermes_nb.api._agent_name import key_variable, name_in
    from hermes_nb.model.agent_code import agent_code, variable_for

    agent, names = _agent(context, options), context.variables()
    on = options.on or context.runs_on(agent.name)
    try:
        code = agent_code(
            agent,
            variable_for(agent.name, names),
            name_of=lambda value: name_in(names, value),
            key_variable=key_variable,
            options=f"--on {on}" if on else "",
        )
    except ValueError as exc:
        raise UsageError(f"{exc} Put it into one and bind the agent again.") from None
    context.shell.set_next_input(code)


def _list(context: Context, options: argparse.Namespace) -> None:
    if any(getattr(options, name) is not None for name in (*_OPTIONS, "on", "out")) or options.default or options.code:
        raise UsageError("An agent needs a name: %hermes agent NAME ...")
    if not context.agents:
        declared = ", ".join(context.declared()) or "none"
        print(f"No agent is bound. Agents in this notebook: {declared}. Bind one with %hermes agent NAME.")
        return
    rows = []
    for name, bound in sorted(context.agents.items()):
        mark = "default" if name == context.default_agent else ""
        tools = ", ".join(tool.name for tool in bound.tools) or "none"
        rows.append((name, f"{bound.model.id} ({bound.model.provider})", tools, bound.session_id or "none yet", mark))
    show(("agent", "model", "tools", "session", ""), rows)


def _agent(context: Context, options: argparse.Namespace) -> Agent:
    """The declaration to bind."""
    given = {name: getattr(options, name) for name in _OPTIONS if getattr(options, name) is not None}
    found = context.find(options.agent)
    if found is None and not given:
        if options.agent in context.agents:
            return context.agents[options.agent].config
        raise _unknown(context, options.agent)
    try:
        fields = _fields(context, given, found)
        return Agent(options.agent, **fields) if found is None else dataclasses.replace(found, **fields)
    except UsageError:
        raise
    except ValueError as exc:  # what Agent and Model refuse
        raise UsageError(str(exc)) from None


def _fields(context: Context, given: dict[str, Any], found: Agent | None) -> dict[str, Any]:
    """Fields of an Agent from the options."""
    fields: dict[str, Any] = {name: given[name] for name in ("instructions", "toolsets", "max_turns") if name in given}
    if "tools" in given:
        fields["tools"] = [context.function(name) for name in given["tools"]]
    old = found.model if found is not None and isinstance(found.model, Model) else None
    if given.get("provider") == OFFLINE or (given.get("model") == OFFLINE and "provider" not in given):
        fields.update(model=Model.offline(), provider=None)
    elif "base_url" in given:
        model_id = given.get("model") or (old.id if old else found.model if found is not None else None)
        if not isinstance(model_id, str):
            raise UsageError("--base-url needs --model, the model's name at that endpoint.")
        if "provider" not in given:
            model_id = model_id.removeprefix("custom:")  # as HERMES_NB_MODEL is written
        key = old.api_key if old is not None and old.base_url == given["base_url"] else None
        fields.update(model=Model(model_id, given.get("provider", "custom"), given["base_url"], key), provider=None)
    elif "model" in given or "provider" in given:
        model_id = given.get("model") or (old.id if old else found.model if found is not None else None)
        provider = given.get("provider") or (old.provider if old else found.provider if found is not None else None)
        fields.update(model=model_id, provider=provider)
    return fields


def _unknown(context: Context, name: str) -> AgentNotFoundError:
    known = sorted(context.declared())
    value = context.variables().get(name)
    what = (
        f"The variable {name!r} holds a {type(value).__name__}, not an Agent."
        if value is not None
        else (f"No Agent named {name!r} is in this notebook.{near(name, known)}")
    )
    how = how_to_make(name, context.user_ns, options=", instructions='...'")
    if is_agent_name(name):
        how += ", or give it options here, e.g. --instructions '...'."
    return AgentNotFoundError(f"{what} Known: {', '.join(known) or 'none'}. {how}")
