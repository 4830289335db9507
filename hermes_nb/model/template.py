"""Templates of prompts: `{{name}}` becomes the value of that name (a notebook's variable for `--format`, a row for a map).

A name may be followed by attributes and constant keys, `{{df.shape}}`, `{{row["city"]}}`, `{{items[0]}}`, which only look
something up. Other expressions are refused: a prompt is not a place where code runs. `\\{{` stands for `{{` itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from hermes_nb._near import near
from hermes_nb.errors import UsageError

_PLACE = re.compile(r"\\\{\{|\{\{(.*?)\}\}", re.DOTALL)
_STEP = re.compile(r"""\.(?P<name>[^\W\d]\w*)|\[(?:(?P<index>-?\d+)|"(?P<double>[^"]*)"|'(?P<single>[^']*)')\]""")
_NAME = re.compile(r"[^\W\d]\w*")


def names(text: str) -> list[str]:
    """Return the names that a template looks up, in order, each once."""
    found = (_NAME.match(m.group(1).strip()) for m in _PLACE.finditer(text) if m.group(1) is not None)
    return list(dict.fromkeys(m.group() for m in found if m is not None))


def fill(text: str, variables: Mapping[str, Any], known: Iterable[str] | None = None) -> str:
    """The text with every `{{name}}` replaced by `str(value)`.

    Args:
        text: The text.
        variables: What names stand for.
        known: Those that may have been meant by a name that is unknown; None means all.

    Raises:
        UsageError: A name is unknown, a lookup fails, or something else than a lookup stands between the braces.
    """

    def value(match: re.Match[str]) -> str:
        inner = match.group(1)
        return "{{" if inner is None else str(look_up(inner.strip(), variables, known))

    return _PLACE.sub(value, text)


def look_up(path: str, variables: Mapping[str, Any], known: Iterable[str] | None = None) -> Any:
    """Return what a path names, e.g. `df.shape`; arguments and errors are those of `fill`."""
    name = _NAME.match(path)
    steps = [] if name is None else _steps(path, name.end())
    if name is None or steps is None:
        raise UsageError(
            f"{{{{{path}}}}} can't be filled in: a template takes names with attributes and keys, e.g. {{{{df.shape}}}}, and"
            " no other expressions. Compute it into a variable first, or write \\{{ for the braces themselves."
        )
    if name.group() not in variables:
        meant = [key for key in (variables if known is None else known) if not key.startswith("_")]
        raise UsageError(f"{{{{{path}}}}} names no variable of this notebook.{near(name.group(), meant)}")
    value = variables[name.group()]
    for step in steps:
        try:
            value = _take(value, step)
        except Exception as exc:  # noqa: BLE001 - a user's object may raise anything
            raise UsageError(f"{{{{{path}}}}} can't be looked up: {type(exc).__name__}: {exc}") from None
    return value


def _steps(path: str, position: int) -> list[re.Match[str]] | None:
    """The attributes and keys after the name; None when something else stands there."""
    steps = []
    while position < len(path):
        step = _STEP.match(path, position)
        if step is None:
            return None
        steps.append(step)
        position = step.end()
    return steps


def _take(value: Any, step: re.Match[str]) -> Any:
    if step["name"] is not None:
        return getattr(value, step["name"])
    if step["index"] is not None:
        return value[int(step["index"])]
    return value[step["double"] if step["double"] is not None else step["single"]]
