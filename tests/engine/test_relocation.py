"""Modules that were imported under one home go on under another, and nothing is left behind unseen."""

from __future__ import annotations

import sys
import types
from collections import namedtuple
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import pytest

from hermes_nb.engine.relocation import Relocation, unmoved

NEW = "/somewhere/else"
Pair = namedtuple("Pair", "name path")


def old() -> str:
    """The home of the import, made anew: as a value of this module it would be moved along."""
    return "-".join(("/tmp/hermes-nb", "relocation", "old"))


class Lazy:
    """Loads what it stands for when it is asked anything."""

    asked = 0

    def __getattr__(self, name: str) -> Any:
        type(self).asked += 1
        raise AttributeError(name)

    @property
    def __class__(self) -> type:  # type: ignore[override]
        Lazy.asked += 1
        return str


@pytest.fixture
def module() -> Iterator[types.ModuleType]:
    module = types.ModuleType("hermes_nb_relocated")
    sys.modules[module.__name__] = module
    yield module
    del sys.modules[module.__name__]


CASES: dict[str, Callable[[str], Any]] = {
    "text": lambda home: home,
    "within a text": lambda home: f"in {home}/skills and {home}/logs",
    "path": lambda home: Path(home) / "a.db",
    "pure path": PurePosixPath,
    "list": lambda home: [1, home, [f"{home}/b"]],
    "dict": lambda home: {f"{home}/x": 1, "y": {"z": home}},
    "keys of tuples": lambda home: {(home, 3): (1, home)},
    "set": lambda home: {home, "other"},
    "frozen set": lambda home: frozenset({home}),
    "tuple": lambda home: (1, (2, home)),
    "named tuple": lambda home: Pair("a", Path(home)),
    "something else": lambda home: "/tmp/other",
}


@pytest.mark.parametrize("name", CASES)
def test_values_of_a_module_are_moved(module: types.ModuleType, name: str) -> None:
    module.value = CASES[name](old())  # type: ignore[attr-defined]
    Relocation(old()).move(NEW)
    assert module.value == CASES[name](NEW)


def test_classes_functions_and_objects_are_moved(module: types.ModuleType) -> None:
    home = old()

    class Store:
        root = Path(home)

        def __init__(self) -> None:
            self.path = f"{home}/store"

        def open(self, path: str = home, *, under: str = home) -> tuple[str, str]:
            return path, under

    module.Store, module.store = Store, Store()  # type: ignore[attr-defined]
    Relocation(old()).move(NEW)
    assert Store.root == Path(NEW)
    assert module.store.path == f"{NEW}/store"
    assert module.store.open() == (NEW, NEW)


def test_the_same_containers_go_on(module: types.ModuleType) -> None:
    listed: list[Any] = [old()]
    listed.append(listed)
    module.value = {"listed": listed, "again": listed}  # type: ignore[attr-defined]
    Relocation(old()).move(NEW)
    assert module.value["again"] is listed
    assert listed[0] == NEW


def test_nothing_is_asked_of_an_object_that_loads_lazily(module: types.ModuleType) -> None:
    module.lazy = [Lazy()]  # type: ignore[attr-defined]
    Lazy.asked = 0
    Relocation(old()).move(NEW)
    assert Lazy.asked == 0


def test_what_can_t_be_moved_is_found(module: types.ModuleType) -> None:
    kept = f"{old()}-closure"
    module.closure = lambda: hidden  # type: ignore[attr-defined]
    hidden = [f"{kept}/file"]
    Relocation(kept).move(NEW)
    assert f"list: '{kept}/file'" in list(unmoved(kept))
    hidden.clear()
    assert f"list: '{kept}/file'" not in list(unmoved(kept))
