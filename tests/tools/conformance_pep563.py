"""Callables whose annotations are strings, because of the line below."""

from __future__ import annotations

import dataclasses
import typing as t

import pydantic

from .conformance import seen


@dataclasses.dataclass
class Place:
    x: int


def plain(n: int = 3, *, p: Place):
    seen(n, p)


def annotated(n: t.Annotated[int, pydantic.Field(ge=1, description="how many")]):
    seen(n)


def with_local_class(wrap):
    """What `wrap` makes of a function, called where the class of its annotation is known."""

    @dataclasses.dataclass
    class Local:
        x: int

        def __repr__(self) -> str:
            return f"Local(x={self.x})"

    def local(p: Local):
        seen(repr(p))

    return wrap(local)
