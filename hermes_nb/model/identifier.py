"""Identifiers: short, unique, and named for what they identify."""

from __future__ import annotations

import uuid
from typing import Any

from hermes_nb.errors import UsageError


def new_id(kind: str) -> str:
    """A short unique id such as `s-3f2a9c01b7`."""
    return f"{kind}-{uuid.uuid4().hex[:10]}"


def given(value: Any, what: str, *, attribute: str = "") -> str:
    """Return a text that a user gave for an id or a title.

    Args:
        value: What was given.
        what: What it is to be, e.g. `session_id`.
        attribute: Where objects of the package keep such an id.

    Raises:
        UsageError: It is no text.
    """
    if isinstance(value, str):
        return value
    kind = type(value).__name__
    if not attribute:
        raise UsageError(f"{what} is a text, not {'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}.")
    has_it = isinstance(getattr(value, attribute, None), str)
    hint = f"Write .{attribute} after it." if has_it else "`%hermes sessions` and result.turn_id tell ids."
    raise UsageError(f"{what} is a text, not {'an' if kind[:1].lower() in 'aeiou' else 'a'} {kind}. {hint}")
