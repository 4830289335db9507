"""The compatibility matrix: chosen tests in an environment of their own, for each release that is promised to work.

    .venv/bin/python scripts/matrix.py                 all cells
    .venv/bin/python scripts/matrix.py plotly-5 oldest some
    .venv/bin/python scripts/matrix.py --list          their names
    .venv/bin/python scripts/matrix.py --engines       the engine's tests by Hermes and Python, as a table; tests run in this
                                                       interpreter, the engine in an environment of each kind

A cell is a Python, versions, and the tests that these versions can break. Environments are made by uv where it is installed
(seconds), else by pip, in a temporary folder. A cell whose Python is not found counts as `skipped: no interpreter`.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RUNS = "tests/notebooks/test_notebook.py::TestRun::test_it_runs_without_a_key_in_a_minute"
KERNEL = (
    "tests/host/test_kernel_loop.py",
    "tests/host/test_kernel_stop.py",
    "tests/host/test_kernel_display.py",
    "tests/magics/test_kernel.py",
    "tests/magics/test_loop.py",
    *(f"{RUNS}[{name}]" for name in ("01_hello", "04_timeline")),
)
BROWSER = ("tests/browser",)
FRAMES = (
    "tests/views/test_frame.py",
    "tests/views/test_agreement.py",
    "tests/tools/test_result.py",
    "tests/tools/test_description.py",
    "tests/tools/test_variable.py",
    f"{RUNS}[06_real_data]",
)
FIGURES = ("tests/views/test_figure.py", "tests/host/test_figure.py", "tests/tools/test_image.py")
# What Colab has: https://github.com/googlecolab/backend-info, pip-freeze.txt of 2026-08-19. Its IPython and ipykernel can't
# be replaced there (googlecolab/colabtools#5580). jupyter_client 7.4.9 is left out: the tests' other end needs a newer one.
COLAB = (
    "ipython==7.34.0",
    "ipykernel==6.17.1",
    "traitlets==5.7.1",
    "pyzmq==26.2.1",
    "tornado==6.5.7",
    "debugpy==1.8.15",
    "ipywidgets==7.7.1",
    "anywidget==0.9.21",
    "pandas==2.2.3",
    "numpy==2.1.3",
    "plotly==5.24.1",
    "matplotlib==3.10.0",
)
# The engine on another Hermes, in an environment made from its locked list; the tests' own Hermes is the measure.
ENGINE = (
    "tests/engine/test_versions.py",
    "tests/engine/test_turn.py",
    "tests/engine/test_stop.py",
    "tests/engine/test_many.py",
    "tests/engine/test_tools.py",
    "tests/engine/test_provider.py",
    "tests/engine/test_call_id.py",
    "tests/engine/test_history_live.py",
    "tests/engine/test_replay.py",
)
ENGINES = ("hermes-agent-0.19.0", "hermes-agent-0.18.2", "async-hermes-agent-0.20.4.1")
PYTHONS = ("3.11", "3.12", "3.13")  # what these Hermes can be installed on
# What a release does otherwise (see `hermes_nb/engine/hermes/line`); each was looked at.
OTHERWISE = {
    "hermes-agent-0.18.2": (
        "tests/engine/test_history_live.py::test_each_next_request_equals_that_of_a_session_that_never_ended",
        "tests/engine/test_replay.py::test_another_host_on_another_day_answers_from_the_journal",
        "tests/engine/test_tools.py::test_bad_arguments_and_unknown_names_never_reach_the_kernel",
    ),
    "async-hermes-agent-0.20.4.1": (
        "tests/engine/test_replay.py::test_another_host_on_another_day_answers_from_the_journal",
    ),
}
TOOLS = (
    "cloudpickle",
    "hypothesis",
    "jsonschema",
    "nbclient",
    "nbconvert",
    "nest-asyncio",
    "nest-asyncio2",
    "psutil",
    "pytest",
    "pytest-asyncio",
    "pytest-timeout",
    "pytest-xdist",
    "setuptools<81",
)
CORE = (
    "tests/test_window.py",
    "tests/model",
    "tests/views/test_golden.py",
    "tests/views/test_otlp.py",
    *FRAMES,
    "tests/tools/test_conformance.py",
    "tests/store/test_sqlite.py",
    "tests/store/test_migration.py",
    "tests/api/test_run.py",
    "tests/api/test_resume.py",
    "tests/magics/test_run.py",
    "tests/magics/test_subcommand.py",
)


@dataclass(frozen=True, slots=True)
class Cell:
    """One row of the matrix."""

    name: str
    tests: tuple[str, ...]
    pins: tuple[str, ...] = ()
    python: str = "3.11"
    is_oldest: bool = False  # every dependency at the lowest version that pyproject.toml allows
    is_bare: bool = False  # without extras; what the tests need comes with the pins
    is_like_macos: bool = False  # without the functions that macOS has not
    engine: str = ""  # a locked list; the engine's tests run on that Hermes, the rest of the environment is as usual
    deselected: tuple[str, ...] = ()


CELLS = (
    *(Cell(f"ipykernel-{v}", KERNEL, (f"ipykernel=={v}.*",)) for v in ("6.29", "7.1", "7.4")),
    Cell("browser-7.1", BROWSER, ("ipykernel==7.1.*",)),  # clicks are heard since ipykernel 7
    Cell("jupyterlab-4.4", BROWSER, ("jupyterlab==4.4.*",)),
    Cell("jupyterlab-4.6", BROWSER, ("jupyterlab==4.6.*",)),
    *(Cell(f"plotly-{v}", (*FIGURES, *FRAMES), (f"plotly=={v}.*",)) for v in ("5", "6", "7")),
    *(Cell(f"pandas-{v}", FRAMES, (f"pandas=={v}.*",)) for v in ("2", "3")),
    *(Cell(f"python-{v}", (*CORE, *KERNEL), python=v) for v in ("3.11", "3.12", "3.13", "3.14")),
    Cell("colab", (*CORE, *FIGURES, *KERNEL, "tests/magics/test_completion.py"), (*COLAB, *TOOLS), "3.13", is_bare=True),
    Cell("macos-like", (*CORE, *KERNEL, "tests/testing", "tests/api", "tests/turns", "tests/host"), is_like_macos=True),
    *(Cell(f"engine-{name}", ENGINE, engine=name, deselected=OTHERWISE.get(name, ())) for name in ENGINES),
    # Inspect's own packages would change those of the other tests.
    Cell(
        "inspect-0.3",
        ("tests/api/test_evaluation.py", "tests/api/test_statistics.py"),
        ("inspect-ai==0.3.*", "pydantic-evals", "scipy", "pandas", "polars", *TOOLS),
        is_bare=True,
    ),
    Cell("oldest", (*CORE, *FIGURES, *KERNEL), is_oldest=True),
)


def interpreter(version: str) -> str | None:
    """A Python of this minor version: on the PATH, of pyenv, or of uv; None when there is none."""
    candidates = [shutil.which(f"python{version}"), sys.executable]
    home = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates += [str(path) for path in sorted(home.glob(f"versions/{version}*/bin/python"))]
    if shutil.which("uv"):
        found = subprocess.run(
            ["uv", "python", "find", "--no-python-downloads", version], capture_output=True, text=True, check=False
        )
        candidates.append(found.stdout.strip() or None)
    for candidate in candidates:
        if candidate is None:
            continue
        said = subprocess.run(
            [candidate, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            capture_output=True,
            text=True,
            check=False,
        )
        if said.stdout.strip() == version:
            return candidate
    return None


def make(folder: Path, python: str, cell: Cell) -> Path:
    """An environment with the package (editable), what its tests need, and the pins; its Python."""
    made = folder / "env" / "bin" / "python"
    wanted = ["--editable", str(ROOT) if cell.is_bare else f"{ROOT}[test]", *cell.pins]
    if shutil.which("uv"):
        install = ["uv", "pip", "install", "--quiet", "--python", str(made)]
        subprocess.run(["uv", "venv", "--quiet", "--no-project", "--python", python, str(folder / "env")], check=True)
        if cell.is_oldest:  # what the tests need comes after, as new as it fits
            subprocess.run([*install, "--resolution", "lowest-direct", "--editable", f"{ROOT}[all,hermes]"], check=True)
        subprocess.run([*install, *wanted], check=True)
    else:
        subprocess.run([python, "-m", "venv", str(folder / "env")], check=True)
        subprocess.run([str(made), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *wanted], check=True)
    if cell.is_like_macos:
        (packages,) = (folder / "env" / "lib").glob("python*/site-packages")
        shutil.copy(ROOT / "tests" / "like_macos.py", packages)
        (packages / "_like_macos.pth").write_text("import like_macos\n")
    return made


def make_engine(python: Path, name: str, folder: Path) -> str:
    """An engine environment as hermes_nb makes it; its interpreter."""
    ask = "import sys; from hermes_nb.environments import discovery, lockfile;"
    ask += "print(discovery.install(lockfile.locked(sys.argv[1])).interpreter.path)"
    environment = {**os.environ, "HERMES_NB_ENGINES": str(folder / "engines")}
    said = subprocess.run([str(python), "-c", ask, name], env=environment, capture_output=True, text=True, check=True)
    return said.stdout.strip()


def engine_on(name: str, version: str, folder: Path, *, jobs: int) -> str:
    """What came of the engine's tests on one Hermes and one Python, e.g. `310 passed, 4 skipped (95 s)`."""
    python = interpreter(version)
    if python is None:
        return "skipped: no interpreter"
    make = "import sys; from pathlib import Path; from hermes_nb.environments import creation, interpreter, lockfile;"
    make += "locked, base = lockfile.locked(sys.argv[1]), interpreter.inspect(Path(sys.argv[2]));"
    make += "print(creation.create(locked, base, Path(sys.argv[3])).path)"
    made = subprocess.run([sys.executable, "-c", make, name, python, folder], capture_output=True, text=True, check=False)
    if made.returncode:
        return f"can't be installed: {made.stderr.strip().splitlines()[-1]}"
    environment = {**os.environ, "HERMES_NB_TEST_ENGINE": made.stdout.strip()}
    options = ["-q", "-m", "not serial", "-W", "default", "-p", "no:cacheprovider"]
    options += ["-n", str(jobs), "--dist", "loadfile"] if jobs > 1 else []
    options += [f"--deselect={test}" for test in OTHERWISE.get(name, ())]
    command = [sys.executable, "-m", "pytest", *options, *ENGINE]
    ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    for line in ran.stdout.splitlines():
        if line.startswith(("FAILED", "ERROR")):
            print(f"{name}, Python {version}: {line}", file=sys.stderr)
    found = re.search(r"((?:\d+ \w+, )*\d+ \w+)(?:, \d+ warnings?)? in ([\d.]+)s", ran.stdout)
    return f"{found[1]} ({float(found[2]):.0f} s)" if found else f"no result: {ran.stdout[-200:]!r}"


