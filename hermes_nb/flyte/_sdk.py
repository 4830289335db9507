"""The doors to Flyte's SDK and to its Hermes adapter. What importing them changes in a process is put back."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from types import ModuleType

from hermes_nb._require import require

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

WHY = "to run on Flyte"
PACKAGES = ("hermes-agent", "flyte", "flyteplugins-agents-hermes")


def sdk(module: str = "flyte") -> ModuleType:
    """Flyte's SDK, or a module of it.

    Raises:
        MissingPackageError: It is not installed.
    """
    with undisturbed():
        return require(module, why=WHY)


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


def versions() -> dict[str, str]:
    """What is installed here: python (minor version), hermes-agent, flyte, flyteplugins-agents-hermes; "" where missing."""
    found = {"python": f"{sys.version_info[0]}.{sys.version_info[1]}"}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = ""
    return found
