"""The conformance table of tools, run through other libraries: who passes which row.

    python -m tests.benchmarks.tool_bench [--venv DIR]

The other libraries live in an environment of their own, which is made with pip in a temporary folder (or in DIR, where
it is kept). One that does not install is left out, and said to be. Nothing is asserted: the rows are our own promises,
and where a library means otherwise on purpose, the row still counts.
"""

import argparse
import asyncio
import importlib
import json
import subprocess
import sys
import tempfile
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# What pip is asked for, by the name in the table.
LIBRARIES = {
    "pydantic-ai": "pydantic-ai-slim",
    "openai-agents": "openai-agents",
    "langchain-core": "langchain-core",
    "fastmcp": "fastmcp",
    "mcp": "mcp",
}
BESIDE = ["pandas", "numpy", "typing_extensions"]
Made = tuple[dict[str, Any], str, Callable[[dict[str, Any]], object]]


def hermes_nb(function: Callable[..., Any], name: str, namespace: Any) -> Made:
    """The adapter of this project."""
    tool = importlib.import_module("hermes_nb.tools.decorator").tool
    made = tool(function, name=name)

    def call(arguments: dict[str, Any]) -> object:
        args, kwargs = made.build(json.dumps(arguments), namespace)
        result = made(*args, **kwargs)
        return asyncio.run(result) if asyncio.iscoroutine(result) else result

    return made.parameters, made.description, call


def pydantic_ai(function: Callable[..., Any], name: str, namespace: Any) -> Made:
    """pydantic-ai validates with the function's schema, then calls it."""
    made = importlib.import_module("pydantic_ai").Tool(function, name=name, takes_ctx=False)
    schema = made.function_schema

    def call(arguments: dict[str, Any]) -> object:
        return asyncio.run(schema.call(schema.validator.validate_json(json.dumps(arguments)), None))

    return schema.json_schema, made.description or "", call


def openai_agents(function: Callable[..., Any], name: str, namespace: Any) -> Made:
    """openai-agents without its strict mode, which makes every parameter required."""
    function_tool = importlib.import_module("agents").function_tool
    context = importlib.import_module("agents.tool_context").ToolContext
    made = function_tool(function, name_override=name, strict_mode=False, failure_error_function=None)

    def call(arguments: dict[str, Any]) -> object:
        text = json.dumps(arguments)
        about = context(context=None, tool_name=name, tool_call_id="1", tool_arguments=text)
        return asyncio.run(made.on_invoke_tool(about, text))

    return made.params_json_schema, made.description or "", call


def langchain_core(function: Callable[..., Any], name: str, namespace: Any) -> Made:
    """langchain-core, reading docstrings where it can."""
    structured = importlib.import_module("langchain_core.tools").StructuredTool
    given = {"coroutine" if asyncio.iscoroutinefunction(function) else "func": function}
    told = {} if getattr(function, "__doc__", None) else {"description": "No docstring."}
    made = structured.from_function(**given, **told, name=name, parse_docstring=True, error_on_invalid_docstring=False)

    def call(arguments: dict[str, Any]) -> object:
        return asyncio.run(made.ainvoke(arguments)) if "coroutine" in given else made.invoke(arguments)

    return made.get_input_jsonschema(), "" if told else made.description, call


def fastmcp(function: Callable[..., Any], name: str, namespace: Any) -> Made:
    """FastMCP's own tools."""
    made = importlib.import_module("fastmcp.tools").Tool.from_function(function, name=name)
    return made.parameters, made.description or "", lambda arguments: asyncio.run(made.run(arguments))


def mcp(function: Callable[..., Any], name: str, namespace: Any) -> Made:
    """The tools of the MCP SDK's server."""
    made = importlib.import_module("mcp.server.mcpserver.tools.base").Tool.from_function(function, name=name)
    return made.parameters, made.description or "", lambda arguments: asyncio.run(made.run(arguments, None))


ADAPTERS = {"hermes_nb": hermes_nb, **{n: globals()[n.replace("-", "_")] for n in LIBRARIES}}


def judge_all(library: str) -> dict[str, str]:
    """Row name -> what the library gets wrong about it ("" for nothing)."""
    import warnings

    from tests.tools import conformance, conformance_rows, conformance_signatures

    warnings.simplefilter("ignore")
    rows = [*conformance_rows.ROWS, *conformance_signatures.ROWS]
    return {row.name: conformance.judge(row, ADAPTERS[library]) for row in rows}


def prepare(folder: Path) -> tuple[Path, dict[str, str]]:
    """The Python of an environment with the other libraries, and the version of each that installed."""
    python = folder / "bin" / "python"
    if not python.exists():
        print(f"making an environment in {folder} ...", flush=True)
        venv.create(folder, with_pip=True)
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    if subprocess.run([*pip, *BESIDE, *LIBRARIES.values()], capture_output=True, check=False).returncode:
        for package in [*BESIDE, *LIBRARIES.values()]:  # together they don't fit: as many as do
            subprocess.run([*pip, package], capture_output=True, check=False)
    code = "import importlib.metadata as m, json; print(json.dumps({d.name.lower(): d.version for d in m.distributions()}))"
    listed = json.loads(subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True).stdout)
    return python, {name: listed[package] for name, package in LIBRARIES.items() if package in listed}


def ask(python: str, library: str) -> dict[str, str] | None:
    """What a library gets wrong, judged in a process of its own; None when that fails."""
    command = [python, "-m", "tests.benchmarks.tool_bench", "--library", library]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=600, check=False)
    lines = [line for line in done.stdout.splitlines() if line.startswith("JUDGED ")]
    if done.returncode or not lines:
        print(f"{library}: left out, it did not run: {done.stderr.strip().splitlines()[-1:]}")
        return None
    judged: dict[str, str] = json.loads(lines[-1].removeprefix("JUDGED "))
    return judged


def show(judged: dict[str, dict[str, str]], versions: dict[str, str], *, reasons: bool) -> None:
    """Print a line for each row, then the counts."""
    names = list(judged)
    print(" | ".join(f"{name} {versions.get(name, '')}".strip() for name in names))
    rows = list(next(iter(judged.values())))
    for row in rows:
        print(f"{row:<52} " + " ".join(f"{'.' if judged[name][row] else 'yes':^14}" for name in names))
        for name in names:
            if reasons and judged[name][row]:
                print(f"    {name}: {judged[name][row][:150]}")
    print(f"{'':<52} " + " ".join(f"{name:^14}" for name in names))
    passed = [f"{sum(not reason for reason in judged[name].values())}/{len(rows)}" for name in names]
    print(f"{'rows passed':<52} " + " ".join(f"{count:^14}" for count in passed))


def main() -> int:
    """Judge one library (`--library`), or all and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--library", choices=ADAPTERS, help="judge this one here and print JSON")
    parser.add_argument("--venv", type=Path, help="where the environment of the other libraries is kept")
    parser.add_argument("--reasons", action="store_true", help="say what is wrong, too")
    options = parser.parse_args()
    if options.library:
        print("JUDGED", json.dumps(judge_all(options.library)))
        return 0
    with tempfile.TemporaryDirectory() as temporary:
        python, versions = prepare(options.venv or Path(temporary) / "venv")
        judged = {"hermes_nb": ask(sys.executable, "hermes_nb")}
        judged |= {name: ask(str(python), name) for name in versions}
        for name in LIBRARIES.keys() - versions.keys():
            print(f"{name}: left out, it did not install")
    show({name: found for name, found in judged.items() if found is not None}, versions, reasons=options.reasons)
    return 0


if __name__ == "__main__":
    sys.exit(main())
