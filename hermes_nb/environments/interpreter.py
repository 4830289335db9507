"""An interpreter as a worker needs to know it: its Python, and which Hermes it can import."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from hermes_nb.errors import WorkerStartError

DISTRIBUTIONS = ("hermes-agent", "async-hermes-agent")
INSPECT_TIMEOUT_S = 20.0
_SHELLS = ("sh", "bash", "dash", "zsh")
_MOST_FOLLOWED = 3  # scripts that start scripts
_ASK = """
import json, sys
from importlib import metadata
found = {}
for name in %r:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps({"python": sys.version_info[:3], "prefix": sys.prefix, "found": found}))
"""


@dataclass(frozen=True, slots=True)
class Interpreter:
    """A Python interpreter of this machine.

    Attributes:
        path: The executable.
        python: Its version: major, minor, micro.
        distribution: `hermes-agent` or `async-hermes-agent`; "" when neither is installed.
        version: Version of that distribution; "" when there is none.
    """

    path: Path
    python: tuple[int, int, int]
    distribution: str = ""
    version: str = ""

    @property
    def hermes(self) -> str:
        """The Hermes in words, e.g. `hermes-agent 0.19.0`; "" when there is none."""
        return f"{self.distribution} {self.version}".strip()

    @property
    def python_text(self) -> str:
        """The Python in words, e.g. `Python 3.11.7`."""
        return "Python " + ".".join(map(str, self.python))


def own() -> Interpreter:
    """Return the kernel's own interpreter; nothing is started."""
    found = {}
    for name in DISTRIBUTIONS:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    version = sys.version_info
    return _interpreter(Path(sys.executable), (version[0], version[1], version[2]), found)


def inspect(path: Path) -> Interpreter:
    """Ask an interpreter for its Python and its Hermes (some 50 ms the first time; remembered until the file changes).

    Args:
        path: A Python executable, or a script whose first line names one (`hermes` as an installer leaves it).

    Raises:
        WorkerStartError: The file is missing, is no interpreter, or does not answer.
    """
    python = interpreter_of(path)
    try:
        changed_ns = python.stat().st_mtime_ns
    except OSError as exc:
        named = "" if python == path else f", named by the first line of {_short(path)},"
        raise WorkerStartError(f"The interpreter {_short(python)}{named} can't be used: {exc.strerror}.") from exc
    return _inspected(python, changed_ns)


@functools.lru_cache(maxsize=64)
def _inspected(python: Path, changed_ns: int) -> Interpreter:
    command = [str(python), "-P", "-B", "-c", _ASK % (DISTRIBUTIONS,)]
    environment = {k: v for k, v in _environment().items() if not k.startswith("PYTHON")}
    try:
        said = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=INSPECT_TIMEOUT_S,
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired as exc:
        raise WorkerStartError(
            f"{_short(python)} did not answer within {INSPECT_TIMEOUT_S:.0f} s. Is it a Python interpreter?"
        ) from exc
    except OSError as exc:
        raise WorkerStartError(f"{_short(python)} can't be started: {exc.strerror}. Name a Python interpreter.") from exc
    try:
        told = json.loads(said.stdout.strip().splitlines()[-1])
        major, minor, micro = told["python"]
        return _interpreter(python, (int(major), int(minor), int(micro)), dict(told["found"]))
    except (ValueError, IndexError, KeyError, TypeError) as exc:
        last = (said.stderr.strip().splitlines() or ["it printed nothing"])[-1]
        raise WorkerStartError(
            f"{_short(python)} is no interpreter that can host Hermes: {last[:300]}. Python 3.11 or newer is needed."
        ) from exc


def _interpreter(path: Path, python: tuple[int, int, int], found: dict[str, str]) -> Interpreter:
    for name in DISTRIBUTIONS:
        if name in found:
            return Interpreter(path, python, name, found[name])
    return Interpreter(path, python)


def interpreter_of(path: Path, *, n_followed: int = 0) -> Path:
    """Return the interpreter that a file is, or that a script names: in its first line, or as a shell script that starts it.

    Raises:
        WorkerStartError: The file can't be read, or the script names no interpreter.
    """
    try:
        with path.open("rb") as file:
            head = file.read(4096)
    except OSError as exc:
        raise WorkerStartError(
            f"The executable {_short(path)} can't be read: {exc.strerror}. Name a Python interpreter, or a `hermes` script."
        ) from exc
    if not head.startswith(b"#!"):
        return path
    line = head[2:].split(b"\n", 1)[0].decode("utf-8", "replace").strip()
    if line in ("/bin/sh", "/bin/bash"):  # how installers write a first line that would be too long
        match = re.search(rb"exec'?\s+[\"']?([^\"'\s]*python[^\"'\s]*)", head)
        line = match[1].decode("utf-8", "replace") if match else line
    words = line.split()
    if words and Path(words[0]).name == "env":
        words = [word for word in words[1:] if not word.startswith("-") and "=" not in word]
        import shutil

        words = [shutil.which(words[0]) or words[0]] if words else []
    if words and Path(words[0]).name in _SHELLS and n_followed < _MOST_FOLLOWED:
        # What Hermes's installer leaves: exec ".../venv/bin/python" ".../hermes" "$@"
        started = re.findall(rb"^\s*exec\s+[\"']?(/[^\"'\n$]+?)[\"']?(?:\s|$)", head, re.M)
        if started:
            return interpreter_of(Path(started[-1].decode("utf-8", "replace")), n_followed=n_followed + 1)
    if not words or "python" not in Path(words[0]).name:
        raise WorkerStartError(
            f"{_short(path)} is a script of {words[0] if words else 'no program'!r}, not of Python. Name a Python"
            " interpreter, or a `hermes` script."
        )
    return Path(words[0])


def _environment() -> dict[str, str]:
    from hermes_nb import _settings

    return _settings.worker_environment()


def _short(path: Path) -> str:
    """A path as it may be shown: below the home folder it begins with `~`."""
    home = Path.home()
    return repr(f"~/{path.relative_to(home)}" if home != Path("/") and path.is_relative_to(home) else str(path))
