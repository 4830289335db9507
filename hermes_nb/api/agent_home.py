"""Which home a bound agent has: that of its own name, or one it shares by `profile_options={"home": NAME}`."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from hermes_nb.model.owner import DEFAULT_OWNER
from hermes_nb.workers import agent_home
from hermes_nb.workers.agent_home import AgentHome

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent

_TOOLSETS = frozenset({"memory", "skills"})


def _home(bound: BoundAgent) -> AgentHome:
    """Its memory and its skills, lasting over kernels and restarts; see `%hermes memory` and `%hermes skills`.

    An agent has a home of its own, by its name and its instance; agents whose `profile_options` name one share that.
    """
    instance, shared = bound.instance, bound.config.profile_options.get("home")
    root = bound.hermes.state_dir / agent_home.FOLDER
    if instance.owner != DEFAULT_OWNER:
        root /= "of-" + hashlib.sha256(json.dumps(instance.owner, sort_keys=True).encode()).hexdigest()[:12]
    if shared:
        return AgentHome(root / "shared" / str(shared))
    return AgentHome(root / "own" / instance.scope / bound.name)


def told(bound: BoundAgent) -> dict[str, Any] | None:
    """What the worker is told of its home; None for an agent that neither remembers nor has skills."""
    if not _TOOLSETS & set(bound.config.toolsets or ()) and not bound.config.profile_options.get("home"):
        return None
    home = _home(bound)
    return {"name": "-".join(home.path.parts[-3:]), "path": str(home.path.absolute())}


home = property(_home)
