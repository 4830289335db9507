"""Any value as JSON within a number of characters: the one renderer behind results, `more` and descriptions.

The room is shared out: what is small is shown whole, what is large gets an equal part of the rest and says what was
left out. Only what is shown is looked at, so a value of any size costs no more than its head.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from hermes_nb.model.content import valid
from hermes_nb.model.mask import Masker
from hermes_nb.tools.rendering.shape import Group, Scalar, Text, shape_of

MAX_DEPTH = 100
LABEL_CHARS = 48  # a value with less room than this is named, not shown
HINT_CHARS = 250  # a value with less room than this does not spell out how to read on
ESTIMATE_CHARS = 16_000  # of a value that are looked at to tell how long the whole would be

MOST_CHARS = 2**53 - 1  # a value that contains another many times over can be longer than any number in a log


_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode  # json.dumps makes one at each call


def dumps(plain: Any) -> str:
    """JSON text of plain data; NaN is refused, since it is not JSON."""
    return _ENCODE(plain)


clean = valid


class _Fuel:
    """How many characters may still be looked at."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left


@dataclass
class Encoder:
    """Encodes values for one reader.

    Attributes:
        masker: Knows the secrets. A cut never leaves the beginning of one.
        is_masking: Whether every text is searched for them; slower.
        result_id: Under which id the rest can be read with `more`; "" when it can't.
        is_cut: Whether anything was left out so far.
    """

    masker: Masker = field(default_factory=Masker)
    is_masking: bool = False
    result_id: str = ""
    is_cut: bool = False

    def encode(self, value: Any, budget: int, *, path: str = "", offset: int = 0) -> Any:
        """Plain data whose JSON text takes about `budget` characters at most, from child or character `offset` on."""
        return self._encode(value, budget, path, offset, ())

    def _mask(self, text: str) -> str:
        return self.masker.text(text) if self.is_masking else text

    def _encode(self, value: Any, budget: int, path: str, offset: int, above: tuple[int, ...]) -> Any:
        if type(value) is int and -1_000_000_000 < value < 1_000_000_000 and budget >= 24:
            return value
        shape = shape_of(value)
        if isinstance(shape, Text):
            return self._text(shape.text, budget, path, offset)
        if isinstance(shape, Scalar):
            if not isinstance(shape.value, str):
                is_short = budget >= 24 or len(dumps(shape.value)) <= budget
                return shape.value if is_short else self._clip(str(shape.value), budget)
            text = clean(self._mask(shape.value))
            return text if len(text) <= max(budget, LABEL_CHARS) else self._clip(text, budget)
        if (label := _end(value, above)) is not None:
            return label
        if budget < LABEL_CHARS and shape.length and measure(value, budget, above) > budget:
            self.is_cut = True
            return f"<{type(value).__name__} of {shape.length:,} {shape.unit}>" if not isinstance(value, Group) else "..."
        return self._group(shape, budget, path, offset, (*above, id(value)))

    def _text(self, text: str, budget: int, path: str, offset: int) -> str:
        if not offset and len(text) + 2 <= budget:
            whole = clean(self._mask(text))
            if len(dumps(whole)) <= budget:
                return whole
        return self.cut(text, budget - 2, offset, self.hint(path, budget), lambda t: len(dumps(t)) - 2)

    def _clip(self, text: str, budget: int) -> str:
        self.is_cut = True
        return text[: max(budget - 5, 8)] + "..."

    def hint(self, path: str, budget: int) -> str:
        """How to read on, `{}` for the offset; "" where there is no way or no room to say it."""
        if not self.result_id or budget < HINT_CHARS:
            return ""
        where = f", path={path!r}".replace("{", "{{").replace("}", "}}") if path else ""
        return f"; call more(result_id={self.result_id!r}{where}, offset={{}}) to read on"

    def cut(
        self, text: str, room: int, offset: int, hint: str, size: Callable[[str], int] = len, *, between: str = ""
    ) -> str:
        """The part of a text from `offset` on that measures `room` at most, with a last sentence that says what is
        left out and, by `hint`, how to read on."""
        rest = text[offset : offset + room]
        if len(text) - offset <= room and size(whole := clean(self._mask(rest))) <= room:
            return whole
        self.is_cut = True
        head, mark = rest, ""
        for _ in range(16):
            head = head[: len(head) - self.masker.held_back(head)]
            shown = offset + len(head)
            mark = f"{between}... {len(text) - shown:,} of {len(text):,} characters left out" + hint.format(shown)
            masked = clean(self._mask(head))
            if (excess := size(masked) + size(mark) - room) <= 0:
                return masked + mark
            if not head:
                break
            head = head[: max(0, len(head) - max(1, excess * len(head) // max(size(masked), 1)))]
        return mark if size(mark) <= room else "..."

    def _group(self, shape: Group, budget: int, path: str, offset: int, above: tuple[int, ...]) -> Any:
        seen, is_all = self._look(shape, offset, budget, above)
        left = shape.length - offset
        sizes = [size for _, _, size in seen]
        level = room = budget
        if not is_all or sum(sizes) > budget:
            level = max(_level(sizes, budget), _floor(shape, budget)) if is_all else _floor(shape, budget)
            if not is_all or sum(min(size, level) for size in sizes) > budget:
                room -= 60 + len(self.hint(path, budget))
        shown: list[tuple[str, Any]] = []
        used = 0
        for n, (key, child, size) in enumerate(seen, offset):
            share = min(size, level)
            if used + share > room:
                if shown:
                    break
                share = room - used
            name = clean(self._mask(key)) if shape.is_object else ""
            overhead = 2 + (len(dumps(name)) + 2 if shape.is_object else 0)
            inner = path if key and key == shape.main else f"{path}/{_escape(key) if shape.is_object else n}"
            plain = self._encode(child, share - overhead, inner, 0, above)
            used += size if size <= share else len(dumps(plain)) + overhead
            shown.append((name, plain))
        mark = None
        if len(shown) < left:
            self.is_cut = True
            mark = f"... {left - len(shown):,} of {shape.length:,} {shape.unit} left out"
            mark += self.hint(path, budget).format(offset + len(shown))
        if not shape.is_object:
            return [plain for _, plain in shown] + ([mark] if mark else [])
        return dict(shown) | ({"...": mark} if mark else {})

    def _look(
        self, shape: Group, offset: int, budget: int, above: tuple[int, ...]
    ) -> tuple[list[tuple[str, Any, int]], bool]:
        """(key, child, size) of as many children as could be shown, and whether these are all."""
        floor = _floor(shape, budget)
        fuel, seen, least = _Fuel(4 * budget), list[tuple[str, Any, int]](), 0
        for key, child in _safely(shape.start_at(offset)):
            if least > budget:
                return seen, False
            size = 2 + _measure(child, budget, above, fuel) + (len(dumps(key)) + 2 if shape.is_object else 0)
            seen.append((key, child, size))
            least += min(size, floor)
        return seen, True


def _floor(shape: Group, budget: int) -> int:
    """Least room a large child gets: an object shows all its keys, an array rather its first items well."""
    return 60 if shape.is_object else max(200, budget // 8)


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _end(value: Any, above: tuple[int, ...]) -> str | None:
    """What stands for a value that is not entered: one that contains itself, or lies too deep."""
    if id(value) in above:
        return f"<the same {type(value).__name__} again: it contains itself>"
    if len(above) >= MAX_DEPTH:
        return f"<{type(value).__name__}, more than {MAX_DEPTH} levels deep>"
    return None


def _safely(children: Any) -> Iterator[tuple[str, Any]]:
    """The children; where reading them raises, one that says so, and the end."""
    try:
        yield from children
    except Exception as exc:  # noqa: BLE001 - the value's own code
        yield "!", Scalar(f"<reading on raised {type(exc).__name__}>")


def _level(sizes: list[int], room: int) -> int:
    """The largest share such that all sizes, each cut to it, fit into the room."""
    left = room
    for n, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - n)
        if size > share:
            return share
        left -= size
    return room


def measure(value: Any, limit: int, above: tuple[int, ...] = ()) -> int:
    """Length of the value's JSON text; anything over `limit` once it is longer than that."""
    return _measure(value, limit, above, _Fuel(4 * limit + 1000))


def _measure(value: Any, limit: int, above: tuple[int, ...], fuel: _Fuel) -> int:
    cls = type(value)
    if cls is int and -1_000_000_000 < value < 1_000_000_000:
        size = len(str(value))
    elif cls is str:
        size = len(value) + 2
        if size <= limit:
            size = len(dumps(clean(value)))
    else:
        shape = shape_of(value)
        if isinstance(shape, Text):
            size = len(shape.text) + 2
            if size <= limit:
                size = len(dumps(clean(shape.text)))
        elif isinstance(shape, Scalar):
            size = len(dumps(shape.value))
        elif (label := _end(value, above)) is not None:
            size = len(dumps(label))
        else:
            return _measure_group(shape, limit, (*above, id(value)), fuel)
    fuel.left -= min(size, limit)
    return size


def _measure_group(shape: Group, limit: int, above: tuple[int, ...], fuel: _Fuel) -> int:
    total = 2
    for key, child in _safely(shape.start_at(0)):
        if total > limit or fuel.left <= 0:
            return max(total, limit + 1)
        fuel.left -= 2
        total += 2 + (len(dumps(key)) + 2 if shape.is_object else 0) + _measure(child, limit - total, above, fuel)
    return max(total - 2, 2)


def estimate(value: Any) -> int:
    """Length of the value's whole JSON text: counted up to 16,000 characters, from there on in proportion."""
    return _estimate(value, (), _Fuel(ESTIMATE_CHARS))


def _estimate(value: Any, above: tuple[int, ...], fuel: _Fuel) -> int:
    shape = shape_of(value)
    if not isinstance(shape, Group) or _end(value, above) is not None:
        return _measure(value, ESTIMATE_CHARS, above, fuel)
    total, n_seen = 0, 0
    for key, child in _safely(shape.start_at(0)):
        if fuel.left <= 0 and n_seen:
            break
        fuel.left -= 2
        size = _estimate(child, (*above, id(value)), fuel)
        total += size + 2 + (len(dumps(key)) + 2 if shape.is_object else 0)
        n_seen += 1
    whole = 2 + total * shape.length // max(n_seen, 1) - (2 if n_seen else 0)
    return min(whole, MOST_CHARS)
