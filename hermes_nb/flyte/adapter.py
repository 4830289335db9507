"""Seed 000 for scripts: flyteplugins-agents-hermes with what the facts show wrong put right.

Its own code does the work. Put right, each with a test that shows what happens without: tools given as wrappers are
registered again where they are unpickled; a tool named like one of Hermes's is refused; the replay key holds no facts of a
host or a day; a number without a point fits a float anywhere; outside a run of Flyte a task's function runs in place; a
report is written in a kernel, too; stdout stays as it is.

Source: seed 000.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from hermes_nb.flyte import _sdk
from hermes_nb.flyte.spec import is_task

_lock = threading.Lock()
_hermes: list[SimpleNamespace] = []


def tool(
    func: Callable[..., Any] | None = None, *, name: str | None = None, description: str | None = None
) -> Any:
    """A Hermes tool of a Flyte task (a call is a durable child action) or of a plain callable (it runs in place).

    Works bare, with arguments, and as a call. The result has `__wrapped_task__`, and the task keeps running its own body.

    Args:
        func: An `@env.task`, or any callable.
        name: What the model calls it; None means the function's name.
        description: What the model reads; None means the docstring.

    Raises:
        ToolNameError: Hermes has a tool of that name, which would run instead.

    Source: seed 000, `tool`.
    """
    if func is None:
        return functools.partial(tool, name=name, description=description)
    from hermes_nb.tools.name import check

    check(name or _name_of(func))
    repair_report()
    _prepared()
    return _sdk.adapter().tool(func, name=name, description=description)


async def run_agent(
    input: str,
    *,
    tools: Sequence[Any] = (),
    model: str | None = None,
    instructions: str | None = None,
    agent: Any = None,
    name: str = "hermes-agent",
    durable: bool = True,
    observability: bool = True,
    memory_key: str | None = None,
    **agent_kwargs: Any,
) -> str:
    """The final text of a Hermes agent, run in the task that calls this.

    Give either `agent`, or `tools` and `model`. The task needs `retries=...` to go on after a crash, `report=True` to show
    the Agent tab.

    Args:
        input: The prompt.
        tools: Results of `tool`, bare tasks, or callables.
        model: The model's name; there is no default.
        instructions: The system prompt; with `agent` it is this run's system message.
        agent: An `AIAgent` of yours, with its own toolsets.
        name: The agent's name.
        durable: Record each model turn, so that a retry replays it. A tool call is an action of its own either way.
        observability: Fill the Agent tab.
        memory_key: Go on from the conversation kept under that key, and keep this turn there.
        **agent_kwargs: For the `AIAgent` that is built.

    Raises:
        ValueError: `agent` together with `tools` or `agent_kwargs`, or neither `agent` nor `model`.

    Source: seed 000, `run_agent`.
    """
    from hermes_nb.flyte.seam import seam

    if agent is not None and tools:
        raise ValueError("Give either an agent, which has tools of its own, or tools; not both.")
    if agent is not None and agent_kwargs:
        raise ValueError(f"{', '.join(sorted(agent_kwargs))}: these are for an agent that is built here, not for agent=.")
    if agent is None and model is None:
        raise ValueError("An agent that is built here needs model='...'; there is no default.")
    repair_report()
    await seam.open(_prepared())
    answer: str = await _sdk.adapter().run_agent(
        input, tools=[_registered(t) for t in tools], model=model, instructions=instructions, agent=agent, name=name,
        durable=durable, observability=observability, memory_key=memory_key, **agent_kwargs,
    )  # fmt: skip
    return answer


@functools.wraps(run_agent, assigned=())
def run_agent_sync(*args: Any, **kwargs: Any) -> str:
    """The final text, for a task that is no coroutine: arguments as for `run_agent`, on an event loop of the adapter's.

    Source: seed 000, `run_agent_sync`.
    """
    answer: str = _sdk.sdk("flyteplugins.agents.core").sync_variant(run_agent)(*args, **kwargs)
    return answer


def _registered(given: Any) -> Any:
    """A tool for one run: registered anew, its arguments built from its own annotations."""
    task = given if is_task(given) else getattr(given, "__wrapped_task__", None)
    if task is None and not hasattr(given, "__hermes_registered__"):
        return tool(given)
    if task is None:
        return _sdk.adapter().tool(given)
    from hermes_nb.tools.decorator import Tool

    named = given if task is not given else task.func
    spec = Tool.from_function(task.func, name=_name_of(named), description=inspect.getdoc(named) or None)
    inside = bool(_sdk.sdk().ctx())

    @functools.wraps(task.func)
    async def call(**arguments: Any) -> Any:
        args, kwargs = spec.build(arguments)
        result = task.aio(*args, **kwargs) if inside else task.func(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    call.__name__ = spec.name
    return _sdk.adapter().tool(call, name=spec.name, description=spec.description)


def _name_of(func: Any) -> str:
    source = func.func if is_task(func) else func
    return str(getattr(source, "__name__", None) or getattr(source, "name", None) or type(source).__name__)


def _prepared() -> SimpleNamespace:
    """Hermes, imported once, without its hands on stdout."""
    from hermes_nb.engine import quirk
    from hermes_nb.model.mask import Masker

    with _lock:
        if not _hermes:
            _hermes.append(quirk.load(Masker()))
        return _hermes[0]


def repair_report() -> None:
    """Let a report be written in a kernel: there Flyte (2.12) makes an IPython object of it, and then wants text."""
    module: Any = _sdk.sdk("flyte.report")
    if getattr(module.Report, "is_of_hermes_nb", False):
        return
    original: Any = module.Report

    class Report(original):  # type: ignore[misc]
        """A report whose final form is text everywhere."""

        is_of_hermes_nb = True

        def get_final_report(self) -> str:
            final = super().get_final_report()
            return final if isinstance(final, str) else str(final.data)

    module.Report = Report
