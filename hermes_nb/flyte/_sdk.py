"""The doors to Flyte's SDK and to its Hermes adapter. What importing them changes in a process is put back."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from hermes_nb._quiet import hush
from hermes_nb._require import require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WHY = "to run on Flyte"
ADAPTER = "2.12.1"  # the release of the adapter that its traps were measured on
PACKAGES = ("hermes-agent", "flyte", "flyteplugins-agents-hermes")


def sdk(module: str = "flyte") -> ModuleType:
    """Flyte's SDK, or a module of it.

    Raises:
        MissingPackageError: It is not installed.
    """
    with undisturbed():
        found = require(module, why=WHY)
    hush("flyte", "httpx", "httpcore", "urllib3", "grpc", "h2", "hpack")
    return found


def adapter() -> ModuleType:
    """The adapter, `flyteplugins.agents.hermes`.

    Raises:
        MissingPackageError: It is not installed.
    """
    with undisturbed():
        return require("flyteplugins.agents.hermes", why=WHY)


@contextmanager
def undisturbed() -> Iterator[None]:
    """Puts `sys.excepthook` and `sys.path` back: `import flyte` (2.12) replaces the one, `flyte.init` adds to the other."""
    hook, path = sys.excepthook, list(sys.path)
    try:
        yield
    finally:
        sys.excepthook = hook
        sys.path[:] = path


class _Unwatched:
    """A watcher of uploads that looks at none (`flyte.remote._progress.UploadProgressHandler`)."""

    def start(self, key: str, *, name: str, phase: str, total: int) -> None: ...
    def advance(self, key: str, size: int) -> None: ...
    def finish(self, key: str, *, failed: bool = False) -> None: ...


@contextmanager
def uploads_in_chunks() -> Iterator[None]:
    """Makes uploads of files go out by the megabyte.

    Flyte 2.12.1 hands an open file to httpx, which reads it line by line, each line in a thread: random bytes have one in
    256, and 30 MB of them take 22 s on loopback. With a watcher of the progress installed it reads chunks. A watcher of the
    user's stays. `tests/flyte/test_traps.py` fails when the SDK reads chunks by itself.
    """
    progress = sdk("flyte.remote._progress")
    if progress.current_handler() is not None:
        yield
        return
    with progress.report_uploads(_Unwatched()):
        yield


def versions() -> dict[str, str]:
    """Return versions by name: python (minor version), hermes-agent, flyte, flyteplugins-agents-hermes; "" where missing.

    A kernel without a Hermes of its own ships turns for the one that its workers have, with the adapter's measured release.
    """
    from hermes_nb.environments import lockfile

    found = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = {"hermes-agent": lockfile.DEFAULT, "flyteplugins-agents-hermes": ADAPTER}.get(name, "")
    return found
