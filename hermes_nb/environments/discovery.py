"""Which interpreter hosts Hermes for a kernel, and why that one.

Looked for in this order: what the runtime names; HERMES_NB_ENGINE; what `%hermes engine use` chose; the kernel's own
environment, where it has a Hermes that fits; an environment of ours that was made before; the `hermes` on the PATH, where it
fits; a new environment of ours. A Hermes of the user's is used as it is and never written to. It is preferred to a new
environment, which would be a download, but not to one that is there: a notebook stays on the version it was made with.
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hermes_nb import _settings
from hermes_nb.engine.hermes.line.lines import LINES
from hermes_nb.environments import catalog, creation, lockfile
from hermes_nb.environments.creation import OnProgress
from hermes_nb.environments.interpreter import Interpreter, inspect, own
from hermes_nb.environments.lockfile import Locked
from hermes_nb.errors import EngineError, UsageError, WorkerStartError

Source = Literal["runtime", "variable", "choice", "kernel", "environment", "path"]
# What the engine was measured on: distribution -> versions, as the beginnings of version numbers.
FITS = {line.distribution: line.versions for line in LINES}


CHOICE = "use.txt"  # in the folder of environments
BYTECODE = ".bytecode"  # there, too


@dataclass(frozen=True, slots=True)
class Engine:
    """The interpreter that hosts Hermes.

    Attributes:
        interpreter: What it is.
        source: Where it was found: named by the `runtime`, by the `variable` HERMES_NB_ENGINE, or by the user's `choice`;
            in the environment of the `kernel`, in an `environment` of ours, or by the `path`.
        why: The choice as a sentence.
    """

    interpreter: Interpreter
    source: Source
    why: str

    @property
    def text(self) -> str:
        """The Hermes, its Python and where it was found, in words."""
        return f"{self.interpreter.hermes or 'no Hermes'}, {self.interpreter.python_text}; {self.why}"

    @property
    def bytecode(self) -> Path | None:
        """Where its Python keeps compiled modules: for a Hermes of the user's a folder of ours, to leave it as it is."""
        root, path = catalog.root(), self.interpreter.path
        return None if path == Path(sys.executable) or path.is_relative_to(root) else root / BYTECODE

    @property
    def command(self) -> list[str]:
        """The beginning of a command line that runs its Python: nothing is imported from the working directory."""
        prefix = [] if self.bytecode is None else ["-X", f"pycache_prefix={self.bytecode}"]
        return [str(self.interpreter.path), "-P", *prefix]


def fits(interpreter: Interpreter) -> bool:
    """Whether the engine was measured on the Hermes of an interpreter."""
    beginnings = FITS.get(interpreter.distribution, ())
    return interpreter.python[:2] >= (3, 11) and any(f"{interpreter.version}.".startswith(start) for start in beginnings)


def find(executable: str | None = None) -> Engine | None:
    """Return the engine that is there, without making one; None when one has to be made.

    Args:
        executable: What the runtime names: an interpreter or a `hermes` script; None or `hermes` when it names none.

    Raises:
        WorkerStartError: What was named can't be used.
        UsageError: HERMES_NB_ENGINE names a version there is no locked list of.
    """
    if executable not in (None, "", "hermes"):
        assert executable is not None
        return Engine(inspect(_path(executable)), "runtime", "named by Process(executable=...)")
    if (named := _settings.engine()) is not None:
        return _named(named, "variable", "named by HERMES_NB_ENGINE")
    if (named := chosen()) is not None:
        return _named(named, "choice", "chosen by %hermes engine use")
    here = own()
    if fits(here):
        return Engine(here, "kernel", "installed in the kernel's own environment")
    if (ours := _existing(lockfile.locked())) is not None:
        return ours
    return _on_path()


def find_or_create(executable: str | None = None, on_progress: OnProgress = lambda text: None) -> Engine:
    """Return the engine, and make an environment for one where there is none; blocks.

    Raises:
        WorkerStartError: What was named can't be used.
        EngineError: None is there, and none could, or may, be made.
        UsageError: HERMES_NB_ENGINE names a version there is no locked list of.
    """
    found = find(executable)
    if found is not None:
        return found
    wanted = lockfile.locked(_version(_settings.engine() or chosen()))
    if not _settings.may_install_engine():
        raise EngineError(
            f"No Hermes was found, and HERMES_NB_ENGINE_INSTALL=0 forbids making an environment for {wanted.name}."
            f" Run %hermes engine install, or name an interpreter that has {wanted.distribution}:"
            " HERMES_NB_ENGINE=/path/to/python."
        )
    return install(wanted, on_progress)


def install(locked: Locked, on_progress: OnProgress = lambda text: None) -> Engine:
    """Return the environment of a locked list, and make it where it is missing; blocks.

    Raises:
        EngineError: It could not be made, or no interpreter here can hold it.
    """
    interpreter = creation.create(locked, base_for(locked), catalog.root(), on_progress)
    return Engine(interpreter, "environment", f"an environment of hermes_nb, {interpreter.path.parents[1].name}")


