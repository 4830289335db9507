"""Types local to a function that name each other, with annotations as strings."""

from __future__ import annotations

import dataclasses
import enum
import typing

import pydantic

from hermes_nb.tools.decorator import Tool, tool


def tools() -> dict[str, Tool]:
    """One tool for each kind of type, all local to this function."""

    class Kind(enum.Enum):
        A = "a"

    @dataclasses.dataclass
    class Inner:
        kind: Kind

    @dataclasses.dataclass
    class Outer:
        inner: Inner
        more: list[Outer] = dataclasses.field(default_factory=list)

    class Record(typing.TypedDict):
        inner: Inner
        more: typing.NotRequired[list[Record]]

    class Model(pydantic.BaseModel):
        inner: Inner

    class Tuple(typing.NamedTuple):
        inner: Inner

    class Thing:
        pass

    @tool
    def dataclass(value: Outer): ...

    @tool
    def record(value: Record): ...

    @tool
    def model(value: Model): ...

    @tool
    def named_tuple(value: Tuple): ...

    @tool
    def unpacked(**value: typing.Unpack[Record]): ...

    def deeper() -> tuple[Tool, Tool]:
        @tool
        def nested(value: Outer, thing: Thing | None = None): ...

        class Owner:
            class Part:
                pass

            @tool
            def method(self, value: Outer, part: Part | None = None): ...

        return nested, Owner().method

    nested, method = deeper()
    made = [dataclass, record, model, named_tuple, unpacked, nested, method]
    return {t.name: t for t in made}
