"""The card of a bound agent: who answers, with which tools, where."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

_BOX = (
    "border:1px solid var(--jp-border-color2,#bbb);border-radius:4px;padding:8px 12px;max-width:60em;"
    "color:var(--jp-content-font-color1,inherit);font-family:var(--jp-ui-font-family,sans-serif);"
    "font-size:var(--jp-ui-font-size1,13px);line-height:1.5"
)
_LABEL = "flex:0 0 6.5em;color:var(--jp-content-font-color2,inherit)"

NO_ABOUT = "no docstring to tell the model what it does"


def lines(card: Mapping[str, Any], changes: list[str] | None) -> list[tuple[str, str]]:
    """(label, text) of each line.

    Args:
        card: `hermes_nb.api._card.card_of`.
        changes: What differs from the last binding; [] when nothing does, None at the first binding.
    """
    tools = ", ".join(f"{name} ({about or NO_ABOUT})" for name, about in card["tools"].items())
    found = [
        ("model", f"{card['model']} ({card['provider']}, {card['host']})"),
        ("tools", tools or "none"),
        ("toolsets", ", ".join(card["toolsets"].values())),
        ("runtime", card["runtime"]),
        ("engine", card["engine"]),
        ("lacks", card.get("lacks", "")),
        ("session", card["session"] or "a new one, with the first run"),
        ("state", card["state"]),
    ]
    if changes is not None:
        found.append(("changed", "; ".join(changes) or "nothing since it was last bound"))
    found.append(("note", card["notice"] or ""))
    return [(label, text) for label, text in found if text]


def as_text(title: str, rows: Sequence[tuple[str, str]]) -> str:
    """For terminals and notebooks read without HTML."""
    return "\n".join([title, *(f"  {label:<9}{text}" for label, text in rows)])


def as_html(title: str, rows: Sequence[tuple[str, str]], more: str = "") -> str:
    """For notebooks; `more` is HTML below the rows."""
    lines = "".join(
        f'<div style="display:flex"><span style="{_LABEL}">{escape(label)}</span> <span>{escape(text)}</span></div>'
        for label, text in rows
    )
    return f'<div class="hnb-card" style="{_BOX}"><div style="font-weight:600">{escape(title)}</div>{lines}{more}</div>'
