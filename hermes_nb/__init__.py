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

from hermes_nb._version import __version__
from hermes_nb._window import EXPORTS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from hermes_nb.errors import HermesNbError, ToolRetry, TurnError, UsageError
    from hermes_nb.model.agent import Agent, Model
    from hermes_nb.model.content import ContentPart
    from hermes_nb.model.event import Event
    from hermes_nb.model.span import Span
    from hermes_nb.runtimes.process import Process
    from hermes_nb.sessions.agent import BoundAgent
    from hermes_nb.sessions.hermes import Hermes
    from hermes_nb.sessions.instance import Instance
    from hermes_nb.sessions.result import RunResult
    from hermes_nb.sessions.turn import Turn
    from hermes_nb.tools.decorator import Tool, tool
    from hermes_nb.views.page import read_report
    from hermes_nb.widgets.follow import Timeline, timeline

__all__ = [
    "Agent", "BoundAgent", "ContentPart", "Event", "Hermes", "HermesNbError", "Instance", "Model", "Process", "RunResult",
    "Span", "Timeline", "Tool", "ToolRetry", "Turn", "TurnError", "UsageError", "__version__", "read_report",
    "timeline", "tool",
]  # fmt: skip


def __getattr__(name: str) -> object:
    for module, names in EXPORTS.items():
        if name in names:
            from importlib import import_module

            value = globals()[name] = getattr(import_module(f"hermes_nb.{module}"), name)
            return value
    raise AttributeError(f"module 'hermes_nb' has no attribute {name!r}. It has: {', '.join(__all__)}.")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(shell: "InteractiveShell") -> None:
    """`%load_ext hermes_nb`: register `%hermes`. Starts no thread, process or file."""
    from hermes_nb.magics import load

    load(shell)


def unload_ipython_extension(shell: "InteractiveShell") -> None:
    """`%unload_ext hermes_nb`: take `%hermes` away and end the workers."""
    from hermes_nb.magics import unload

    unload(shell)


def _jupyter_labextension_paths() -> list[dict[str, str]]:
    return [{"src": "labextension", "dest": "hermes-nb"}]
