"""Makes an environment with one Hermes in it: once, whole or not at all, whatever else asks for it meanwhile.

By uv where its program is found (its wheel carries it), else by venv and pip. What was begun and not finished has no mark
and is made anew. Nothing is written but below the user's data folder.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from hermes_nb import _settings
from hermes_nb._file_lock import FileLock
from hermes_nb.environments import package_index
from hermes_nb.environments.interpreter import Interpreter, inspect
from hermes_nb.environments.lockfile import Locked
from hermes_nb.errors import EngineError

MARK = "engine.json"
LOCK_POLL_S = 0.1
STEP_TIMEOUT_S = 900.0

PACKAGES = "installing some 70 packages (140 MB)"

OnProgress = Callable[[str], None]


def folder_of(locked: Locked, python: tuple[int, ...], root: Path) -> Path:
    """Return the folder of an environment: `<root>/hermes-agent-0.19.0-py3.11`."""
    return root / f"{locked.name}-py{python[0]}.{python[1]}"


def made(folder: Path) -> Interpreter | None:
    """Return the interpreter of an environment that was finished and still works; None for any other folder."""
    try:
        json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    python = folder / "bin" / "python"
    try:
        found = inspect(python)
    except Exception:  # noqa: BLE001 - an interpreter that is gone or broken is no environment
        return None
    return found if found.distribution else None


def create(locked: Locked, base: Interpreter, root: Path, on_progress: OnProgress = lambda text: None) -> Interpreter:
    """Return the environment's interpreter, and make the environment where it is missing; blocks.

    Args:
        locked: What is in it.
        base: The interpreter it is made with.
        root: The folder of environments.
        on_progress: Called with a line about each step.

    Raises:
        EngineError: It could not be made; nothing is left of it. The message has the line that makes it elsewhere.
    """
    folder = folder_of(locked, base.python, root)
    if (found := made(folder)) is not None:
        return found
    try:
        root.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as exc:
        raise EngineError(
            f"The folder of engine environments {str(root)!r} can't be made: {exc.strerror}. Set HERMES_NB_ENGINES to a"
            " folder that can be written, or name an interpreter: Process(executable=...)."
        ) from exc
    with _locked(folder, on_progress) as lock:
        if (found := made(folder)) is not None:  # by who held the lock
            return found
        began_s = time.monotonic()
        shutil.rmtree(folder, ignore_errors=True)
        try:
            how = _Installer(locked, base, folder, lock, on_progress).install()
            interpreter = inspect(folder / "bin" / "python")
            if (interpreter.distribution, interpreter.version) != (locked.distribution, locked.version):
                raise EngineError(f"The environment holds {interpreter.hermes or 'no Hermes'} in place of {locked.name}.")
            _mark(folder, locked, interpreter, how, time.monotonic() - began_s)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        on_progress(f"made {locked.name} in {time.monotonic() - began_s:.1f} s")
        return interpreter


def _mark(folder: Path, locked: Locked, interpreter: Interpreter, how: str, took_s: float) -> None:
    told = {
        "distribution": locked.distribution,
        "version": locked.version,
        "python": ".".join(map(str, interpreter.python)),
        "made_by": how,
        "made_unix_s": round(time.time(), 1),
        "took_s": round(took_s, 2),
    }
    draft = folder / f".{MARK}"
    with draft.open("w", encoding="utf-8") as file:
        json.dump(told, file, indent=1)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(folder / MARK)


@contextlib.contextmanager
def _locked(folder: Path, on_progress: OnProgress) -> Iterator[FileLock]:
    path = folder.with_name(f".{folder.name}.lock")
    has_told = False
    while (lock := FileLock.take(path)) is None:
        if not has_told:
            has_told = True
            on_progress("another kernel is making it; waiting for that")
        time.sleep(LOCK_POLL_S)
    try:
        yield lock
    finally:
        lock.release()


def uv_program() -> str | None:
    """Return the path of uv: of its wheel, else on the PATH; None when there is none."""
    with contextlib.suppress(ImportError, FileNotFoundError):
        import uv

        return str(uv.find_uv_bin())
    return shutil.which("uv")


class _Installer:
    """Makes one environment. The programs that it starts hold the lock too: when a kernel is killed they go on, and the next
    one waits until they have ended."""

    def __init__(self, locked: Locked, base: Interpreter, folder: Path, lock: FileLock, on_progress: OnProgress) -> None:
        self._locked, self._base, self._folder = locked, base, folder
        self._lock, self._on_progress = lock, on_progress
        self._environment = os_environment()
        self._python = folder / "bin" / "python"

    def install(self) -> str:
        """Make the environment; returns by what."""
        uv = uv_program()
        with tempfile.TemporaryDirectory(prefix="hermes-nb-engine-") as scratch:
            wanted = Path(scratch) / f"{self._locked.name}.txt"
            wanted.write_text(self._locked.text(), encoding="utf-8")
            if uv is not None:
                self._by_uv(uv, wanted)
                return "uv"
            self._by_pip(wanted)
            return "pip"

    def _by_uv(self, uv: str, wanted: Path) -> None:
        self._environment |= package_index.uv_environment(package_index.pip_settings(), self._environment)
        self._environment |= {"UV_NO_PROGRESS": "1", "NO_COLOR": "1"}
        self._on_progress(f"making an environment for {self._locked.name} ({self._base.python_text}) with uv")
        venv = [uv, "venv", "--quiet", "--no-project", "--no-managed-python", "--no-python-downloads"]
        self._run([*venv, "--python", str(self._base.path), str(self._folder)])
        self._on_progress(PACKAGES)
        install = [uv, "pip", "install", "--quiet", "--require-hashes", "--python", str(self._python)]
        self._run([*install, "--requirement", str(wanted)])

    def _by_pip(self, wanted: Path) -> None:
        name = f"{self._locked.name} ({self._base.python_text})"
        self._on_progress(f"making an environment for {name} with venv and pip; uv would be quicker")
        try:
            self._run([str(self._base.path), "-m", "venv", str(self._folder)])
            pip = [str(self._python), "-m", "pip"]
        except EngineError:  # Debian's Python may lack ensurepip
            shutil.rmtree(self._folder, ignore_errors=True)
            self._run([str(self._base.path), "-m", "venv", "--without-pip", str(self._folder)])
            pip = [sys.executable, "-m", "pip", "--python", str(self._python)]
        self._on_progress(PACKAGES)
        self._environment["PIP_CONSTRAINT"] = os.devnull  # they are about the kernel's own packages
        options = ["-qq", "--disable-pip-version-check", "--no-input", "--require-hashes"]
        self._run([*pip, "install", *options, "-r", str(wanted)])

    def _run(self, command: Sequence[str]) -> None:
        elsewhere = _elsewhere(self._locked)
        try:
            said = subprocess.run(
                list(command),
                capture_output=True,
                text=True,
                env=self._environment,
                timeout=STEP_TIMEOUT_S,
                check=False,
                stdin=subprocess.DEVNULL,
                cwd=self._folder.parent,
                pass_fds=(self._lock.fileno(),),
            )
        except subprocess.TimeoutExpired as exc:
            raise EngineError(
                f"Making the engine environment took more than {STEP_TIMEOUT_S / 60:.0f} minutes. {elsewhere}"
            ) from exc
        except OSError as exc:
            raise EngineError(f"{command[0]} can't be started: {exc.strerror}. {elsewhere}") from exc
        if said.returncode:
            lines = [line.strip() for line in (said.stderr or said.stdout).splitlines() if line.strip()]
            text = masked(" ".join(lines[-6:]))[-600:].rstrip(".")
            raise EngineError(f"The engine environment for {self._locked.name} can't be made: {text}. {elsewhere}")


def os_environment() -> dict[str, str]:
    """Return what an installer may inherit: the worker's allow-list, and the settings of pip and uv."""
    return _settings.installer_environment()


def masked(text: str) -> str:
    """Return a text without the credentials of the addresses in it."""
    import re

    return re.sub(r"(\w+://)[^/\s@]+@", r"\1***@", text)


def _elsewhere(locked: Locked) -> str:
    return (
        "Without a network: make it where there is one (python -m venv ENV; ENV/bin/pip install"
        f" {locked.distribution}=={locked.version}) and name it, HERMES_NB_ENGINE=ENV/bin/python."
    )


def facts(folder: Path) -> dict[str, Any]:
    """Return what was noted when an environment was finished; {} for another folder."""
    try:
        told = json.loads((folder / MARK).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}
