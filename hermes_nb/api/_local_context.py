"""`async with Hermes.local() as hermes:`, and what is said to who takes it for the Hermes itself."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn

from hermes_nb.errors import UsageError

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes

_CURE = (
    "Hermes.local() is for `async with Hermes.local() as hermes:`. One that lasts over many cells: hermes ="
    " Hermes.open_local(), and hermes.close() at the end."
)


class LocalHermes(AbstractAsyncContextManager["Hermes"]):
    """A Hermes for the length of an `async with`.

    Args:
        make: Makes it.
        cleanup: Remove the folders of its instances at the end, those that were there before apart.

    Raises:
        UsageError: It is awaited, or entered by `with`.
        AttributeError: It is used as the Hermes that `async with` gives; says how.
    """

    def __init__(self, make: Callable[[], Hermes], *, cleanup: bool) -> None:
        self._make, self._cleanup = make, cleanup
        self._hermes: Hermes | None = None

    async def __aenter__(self) -> Hermes:
        if self._hermes is not None:
            raise UsageError("This Hermes.local() was entered before; each `async with` takes one of its own.")
        self._hermes = self._make()
        return self._hermes

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        hermes = self._hermes
        assert hermes is not None
        try:
            if self._cleanup:
                for instance in list(hermes.instances.values()):
                    await instance.delete(retain_data=instance.is_opened or not instance.worker.folder.is_new)
        finally:
            await hermes.aclose()

    def __await__(self) -> Generator[None, None, NoReturn]:
        raise UsageError(_CURE)
        yield

    def __enter__(self) -> NoReturn:
        raise UsageError(_CURE)

    def __exit__(self, *exc_info: object) -> None:
        """Never reached; `with` looks for it first."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise AttributeError(f"This has no {name!r} yet. {_CURE}")


_REFUSED = {
    "tools_host": "the worker calls the functions of this process over its own pipes, so nothing listens on an address",
    "settings": "there is no control plane to set up: `runtime`, `state` and `owner` are parameters, HERMES_NB_* the rest",
}


def refuse_remote(**options: object) -> None:
    """Refuse options that only a control plane of its own process would have.

    Raises:
        UsageError: One was given.
    """
    for name, value in options.items():
        if value is not None:
            raise UsageError(f"Hermes.local takes no {name}: {_REFUSED[name]}. Leave it out.")
