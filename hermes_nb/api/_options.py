"""Options of the public methods: unknown ones are refused by name, old spellings work for a release."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from hermes_nb._near import unknown_options
from hermes_nb.errors import UsageError

T = TypeVar("T")


def refuse_unknown(method: Callable[..., Any], options: Mapping[str, Any]) -> None:
    """Refuse an option that a method does not know, with the one nearest to it.

    Raises:
        UsageError: There is one; nothing was sent.
    """
    if not options:
        return
    known = [name for name in inspect.signature(method).parameters if name not in ("self", "unknown")]
    said = unknown_options(method.__name__, options, known)
    if said is not None:
        raise UsageError(f"{said} Nothing was sent.")


def old_spelling(method: Callable[..., Any], options: Mapping[str, Any], old: str, new: str, value: T) -> T:
    """Return the value of an option, also when it was given by its old name, which is taken out of `options`.

    Args:
        method: Whose option it is.
        options: What the method does not know.
        old: The old name.
        new: The name it has now.
        value: Its value under the name it has now.

    Warns:
        DeprecationWarning: The old name was used.
    """
    if old not in options:
        return value
    text = f"{method.__name__}({old}=...) is now {method.__name__}({new}=...)."
    warnings.warn(text, DeprecationWarning, stacklevel=3)
    return cast(T, cast(dict[str, Any], options).pop(old))