def engines(chosen: Sequence[str], *, jobs: int) -> int:
    """Print the engine's tests by Hermes and Python, a cell at a time; 1 when one failed."""
    results = {}
    with tempfile.TemporaryDirectory(prefix="hermes-nb-engines-") as folder:
        for name in ENGINES:
            for version in PYTHONS:
                if not chosen or name in chosen or f"{name}-py{version}" in chosen:
                    results[name, version] = engine_on(name, version, Path(folder), jobs=jobs)
                    print(f"{name}, Python {version}: {results[name, version]}", file=sys.stderr, flush=True)
    print(f"| Hermes | {' | '.join(f'Python {version}' for version in PYTHONS)} |\n|{'---|' * (len(PYTHONS) + 1)}")
    for name in dict.fromkeys(name for name, _ in results):
        print(f"| {name} | {' | '.join(results.get((name, version), '') for version in PYTHONS)} |")
    return int(any("failed" in result or "error" in result or "can't" in result for result in results.values()))


def run(cell: Cell) -> str:
    """What came of a cell: `passed ...`, `failed ...`, `skipped: no interpreter`."""
    python = interpreter(cell.python)
    if python is None:
        return "skipped: no interpreter"
    if cell.is_oldest and shutil.which("uv") is None:
        return "skipped: no uv"
    with tempfile.TemporaryDirectory(prefix=f"hermes-nb-{cell.name}-") as folder:
        try:
            made = make(Path(folder), python, cell)
        except subprocess.CalledProcessError:
            return "failed: can't be installed"
        # A warning of an old release is no failure of ours; the default suite holds the newest ones to none.
        options = ["-q", "-m", "not serial", "-W", "default", "-p", "no:cacheprovider", "-n", "2", "--dist", "loadfile"]
        environment = {**os.environ, "PATH": f"{made.parent}{os.pathsep}{os.environ['PATH']}"}
        if cell.engine:
            environment["HERMES_NB_TEST_ENGINE"] = make_engine(made, cell.engine, Path(folder))
        options += [f"--deselect={test}" for test in cell.deselected]
        command = [str(made), "-m", "pytest", *options, *cell.tests]
        ran = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        last = ran.stdout.strip().splitlines()[-1:] or ["no output"]
        if ran.returncode:
            faults = [line for line in ran.stdout.splitlines() if line.startswith(("FAILED", "ERROR", "E  "))]
            print("\n".join([*faults, ran.stderr[-2000:]]))
        return f"{'failed' if ran.returncode else 'passed'}: {last[0].strip('= ')}"


