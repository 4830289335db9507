"""What travels: this package's own source, the user's local modules, and each tool's function as bytes.

All of it is made once, when a run is submitted, and is bytes from then on: a task's closure holds nothing that pickles
differently tomorrow, so that Flyte knows a child again on a retry.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import hashlib
import importlib.util
import io
import pickle
import sys
import sysconfig
import weakref
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import Any

from hermes_nb import _syntax
from hermes_nb._require import require
from hermes_nb.errors import MissingPackageError
from hermes_nb.flyte.promotion.dependency_scan import CACHED, is_by_name, shells_builtin
from hermes_nb.flyte.promotion.package_file import PackageFiles, package_files

# Of this package, what a tool's task needs, and what the turn's needs besides.
TOOL_ROOMS, TURN_ROOMS = ("", "model", "tools", "flyte"), ("engine", "views")
# The embedded model, of which every turn needs the HTTP server alone.
OFFLINE_ROOM = "offline_model"
_SERVER = tuple(f"{OFFLINE_ROOM}/{name}.py" for name in ("__init__", "endpoint", "endpoint_form"))
_STAMP = (2020, 1, 1, 0, 0, 0)


@dataclass(frozen=True)
class Bundle:
    """The bytes of a promotion.

    Attributes:
        code: A zip of this package's rooms and of the local modules, put on the path inside a tool's task.
        turn_code: The same for the turn's task, with what the report's page is made of.
        tools: Tools that run as child actions, each pickled alone, by name.
        inline: The tools that run inside the turn, pickled together so that they share their state; b"" when there are none.
        local_modules: Names of the local modules in `code`.
        modules: Top-level names of the other modules that the tools need.
    """

    code: bytes
    turn_code: bytes
    tools: Mapping[str, bytes] = field(default_factory=dict)
    inline: bytes = b""
    local_modules: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()

    @property
    def size_bytes(self) -> int:
        """How much is uploaded at least, before compression."""
        return len(self.turn_code) + len(self.inline) + sum(len(data) + len(self.code) for data in self.tools.values())


def dumps(value: Any) -> bytes:
    """The value by cloudpickle: what a notebook defined travels by value, what a module defines by name."""
    cloudpickle: Any = require("cloudpickle", why="to ship a notebook's functions")

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, CACHED) and not is_by_name(obj):  # cloudpickle would take it by a name that nobody has there
                kept = obj.cache_parameters()
                return cached, (obj.__wrapped__, kept["maxsize"], kept["typed"])
            if type(obj) is functools.cached_property:  # holds a lock
                return property_cached, (obj.func, obj.attrname, obj.__doc__)
            if type(obj) is weakref.WeakKeyDictionary:  # of a function by `singledispatch`: what it found is found again
                return weakref.WeakKeyDictionary, ()
            if (name := shells_builtin(obj)) is not None:
                return getattr, (builtins, name)
            return super().reducer_override(obj)

    buffer = io.BytesIO()
    Pickler(buffer).dump(value)
    return buffer.getvalue()


def cached(function: Callable[..., Any], maxsize: int | None, typed: bool) -> Callable[..., Any]:
    """The function with an empty cache of that size around it."""
    return functools.lru_cache(maxsize=maxsize, typed=typed)(function)


def property_cached(function: Callable[..., Any], name: str | None, doc: str | None) -> functools.cached_property[Any]:
    """The cached property of a class, with a lock of its own."""
    made = functools.cached_property(function)
    made.attrname, made.__doc__ = name, doc
    return made


def pickled(value: Any) -> bytes | None:
    """The value's pickle; None when it can't be pickled, whatever it raises then.

    Raises:
        MissingPackageError: What pickles is not installed, which says nothing about the value.
    """
    try:
        return dumps(value)
    except MissingPackageError:
        raise
    except Exception:  # noqa: BLE001 - anything may be raised by what an object does when it is pickled
        return None


def digest(code: bytes) -> str:
    """Names some code: 16 hexadecimal digits."""
    return hashlib.sha256(code).hexdigest()[:16]


def pack(tools: Mapping[str, bytes], inline: bytes, modules: Iterable[str], *, with_offline: bool = False) -> Bundle:
    """The bundle of pickled tools; `modules` are the top-level names they need, `with_offline` takes the embedded model."""
    local = sorted(name for name in modules if is_local(name))
    others = sorted(name for name in modules if name not in local and name not in sys.stdlib_module_names)
    code = _with_modules(source_zip(of_turn=False), local)
    turn_code = _with_modules(source_zip(of_turn=True, with_offline=with_offline), local)
    return Bundle(code, turn_code, tools, inline, tuple(local), tuple(others))


def source_zip(*, of_turn: bool, with_offline: bool = False) -> bytes:
    """This package's rooms as a zip, the same bytes for the same source.

    Args:
        of_turn: Also what runs a turn and draws its report; else only what runs a tool.
        with_offline: Also the embedded model.
    """
    root = Path(__file__).parents[2]
    files = {}
    rooms = (*TOOL_ROOMS, *(TURN_ROOMS if of_turn else ()), *([OFFLINE_ROOM] if with_offline else ()))
    for name in _SERVER if of_turn else ():
        files[f"hermes_nb/{name}"] = (root / name).read_bytes()
    for room in rooms:
        sources = sorted((root / room).glob("**/*.py" if room else "*.py"))  # with the rooms within a room
        for path in [*sources, *sorted((root / room / "assets").glob("*"))]:
            files[f"hermes_nb/{path.relative_to(root).as_posix()}"] = path.read_bytes()
    return _zip(files)


def _with_modules(code: bytes, names: Sequence[str]) -> bytes:
    if not names:
        return code
    files: dict[str, bytes] = {}
    with zipfile.ZipFile(io.BytesIO(code)) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for name in names:
        files |= module_files(name)
    return _zip(files)


def module_files(name: str) -> dict[str, bytes]:
    """Source and data files of a local module or package as they are on disk now, by their place in the zip."""
    spec = _spec(name)
    if spec is None:
        return {}
    if spec.submodule_search_locations is None:
        origin = Path(spec.origin or "")
        return {origin.name: origin.read_bytes()} if origin.is_file() else {}
    files = dict[str, bytes]()
    for folder in reversed([Path(location) for location in spec.submodule_search_locations]):
        files |= _package(name, folder)
    return files


def _package(name: str, folder: Path) -> dict[str, bytes]:
    """Source and data files of a package's folder.

    A folder of source without `__init__.py` gets an empty one: a zip is no place to find such a folder as a package.
    """
    places = {path.relative_to(folder): path for path in sorted(folder.rglob("*.py"))}
    places = {place: path for place, path in places.items() if not any(_is_aside(part) for part in place.parts[:-1])}
    parents = {parent for place in places for parent in place.parents}
    files = {f"{name}/{(parent / '__init__.py').as_posix()}": b"" for parent in parents}
    taken = {Path(place): path for place, path in package_files(folder).taken.items()}
    return files | {f"{name}/{place.as_posix()}": path.read_bytes() for place, path in (places | taken).items()}


def _is_aside(part: str) -> bool:
    return part.startswith(".") or part in ("site-packages", "node_modules", "__pycache__")


def has_data(code: bytes) -> bool:
    """Whether a zip holds data files of a local package, which are read from a folder alone."""
    with zipfile.ZipFile(io.BytesIO(code)) as archive:
        return any(not n.endswith(".py") for n in archive.namelist() if not n.startswith("hermes_nb/"))


def data_files(name: str) -> PackageFiles:
    """The data files of a local module: none, unless it is a package."""
    spec = _spec(name)
    found = PackageFiles()
    for folder in reversed((spec.submodule_search_locations if spec else None) or []):
        files = package_files(Path(folder))
        found = PackageFiles(found.taken | files.taken, found.left | files.left, found.size_bytes + files.size_bytes)
    return found


def _zip(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _STAMP)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    return buffer.getvalue()


class _Anything(type):
    """Of a class that is its own only instance."""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        return cls

    def __setitem__(cls, _: Any, __: Any) -> None: ...


class _Stand(metaclass=_Anything):
    """Stands for whatever a pickle makes of a name, classes too: it takes all that is put into it, and keeps nothing."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        return cls

    @staticmethod
    def append(_: Any) -> None: ...

    extend = add = __setstate__ = append


