"""Hermes's modules under another home than the one they were imported with."""

from __future__ import annotations

import gc
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import PurePath
from typing import Any

_DEPTH = 6  # of containers within containers
_MUTABLE = (dict, list, set)
_WHOLE = (str, PurePath, tuple, frozenset)


class Relocation:
    """Replaces the home that modules were imported with by another, wherever their data names it.

    Where it stands is found once, when this is made, so that moving takes no time.

    Args:
        home: The home of the import, a path that nothing else in the process holds.
    """

    def __init__(self, home: str) -> None:
        self.home = home
        self._seen: set[int] = set()
        self._places: list[tuple[Any, Any, Callable[[Any, Any, Any], None]]] = []
        for module in list(sys.modules.values()):
            if _is(module, types.ModuleType):
                self._find_in_names(vars(module), _DEPTH)
        self._seen.clear()

    def move(self, home: str) -> None:
        """Change globals of all modules, attributes of their classes and objects, and defaults of their functions; once."""
        places, self._places = self._places, []
        for container, key, put in places:
            put(container, key, lambda value: self._moved(value, home))

    def _find(self, value: Any, depth: int) -> None:
        """Note the places within a value that name the home."""
        if depth == 0 or id(value) in self._seen or _is(value, (str, bytes, int, float, types.ModuleType)):
            return
        if _is(value, types.FunctionType):
            self._seen.add(id(value))
            if value.__defaults__ and self._names_home(value.__defaults__):
                self._places.append((value, "__defaults__", _put_attribute))
            if value.__kwdefaults__:
                self._find(value.__kwdefaults__, depth)
        elif _is(value, type):
            self._seen.add(id(value))
            for name, held in list(vars(value).items()):
                if _is(held, _WHOLE):
                    if self._names_home(held):
                        self._places.append((value, name, _put_attribute))
                else:
                    self._find(held, depth)
        elif _is(value, dict):
            self._find_in_names(value, depth)
        elif _is(value, (list, set, tuple, frozenset)):
            self._seen.add(id(value))
            if not _is(value, (tuple, frozenset)) and any(self._names_home(item) for item in value):
                self._places.append((value, None, _put_items))
            for item in value:
                self._find(item, depth - 1)
        elif _is(held := _attributes(value), dict):
            self._seen.add(id(value))
            self._find_in_names(held, depth)

    def _find_in_names(self, names: dict[Any, Any], depth: int) -> None:
        if id(names) in self._seen:
            return
        self._seen.add(id(names))
        for name, value in list(names.items()):
            if self._names_home(name) or self._names_home(value):
                self._places.append((names, name, _put_item))
            self._find(value, depth - 1)

    def _names_home(self, value: Any) -> bool:
        """Whether a text, a path, or a tuple or frozen set of these names the home."""
        if _is(value, str):
            return self.home in value
        if _is(value, PurePath):
            return self.home in str(value)
        return _is(value, (tuple, frozenset)) and any(self._names_home(item) for item in value)

    def _moved(self, value: Any, home: str) -> Any:
        if _is(value, str):
            return value.replace(self.home, home)
        if _is(value, PurePath):
            return type(value)(str(value).replace(self.home, home))
        if _is(value, (tuple, frozenset)) and self._names_home(value):
            items = [self._moved(item, home) for item in value]
            return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
        return value


def _is(value: Any, kinds: type | tuple[type, ...]) -> bool:
    """As isinstance, without asking the object: `__class__` of a lazy proxy loads what it stands for."""
    return issubclass(type(value), kinds)


def _text(value: Any) -> str | None:
    """A text or a path as text, by the plain types' own code; None for anything else."""
    if _is(value, str):
        return str.__str__(value)
    return PurePath.__str__(value) if _is(value, PurePath) else None


def _attributes(value: Any) -> Any:
    """The attributes of an object, without running any code of its own."""
    try:
        return object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return None


def _put_attribute(owner: Any, name: Any, moved: Any) -> None:
    setattr(owner, name, moved(getattr(owner, name)))


def _put_item(names: dict[Any, Any], name: Any, moved: Any) -> None:
    value = names.pop(name) if moved(name) != name else names[name]
    names[moved(name)] = moved(value)


def _put_items(items: Any, _: Any, moved: Any) -> None:
    changed = [moved(item) for item in items]
    items.clear()
    (items.extend if _is(items, list) else items.update)(changed)


def unmoved(home: str, *, ignored: Iterable[Any] = ()) -> Iterator[str]:
    """Places that still hold a text or a path below `home`, in words; looks at all that the collector knows.

    Args:
        home: What must not be found.
        ignored: Containers that may hold it.
    """
    gc.collect()
    skipped = {id(container) for container in ignored}
    for container in gc.get_objects():
        if id(container) in skipped or not _is(container, (*_MUTABLE, tuple, frozenset)):
            continue
        items = [*dict.keys(container), *dict.values(container)] if _is(container, dict) else list(container)
        for item in items:
            if (text := _text(item)) is not None and home in text:
                owner = next(
                    (m.__name__ for m in list(sys.modules.values()) if getattr(m, "__dict__", None) is container), ""
                )
                yield f"{owner or type(container).__name__}: {text[:80]!r}"