def base_for(locked: Locked) -> Interpreter:
    """Return the interpreter that an environment is made with: the kernel's own, where its version will do.

    Raises:
        EngineError: None here will do.
    """
    here = own()
    if here.python[:2] in locked.pythons:
        return here
    for major, minor in locked.pythons:
        program = shutil.which(f"python{major}.{minor}")
        if program is not None:
            try:
                found = inspect(Path(program))
            except WorkerStartError:
                continue
            if found.python[:2] == (major, minor):
                return found
    versions = ", ".join(f"{major}.{minor}" for major, minor in reversed(locked.pythons))
    raise EngineError(
        f"{locked.name} needs Python {versions}; this kernel has {here.python_text[7:]}, and no other was found on the PATH."
        " Install one (apt install python3.13, or uv python install 3.13), or name an interpreter:"
        " HERMES_NB_ENGINE=/path/to/python."
    )


def _path(text: str) -> Path:
    path = Path(text).expanduser()
    if not path.exists() and "/" not in text and (found := shutil.which(text)):
        return Path(found)
    return path


def _named(named: str, source: Source, why: str) -> Engine | None:
    version = _version(named)
    if version is None:
        return Engine(inspect(_path(named)), source, why)
    found = _existing(lockfile.locked(version))
    return None if found is None else Engine(found.interpreter, source, f"{why}: {found.why}")


def _version(named: str | None) -> str | None:
    """The version that a name is; None for a path."""
    if named is None or "/" in named or not any(c.isdigit() for c in named) or shutil.which(named):
        return None
    return named


def _existing(locked: Locked) -> Engine | None:
    for python in locked.pythons:
        folder = creation.folder_of(locked, python, catalog.root())
        if (found := creation.made(folder)) is not None:
            return Engine(found, "environment", f"an environment of hermes_nb, {folder.name}")
    return None


def _on_path() -> Engine | None:
    program = shutil.which("hermes")
    if program is None:
        return None
    try:
        found = inspect(Path(program))
    except WorkerStartError:
        return None
    return Engine(found, "path", f"the `hermes` on the PATH ({found.hermes})") if fits(found) else None


def chosen() -> str | None:
    """Return what `choose` kept: an interpreter, a script or a version; None when nothing was chosen."""
    try:
        return (catalog.root() / CHOICE).read_text(encoding="utf-8").strip() or None
    except (OSError, ValueError):
        return None


def choose(named: str | None) -> Engine | None:
    """Keep a choice for all kernels of this user; None forgets it. Running workers are not changed.

    Args:
        named: An interpreter, a `hermes` script, or a version that there is a locked list of.

    Returns: the engine; None when nothing is chosen, or a version whose environment is not made yet.

    Raises:
        WorkerStartError: The interpreter can't be used, or holds no Hermes.
        UsageError: There is no locked list of that version.
    """
    path = catalog.root() / CHOICE
    if named is None:
        path.unlink(missing_ok=True)
        return None
    if _version(named) is None:
        named = str(_path(named).absolute())
    found = _named(named, "choice", "chosen by %hermes engine use")
    if found is not None and not found.interpreter.distribution:
        raise WorkerStartError(f"{named} has no Hermes. Install hermes-agent there, or choose another interpreter.")
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.write_text(named + "\n", encoding="utf-8")
    return found


def survey() -> list[tuple[str, str]]:
    """Return all places that are searched, in order, as (place, what was found there); makes nothing."""
    return [
        ("HERMES_NB_ENGINE", _settings.engine() or "not set"),
        ("%hermes engine use", chosen() or "nothing chosen"),
        ("kernel", _described(own())),
        ("environments", ", ".join(map(_listed, catalog.environments())) or "none"),
        ("hermes on the PATH", _described_path()),
        ("taken", _taken()),
    ]


def _described(interpreter: Interpreter) -> str:
    if not interpreter.distribution:
        return f"no Hermes, {interpreter.python_text}"
    measured = "" if fits(interpreter) else "; a version that was not measured"
    return f"{interpreter.hermes}, {interpreter.python_text}{measured}"


def _described_path() -> str:
    program = shutil.which("hermes")
    if program is None:
        return "none"
    try:
        return _described(inspect(Path(program)))
    except WorkerStartError as exc:
        return str(exc)


def _listed(one: catalog.Environment) -> str:
    return f"{one.name} ({one.size_bytes / 1e6:.0f} MB)" if one.is_whole else f"{one.name} (not finished)"


def _taken() -> str:
    try:
        found = find()
    except (WorkerStartError, UsageError) as exc:
        return str(exc)
    return "none yet: one is made when it is first needed" if found is None else found.text