def named_modules(data: bytes) -> set[str]:
    """Top-level names of the modules that a pickle refers to by name.

    It is read without any of them: what a name stands for is never looked up.
    """
    found: set[str] = set()

    def subimport(name: str, *_: Any) -> Any:  # a module itself, which cloudpickle imports by name
        found.add(name)
        return _Stand

    class Names(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            found.add(module)
            return subimport if module.startswith("cloudpickle") and name == "subimport" else _Stand

    Names(io.BytesIO(data)).load()
    return {n for n in (f.partition(".")[0] for f in found) if n not in ("builtins", "__main__", "cloudpickle", "None")}


def with_imports(modules: Iterable[str]) -> dict[str, str]:
    """Top-level modules with those that local ones among them import, these too, and so on.

    Returns: name to the file that needs it; "" for those given, and for what is imported only where it is there (in a `try`,
        a function, under a condition).
    """
    found = dict.fromkeys(modules, "")
    todo = list(found)
    while todo:
        name = todo.pop()
        for file, source in _source_of(name) if is_local(name) else ():
            for other, is_needed in _imports(source):
                if other not in found and (is_needed or is_found(other)) and other not in sys.stdlib_module_names:
                    found[other] = file if is_needed else ""
                    todo.append(other)
    return found


def is_found(name: str) -> bool:
    """Whether a top-level module could be imported here."""
    return name in sys.modules or _spec(name) is not None


def _source_of(name: str) -> Iterator[tuple[str, str]]:
    """File name and text of a local module, and of those of its package that are imported here."""
    for own in [name, *(m for m in list(sys.modules) if m.startswith(name + "."))]:
        file = _origin(sys.modules.get(own), own)
        with contextlib.suppress(OSError, ValueError):
            if file is not None and file.endswith(".py"):
                yield Path(file).name, Path(file).read_text(encoding="utf-8")


def _imports(source: str) -> Iterator[tuple[str, bool]]:
    """Top-level names that a module's text imports, and whether it can't be imported without."""
    try:
        todo: list[tuple[ast.AST, bool]] = [(_syntax.parse(source), True)]
    except SyntaxError:
        return
    while todo:
        node, is_needed = todo.pop()
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], is_needed) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield node.module.partition(".")[0], is_needed
        elif not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test)):
            is_sure = is_needed and isinstance(node, ast.Module | ast.ClassDef | ast.With)
            todo += [(child, is_sure) for child in ast.iter_child_nodes(node)]


