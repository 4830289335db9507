"""Rules a file can break by itself: its size, its name, what it reads, what it swallows, what it gives away."""

import ast
import re
import warnings
from pathlib import Path

import pytest

import hermes_nb._version

from . import source

SOFT_LINES, HARD_LINES, SHOP_WINDOW_LINES = 300, 500, 80
SHOP_WINDOWS = ("hermes_nb/__init__.py", "hermes_nb/magics/__init__.py")
MEANINGLESS = re.compile(r"_?(utils?|helpers?|common|misc|managers?)(_|$)|_(utils?|helpers?|manager)$")
# Who may touch the environment: settings read it; a worker arranges its own process's before Hermes looks at it.
ENVIRONMENT_READERS = {"hermes_nb/_settings.py", "hermes_nb/engine/hermes/bootstrap.py"}


def n_lines(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def test_no_file_is_longer_than_the_hard_limit(capsys: pytest.CaptureFixture[str]) -> None:
    lengths = {source.name_of(p): n_lines(p) for p in source.python_files()}
    long = {name: n for name, n in lengths.items() if n > SOFT_LINES}
    with capsys.disabled():
        if long:
            print(f"\nOver {SOFT_LINES} lines (soft):", ", ".join(f"{name} {n}" for name, n in sorted(long.items())))
    assert {name: n for name, n in long.items() if n > HARD_LINES} == {}
    assert {name: lengths[name] for name in SHOP_WINDOWS if lengths[name] > SHOP_WINDOW_LINES} == {}


def test_module_names_mean_something() -> None:
    assert [source.name_of(p) for p in source.python_files() if MEANINGLESS.search(p.stem)] == []


def test_test_rooms_are_packages() -> None:
    rooms = {p.parent for p in (source.ROOT / "tests").rglob("*.py")}
    assert [source.name_of(room) for room in rooms if not (room / "__init__.py").exists()] == []


def test_the_environment_is_read_in_one_place() -> None:
    def reads(path: Path) -> bool:
        attributes = {"environ", "environb", "getenv", "putenv", "unsetenv"}
        return any(
            (isinstance(node, ast.Attribute) and node.attr in attributes and getattr(node.value, "id", "") == "os")
            or (isinstance(node, ast.ImportFrom) and node.module == "os" and {a.name for a in node.names} & attributes)
            for node in source.nodes(path, ast.Attribute, ast.ImportFrom)
        )

    assert {source.name_of(p) for p in source.modules() if reads(p)} <= ENVIRONMENT_READERS


def is_nothing(body: list[ast.stmt]) -> bool:
    return all(
        isinstance(s, ast.Pass | ast.Continue) or (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
        for s in body
    )


def broad(node: ast.expr | None) -> bool:
    names = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(n is None or getattr(n, "id", "") in {"Exception", "BaseException"} for n in names)


def test_no_failure_is_swallowed() -> None:
    found = []
    for path in source.modules():
        for handler in source.nodes(path, ast.ExceptHandler):
            if handler.type is None or (broad(handler.type) and is_nothing(handler.body)):
                found.append(f"{source.name_of(path)}:{handler.lineno}")
        for call in source.nodes(path, ast.Call):
            called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if called == "suppress" and any(broad(argument) for argument in call.args):
                found.append(f"{source.name_of(path)}:{call.lineno}")
    assert found == []


def test_nothing_is_left_unfinished() -> None:
    # Spelled in two halves, so that this file is not its own finding.
    words = re.compile(r"\b(" + "|".join(("TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplemented" + "Error")) + r")\b")
    assert [source.name_of(p) for p in source.python_files() if words.search(p.read_text(encoding="utf-8"))] == []


def test_no_path_of_one_machine_is_committed() -> None:
    folders = ("/" + "work/", "/" + "root/", "/home" + r"/[a-z]\w*/", "/Users" + r"/[a-z]\w*/", r"[A-Z]:\\" + "Users")
    machine = re.compile("(?<![\\w.])(" + "|".join(folders) + ")")
    found = []
    for path in source.text_files():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if machine.search(line):
                found.append(f"{source.name_of(path)}:{number}: {line.strip()[:100]}")
    assert found == []


def test_the_version_is_in_one_place() -> None:
    version = hermes_nb._version.__version__
    assigning = re.compile(r"""^\s*(__version__|version)\s*=\s*["']\d""", re.MULTILINE)
    files = [*source.python_files(), source.ROOT / "pyproject.toml"]
    holders = [source.name_of(p) for p in files if assigning.search(p.read_text(encoding="utf-8"))]
    assert holders == ["hermes_nb/_version.py"]
    assert "version" in source.project()["project"]["dynamic"]
    changelog = (source.ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## {version}" in changelog or "## Unreleased" in changelog


def test_the_sources_raise_no_warning_when_compiled() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in source.modules():
            compile(path.read_text(encoding="utf-8"), str(path), "exec")
