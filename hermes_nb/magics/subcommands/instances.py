"""`%hermes instances`: the Hermes homes of this state folder, those that are open here and those an earlier kernel left."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from hermes_nb.errors import StoreError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._table import show
from hermes_nb.workers.instance_record import InstanceRecord
from hermes_nb.workers.state_dir import instance_folders

SUMMARY = "list the instances: open here, or left by an earlier kernel"
EXAMPLES = ("%hermes instances",)
NOTES = """\
An instance is one Hermes home with one worker. `await hermes.open_instance(NAME)` opens one that was left, with its agents
and their sessions; `await instance.delete()` removes it."""


def parser() -> Parser:
    """Return the options."""
    return Parser("instances")


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show them, those that are open first."""
    hermes = context.hermes
    rows = []
    for name, instance in hermes.instances.items():
        state = "answers" if instance.worker.is_ready else "starts when it is asked"
        rows.append(
            (name, _kind(instance.runtime.to_dict()), ", ".join(instance.agents) or "none", f"open; its worker {state}")
        )
    open_here = {instance.worker.folder.path for instance in hermes.instances.values()}
    rows += [_left(folder) for folder in instance_folders(hermes.state_dir) if folder not in open_here]
    if not rows:
        print("No instances. %hermes agent NAME makes one.")
        return
    show(("instance", "runtime", "agents", "state"), rows)


def _left(folder: Any) -> tuple[str, str, str, str]:
    try:
        record = InstanceRecord.read(folder)
    except StoreError:
        return folder.name, "", "", "its record can't be read"
    if record is None:
        return folder.name, "", "", "left without a record"
    agents = ", ".join(str(agent["declaration"]["name"]) for agent in record.agents)
    return record.name, _kind(record.runtime), agents or "none", "left by an earlier kernel, or open in another"


def _kind(runtime: Mapping[str, Any]) -> str:
    return str(runtime.get("type") or "process")
