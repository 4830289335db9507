"""What an instance's folder keeps of it and of its agents, for a later kernel to open it by (`workers.instance_record`)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb.model.agent import Model
from hermes_nb.model.mask import MASK
from hermes_nb.workers.instance_record import InstanceRecord

if TYPE_CHECKING:
    from hermes_nb.api.instance import Instance


def record_of(instance: Instance) -> InstanceRecord:
    """What the folder of an instance keeps of it."""
    lost = [unbound.told for name, unbound in instance.unbound.items() if name not in instance.agents]
    names = sorted(getattr(instance.runtime, "environment", None) or ())
    runtime = json.loads(json.dumps(instance.runtime.to_dict(), default=str))
    return InstanceRecord(
        id=instance.id,
        name=instance.name,
        owner=dict(instance.owner),
        is_shared=instance.is_shared,
        options=dict(instance.options),
        runtime={**runtime, **({"unkept": names} if names else {})},
        agents=(*(_told(instance, name) for name in instance.agents), *lost),
    )


def _told(instance: Instance, name: str) -> dict[str, Any]:
    bound = instance.agents[name]
    config = bound.config
    model: Any = config.model
    unkept: list[str] = []
    if isinstance(model, Model):
        model = model.told()
        model["fallbacks"] = [other.told() for other in config.model.fallbacks] if isinstance(config.model, Model) else []
        if any(MASK in str(told["base_url"]) for told in (model, *model["fallbacks"])):
            unkept.append("endpoint with credentials")
    hermes_config: Any = config.config
    if hermes_config and not _can_be_kept(hermes_config):
        hermes_config = {}
        unkept.append("config")
    return {
        "profile_id": bound.profile_id,
        "declaration": {
            "name": config.name,
            "instructions": config.instructions,
            "model": model,
            "provider": config.provider,
            "mcp": [server.told() for server in config.mcp],
            "profile_options": dict(config.profile_options),
            "session_options": dict(config.session_options),
            "config": hermes_config,
            "max_turns": config.max_turns,
            "toolsets": None if config.toolsets is None else list(config.toolsets),
        },
        "tools": [tool.name for tool in bound.tools],
        "had_key": isinstance(config.model, Model) and config.model.api_key is not None,
        "unkept": unkept,
    }


def _can_be_kept(config: Mapping[str, Any]) -> bool:
    """Whether a config is plain data without keys."""
    from hermes_nb.engine.hermes.bootstrap import secrets_in

    try:
        return bool(json.loads(json.dumps(config)) == config) and not secrets_in(config)
    except (TypeError, ValueError):
        return False
