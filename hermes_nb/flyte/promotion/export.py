"""An agent as a module in the adapter's own idiom: readable, with the tools' source and imports, run by `flyte run`.

The module needs flyte, the adapter and hermes-agent, no notebook and no hermes_nb. What can't be written as source is an
error, never left out silently. What the tools take along is gathered in `_parts.py`.
"""

from __future__ import annotations

import ast
import dataclasses
import datetime
import json
import keyword
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes_nb import _syntax
from hermes_nb.errors import UsageError
from hermes_nb.flyte import _sdk
from hermes_nb.flyte.promotion.export_check import check, included
from hermes_nb.flyte.promotion.plan import Plan
from hermes_nb.flyte.promotion.secret_scan import found_in, secrets_known
from hermes_nb.flyte.promotion.source_writer import RESERVED, Parts, is_literal, main_function
from hermes_nb.flyte.promotion.spec import CUSTOM_KEY_VARIABLE, how

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.tools.decorator import Tool

# Options of a task that can be written above its function; and what of a task says only what and where it is.
_WRITTEN = ("retries", "cache", "timeout", "short_name", "report", "interruptible", "queue", "max_inline_io_bytes")
_NAMING = (
    "name",
    "interface",
    "func",
    "task_type_version",
    "parent_env",
    "parent_env_name",
    "ref",
    "_call_as_synchronous",
)
# Findings of things that the module would do otherwise than the notebook, or not at all.
_STOPS = ("secret", "secret-name", "approval", "kernel-variable", "missing-module", "module-gone")


def export(plan: Plan, path: str | Path) -> Path:
    """Write the module.

    Args:
        plan: Of the agent (see `preflight`).
        path: The file to write; an existing one is replaced.

    Raises:
        UsageError: A tool's source can't be found, something of it or of the agent can't be written as source, a tool asks
            before each call, a key would be in the file, or the module can't be imported by itself in that folder.
    """
    stops = [f for f in plan.fatal if f.code in _STOPS]
    if stops:
        why = "a key would be in the file" if stops[0].code == "secret" else "of this"
        raise UsageError(f"Nothing was written, because {why}:\n" + "\n".join(f"- {f}" for f in stops))
    path = Path(path)
    text, known = source(plan, path.parent), secrets_known(plan.bound)
    if "secret" not in plan.config.allow and (found := found_in(text.encode(), known)):
        number = next((n for n, line in enumerate(text.split("\n"), 1) if found_in(line.encode(), known)), 0)
        raise UsageError(
            f"Nothing was written, because {found} would be in line {number} of the file. Look for it in the tools' source,"
            " also in comments, and read it from an environment variable."
        )
    check(text, path, plan.spec.local_modules)
    path.write_text(text, encoding="utf-8")
    return path


def source(plan: Plan, folder: Path | None = None) -> str:
    """The module's text, for a file in that folder (None: the current one)."""
    spec = plan.spec
    left_out = _left_out(plan)
    if left_out:
        raise UsageError(
            f"Agent {spec.agent!r} can't be written as a module as it is: {'; '.join(left_out)}."
            " Promote it without --export."
        )
    parts = Parts(plan.tools.values())
    for tool in plan.tools.values():
        parts.take(tool)
    tools = [line for tool in plan.tools.values() for line in _tool(tool, parts)]
    name = _identifier(spec.environment_name, {_function_name(t) for t in plan.tools.values()} | parts.names)
    files = included(spec.local_modules, folder or Path())
    variables = {"PYTHONHASHSEED": "0", **plan.config.env_vars}
    image = _image(plan)
    secrets = ", ".join(f"flyte.Secret(key={_quoted(k)}, as_env_var={_quoted(v)})" for v, k in spec.secrets.items())
    model = "\n".join(f"        {line}," for line in _model(plan))
    lines = [
        f'"""Agent {spec.agent!r} on Flyte.',
        "",
        f'Run it:  flyte run {{this file}} {name} --prompt "..."',
        '"""',
        "",
        *(["from __future__ import annotations", ""] if parts.are_annotations_text else []),
        *sorted({*(["import os"] if "os.environ" in model else []), "import flyte", *parts.imports}, key=_import_order),
        "from flyteplugins.agents.hermes import run_agent, tool",
        "",
        "env = flyte.TaskEnvironment(",
        f"    {_quoted(spec.environment_name)},",
        f"    image={image},",
        *([f"    secrets=[{secrets}],"] if secrets else []),
        *([f"    include=({', '.join(_quoted(file) for file in files)},),"] if files else []),
        f"    env_vars={{{', '.join(f'{_quoted(str(k))}: {_quoted(str(v))}' for k, v in variables.items())}}},",
        ")",
        "",
        *parts.definitions,
        "",
        *tools,
        f"@env.task(report=True, retries={plan.config.retries})",
        f"async def {name}(prompt: str) -> str:",
        f'    """{_one_line(spec.instructions) or "Answer the prompt."}"""',
        "    return await run_agent(",
        "        prompt,",
        f"        tools=[{', '.join(_function_name(t) for t in plan.tools.values())}],",
        f"        model={_quoted(spec.model['id'])},",
        f"        instructions={_quoted(spec.instructions)},",
        f"        name={_quoted(spec.agent)},",
        model,
        "    )",
        "",
    ]
    text = "\n".join(lines)
    _syntax.parse(text)
    return text


def _identifier(name: str, taken: set[str]) -> str:
    """A name that Python and the module allow for the agent's function."""
    name = name.replace("-", "_")
    name = f"agent_{name}" if not name.isidentifier() or keyword.iskeyword(name) else name
    return f"{name}_agent" if name in taken | RESERVED else name


def _left_out(plan: Plan) -> list[str]:
    """What of the agent the adapter's `run_agent` has no place for."""
    spec, config = plan.spec, plan.config
    said = {
        "toolsets": f"it has toolsets of Hermes ({', '.join(spec.toolsets)})" if spec.toolsets else "",
        "config": f"it has keys of Hermes's config ({', '.join(spec.config)})" if spec.config else "",
        "resources": "Flyte(resources=...)" if config.resources is not None else "",
        "image": "Flyte(image=...) is an object" if config.image is not None and not isinstance(config.image, str) else "",
    }
    return [text for text in said.values() if text]


def _tool(tool: Tool, parts: Parts) -> Iterator[str]:
    named = {"name": tool.name} if tool.name != _function_name(tool) else {}
    told = " ".join((main_function(tool).__doc__ or "").split())
    if " ".join(tool.description.split()) not in told:
        named["description"] = tool.description
    words = ", ".join(f"{k}={_quoted(v)}" for k, v in named.items())
    yield f"@tool({words})" if words else "@tool"
    if how(tool) != "inline":
        options = _of_task(tool) if how(tool) == "task" else tool.remote if isinstance(tool.remote, dict) else {}
        given = ", ".join(f"{k}={_option(tool, k, v, parts)}" for k, v in options.items() if v is not None)
        yield f"@env.task({given})" if given else "@env.task"
    yield from (*parts.lines_of(tool), "", "")


def _option(tool: Tool, name: str, value: Any, parts: Parts) -> str:
    """A task option of a tool as source."""
    if is_literal(value) and name not in ("image", "env"):
        return repr(value)
    if isinstance(value, datetime.timedelta):
        parts.imports.add("from datetime import timedelta")
        return repr(value).removeprefix("datetime.")
    text = f"flyte.{value!r}"
    try:
        is_same = name in _WRITTEN and eval(text, {"flyte": _sdk.sdk()}) == value
    except Exception:  # noqa: BLE001 - a repr that is no source
        is_same = False
    if not is_same:
        whose = f"{name}=..." if how(tool) == "task" else f"remote={{{name!r}: ...}}"
        raise UsageError(f"Tool {tool.name!r} has {whose}, which can't be written as source. Promote without --export.")
    return text


def _of_task(tool: Tool) -> dict[str, Any]:
    """The options of the user's own task that a plain one has not.

    Raises:
        UsageError: It differs in what only an environment has (image, resources, secrets ...): the module has its own,
            and the task would run otherwise there.
    """
    task, plain = tool.remote, _sdk.sdk().TaskEnvironment("plain").task(tool.remote.func)
    names = [f.name for f in dataclasses.fields(plain) if f.name not in _NAMING]
    found = {name: getattr(task, name, None) for name in names if getattr(task, name, None) != getattr(plain, name)}
    if type(task) is not type(plain):
        found["task_type"] = type(task).__name__
    if left := sorted(found.keys() - set(_WRITTEN)):
        raise UsageError(
            f"Tool {tool.name!r} is a task of your own with {', '.join(left)}, and in the module it would be one of the"
            f" agent's environment, without {'it' if len(left) == 1 else 'them'}. Promote without --export."
        )
    retries, cache = found.get("retries"), found.get("cache")
    if retries is not None and retries.backoff is None:
        found["retries"] = retries.count
    if cache is not None and _told(cache) == _told(_sdk.sdk().Cache(cache.behavior)):
        found["cache"] = cache.behavior
    return found


def _told(cache: Any) -> dict[str, Any]:
    """What a Cache says; policies, which are equal to themselves alone, by their kind."""
    told = dict(vars(cache))
    return told | {"policies": [type(policy) for policy in told.get("policies") or ()]}


def _function_name(tool: Tool) -> str:
    return str(main_function(tool).__name__)


def _image(plan: Plan) -> str:
    if isinstance(plan.config.image, str):
        return _quoted(plan.config.image)
    versions = plan.spec.versions
    major, minor = versions["python"].split(".")
    pinned = [f"{n}=={versions[n]}" for n in ("hermes-agent", "flyteplugins-agents-hermes") if versions[n]]
    lines = [f"        {_quoted(p)}," for p in (*pinned, *plan.spec.packages)]
    base = f"flyte.Image.from_debian_base(python_version=({major}, {minor})).with_pip_packages("
    return "\n".join([base, *lines, "    )"])


def _model(plan: Plan) -> Iterator[str]:
    model, variable = plan.spec.model, plan.spec.key_variable
    if model["provider"] == "custom":
        yield f"base_url={_quoted(model['base_url'] or '')}"
        yield 'api_mode="chat_completions"'
        yield f"api_key=os.environ[{_quoted(variable or CUSTOM_KEY_VARIABLE)}]" if variable else 'api_key="not-needed"'
    elif model["provider"] == "offline":
        raise UsageError("The offline model lives in hermes_nb. Name a model to export the agent with.")
    else:
        yield f"provider={_quoted(model['provider'])}"
        if variable:
            yield f"api_key=os.environ[{_quoted(variable)}]"
    if plan.spec.max_turns is not None:
        yield f"max_iterations={plan.spec.max_turns}"
    if plan.spec.memory_key:
        yield f"memory_key={_quoted(plan.spec.memory_key)}"


def _quoted(text: str) -> str:
    """A text as source, between double quotes where that needs no thought."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def entry(path: str | Path) -> str:
    """The name of the exported agent's function, for `flyte run`."""
    body = _syntax.parse(Path(path).read_text(encoding="utf-8")).body
    return next(node.name for node in reversed(body) if isinstance(node, ast.AsyncFunctionDef))


def _one_line(text: str) -> str:
    return " ".join(text.split())[:90].replace('"', "'").replace("\\", "/")


def _import_order(line: str) -> tuple[bool, bool, str]:
    module = line.split()[1].partition(".")[0]
    return (module not in sys.stdlib_module_names, line.startswith("from"), line)
