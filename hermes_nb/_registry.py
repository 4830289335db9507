"""Plug-ins by name: a module without an underscore in a room IS a plug-in; others come by entry point.

The rooms are `runtimes`, `views` and `magics/subcommands`. Files are looked at by name only: nothing is imported
before it is asked for, and entry points are scanned on a miss alone (a scan costs about 50 ms).
"""

from __future__ import annotations

import importlib
import importlib.util
from types import ModuleType

from hermes_nb.errors import UnknownNameError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


def names(room: str) -> list[str]:
    """Names of the plug-ins shipped in `hermes_nb.<room>`, sorted; entry points are not scanned."""
    import pkgutil

    package = importlib.import_module(f"hermes_nb.{room}")
    return sorted(m.name for m in pkgutil.iter_modules(package.__path__) if not m.name.startswith("_"))


def all_names(room: str) -> list[str]:
    """Names of shipped and entry-point plug-ins of a room, sorted."""
    return sorted({*names(room), *_entry_points(room)})


def load(room: str, name: str) -> ModuleType:
    """The plug-in module (or the object an entry point names).

    Args:
        room: `runtimes`, `views` or `magics.subcommands`.
        name: The plug-in's name; a file of the room or an entry point of the group `hermes_nb.<room>`.

    Raises:
        UnknownNameError: Nothing has that name; the message lists what is known.
    """
    if name.isidentifier() and not name.startswith("_"):
        module = f"hermes_nb.{room}.{name}"
        if importlib.util.find_spec(module) is not None:
            return importlib.import_module(module)
    found = _entry_points(room)
    if name in found:
        loaded: ModuleType = found[name].load()
        return loaded
    kind = room.rpartition(".")[2]
    kind = {"subcommands": "sub-command"}.get(kind, kind.removesuffix("s"))
    raise UnknownNameError(f"No {kind} named {name!r}. Known: {', '.join(sorted({*names(room), *found}))}.")


def _entry_points(room: str) -> dict[str, EntryPoint]:
    from importlib.metadata import entry_points

    return {e.name: e for e in entry_points(group=f"hermes_nb.{room}")}
