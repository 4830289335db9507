"""Which model an agent gets, and what must be said before it is first used."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hermes_nb import _settings
from hermes_nb.errors import ModelAuthError, UsageError
from hermes_nb.model.agent import OFFLINE, Agent, Model

if TYPE_CHECKING:
    from hermes_nb.sessions.recording import Recording

NO_KEY = "no-key"  # what an endpoint without a key is sent; Hermes wants one


@dataclass(frozen=True)
class ModelChoice:
    """The model with its key, and a line for people: what was chosen for them, None when they chose."""

    model: Model
    notice: str | None = None


def choose(agent: Agent, recording: Recording | None = None) -> ModelChoice:
    """The model of an agent: its own, else HERMES_NB_MODEL, else a key of the environment, else the offline model.

    With a recording no key is needed, and an agent without a model of its own gets the recorded one.

    Raises:
        UsageError: A model is named without a provider, or HERMES_NB_MODEL can't be read.
        ModelAuthError: The provider needs a key and none is there.
    """
    if recording is not None:
        return _recorded(agent, recording)
    if isinstance(agent.model, Model):
        return ModelChoice(_with_key(agent.model, agent.name))
    if agent.model:
        return ModelChoice(_with_key(_parse(agent.model, agent.provider, f"Agent {agent.name!r}"), agent.name))
    chosen = _settings.model()
    if chosen:
        return ModelChoice(_with_key(_parse(chosen, agent.provider, "HERMES_NB_MODEL"), agent.name))
    variable = _settings.found_key() if agent.provider is None else _settings.key_variable(agent.provider)
    if variable is not None and _settings.variable(variable):
        provider, host, model_id = _settings.KEY_VARIABLES[variable]
        model = Model(model_id, provider, api_key=_settings.variable(variable))
        return ModelChoice(
            model,
            f"Using {model_id} of {provider}: prompts and tool results go to {host}, with the key in {variable}."
            " Choose another with model=... or HERMES_NB_MODEL.",
        )
    if agent.provider not in (None, OFFLINE):
        raise UsageError(f"Agent {agent.name!r} names provider {agent.provider!r} without a model. Add model='...'.")
    return ModelChoice(
        Model.offline(),
        "No model key was found: the embedded offline model answers. It matches words with tools and calls them; it does"
        " not understand language. Set a key (e.g. OPENROUTER_API_KEY) or model=... for a real one." + _where_keys_are(),
    )


def _where_keys_are() -> str:
    """In Colab a key is in its Secrets; taking it from there is the user's to do, who is asked."""
    if "google.colab" not in sys.modules:
        return ""
    return (
        " A key of Colab's Secrets: from google.colab import userdata, then os.environ['OPENROUTER_API_KEY'] ="
        " userdata.get('OPENROUTER_API_KEY')."
    )


def _recorded(agent: Agent, recording: Recording) -> ModelChoice:
    if isinstance(agent.model, Model):
        model = agent.model
    elif agent.model:
        model = _parse(agent.model, agent.provider, f"Agent {agent.name!r}")
    else:
        model = recording.model_of(agent.name) or Model.offline()
    variable = _settings.key_variable(model.provider)
    key = model.api_key or (_settings.variable(variable) if variable else None) or NO_KEY
    if model.provider != OFFLINE:
        model = replace(model, api_key=key)
    live = "; what it does not hold goes to the model" if _settings.replay_goes_live() else ", nothing is sent"
    return ModelChoice(model, f"Answers come from the recording {recording.path}{live}.")


def _parse(text: str, provider: str | None, whose: str) -> Model:
    if text == OFFLINE or provider == OFFLINE:
        return Model.offline()
    if provider:
        return Model(text, provider)
    head, colon, rest = text.partition(":")
    if colon and rest and "/" not in head and "." not in head:
        return Model(rest, head) if head != "custom" else _custom(rest, whose)
    raise UsageError(
        f"{whose} names the model {text!r} without a provider. Write 'provider:model', e.g. 'openrouter:{text}',"
        " or Model(id, provider)."
    )


def _custom(rest: str, whose: str) -> Model:
    """`custom:MODEL@URL`, an OpenAI-compatible endpoint."""
    model_id, at, url = rest.partition("@")
    if not at or not model_id or not url:
        raise UsageError(f"{whose} names a custom model without its endpoint. Write 'custom:MODEL@http://host:port/v1'.")
    return Model(model_id, "custom", url)


def _with_key(model: Model, agent: str) -> Model:
    if model.api_key or model.provider == OFFLINE:
        return model
    variable = _settings.key_variable(model.provider)
    if variable is None:
        return replace(model, api_key=NO_KEY) if model.provider == "custom" else model
    key = _settings.variable(variable)
    if key is None:
        raise ModelAuthError(
            f"Agent {agent!r} uses provider {model.provider!r}, which needs a key. Set {variable}, or pass"
            " Model(..., api_key=...), or use model='offline'."
        )
    return replace(model, api_key=key)
