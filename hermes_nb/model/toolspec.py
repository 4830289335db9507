"""A tool as the worker sees it: name, description and schema, without the function (that stays in the kernel)."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What crosses the wire about one tool.

    `parameters` is a JSON schema object (draft 2020-12); `timeout_s` None means no limit of its own; `is_async` says
    that the function is a coroutine function; `parallel` that a synchronous one may run in a thread.
    """

    name: str
    description: str
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    is_async: bool = False
    parallel: bool = False
    idempotent: bool = False
    needs_approval: bool = False
    timeout_s: float | None = None
    max_result_chars: int = 20_000

    def to_dict(self) -> dict[str, Any]:
        """Plain data for the wire."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> ToolSpec:
        """The spec a `to_dict` came from; unknown keys of a newer version are left out."""
        return cls(**{k: v for k, v in data.items() if k in cls.__dataclass_fields__})

    def definition(self) -> dict[str, Any]:
        """Hermes's bare form: `{"name", "description", "parameters"}`."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}