def is_local(name: str) -> bool:
    """Whether a top-level module is the user's own: a source file outside the interpreter and its installed packages."""
    if name in sys.stdlib_module_names or name in ("hermes_nb", "__main__"):
        return False
    module = sys.modules.get(name)
    origin = _origin(module, name)
    places = (
        [origin] if origin is not None and origin.endswith(".py") else _namespace(module, name) if origin is None else []
    )
    installed = {Path(p).resolve() for p in (*sysconfig.get_paths().values(), *_site_folders())}
    return bool(places) and not any(Path(p).resolve().is_relative_to(folder) for p in places for folder in installed)


def _namespace(module: ModuleType | None, name: str) -> list[str]:
    """The folders of a package without `__init__.py`; [] for any other module."""
    if module is not None:
        return [str(folder) for folder in getattr(module, "__path__", None) or ()]
    spec = _spec(name)
    return [str(folder) for folder in (spec.submodule_search_locations if spec else None) or ()]


def _origin(module: ModuleType | None, name: str) -> str | None:
    if module is not None:
        return getattr(module, "__file__", None)
    spec = _spec(name)
    return None if spec is None else spec.origin


def _spec(name: str) -> ModuleSpec | None:
    """How a top-level module is found; None where it is not."""
    try:
        return importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None


def _site_folders() -> list[str]:
    return [p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
