"""By which name of the notebook or the environment an agent's parts are known, so that its code can name them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_nb import _settings
from hermes_nb.model.agent import Model
from hermes_nb.tools.decorator import Tool


def name_in(namespace: Mapping[str, Any], value: Any) -> str | None:
    """The variable that holds a value or, for a tool, its function; None when none does."""
    for name, held in list(namespace.items()):
        if not name.startswith("_") and (held is value or (isinstance(value, Tool) and held is value.function)):
            return name
    return None


def key_variable(model: Model) -> str | None:
    """The variable of the environment that holds a model's key; None when none does."""
    return next((name for name, value in _settings.secrets().items() if model.api_key == value), None)
