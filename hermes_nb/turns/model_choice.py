"""Which model an agent gets, and what must be said before it is first used."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from hermes_nb import _provider, _settings
from hermes_nb.errors import HermesNbError, ModelAuthError, UsageError
from hermes_nb.model.agent import OFFLINE, Agent, Model, known_provider
from hermes_nb.model.place import shown_path

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.turns.recording import Recording

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
    choice = _chosen(agent)
    lack = _lack(choice.model)
    return replace(choice, notice=" ".join(filter(None, [choice.notice, lack]))) if lack else choice


def _lack(model: Model) -> str:
    """What has to be installed before the model can be asked; "" where nothing is missing."""
    if model.provider != "anthropic" or importlib.util.find_spec("anthropic") is not None:
        return ""
    return (
        "Provider 'anthropic' needs the package anthropic, which is not installed: run %pip install 'anthropic==0.87.0'"
        " before the first question."
    )


def _chosen(agent: Agent) -> ModelChoice:
    if isinstance(agent.model, Model):
        return ModelChoice(_with_key(agent.model, agent.name))
    if agent.model:
        return ModelChoice(_with_key(_parse(agent.model, agent.provider, f"Agent {agent.name!r}"), agent.name))
    chosen = _settings.model()
    if chosen:
        return ModelChoice(_with_key(_parse(chosen, agent.provider, "HERMES_NB_MODEL"), agent.name))
    variable = _settings.found_key() if agent.provider is None else _settings.key_variable(agent.provider)
    if variable in _settings.KEY_VARIABLES and (key := _settings.key(variable)):
        provider, host, model_id = _settings.KEY_VARIABLES[variable]
        model = Model(model_id, provider, api_key=key)
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


def has_new_model(bound: BoundAgent) -> bool:
    """Return whether the environment has another key or model for an agent now.

    One that is gone changes nothing; of one that can't be used the next turn says why.
    """
    if bound.hermes.replaying is not None:
        return False
    try:
        model = choose(bound.config).model
    except ModelAuthError:
        return False
    except HermesNbError as exc:
        bound.notices.add("model", f"{exc} Until then {bound.model.id} ({bound.model.provider}) answers as before.")
        return False
    if model.provider == OFFLINE:
        return bound.model.provider != OFFLINE and bound.config.model is None and _settings.model() is not None
    is_key_gone = model.api_key == NO_KEY and replace(model, api_key=bound.model.api_key) == bound.model
    return model != bound.model and not is_key_gone


def renew(bound: BoundAgent) -> None:
    """Bind an agent again when the environment has another key or model for it, and say so with its next turn."""
    if bound.instance.is_aside or not has_new_model(bound):
        return
    before = bound.model
    bound.instance.bind(bound.config)
    now = bound.model
    is_key = replace(before, api_key=None) == replace(now, api_key=None)
    what = f"The key of {now.provider} changed" if is_key else f"The model is {now.id} ({now.provider}) now"
    bound.notices.add("model", f"{what}, as the environment says: it counts from this turn on.")


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
    model = _resolved(model)
    variable = _settings.key_variable(model.provider, model.base_url)
    key = model.api_key or (_settings.key(variable) if variable else None) or NO_KEY
    if model.provider != OFFLINE:
        model = replace(model, api_key=key)
    live = "; what it does not hold goes to the model" if _settings.replay_goes_live() else ", nothing is sent"
    return ModelChoice(model, f"Answers come from the recording {shown_path(recording.path)}{live}.")


def _parse(text: str, provider: str | None, whose: str) -> Model:
    if text == OFFLINE or provider == OFFLINE:
        return Model.offline()
    if provider:
        return Model(text, provider)
    head, colon, rest = text.partition(":")
    if colon and rest and "/" not in head and ("." not in head or _provider.is_known(head)):
        return Model(rest, head) if known_provider(head, whose) != ("custom", None) else _custom(rest, whose)
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


def _resolved(model: Model) -> Model:
    """The model by Hermes's name of its provider, with the address of one that is an endpoint."""
    provider, endpoint = known_provider(model.provider, f"Model {model.id!r}")
    return replace(model, provider=provider, base_url=model.base_url or endpoint)


def _with_key(named: Model, agent: str) -> Model:
    fallbacks = tuple(_with_key(other, agent) for other in named.fallbacks)
    model = replace(_resolved(named), fallbacks=fallbacks)
    if model.api_key or model.provider == OFFLINE:
        return model
    variable = _settings.key_variable(named.provider, model.base_url)
    if variable is None:
        return replace(model, api_key=NO_KEY) if model.provider == "custom" else model
    key = _settings.key(variable)
    if key is None and model.provider == "custom" and named.base_url:
        return replace(model, api_key=NO_KEY)  # an address of the user's own may want none
    if key is None:
        raise ModelAuthError(
            f"Agent {agent!r} uses provider {named.provider!r}, which needs a key. Set {variable}, or pass"
            " Model(..., api_key=...), or use model='offline'."
        )
    return replace(model, api_key=key)
