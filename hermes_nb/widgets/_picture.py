"""What a tool displays, as a picture that a browser shows and never runs."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

_BASE64 = ("image/png", "image/jpeg", "image/webp", "image/gif")


def is_picture_alone(data: Mapping[str, Any]) -> bool:
    """Whether what was displayed is a picture and its words, and nothing that can be clicked."""
    return all(mime == "text/plain" or mime.startswith("image/") for mime in data)


def picture(data: Mapping[str, Any]) -> str | None:
    """The data URI of a displayed picture; None when there is none. An SVG in an `img` runs no script.

    Args:
        data: What was displayed, by MIME type.
    """
    for mime in _BASE64:
        held = data.get(mime)
        if isinstance(held, bytes):
            held = base64.b64encode(held).decode("ascii")
        if isinstance(held, str) and held:
            return f"data:{mime};base64,{''.join(held.split())}"
    svg = data.get("image/svg+xml")
    if isinstance(svg, str) and svg:
        return "data:image/svg+xml;base64," + base64.b64encode(svg.encode("utf-8", "replace")).decode("ascii")
    return None
