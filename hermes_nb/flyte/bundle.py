"""What travels: this package's own source, the user's local modules, and each tool's function as bytes.

All of it is made once, when a run is submitted, and is bytes from then on: a task's closure holds nothing that pickles
differently tomorrow, so that Flyte knows a child again on a retry.
"""

from __future__ import annotations

import ast
import contextlib
import hashlib
import importlib.util
import io
import pickletools
import sys
import sysconfig
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from hermes_nb import _syntax
from hermes_nb._require import require
from hermes_nb.errors import MissingPackageError
from hermes_nb.flyte.package_file import PackageFiles, package_files

# Of this package, what a tool's task needs, and what the turn's needs besides.
TOOL_ROOMS, TURN_ROOMS = ("", "model", "tools", "flyte"), ("engine", "views")
OFFLINE_ROOM = "engine/offline"
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
    data: bytes = require("cloudpickle", why="to ship a notebook's functions").dumps(value)
    return data


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


def pack(
    tools: Mapping[str, bytes], inline: bytes, modules: Iterable[str], *, with_offline: bool = False
) -> Bundle:
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
    root = Path(__file__).parents[1]
    files = {}
    for room in (*TOOL_ROOMS, *(TURN_ROOMS if of_turn else ())):
        sources = sorted((root / room).glob("**/*.py" if room else "*.py"))  # with the rooms within a room
        for path in [*sources, *sorted((root / room / "assets").glob("*"))]:
            if root / OFFLINE_ROOM not in path.parents or with_offline:
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
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return {}
    origin = Path(spec.origin)
    if spec.submodule_search_locations is None:
        return {origin.name: origin.read_bytes()}
    folder = origin.parent
    places = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*.py"))}
    return {f"{name}/{place}": path.read_bytes() for place, path in (places | package_files(folder).taken).items()}


def has_data(code: bytes) -> bool:
    """Whether a zip holds data files of a local package, which are read from a folder alone."""
    with zipfile.ZipFile(io.BytesIO(code)) as archive:
        return any(not n.endswith(".py") for n in archive.namelist() if not n.startswith("hermes_nb/"))


def data_files(name: str) -> PackageFiles:
    """The data files of a local module: none, unless it is a package."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None or spec.submodule_search_locations is None:
        return PackageFiles()
    return package_files(Path(spec.origin).parent)


def _zip(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            info = zipfile.ZipInfo(name, _STAMP)
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, files[name])
    return buffer.getvalue()


def named_modules(data: bytes) -> set[str]:
    """Top-level names of the modules that a pickle refers to by name."""
    found: set[str] = set()
    memo: dict[int, Any] = {}
    pushed: list[Any] = [None, None]
    is_module_next = False
    for opcode, argument, _ in pickletools.genops(data):
        if opcode.name in ("MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT"):
            memo[len(memo) if argument is None else argument] = pushed[-1]
            continue
        if opcode.name == "STACK_GLOBAL":
            module = str(pushed[-2])
            found.add(module)
            is_module_next = module.startswith("cloudpickle") and pushed[-1] == "subimport"
            pushed.append(None)
            continue
        value = memo.get(int(argument or 0)) if opcode.name in ("GET", "BINGET", "LONG_BINGET") else None
        pushed.append(argument if "UNICODE" in opcode.name else value)
        if is_module_next and isinstance(pushed[-1], str):
            found.add(pushed[-1])
            is_module_next = False
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
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


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
    if origin is None or not origin.endswith(".py"):
        return False
    path = Path(origin).resolve()
    installed = {Path(p).resolve() for p in (*sysconfig.get_paths().values(), *_site_folders())}
    return not any(path.is_relative_to(folder) for folder in installed)


def _origin(module: ModuleType | None, name: str) -> str | None:
    if module is not None:
        return getattr(module, "__file__", None)
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return None
    return None if spec is None else spec.origin


def _site_folders() -> list[str]:
    return [p for p in sys.path if Path(p).name in ("site-packages", "dist-packages")]
