"""Hermes agents on Flyte 2: the adapter's functions, and what takes a notebook's agent there and back.

For scripts, as in flyteplugins-agents-hermes: `tool`, `run_agent`, `run_agent_sync`, `FLYTE_TOOLSET`. For notebooks:
`Flyte`, the runtime; `attach_run`, a run brought back; `events_in`, the events in a report; `submit_plan` and `Submission`,
a promotion that can be watched. `preflight` and
`export` are functions of `promotion`'s modules of those names, `promote` is one of `promotion.promoted`.

Nothing of Flyte is imported until it is needed; this room is its only importer.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.flyte.adapter import run_agent, run_agent_sync, tool
    from hermes_nb.flyte.promotion.submission import Submission, submit_plan
    from hermes_nb.flyte.run.runtime import Flyte, attach_run
    from hermes_nb.flyte.task.report import events_in

FLYTE_TOOLSET = "flyte"
"""The Hermes toolset that tools of Flyte are registered under."""

_EXPORTS = {
    "adapter": ("run_agent", "run_agent_sync", "tool"),
    "task.report": ("events_in",),
    "run.runtime": ("Flyte", "attach_run"),
    "promotion.submission": ("Submission", "submit_plan"),
}
__all__ = [
    "FLYTE_TOOLSET",
    "Flyte",
    "Submission",
    "attach_run",
    "events_in",
    "run_agent",
    "run_agent_sync",
    "submit_plan",
    "tool",
]


def __getattr__(name: str) -> object:
    for module, names in _EXPORTS.items():
        if name in names:
            from importlib import import_module

            value = globals()[name] = getattr(import_module(f"hermes_nb.flyte.{module}"), name)
            return value
    raise AttributeError(f"module 'hermes_nb.flyte' has no attribute {name!r}. It has: {', '.join(__all__)}.")
