"""What a person has to be told with the next turn, each once."""

from __future__ import annotations

from collections.abc import Iterator


class Notices:
    """Hold notices, each a code and a text, until a turn shows them."""

    def __init__(self) -> None:
        self._waiting: list[tuple[str, str]] = []

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return iter(list(self._waiting))

    def add(self, code: str, text: str) -> None:
        """Show a text with the next turn; one that waits already is not added again."""
        if (code, text) not in self._waiting:
            self._waiting.append((code, text))

    def discard(self, code: str, *, keep: list[str]) -> None:
        """Drop the notices of a code, but for the texts in `keep`."""
        self._waiting = [(c, text) for c, text in self._waiting if c != code or text in keep]

    def clear(self) -> None:
        """Drop all."""
        self._waiting = []

    def take(self) -> list[tuple[str, str]]:
        """Return what was not shown yet; it is not returned again."""
        taken, self._waiting = self._waiting, []
        return taken
