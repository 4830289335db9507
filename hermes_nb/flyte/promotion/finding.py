"""A finding of the preflight: one thing to know before a promotion, as data that a widget can list."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Site:
    """Where in the notebook something stands.

    Attributes:
        tool: The tool it belongs to; "" for the agent itself.
        text: The place for people: `cell 3, line 2`, `tools.py, line 7`; "" where nobody knows.
        cell: The execution count of the cell; None for a file, or where nobody knows.
        line: The line in it, from 1; None where nobody knows.
    """

    tool: str = ""
    text: str = ""
    cell: int | None = None
    line: int | None = None

    def __str__(self) -> str:
        place = f" ({self.text})" if self.text else ""
        return f"Tool {self.tool!r}{place}" if self.tool else self.text


@dataclass(frozen=True)
class Finding:
    """One thing to know before a promotion.

    Attributes:
        code: Its kind, e.g. `unpicklable`; what `Flyte(allow=[...])` takes.
        text: What is the matter, and with what.
        cure: What to do; "" for a note.
        site: The tool and its place in the notebook; empty when it is nobody's.
        variable: The notebook variable at fault; "" for none.
        is_fatal: Whether it stops the promotion.
    """

    code: str
    text: str
    cure: str = ""
    site: Site = Site()
    variable: str = ""
    is_fatal: bool = True

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        return f"{where}{self.text} {self.cure}".strip()

    @property
    def where(self) -> str:
        """The tool and its place, for people; "" when it is nobody's."""
        return str(self.site)

    @property
    def cell(self) -> int | None:
        """The execution count of the cell to look at; None when there is none."""
        return self.site.cell

    @property
    def severity(self) -> Literal["stops", "note"]:
        """`stops` when the promotion is refused because of it, else `note`."""
        return "stops" if self.is_fatal else "note"

    def to_dict(self) -> dict[str, Any]:
        """Plain data: code, severity, text, cure, tool, place, cell, line, variable."""
        return {
            "code": self.code,
            "severity": self.severity,
            "text": self.text,
            "cure": self.cure,
            "tool": self.site.tool,
            "place": self.site.text,
            "cell": self.site.cell,
            "line": self.site.line,
            "variable": self.variable,
        }
