"""What `import hermes_nb` offers, for editors and type checkers: they see every name before anything ran."""

from IPython.core.interactiveshell import InteractiveShell

from hermes_nb._version import __version__ as __version__
from hermes_nb.api.bound_agent import BoundAgent as BoundAgent
from hermes_nb.api.evaluation.case import Case as Case
from hermes_nb.api.evaluation.evaluating import evaluate as evaluate
from hermes_nb.api.evaluation.evaluation import Evaluation as Evaluation
from hermes_nb.api.evaluation.judge import Judge as Judge
from hermes_nb.api.evaluation.score import Score as Score
from hermes_nb.api.hermes import Hermes as Hermes
from hermes_nb.api.instance import Instance as Instance
from hermes_nb.api.turn import Turn as Turn
from hermes_nb.errors import HermesNbError as HermesNbError
from hermes_nb.errors import ToolRetry as ToolRetry
from hermes_nb.errors import TurnError as TurnError
from hermes_nb.errors import UsageError as UsageError
from hermes_nb.model.agent import Agent as Agent
from hermes_nb.model.agent import Model as Model
from hermes_nb.model.content import ContentPart as ContentPart
from hermes_nb.model.event import Event as Event
from hermes_nb.model.mcp_server import McpHttp as McpHttp
from hermes_nb.model.mcp_server import McpStdio as McpStdio
from hermes_nb.model.span import Span as Span
from hermes_nb.runtimes._base import Runtime as Runtime
from hermes_nb.runtimes.docker import Docker as Docker
from hermes_nb.runtimes.process import Process as Process
from hermes_nb.tool_host.host import ToolHost as ToolHost
from hermes_nb.tools.decorator import Tool as Tool
from hermes_nb.tools.decorator import tool as tool
from hermes_nb.turns.result import RunResult as RunResult
from hermes_nb.views.page import read_report as read_report
from hermes_nb.widgets.follow import Timeline as Timeline
from hermes_nb.widgets.follow import timeline as timeline

__all__ = [
    "Agent",
    "BoundAgent",
    "Case",
    "ContentPart",
    "Docker",
    "Evaluation",
    "Event",
    "Hermes",
    "HermesNbError",
    "Instance",
    "Judge",
    "McpHttp",
    "McpStdio",
    "Model",
    "Process",
    "RunResult",
    "Runtime",
    "Score",
    "Span",
    "Timeline",
    "Tool",
    "ToolHost",
    "ToolRetry",
    "Turn",
    "TurnError",
    "UsageError",
    "__version__",
    "evaluate",
    "read_report",
    "timeline",
    "tool",
]

def help(topic: str = "") -> None: ...
def load_ipython_extension(shell: InteractiveShell) -> None: ...
def unload_ipython_extension(shell: InteractiveShell) -> None: ...
