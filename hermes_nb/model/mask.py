"""Taking secrets out of text: whole keys, pieces of them, their base64, and the short forms in which providers echo them.

Used by whatever lets data out of a worker (events, results, logs, files). It knows the secrets it was told and nothing
else; guessing what an unknown secret looks like is deliberately not done, because it eats honest text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from typing import Any

MASK = "[masked]"
FRAGMENT_CHARS = 8  # a piece of a key this long is masked wherever it stands
_ENCODED_CHARS, _ENCODED_STEP = 12, 8  # of base64, such pieces are looked for at each such place
_MOST_CLEAN = 20_000  # of the texts without a secret that are known again by their hash
_SHORTEST = 8  # shorter secrets are words like "ollama" that local servers take as a key

# The part of a key that says whose it is, not what it is: `sk-`, `sk-ant-api03-`, `sk-proj-`, `hf_`, `gsk_`.
_SCHEME = re.compile(r"(?:[A-Za-z]{2,4}[-_])(?:[a-z]+\d{0,2}[-_])*")
# A key as error messages shorten it: `sk-abcd...wxyz`, `sk-ab*****yz`, `****wxyz`.
# The look-behind keeps it linear: a run of word characters is tried once, not from each of its places.
_SHORTENED = re.compile(r"(?:(?<![A-Za-z0-9_-])([A-Za-z0-9_-]+))?(?:\*{2,}|\.{3,}|…)([A-Za-z0-9_-]*)")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]")
_BESIDE = re.compile(r"[A-Za-z0-9+/_-]?={0,2}")
# What local servers are given because the client wants something.
_PLACEHOLDERS = frozenset({"no-key-required", "not-needed", "dummy-key", "placeholder", "sk-no-key-required"})


class _Secret:
    """One secret and its pieces."""

    def __init__(self, value: str) -> None:
        self.value = value
        scheme = _SCHEME.match(value)
        self.scheme = len(scheme.group()) if scheme and len(value) - scheme.end() >= FRAGMENT_CHARS else 0
        last = len(value) - FRAGMENT_CHARS
        self.pieces = tuple(dict.fromkeys(value[i : i + FRAGMENT_CHARS] for i in range(self.scheme, last + 1)))

        self.encoded = tuple(dict.fromkeys(_cores(value)))

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each piece found in `text`, grown as far as text and secret agree."""
        yield from _spans(text, self.value, self.pieces)
        for core in self.encoded:
            size = min(_ENCODED_CHARS, len(core))
            places = [*range(0, len(core) - size, _ENCODED_STEP), len(core) - size]
            for start, end in _spans(text, core, tuple(core[i : i + size] for i in places)):
                # The characters beside it hold bits of the secret, too.
                yield start - bool(_BASE64.match(text[max(start - 1, 0) : start])), _BESIDE.match(text, end).end()  # type: ignore[union-attr]

    def is_shortened(self, head: str, tail: str) -> bool:
        """Whether `head...tail` is this secret with its middle left out."""
        shows_head = len(head) > max(2, self.scheme) and self.value.startswith(head)
        return shows_head or (len(tail) >= 3 and self.value.endswith(tail))


class Masker:
    """Replaces known secrets by `[masked]`.

    Args:
        secrets: Values to hide. Values under 8 characters and well-known placeholders of local servers are left alone.
    """

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: tuple[_Secret, ...] = ()
        self._instead: dict[str, str] = {}
        self._clean: set[int] = set()
        self.add(*secrets)

    def copy(self) -> Masker:
        """Another that hides the same, and learns for itself."""
        made = Masker()
        made._secrets, made._instead = self._secrets, dict(self._instead)
        return made

    def add(self, *secrets: str | None) -> None:
        """Hide these too, from now on."""
        known = {s.value for s in self._secrets}
        new = {s for s in secrets if s and len(s) >= _SHORTEST and s.lower() not in _PLACEHOLDERS} - known
        self._secrets = tuple(sorted((*self._secrets, *map(_Secret, new)), key=lambda s: -len(s.value)))
        self._clean = set()  # after the secrets: who searches meanwhile notes what it finds in the old one

    def replace(self, instead: dict[str, str]) -> None:
        """Put these texts in place of those, from now on: for what is a secret only where it stands, as in an address."""
        self._instead |= instead
        self._clean = set()

    @property
    def values(self) -> tuple[str, ...]:
        """The secrets known, longest first."""
        return tuple(s.value for s in self._secrets)

    def text(self, text: str) -> str:
        """`text` without secrets; the same object when it holds none.

        A conversation passes here whole with each of its requests, so a text that held none is known again.
        """
        if not self._secrets and not self._instead:
            return text
        clean, digest = self._clean, hash(text)
        if digest in clean:
            return text
        made = self._searched(text)
        if made is text:
            if len(clean) >= _MOST_CLEAN:
                clean.clear()
            clean.add(digest)
        return made

    def _searched(self, text: str) -> str:
        for whole, instead in self._instead.items():
            text = text.replace(whole, instead)
        spans = [span for secret in self._secrets for span in secret.spans(text)]
        if self._secrets and ("**" in text or "..." in text or "…" in text):
            for found in _SHORTENED.finditer(text):
                if any(s.is_shortened(found[1] or "", found[2]) for s in self._secrets):
                    spans.append(found.span())
        if not spans:
            return text
        parts, at = [], 0
        for start, end in _merged(spans):
            parts += [text[at:start], MASK]
            at = end
        return "".join([*parts, text[at:]])

    def data(self, value: Any) -> Any:
        """JSON data without secrets, in keys and values; the same object when it holds none."""
        if not self._secrets and not self._instead:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.data(k): self.data(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.data(v) for v in value]
        return value

    def held_back(self, text: str) -> int:
        """How many characters at the end of `text` could be the start of a secret that goes on in the next piece."""
        longest = 0
        for secret in self._secrets:
            for value in (secret.value, *secret.encoded):
                for size in range(min(len(text), len(value)), longest, -1):
                    if text[-size:] in value:
                        longest = size
                        break
        return longest


class StreamMask:
    """Masks a text that comes in pieces: what could be the start of a secret is kept until the next piece decides."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._rest = ""

    def feed(self, piece: str) -> str:
        """What may be shown now."""
        text = self._rest + piece
        cut = len(text) - self._masker.held_back(text)
        self._rest = text[cut:]
        return self._masker.text(text[:cut])

    def end(self) -> str:
        """What was kept, now that nothing follows."""
        rest, self._rest = self._rest, ""
        return self._masker.text(rest)


def _spans(text: str, value: str, pieces: tuple[str, ...]) -> Iterator[tuple[int, int]]:
    for piece in pieces:
        at = text.find(piece)
        while at >= 0:
            offset = value.find(piece)
            start, end = at, at + len(piece)
            while start > 0 and offset > 0 and text[start - 1] == value[offset - 1]:
                start, offset = start - 1, offset - 1
            offset += end - start
            while end < len(text) and offset < len(value) and text[end] == value[offset]:
                end, offset = end + 1, offset + 1
            yield start, end
            at = text.find(piece, end)


def _cores(value: str) -> Iterator[str]:
    """What base64 makes of a value whatever stands before it (`Bearer KEY`, `user:KEY`) and behind it, in both alphabets."""
    data = value.encode("utf-8", "surrogatepass")
    for n_before, n_mixed in ((0, 0), (1, 2), (2, 3)):
        n_whole = (n_before + len(data)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"\0" * n_before + data).decode()[n_mixed:n_whole]


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged
