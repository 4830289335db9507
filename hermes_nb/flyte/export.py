"""An agent as a module in the adapter's own idiom: readable, with the tools' source and imports, run by `flyte run`.

The module needs flyte, the adapter and hermes-agent, no notebook and no hermes_nb. What can't be written as source is an
error, never left out silently.
"""

from __future__ import annotations

import ast
import inspect
import json
import keyword
import pprint
import sys
import textwrap
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hermes_nb import _syntax
from hermes_nb.errors import UsageError
from hermes_nb.flyte.plan import Plan
from hermes_nb.flyte.scan import class_source, functions_in, is_of_notebook, used_by
from hermes_nb.flyte.spec import CUSTOM_KEY_VARIABLE, how

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.tools.decorator import Tool

LITERAL_CHARS = 2_000  # a variable longer than this is not written out


def export(plan: Plan, path: str | Path) -> Path:
    """Write the module.

    Args:
        plan: Of the agent (see `preflight`).
        path: The file to write; an existing one is replaced.

    Raises:
        UsageError: A tool's source can't be found, a variable it uses can't be written as source, or a key would be in it.
    """
    secrets = [f for f in plan.fatal if f.code == "secret"]
    if secrets:
        lines = "\n".join(f"- {f}" for f in secrets)
        raise UsageError(f"Nothing was written, because a key would be in the file:\n{lines}")
    path = Path(path)
    path.write_text(source(plan), encoding="utf-8")
    return path


def source(plan: Plan) -> str:
    """The module's text."""
    spec = plan.spec
    parts = _Parts()
    for tool in plan.tools.values():
        parts.take(tool)
    name = _identifier(spec.environment_name, {_function_name(t) for t in plan.tools.values()} | parts.names)
    image = _image(plan)
    secrets = ", ".join(f"flyte.Secret(key={_quoted(k)}, as_env_var={_quoted(v)})" for v, k in spec.secrets.items())
    model = "\n".join(f"        {line}," for line in _model(plan))
    lines = [
        f'"""Agent {spec.agent!r} on Flyte.',
        "",
        f'Run it:  flyte run {{this file}} {name} --prompt "..."',
        '"""',
        "",
        *sorted({*(["import os"] if "os.environ" in model else []), "import flyte", *parts.imports}, key=_import_order),
        "from flyteplugins.agents.hermes import run_agent, tool",
        "",
        "env = flyte.TaskEnvironment(",
        f"    {_quoted(spec.environment_name)},",
        f"    image={image},",
        *([f"    secrets=[{secrets}],"] if secrets else []),
        '    env_vars={"PYTHONHASHSEED": "0"},',
        ")",
        "",
        *parts.definitions,
        "",
        *[line for tool in plan.tools.values() for line in _tool(tool)],
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


class _Parts:
    """Imports and definitions that the tools use, each once, what is needed before what needs it."""

    def __init__(self) -> None:
        self.imports: set[str] = set()
        self.definitions: list[str] = []
        self._seen: set[str] = set()

    @property
    def names(self) -> set[str]:
        """What is defined or imported by name."""
        return set(self._seen)

    def take(self, tool: Tool) -> None:
        for function in functions_in(tool.remote.func if how(tool) == "task" else tool.function):
            self._names(function, tool)

    def _names(self, function: types.FunctionType, tool: Tool) -> None:
        for name, value in [*used_by(function), *_in_signature(function, tool)]:
            if name in self._seen or name in ("env", "tool", "run_agent", tool.name):
                continue
            self._seen.add(name)
            self._one(name, value, function, tool)

    def _class(self, cls: type, user: types.FunctionType, tool: Tool) -> None:
        """A class of the notebook: what its body names comes before it."""
        text = class_source(cls, user)
        if text is None:
            raise UsageError(f"The source of class {cls.__name__!r}, used by tool {tool.name!r}, can't be found.")
        for found in ast.walk(_syntax.parse(text)):
            name = found.id if isinstance(found, ast.Name) else ""
            if name in user.__globals__ and name not in self._seen:
                self._seen.add(name)
                self._one(name, user.__globals__[name], user, tool)
        self.definitions += [text, ""]

    def _one(self, name: str, value: Any, function: types.FunctionType, tool: Tool) -> None:
        module = sys.modules.get(getattr(value, "__module__", None) or "")
        if isinstance(value, types.ModuleType):
            self.imports.add(f"import {value.__name__}" + (f" as {name}" if name != value.__name__ else ""))
        elif isinstance(value, type) and is_of_notebook(value):
            self._class(value, function, tool)
        elif is_of_notebook(value) and callable(value) and list(functions_in(value)):
            for inner in functions_in(value):
                self._names(inner, tool)
            self.definitions += [_source(value, tool), ""]
        elif callable(value) and module is not None and getattr(module, own := _own_name(value), None) is value:
            if module.__name__ != "builtins":
                self.imports.add(f"from {module.__name__} import {own}" + (f" as {name}" if name != own else ""))
        else:
            self.definitions += [f"{name} = {_literal(name, value, tool)}", ""]


def _in_signature(function: types.FunctionType, tool: Tool) -> Iterator[tuple[str, Any]]:
    """Names of the notebook in annotations and defaults, with their values now."""
    node = _syntax.parse(_source(function, tool)).body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):  # a lambda
        return
    for part in (node.args, node.returns):
        for found in ast.walk(part) if part is not None else ():
            if isinstance(found, ast.Name) and found.id in function.__globals__:
                yield found.id, function.__globals__[found.id]


def _identifier(name: str, taken: set[str]) -> str:
    """A name that Python and the module allow for the agent's function."""
    name = name.replace("-", "_")
    name = f"agent_{name}" if not name.isidentifier() or keyword.iskeyword(name) else name
    return f"{name}_agent" if name in taken | {"env", "tool", "run_agent", "flyte", "os"} else name


def _own_name(value: Any) -> str:
    return str(getattr(value, "__name__", ""))


def _literal(name: str, value: Any, tool: Tool) -> str:
    text = pprint.pformat(value, width=110, sort_dicts=False)
    try:
        is_same = ast.literal_eval(text) == value
    except (ValueError, SyntaxError, TypeError):
        is_same = False
    if not is_same or len(text) > LITERAL_CHARS:
        raise UsageError(
            f"Tool {tool.name!r} uses variable {name!r} ({type(value).__name__}, {len(text)} characters), which can't be"
            " written as source. Read it inside the function, from a file or a bucket, or promote without --export."
        )
    return text


def _tool(tool: Tool) -> Iterator[str]:
    function = tool.remote.func if how(tool) == "task" else tool.function
    lines = _without_decorators(_source(function, tool))
    if how(tool) == "inline":
        yield from ("@tool", *lines, "", "")
        return
    options = tool.remote if isinstance(tool.remote, dict) else {}
    given = ", ".join(f"{k}={v!r}" for k, v in options.items() if isinstance(v, str | int | float))
    yield from ("@tool", f"@env.task({given})" if given else "@env.task", *lines, "", "")


def _without_decorators(text: str) -> list[str]:
    node = _syntax.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return text.splitlines()[node.lineno - 1 :]


def _source(value: Any, tool: Tool) -> str:
    value = getattr(value, "function", value)
    try:
        return textwrap.dedent(inspect.getsource(value)).rstrip()
    except (OSError, TypeError) as exc:
        name = getattr(value, "__name__", value)
        raise UsageError(f"The source of {name!r}, used by tool {tool.name!r}, can't be found.") from exc


def _function_name(tool: Tool) -> str:
    return str((tool.remote.func if how(tool) == "task" else tool.function).__name__)


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
        yield f"base_url={_quoted(model['base_url'])}"
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
