"""Turns what a tool returned into what the model reads: valid JSON or plain text, bounded, without secrets.

A str goes as it is (a lone surrogate becomes U+FFFD). Everything else becomes JSON that any parser takes:

| value | JSON |
|---|---|
| None, bool, int, finite float | as they are; `null` for None |
| NaN, infinities | `"NaN"`, `"Infinity"`, `"-Infinity"`; `null` inside pandas, where they mean missing |
| Decimal, Fraction, complex, UUID, Path | a string |
| date, time, datetime, timedelta | ISO 8601 |
| Enum | its value |
| bytes | `{"type": "bytes", "size_bytes", "base64"}`; a media type instead of base64 for images, PDF ... |
| set | a sorted array |
| dataclass, attrs, namedtuple, pydantic model | an object of its fields |
| mapping | an object, keys as text; an array of pairs where two keys would be one |
| DataFrame, table | `{"type", "shape", "columns": {name: dtype}, "rows": [[...]]}`; with `"index"` each row starts with it |
| lazy frame, query | its columns and how to get rows; nothing is computed |
| group-by, window | its columns, how many groups, how to get rows |
| Series, Index, array, tensor | `{"type", "dtype", "length" or "shape", "values"}` |
| figure, image | what it is: size, title, axes, traces |
| anything else | its repr, without memory addresses; its str where the repr says nothing |

What there is no room for is left out where it stands: the last element of an array, or the key `"..."` of an object,
says how much, and how `more` reads on. Limits: an iterator inside a value is named, not read; the repr of an object
is as slow as its author made it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from hermes_nb.model.mask import Masker
from hermes_nb.tools.rendering.encoder import Encoder, clean, dumps, estimate
from hermes_nb.tools.rendering.shape import Group, Text, shape_of

MAX_CHARS = 20_000
LEAST_CHARS = 40


@dataclass(frozen=True, slots=True)
class Rendered:
    """A value as the model reads it.

    Attributes:
        content: Valid JSON or plain text.
        n_chars: Length of the whole; an estimate where a large value was not rendered whole.
        is_cut: Whether something was left out.
    """

    content: str
    n_chars: int
    is_cut: bool


def to_content(value: Any, *, max_chars: int = MAX_CHARS) -> tuple[str, int]:
    """(content, length before cutting) of any value; never raises for what the value's own code raises.

    Args:
        value: Anything.
        max_chars: Most characters of the content; 40 is the least that is kept.

    Returns:
        The content, at most `max_chars` long, and how long the whole would be: exact when nothing was cut and for a
        str, else an estimate.
    """
    rendered = render(value, max_chars=max_chars)
    return rendered.content, rendered.n_chars


def render(
    value: Any,
    *,
    max_chars: int = MAX_CHARS,
    offset: int = 0,
    path: str = "",
    result_id: str = "",
    masker: Masker | None = None,
) -> Rendered:
    """A value as the model reads it.

    Args:
        value: Anything.
        max_chars: Most characters of the content.
        offset: First character of a text, element of an array, row of a table or key of an object to show.
        path: Where `value` stands in the result, for the sentence that says how to read on.
        result_id: Id under which `more` reads on; "" when it can't.
        masker: Knows the secrets to take out; None for none.
    """
    room = max(max_chars, LEAST_CHARS)
    encoder = Encoder(masker or Masker(), result_id=result_id)
    try:
        content = _content(encoder, value, room, offset, path)
        if encoder.masker.values and encoder.masker.text(content) is not content:
            encoder = Encoder(encoder.masker, is_masking=True, result_id=result_id)
            content = _content(encoder, value, room, offset, path)
        if not encoder.is_cut and not offset:
            return Rendered(content, len(content), False)
        return Rendered(content, _length(value), encoder.is_cut)
    except RecursionError:
        content = f"<{type(value).__name__}, nested too deep to show>"
        return Rendered(dumps(content), len(content), True)


def _content(encoder: Encoder, value: Any, room: int, offset: int, path: str) -> str:
    shape = shape_of(value)
    if isinstance(shape, Text):
        return encoder.cut(shape.text, room, offset, encoder.hint(path, room), between="\n")
    if offset and isinstance(shape, Group) and shape.main:
        value = next(child for key, child in shape.start_at(0) if key == shape.main)
    budget, content = room, ""
    for _ in range(8):
        content = dumps(encoder.encode(value, budget, path=path, offset=offset))
        if len(content) <= room:
            return content
        budget -= len(content) - room + budget // 16
    return dumps(clean(f"<{type(value).__name__}>")[: room - 2])


def _length(value: Any) -> int:
    shape = shape_of(value)
    return len(shape.text) if isinstance(shape, Text) else estimate(value)