def main() -> int:
    """Run what is asked for; 1 when a cell failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cells", nargs="*", metavar="CELL", help="names; all without any")
    parser.add_argument("--list", action="store_true", help="print the cells and what each pins")
    parser.add_argument("--engines", action="store_true", help="the engine's tests by Hermes and Python; CELL is a Hermes")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="tests at a time, of --engines (default: 2)")
    options = parser.parse_args()
    if options.engines:
        if unknown := set(options.cells) - {*ENGINES, *(f"{name}-py{version}" for name in ENGINES for version in PYTHONS)}:
            parser.error(
                f"no Hermes named {', '.join(sorted(unknown))}; known: {', '.join(ENGINES)}, each with -py3.12 etc."
            )
        return engines(options.cells, jobs=options.jobs)
    known = {cell.name: cell for cell in CELLS}
    if unknown := set(options.cells) - set(known):
        parser.error(f"no cell named {', '.join(sorted(unknown))}; known: {', '.join(known)}")
    chosen = [known[name] for name in options.cells] or list(CELLS)
    if options.list:
        for cell in chosen:
            what = {"oldest": "each dependency at its lowest", "macos-like": "without what Linux alone has"}
            pins = what.get(cell.name) or " ".join(pin for pin in cell.pins if "==" in pin)
            print(f"{cell.name:<16} Python {cell.python}  {pins}")
        return 0
    results = {}
    for cell in chosen:
        began_s = time.monotonic()
        results[cell.name] = result = run(cell)
        print(f"{cell.name:<16} {result}  ({time.monotonic() - began_s:.0f} s)", flush=True)
    states = [result.partition(":")[0] for result in results.values()]
    n_missing = sum(result == "skipped: no interpreter" for result in results.values())
    counts = f"{states.count('passed')} passed, {states.count('failed')} failed, {n_missing} skipped: no interpreter"
    print(f"{len(states)} cells: {counts}")
    return int("failed" in states)


if __name__ == "__main__":
    sys.exit(main())
