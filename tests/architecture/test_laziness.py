"""`import hermes_nb` and `%load_ext hermes_nb` cost next to nothing: no heavy module, no thread, process or file.

The times are printed, not asserted: they depend on the machine.
"""

import json
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

# Standard library, yet slow or with effects; what we need of it is imported where it is used.
HEAVY = {
    "asyncio",
    "sqlite3",
    "inspect",
    "typing",
    "dataclasses",
    "email",
    "http",
    "ssl",
    "socket",
    "logging",
    "multiprocessing",
    "concurrent",
    "subprocess",
    "unittest",
    "xml",
    "importlib.metadata",
}

LOOK = """
    import json, os, sys, time
    import threading
    def state():
        return {
            "modules": set(sys.modules),
            "threads": threading.active_count(),
            "files": sorted(os.path.join(d, f) for d, _, fs in os.walk(".") for f in fs),
            "fds": len(os.listdir("/dev/fd")),
        }
    def report(before, after, elapsed_ms):
        import psutil
        print(json.dumps({
            "modules": sorted(after["modules"] - before["modules"]),
            "threads": after["threads"] - before["threads"],
            "files": sorted(set(after["files"]) - set(before["files"])),
            "fds": after["fds"] - before["fds"],
            "children": len(psutil.Process().children()),
            "elapsed_ms": elapsed_ms,
        }))
"""
IMPORT = """
    before = state()
    began = time.perf_counter()
    import hermes_nb
    elapsed_ms = (time.perf_counter() - began) * 1000
    report(before, state(), elapsed_ms)
"""
LOAD = """
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_cell("1")
    before = state()
    began = time.perf_counter()
    shell.run_line_magic("load_ext", "hermes_nb")
    elapsed_ms = (time.perf_counter() - began) * 1000
    report(before, state(), elapsed_ms)
"""


def seen(script: str, folder: Path) -> dict[str, Any]:
    """What a fresh interpreter in an empty folder saw change."""
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), "IPYTHONDIR": str(folder / "ipython")}
    ran = subprocess.run(
        [sys.executable, "-B", "-c", textwrap.dedent(LOOK) + textwrap.dedent(script)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    found: dict[str, Any] = json.loads(ran.stdout.splitlines()[-1])
    return found


def foreign(modules: list[str]) -> list[str]:
    """Third-party modules among them; what IPython loads of itself is its own affair, and it is there already."""
    ours = {*sys.stdlib_module_names, "hermes_nb", "IPython"}
    return [name for name in modules if name.partition(".")[0] not in ours]


@pytest.mark.parametrize(("what", "script"), [("import hermes_nb", IMPORT), ("%load_ext hermes_nb", LOAD)])
def test_nothing_happens_yet(what: str, script: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [seen(script, tmp_path) for _ in range(3)]
    with capsys.disabled():
        print(f"\n{what}: {min(run['elapsed_ms'] for run in runs):.1f} ms over bare (best of {len(runs)})")
    for run in runs:
        assert not what.startswith("import") or not any(name.startswith("IPython") for name in run["modules"])
        assert foreign(run["modules"]) == []
        assert sorted(HEAVY & set(run["modules"])) == []
        assert (run["threads"], run["children"], run["fds"]) == (0, 0, 0)
    assert runs[-1]["files"] == []
