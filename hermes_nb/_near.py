"""The known name nearest to one that is unknown, and the refusal of options by name."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

_Class = TypeVar("_Class", bound=type)
_Function = TypeVar("_Function", bound=Callable[..., Any])


# Options that are asked of the wrong thing, by what has them, in the order in which they are meant.
OPTIONS_OF = {
    "Model": ("api_key", "base_url"),
    "Agent": ("instructions", "model", "provider", "tools", "toolsets", "max_turns", "config", "session_options", "mcp"),
    "run": (
        "timeout_s",
        "returns",
        "again",
        "idempotency_key",
        "mode",
        "max_cost_usd",
        "max_tokens",
        "metadata",
        "replay_miss",
    ),
    "tool": ("approval", "parallel", "idempotent", "max_result_chars"),
    "Hermes.local": ("runtime", "state", "cleanup", "replay", "owner"),
    "Process": ("executable",),
}


def near(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` with the known name nearest to `name`; "" when none is near (see `nearest`)."""
    best = nearest(name, known)
    return f" Did you mean {best!r}?" if best is not None else ""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to `name`; None when none is near.

    Near is a slip of the hand (a letter in three), another case, or one that begins with the other. Letters in another order
    alone, as in `nope` and `open`, are another word.
    """
    import difflib

    bare = {k.lstrip("-"): k for k in reversed(list(known))}  # the dashes that all options share make no likeness
    wanted = name.lstrip("-")
    close = difflib.get_close_matches(wanted.lower(), {k.lower() for k in bare}, n=5, cutoff=0.6)
    found = [k for like in close for k in bare if k.lower() == like and _is_slip(wanted.lower(), like)]
    longer = [k for k in bare if min(len(k), len(wanted)) > 2 and k.startswith(wanted)] if wanted else []
    best = next(iter([*found, *longer]), None)
    return None if best is None else bare[best]


def unknown_options(what: str, options: Iterable[str], known: Iterable[str]) -> str | None:
    """The words for the options that `what` does not know, e.g. `run`; None when it knows them all.

    Each is told with the nearest that it knows, else with whatever else has such an option (`OPTIONS_OF`).
    """
    known = list(known)
    unknown = [name for name in options if name not in known]
    if not unknown:
        return None
    hints = ["" if _owner(str(name), what) else near(str(name), known) for name in unknown]
    listed = "" if all(hints) else f" Known: {', '.join(sorted(known)) or 'none'}."
    told = [hint or _elsewhere(str(name), what) for name, hint in zip(unknown, hints, strict=True)]
    return " ".join(f"{what} takes no {name!r}.{hint}" for name, hint in zip(unknown, told, strict=True)) + listed


def _owner(name: str, what: str) -> str | None:
    return next((owner for owner, options in OPTIONS_OF.items() if owner != what and name in options), None)


def _elsewhere(name: str, what: str) -> str:
    meant = name if _owner(name, what) else nearest(name, [o for options in OPTIONS_OF.values() for o in options])
    owner = None if meant is None else _owner(meant, what)
    return "" if owner is None else f" {meant!r} is an option of {owner}."


def refuse_options(what: str, options: Iterable[str], known: Iterable[str]) -> None:
    """Refuse options that `what` does not know.

    Raises:
        TypeError: There are any; the message is that of `unknown_options`.
    """
    said = unknown_options(what, options, known)
    if said is not None:
        raise TypeError(said)


def suggesting(cls: _Class) -> _Class:
    """The class, whose constructor names the nearest of its options when it is given one that it does not know."""
    init: Any = cls.__init__  # type: ignore[misc]
    known = [name for name in inspect.signature(init).parameters if name != "self" and not name.startswith("_")]

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        refuse_options(cls.__name__, [k for k in options if not k.startswith("_")], known)
        init(self, *args, **options)

    cls.__init__ = __init__  # type: ignore[misc]
    return cls


def suggesting_methods(cls: _Class) -> _Class:
    """The class, whose public methods name the nearest of their options when they are given one that they do not know.

    Those that take any option (`**options`) refuse for themselves.
    """
    for name, held in list(vars(cls).items()):
        function: Any = getattr(held, "__func__", held)
        if name.startswith("_") or not inspect.isfunction(function) or function.__code__.co_flags & inspect.CO_VARKEYWORDS:
            continue
        made: Any = suggesting_call(function)
        setattr(cls, name, type(held)(made) if isinstance(held, classmethod | staticmethod) else made)
    return cls


def suggesting_call(function: _Function) -> _Function:
    """The function, which names the nearest of its options when it is given one that it does not know."""
    code = function.__code__
    named = code.co_varnames[code.co_posonlyargcount : code.co_argcount + code.co_kwonlyargcount]
    taken = frozenset(named)
    call: Any = function

    def refuse(options: Iterable[str]) -> None:
        refuse_options(function.__qualname__, options, [name for name in named if name not in ("self", "cls")])

    def checked(*args: Any, **options: Any) -> Any:
        if not taken.issuperset(options):
            refuse(options)
        return call(*args, **options)

    async def checked_async(*args: Any, **options: Any) -> Any:
        if not taken.issuperset(options):
            refuse(options)
        return await call(*args, **options)

    wrapper: Any = functools.wraps(function)(checked_async if inspect.iscoroutinefunction(function) else checked)
    made: _Function = wrapper
    return made


def _is_slip(a: str, b: str) -> bool:
    """Whether one letter in three differs at most; two that changed places count as one."""
    rows = [list(range(len(b) + 1))]
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            best = min(rows[-1][j] + 1, row[-1] + 1, rows[-1][j - 1] + (x != y))
            if i > 1 and j > 1 and x == b[j - 2] and a[i - 2] == y:
                best = min(best, rows[-2][j - 2] + 1)
            row.append(best)
        rows.append(row)
    return rows[-1][-1] <= max(1, max(len(a), len(b)) // 3)
