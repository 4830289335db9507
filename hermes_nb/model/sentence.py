"""Sentences put one after the other, each with its end: what composes an error of words of others and our own."""

from __future__ import annotations

_ENDS = ".!?…:;"
_CLOSERS = "\"'”’»)]}`*"


def join(*parts: object) -> str:
    """The parts as one text, empty ones left out; a part without an end gets a full stop before the next."""
    said = [text for text in (str(part).strip() for part in parts if part) if text]
    return " ".join([*(_ended(text) for text in said[:-1]), *said[-1:]])


def _ended(text: str) -> str:
    bare = text.rstrip(_CLOSERS)
    return text if bare.endswith(tuple(_ENDS)) else f"{text}."
