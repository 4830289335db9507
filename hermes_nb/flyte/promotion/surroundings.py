"""What a tool finds here and not there: files of the notebook's folder, variables of this process, modules as they are here.

All of these are notes: a text that is the name of a file need not be meant as one.
"""

from __future__ import annotations

import ast
import re
import sys
import types
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePath
from typing import Any

from hermes_nb import _settings, _syntax
from hermes_nb.flyte.promotion import bundle as bundles
from hermes_nb.flyte.promotion.dependency_scan import functions_in, held, site_of
from hermes_nb.flyte.promotion.finding import Finding, Site
from hermes_nb.flyte.promotion.plan import Plan

_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{2,}")
_EVERYWHERE = frozenset("PATH HOME USER LOGNAME SHELL PWD HOSTNAME LANG TZ TMPDIR TEMP TMP TERM PYTHONHASHSEED".split())
_SECRET_WORDS = re.compile(r"KEY|TOKEN|SECRET|PASSW|CREDENTIAL")
_READERS = frozenset({"environ", "environb", "getenv"})


def surroundings(plan: Plan) -> Iterator[Finding]:
    """What is here and not there, one finding for each thing and tool."""
    if plan.config.mode == "remote":  # a local run has this folder and these variables
        for code, values, site in _code(plan):
            words = [*_words(code), *(str(v) for v in values if isinstance(v, str | PurePath))]
            yield from _files(words, site)
            if _READERS & set(_names(code)):
                yield from _variables(plan, words, site)
    for module in plan.spec.local_modules:
        yield from _changed(module)


def _code(plan: Plan) -> Iterator[tuple[list[types.CodeType], list[Any], Site]]:
    """The code of each tool and of each local module, with the values it takes along, and where it stands."""
    for name, taken in plan.taken.items():
        yield [f.__code__ for f in taken.functions], list(taken.variables.values()), site_of(plan.tools[name].function, name)
    for module in plan.spec.local_modules:
        for file, text in bundles.module_files(module).items():
            code = _compiled(text, file) if file.endswith(".py") else None
            if code is not None:
                yield [code], [], Site(text=f"Module {file}")


