"""Python defaults as JSON, or in words where JSON has no form for them."""

from __future__ import annotations

import base64
import enum
import fractions
import json
import math
import zoneinfo
from typing import Any

from hermes_nb.tools import variable


def to_json(value: Any) -> Any:
    """A Python default as JSON data: the form in which the model would have to send it.

    Raises:
        ValueError: JSON has no form for it (NaN, a function, a DataFrame).
    """
    from pydantic_core import PydanticSerializationError, to_jsonable_python

    if isinstance(value, enum.Enum):
        return value.value if has_json_values(type(value)) else value.name
    if isinstance(value, (set, frozenset)):  # in an order that does not depend on the hash seed
        return sorted((to_json(item) for item in value), key=lambda item: json.dumps(item, sort_keys=True))
    if isinstance(value, (bytes, bytearray)):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {k if isinstance(k, str) else str(to_json(k)): to_json(v) for k, v in value.items()}
    if hasattr(type(value), "get_secret_value"):
        raise ValueError("a secret is not told")
    if isinstance(value, zoneinfo.ZoneInfo) and value.key:
        return value.key
    if isinstance(value, fractions.Fraction):
        return str(value)
    base = {"int": int, "float": float, "bool": bool, "str": str}.get(variable.scalar_base(type(value)) or "")
    try:
        plain = to_jsonable_python(base(value) if base else value, bytes_mode="base64")
        json.dumps(plain, allow_nan=False).encode()
    except (PydanticSerializationError, ValueError, TypeError, RecursionError) as exc:
        raise ValueError(f"no JSON form for a {type(value).__name__}") from exc
    return plain


def in_words(default: Any) -> str:
    """A sentence about a default JSON has no form for; the same in every process."""
    if isinstance(default, float):
        return f"Default: {'NaN (no number)' if math.isnan(default) else 'infinity' if default > 0 else '-infinity'}."
    kind = (
        "" if type(default).__name__.startswith("_") or type(default) is object else f", {variable.article(type(default))}"
    )
    return f"Optional: left out, the function uses a default of its own{kind}."


def has_json_values(cls: type[enum.Enum]) -> bool:
    """Whether every member's value is one JSON has a form for."""
    return all(
        v is None or isinstance(v, (str, int)) or (isinstance(v, float) and math.isfinite(v)) for v in (m.value for m in cls)
    )
