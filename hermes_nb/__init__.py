"""Build, watch and ship Hermes agents from a Jupyter notebook.

    %load_ext hermes_nb
    from hermes_nb import Agent, tool

    @tool
    def top_customers(n: int = 3) -> list[dict]:
        "Customers with the highest revenue."
        return df.nlargest(n, "revenue").to_dict("records")

    analyst = Agent("analyst", instructions="Answer from the data.", tools=[top_customers])
    %hermes agent analyst
    %hermes run Which customers matter most?

`%hermes help` shows what there is, `%hermes doctor` what is odd. Without a model key the embedded offline model answers, and
says so. In a script: `async with Hermes.local() as hermes:`. Read on with help(Agent), help(tool), help(Hermes),
help(RunResult), help(timeline).
"""

from hermes_nb import _frontend
from hermes_nb._version import __version__ as __version__
from hermes_nb._window import EXPORTS

# Names and types for editors and type checkers stand in `__init__.pyi`; a module is imported when a name is first used.
__all__ = sorted([*(name for names in EXPORTS.values() for name in names), "__version__"])


def _widgets() -> "_frontend.Frontend":
    from hermes_nb.widgets import frontend

    return frontend


_frontend.install(_widgets)


def __getattr__(name: str) -> object:
    for module, names in EXPORTS.items():
        if name in names:
            from importlib import import_module

            value = globals()[name] = getattr(import_module(f"hermes_nb.{module}"), name)
            return value
    raise AttributeError(f"module 'hermes_nb' has no attribute {name!r}. It has: {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def help(topic: str = "") -> None:
    """Print what there is, or explain a sub-command, a public name or an error: `help("ToolRetry")`."""
    from hermes_nb.magics._topic import explain
    from hermes_nb.magics.subcommands.help import overview

    print(explain(topic) if topic else overview())


def load_ipython_extension(shell: object) -> None:
    """`%load_ext hermes_nb`: register `%hermes`. Starts no thread, process or file."""
    from hermes_nb.magics import load

    load(shell)


def unload_ipython_extension(shell: object) -> None:
    """`%unload_ext hermes_nb`: take `%hermes` away and end the workers."""
    from hermes_nb.magics import unload

    unload(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "hermes-nb"}]
