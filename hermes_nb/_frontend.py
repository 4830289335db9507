"""Where rooms below the widgets find what can be clicked: put in by the package itself, loaded at the first use."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Protocol

    class Frontend(Protocol):
        """Makes what can be clicked."""

        def stage(self) -> Any:
            """Return what makes the places of a kernel's turns."""

        def chat(self, bound: Any, session_id: str | None) -> Any:
            """Return a conversation in one output."""


_load: Callable[[], Frontend] | None = None


def install(load: Callable[[], Frontend]) -> None:
    """Take what loads the front end."""
    global _load
    _load = load


def load() -> Frontend:
    """Return the front end.

    Raises:
        MissingPackageError: The extra `widgets` is not installed.
    """
    assert _load is not None, "the package's __init__ installs it"
    return _load()
