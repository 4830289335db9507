"""What the agent builder offers: models found, functions of the notebook, toolsets, runtimes. Plain data, no keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_nb import _registry, _settings
from hermes_nb.errors import HermesNbError
from hermes_nb.model.agent import Agent, Model
from hermes_nb.tools.listing import candidates
from hermes_nb.tools.toolset import TOOLSETS
from hermes_nb.turns.model_choice import choose

OTHER, VARIABLE = "other", "var:"  # in place of `provider:model`: another model; a Model of the notebook
RUNTIMES = (
    ("process", "Beside this kernel", "A process on this machine; ready in seconds. Recommended while you build."),
    ("flyte:local", "Flyte on this machine", "Each turn is a run of Flyte's local mode: nothing leaves the machine."),
    ("flyte", "Flyte", "Each turn is a run on the cluster that your Flyte configuration names."),
)


def choices(namespace: Mapping[str, Any]) -> dict[str, Any]:
    """Everything a form offers.

    Returns: models and runtimes ([{value, label, note}]), tools (`Candidate.to_dict`), toolsets ([{name, touches,
        is_strong}]).
    """
    return {
        "models": models(namespace),
        "tools": [c.to_dict() for c in candidates(namespace)],
        "toolsets": [{"name": t.name, "touches": t.touches, "is_strong": t.is_strong} for t in TOOLSETS],
        "runtimes": runtimes(namespace),
    }


def models(namespace: Mapping[str, Any]) -> list[dict[str, str]]:
    """Models that can be asked now: the default, the embedded one, one for each key found, those in variables."""
    found = [{"value": "", **_default()}]
    found.append(
        {
            "value": "offline",
            "label": "Offline model (embedded)",
            "note": "No key, nothing is sent. It matches words with tools; it does not understand language.",
        }
    )
    for variable, (provider, host, model_id) in _settings.KEY_VARIABLES.items():
        if _settings.variable(variable):
            note = f"Requests go to {host}, with the key in {variable}."
            found.append({"value": f"{provider}:{model_id}", "label": f"{model_id} ({provider})", "note": note})
    for name, value in list(namespace.items()):
        if isinstance(value, Model) and not name.startswith("_"):
            note = f"The Model in variable {name}; requests go to {value.host}."
            found.append({"value": VARIABLE + name, "label": f"{name}: {value.id} ({value.provider})", "note": note})
    note = "A model of any provider, or an endpoint of your own."
    found.append({"value": OTHER, "label": "Another model ...", "note": note})
    return found


def _default() -> dict[str, str]:
    try:
        choice = choose(Agent("agent"))
    except HermesNbError as exc:
        return {"label": "Default (can't be used)", "note": str(exc)}
    model = choice.model
    key = _settings.found_key()
    if _settings.model():
        note = f"HERMES_NB_MODEL names it; requests go to {model.host}."
    elif key:
        note = f"Chosen by the key in {key}; requests go to {_settings.KEY_VARIABLES[key][1]}."
    else:
        note = "No key was found: the embedded offline model answers, and nothing is sent."
    return {"label": f"Default: {model.id} ({model.provider})", "note": note}


def runtimes(namespace: Mapping[str, Any]) -> list[dict[str, str]]:
    """Where turns can run: the runtimes known by name, and those in variables of the notebook."""
    found = [{"value": value, "label": label, "note": note} for value, label, note in RUNTIMES]
    for name in named_runtimes():
        found.append({"value": name, "label": name.title(), "note": f"The runtime {name!r}, as it is without options."})
    for name, value in list(namespace.items()):
        if not name.startswith("_") and is_runtime(value):
            kind = value.to_dict().get("type", type(value).__name__)
            note = f"The {type(value).__name__}(...) in variable {name}."
            found.append({"value": name, "label": f"{name} ({kind})", "note": note})
    return found


def named_runtimes() -> list[str]:
    """Runtimes known by name beside those of `RUNTIMES`."""
    known = {value.partition(":")[0] for value, _, _ in RUNTIMES}
    return [name for name in _registry.all_names("runtimes") if name not in known]


def is_runtime(value: Any) -> bool:
    """Whether a variable's value is a runtime, such as `Flyte(...)`."""
    has_both = not isinstance(value, type) and hasattr(type(value), "to_dict")
    return has_both and callable(getattr(type(value), "open", None))
