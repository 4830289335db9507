"""A set of tools behind one capability, and what a call of them gives."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

_CAPABILITY_BYTES = 32  # 256 bits


class Definition(TypedDict):
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Client:
    """Who calls.

    Attributes:
        id: Of one program that connected; a claim that this host signed, or the name where a client keeps none.
        name: What it calls itself, cut to what is shown.
    """

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class Image:
    """A picture that a tool gave: base64 and its type."""

    data: str
    mime_type: str


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call gave: text for a model, whether it is an error, and pictures."""

    text: str
    is_error: bool = False
    images: Sequence[Image] = field(default=())


# Name, arguments, who calls. It runs on the host's loop, and does not raise for what goes wrong in a tool.
Call = Callable[[str, Mapping[str, Any], Client], Awaitable[CallResult]]


@dataclass(frozen=True, slots=True)
class Binding:
    """Tools behind one capability.

    Attributes:
        definitions: Gives the tools as they are offered now.
        call: Runs a call.
        capability: What a caller must show.
    """

    definitions: Callable[[], Sequence[Definition]]
    call: Call
    capability: str = field(default_factory=lambda: secrets.token_urlsafe(_CAPABILITY_BYTES), repr=False)

    def fits(self, shown: str) -> bool:
        """Whether that is its capability; takes the same time for every wrong one."""
        return hmac.compare_digest(self.capability.encode(), shown.encode("utf-8", "replace"))
