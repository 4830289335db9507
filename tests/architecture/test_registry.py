"""A file without an underscore in a plug-in room is found by its name and has what its kind needs."""

import inspect
from pathlib import Path

import pytest

from hermes_nb import _registry
from hermes_nb.errors import UnknownNameError

from . import source

ROOMS = ("runtimes", "views", "magics.subcommands")


def files(room: str) -> list[Path]:
    folder = source.PACKAGE / room.replace(".", "/")
    return sorted(p for p in folder.glob("*.py") if not p.name.startswith("_"))


PLUGINS = [(room, path.stem) for room in ROOMS for path in files(room)]


@pytest.mark.parametrize("room", ROOMS)
def test_names_are_the_files(room: str) -> None:
    assert _registry.names(room) == [path.stem for path in files(room)]


@pytest.mark.parametrize(("room", "name"), PLUGINS)
def test_a_plug_in_has_what_its_kind_needs(room: str, name: str) -> None:
    module = _registry.load(room, name)
    assert module.__doc__
    match room:
        case "views":
            assert callable(module.render)
        case "runtimes":
            runtime = getattr(module, name.title().replace("_", ""))
            assert callable(runtime.to_dict)
            assert inspect.iscoroutinefunction(runtime.open)
        case _:
            assert module.SUMMARY
            assert not module.SUMMARY.endswith(".")
            assert all(example.lstrip("%").startswith(f"hermes {name}") for example in module.EXAMPLES)
            assert module.EXAMPLES
            assert callable(module.run)
            assert callable(module.parser)


@pytest.mark.parametrize("room", ROOMS)
def test_an_unknown_name_lists_the_known(room: str) -> None:
    with pytest.raises(UnknownNameError, match=rf"named 'dokcer'\. Known: .*{_registry.names(room)[0]}"):
        _registry.load(room, "dokcer")
