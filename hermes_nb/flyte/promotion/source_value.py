"""Values that are no literals and whose source is known all the same: patterns, paths, dates, exact numbers."""

from __future__ import annotations

import datetime
import decimal
import fractions
import pathlib
import re
import types
import uuid
from typing import Any

_BY_REPR: dict[type, tuple[types.ModuleType, str]] = {
    datetime.date: (datetime, ""),
    datetime.datetime: (datetime, ""),
    datetime.time: (datetime, ""),
    datetime.timedelta: (datetime, ""),
    datetime.timezone: (datetime, ""),
    decimal.Decimal: (decimal, "decimal."),
    fractions.Fraction: (fractions, "fractions."),
    uuid.UUID: (uuid, "uuid."),
}


def written(value: Any) -> tuple[types.ModuleType, str] | None:
    """The module that makes such a value and the expression that does; None where nothing is known to make it.

    Args:
        value: Any value; what a notebook derives from these types is none of them.
    """
    if isinstance(value, re.Pattern):
        flags = int(value.flags) & ~(re.UNICODE if isinstance(value.pattern, str) else 0)
        return _checked(re, f"re.compile({value.pattern!r}{f', {flags}' if flags else ''})", value)
    if type(value) in (pathlib.Path, type(pathlib.Path())):
        return _checked(pathlib, f"pathlib.Path({str(value)!r})", value)
    if type(value) in _BY_REPR:
        module, prefix = _BY_REPR[type(value)]
        return _checked(module, f"{prefix}{value!r}", value)
    return None


def _checked(module: types.ModuleType, text: str, value: Any) -> tuple[types.ModuleType, str] | None:
    try:
        made = eval(text, {module.__name__: module})
    except Exception:  # noqa: BLE001 - a repr that is no source, as that of a time zone of another module
        return None
    return (module, text) if type(made) is type(value) and made == value else None
