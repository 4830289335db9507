"""The public API of flyteplugins-agents-hermes for scripts, with its known faults mended.

Its own code does the work. Put right, each with a test that shows what happens without: tools given as wrappers are
registered again where they are unpickled; a tool named like one of Hermes's is refused; the replay key holds no facts of a
host or a day; a number without a point fits a float anywhere; outside a run of Flyte a task's function runs in place; a
report is written in a kernel, too; stdout stays as it is.
"""

from __future__ import annotations

import contextvars
import functools
import importlib
import inspect
import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from hermes_nb.flyte import _sdk
from hermes_nb.flyte.promotion.spec import is_task

_lock = threading.Lock()
_hermes: list[SimpleNamespace] = []


def tool(func: Callable[..., Any] | None = None, *, name: str | None = None, description: str | None = None) -> Any:
    """A Hermes tool of a Flyte task (a call is a durable child action) or of a plain callable (it runs in place).

    Works bare, with arguments, and as a call. The result has `__wrapped_task__`, and the task keeps running its own body.

    Args:
        func: An `@env.task`, or any callable.
        name: What the model calls it; None means the function's name.
        description: What the model reads; None means the docstring.

    Raises:
        ToolNameError: Hermes has a tool of that name, which would run instead.
    """
    if func is None:
        return functools.partial(tool, name=name, description=description)
    from hermes_nb.tools.name import OURS, check

    check(name or _name_of(func), module=OURS)  # in a script none of the package's own tools stands beside it
    repair_report()
    _prepared()
    if not is_task(func):
        return _sdk.adapter().tool(_same(func), name=name, description=description)
    body: Any = getattr(func, "func", None)
    wrapper = _sdk.adapter().tool(func, name=name, description=description)
    # Registered again for agents that users build themselves: the adapter's own call makes no float of an int in a list.
    _register(_Offered(*_built(func, _name_of(wrapper), description or inspect.getdoc(body) or None)))
    return wrapper


def _same(func: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does the same, so that a name for the model does not rename the user's."""
    if not inspect.isroutine(func):
        return func
    if inspect.iscoroutinefunction(func):

        @functools.wraps(func)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            return await func(*args, **kwargs)

        return awaited

    @functools.wraps(func)
    def called(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return called


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
    """
    from hermes_nb.flyte.task.middleware import seam

    if agent is not None and tools:
        raise ValueError("Pass either agent=, which has tools of its own, or tools=; not both.")
    if agent is not None and agent_kwargs:
        raise ValueError(f"{', '.join(sorted(agent_kwargs))}: agent_kwargs are for an agent built here, not for agent=.")
    if agent is None and model is None:
        raise ValueError("Provide `model=`: an agent built here has no default; or pass your own as agent=.")
    repair_report()
    await seam.open(_prepared())
    offered = {one.name: one for one in map(_offered, tools)}
    token = _of_run.set(offered)
    try:
        answer: str = await _sdk.adapter().run_agent(
            input,
            tools=[SimpleNamespace(__name__=name, __hermes_registered__=True) for name in offered],
            model=model,
            instructions=instructions,
            agent=agent,
            name=name,
            durable=durable,
            observability=observability,
            memory_key=memory_key,
            **agent_kwargs,
        )
    finally:
        _of_run.reset(token)
    return answer


@functools.wraps(run_agent, assigned=())
def run_agent_sync(*args: Any, **kwargs: Any) -> str:
    """The final text, for a task that is no coroutine: arguments as for `run_agent`, on an event loop of the adapter's."""
    answer: str = _sdk.sdk("flyteplugins.agents.core").sync_variant(run_agent)(*args, **kwargs)
    return answer


@dataclass
class _Offered:
    """A tool as one run offers it.

    Attributes:
        name: What the model calls it.
        description: What the model reads; None for the docstring.
        call: Runs it; its signature is the schema.
    """

    name: str
    description: str | None
    call: Callable[..., Any]


# The tools of the run this context belongs to: Hermes's registry is one per process, and knows a name once.
_of_run: contextvars.ContextVar[Mapping[str, _Offered] | None] = contextvars.ContextVar("hermes_nb_tools", default=None)
_building = threading.Lock()
_numbers = itertools.count(1)


def _offered(given: Any) -> _Offered:
    """A tool of one run, its arguments built from its own annotations where it is a task."""
    task = given if is_task(given) else getattr(given, "__wrapped_task__", None)
    if task is None:
        from hermes_nb.tools.name import OURS, check

        check(_name_of(given), module=OURS)
        return _Offered(_name_of(given), None, given)
    named = given if task is not given else task.func
    return _Offered(*_built(task, _name_of(named), inspect.getdoc(named) or None))


def _built(task: Any, name: str, description: str | None) -> tuple[str, str, Callable[..., Any]]:
    from hermes_nb.tools.decorator import Tool

    spec = Tool.from_function(task.func, name=name, description=description)

    @functools.wraps(task.func)
    async def call(**arguments: Any) -> Any:
        args, kwargs = spec.build(arguments)
        result = task.aio(*args, **kwargs) if _sdk.sdk().ctx() else task.func(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result

    call.__name__ = spec.name
    return spec.name, spec.description, call


def _register(offered: _Offered) -> None:
    """Put a tool into Hermes's registry; a call goes to the tool of that name of the run that calls."""

    @functools.wraps(offered.call)
    async def call(**arguments: Any) -> Any:
        own = (_of_run.get() or {}).get(offered.name, offered)
        result = own.call(**arguments)
        return await result if inspect.isawaitable(result) else result

    _sdk.adapter().tool(call, name=offered.name, description=offered.description)


def _build(**options: Any) -> Any:
    """An AIAgent as the adapter asks for it, with the tools of its own run.

    An agent reads the registry once, when it is made; so what it offers is registered in the same moment, in a toolset
    that no other run has.
    """
    from hermes_nb.engine.hermes import patch

    agents: Any = patch.upstream("run_agent")
    tools = _of_run.get()
    if not tools:
        return agents.AIAgent(**options)
    toolsets: Any = patch.upstream("toolsets")
    with _building:
        for offered in tools.values():
            _register(offered)
        name = f"flyte-run-{next(_numbers)}"
        toolsets.create_custom_toolset(name, "Tools of one run", tools=list(tools))
        try:
            return agents.AIAgent(**{**options, "enabled_toolsets": [name]})
        finally:
            toolsets.TOOLSETS.pop(name, None)


def _name_of(func: Any) -> str:
    source = func.func if is_task(func) else func
    return str(getattr(source, "__name__", None) or getattr(source, "name", None) or type(source).__name__)


def _prepared() -> SimpleNamespace:
    """Hermes, imported once, without its hands on stdout."""
    from hermes_nb.engine.hermes import patch
    from hermes_nb.model.mask import Masker

    with _lock:
        if not _hermes:
            _hermes.append(patch.load(Masker()))
            run: Any = importlib.import_module("flyteplugins.agents.hermes._run")
            run._AIAgent = _build  # where the adapter (2.12) looks for the class it builds
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