def _compiled(text: bytes, file: str) -> types.CodeType | None:
    try:
        return compile(text, file, "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return None


def _within(code: Iterable[types.CodeType]) -> Iterator[types.CodeType]:
    todo = list(code)
    while todo:
        one = todo.pop()
        yield one
        todo += [constant for constant in one.co_consts if isinstance(constant, types.CodeType)]


def _words(code: Iterable[types.CodeType]) -> Iterator[str]:
    for one in _within(code):
        yield from (constant for constant in one.co_consts if isinstance(constant, str))


def _names(code: Iterable[types.CodeType]) -> Iterator[str]:
    for one in _within(code):
        yield from one.co_names


def _files(words: list[str], site: Site) -> Iterator[Finding]:
    """Files that stand in the notebook's folder, or by their whole path in the user's own."""
    here = Path.cwd()
    folders = [here, *(here / word for word in words if _is(word, Path.is_dir) and not PurePath(word).is_absolute())]
    found = [w for w in words if _is_folder(w) or (_is_file_name(w) and any(_is(str(f / w), Path.is_file) for f in folders))]
    for word in dict.fromkeys(found):
        yield Finding(
            "local-file",
            f"{'Folder' if _is_folder(word) else 'File'} {word!r} is here, and does not travel.",
            "Read it in the notebook into a variable, keep it within a package of yours, or read it there from a bucket.",
            site,
            is_fatal=False,
        )


def _is_file_name(word: str) -> bool:
    if not 3 <= len(word) <= 255 or "\n" in word or not re.search(r"[./]", word.rstrip(".")):
        return False
    return not PurePath(word).is_absolute() or any(PurePath(word).is_relative_to(f) for f in (Path.cwd(), Path.home()))


def _is_folder(word: str) -> bool:
    return word.endswith("/") and word.strip("./") != "" and _is_file_name(word) and _is(word, Path.is_dir)


def _is(word: str, what: Any) -> bool:
    try:
        return len(word) <= 4096 and bool(what(Path(word).expanduser()))
    except (OSError, ValueError, RuntimeError):
        return False


def _variables(plan: Plan, words: list[str], site: Site) -> Iterator[Finding]:
    """Variables of this process that the run's tasks do not have."""
    there = {*plan.spec.secrets, *plan.config.env_vars, *_EVERYWHERE}
    for word in dict.fromkeys(words):
        if _VARIABLE.fullmatch(word) and _settings.variable(word) is not None and word not in there:
            option = "secrets" if _SECRET_WORDS.search(word) else "env_vars"
            value = "its-name" if option == "secrets" else "..."
            yield Finding(
                "local-variable",
                f"Environment variable {word} is set here, and not there.",
                f"Pass Flyte({option}={{{word!r}: {value!r}}}).",
                site,
                word,
                is_fatal=False,
            )


def _changed(name: str) -> Iterator[Finding]:
    """Modules that were imported from a file that is another by now, or that the notebook changed."""
    for own, module in sorted((n, m) for n, m in list(sys.modules.items()) if n == name or n.startswith(f"{name}.")):
        file = getattr(module, "__file__", None)
        if not isinstance(file, str) or not file.endswith(".py"):
            continue
        site = Site(text=f"Module {Path(file).name}")
        try:
            text = Path(file).read_bytes()
        except OSError:
            yield Finding(
                "module-gone",
                f"The file of module {own!r} can't be read any more, and is what would travel.",
                "Put it back where it was imported from, or define here what it has.",
                site,
            )
            continue
        changed = sorted(_differences(module, text, file))
        if changed:
            more = f" and {len(changed) - 3} more" if len(changed) > 3 else ""
            yield Finding(
                "module-changed",
                f"The file of module {own!r} travels, and says otherwise than this kernel: {', '.join(changed[:3])}{more}.",
                "Load it anew (importlib.reload) if the file is right; else write into the file what the notebook changed.",
                site,
                is_fatal=False,
            )


def _differences(module: types.ModuleType, text: bytes, file: str) -> Iterator[str]:
    """Names at the top of a module that are other things here than by its file."""
    code, names = _compiled(text, file), vars(module)
    if code is None:
        yield "all of it (the file has a syntax error)"
        return
    for node in _once(_syntax.parse(text.decode("utf-8", "replace")).body):
        if isinstance(node, ast.Assign | ast.AnnAssign):
            name = ast.unparse(node.targets[0] if isinstance(node, ast.Assign) else node.target)
            value = ast.literal_eval(node.value) if node.value is not None else None
            # What is empty at first is mostly filled by the module itself.
            if name in names and value not in (None, [], {}, (), "", 0, False) and not _equal(names[name], value):
                yield name
        elif node.name in names:
            value, there = names[node.name], [_form(c) for c in _within([code])]
            if isinstance(node, ast.ClassDef):
                members = (
                    [inner for part in vars(value).values() for inner in _functions(part)] if isinstance(value, type) else []
                )
                here = [f for f in members if f.__code__.co_filename == file]
                is_other = not isinstance(value, type) and not node.decorator_list
            else:
                here = [f for f in functions_in(value) if f.__code__.co_name == node.name]
                is_other = not here and not node.decorator_list
            if is_other or any(_form(f.__code__) not in there for f in here):
                yield node.name


def _once(body: list[ast.stmt]) -> list[Any]:
    """Definitions and plain values at the top of a module whose name is bound there a single time."""
    found: dict[str, list[ast.stmt]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                found.setdefault(ast.unparse(target), []).append(node)
    once = [nodes[0] for nodes in found.values() if len(nodes) == 1]
    return [node for node in once if not isinstance(node, ast.Assign | ast.AnnAssign) or _plain(node)]


def _plain(node: ast.Assign | ast.AnnAssign) -> bool:
    """Whether it binds one name to a literal."""
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    if not isinstance(target, ast.Name) or node.value is None or (isinstance(node, ast.Assign) and len(node.targets) > 1):
        return False
    try:
        ast.literal_eval(node.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True


def _equal(one: Any, other: Any) -> bool:
    try:
        return type(one) is type(other) and bool(one == other)
    except Exception:  # noqa: BLE001 - anything may be raised by what an object does when it is compared
        return False


def _functions(member: Any) -> Iterator[types.FunctionType]:
    """The functions of a member of a class: a method, a property ..."""
    for part in (member, *(held(member, name) for name in ("__func__", "fget", "fset", "fdel", "func"))):
        if isinstance(part, types.FunctionType):
            yield part


def _form(code: types.CodeType) -> tuple[Any, ...]:
    """What code does, without where it stands."""
    constants = tuple(_form(c) if isinstance(c, types.CodeType) else (type(c).__name__, repr(c)) for c in code.co_consts)
    return code.co_code, code.co_names, code.co_varnames, code.co_freevars, constants
