"""Turns what a tool returned into what the model reads: valid JSON or plain text, bounded."""

from __future__ import annotations

import json
from typing import Any


def to_content(value: Any, *, max_chars: int = 20_000) -> tuple[str, int]:
    """(content, length before cutting): a str as it is, anything else as JSON."""
    text = value if isinstance(value, str) else json.dumps(value, default=repr, ensure_ascii=False)
    if len(text) <= max_chars:
        return text, len(text)
    note = f"\n... {len(text) - max_chars:,} of {len(text):,} characters left out"
    return text[:max_chars] + note, len(text)
