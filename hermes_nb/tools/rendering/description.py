"""Tells a model what a variable of the notebook is, in a few lines: type, shape, columns, head.

Used by `%%hermes run --with NAME,...` and by the `list_variables` tool. Values are shown as far as there is room;
secrets of the environment are masked, a variable named like one (`api_key = "..."`) is not shown at all. Nothing is
imported to describe anything.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Mapping, Set
from typing import Any

from hermes_nb.model.mask import Masker
from hermes_nb.tools.rendering.encoder import Encoder, clean, dumps
from hermes_nb.tools.rendering.result import render
from hermes_nb.tools.rendering.shape import Group, Scalar, Text, key_text, shape_of, type_name
from hermes_nb.tools.rendering.third_party import frame_index
from hermes_nb.tools.secret import environment_masker, is_secret

MAX_CHARS = 2_000
HEAD_ROWS = 5
CELL_CHARS = 40
PICTURES = ("figure", "axes", "image")
MAX_COUNTED = 100_000  # rows of a frame in which missing values are counted


def describe(name: str, value: Any, *, max_chars: int = MAX_CHARS, masker: Masker | None = None) -> str:
    """What the variable is, its first line naming type and shape; `max_chars` at most.

    Never raises for what the value's own code raises.

    Args:
        name: Name of the variable.
        value: Its value.
        max_chars: Most characters of the text; 80 is the least that is kept.
        masker: Secrets to take out; None for those of the environment.
    """
    room = max(max_chars, 80)
    masker = masker or environment_masker()
    first = f"{name}: {summary(value, name=name, max_chars=max(room - len(name) - 2, 40), masker=masker)}"
    if is_secret(name, value):
        return clean(first)[:room]
    left = room - len(first) - 1
    details = _details(value, left, masker) if left >= 60 else ""
    return _cut(f"{first}\n{details}".rstrip("\n"), room)


def summary(value: Any, *, name: str = "", max_chars: int = 200, masker: Masker | None = None) -> str:
    """One line: the type, and what tells most about a value of it."""
    if is_secret(name, value):
        return f"{type_name(value)}, {len(value):,} long, not shown because of its name"
    masker = masker or environment_masker()
    try:
        text = _summary(value)
    except Exception as exc:  # noqa: BLE001 - the value's own code
        text = f"{type_name(value)} that could not be read: {type(exc).__name__}"
    return _cut(" ".join(clean(masker.text(text)).split()), max_chars)


def _summary(value: Any) -> str:
    name, shape = type_name(value), shape_of(value)
    if isinstance(value, types.ModuleType):
        version = getattr(value, "__version__", "")
        return f"module {value.__name__}" + (f" {version}" if isinstance(version, str) and version else "")
    if isinstance(value, type):
        return f"class {value.__qualname__}{_signature(value)}"
    if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        kind = "async function" if inspect.iscoroutinefunction(value) else "function"
        return f"{kind} {value.__name__}{_signature(value)}"
    if isinstance(shape, Scalar):
        if value is None or str(shape.value).startswith("<"):
            return "None" if value is None else str(shape.value)
        return f"{name} = {dumps(shape.value)}"
    if isinstance(shape, Text):
        if isinstance(value, str):
            return f"{name}, {len(value):,} characters"
        return name
    facts = _facts(shape)
    if "lazy" in facts:
        columns = facts.get("columns")
        return f"{name}, not computed" + (f", {columns.length:,} columns" if isinstance(columns, Group) else "")
    if "n_groups" in facts:
        return f"{name}, {facts['n_groups']:,} groups of {facts['n_rows']:,} rows"
    if "window" in facts:
        return f"{name} over {facts['n_rows']:,} rows"
    if "columns" in facts and "shape" in facts:
        return f"{name}, {facts['shape'][0]:,} rows x {facts['shape'][1]:,} columns"
    if str(facts.get("type", "")).endswith(PICTURES):
        size = facts.get("size_inches") or facts.get("size_pixels")
        unit = "inches" if "size_inches" in facts else "pixels"
        return str(facts["type"]) + (f", {size[0]:g} x {size[1]:g} {unit}" if size else "")
    if "dtype" in facts:
        if "shape" in facts:
            return f"{name}, shape {tuple(facts['shape'])}, {facts['dtype']}"
        label = f" {facts['name']!r}" if facts.get("name") else ""
        return f"{name}{label}, {facts['dtype']}, {facts['length']:,} values"
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"{name}, {facts['size_bytes']:,} bytes"
    if isinstance(value, (Mapping, Set)) or not shape.is_object:
        return f"{name}, {shape.length:,} {shape.unit}"
    return f"{name} object with {', '.join(facts) or 'no fields'}"


def _facts(shape: Group) -> dict[str, Any]:
    """The scalars and short lists in the head of a described object."""
    return {key: child for (key, child), _ in zip(shape.start_at(0), range(50), strict=False)} if shape.is_object else {}


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
        return f"({', '.join(signature.parameters)})" if isinstance(value, type) else str(signature)
    except (TypeError, ValueError):
        return "(...)"


def _details(value: Any, room: int, masker: Masker) -> str:
    try:
        return _details_of(value, room, masker)
    except Exception as exc:  # noqa: BLE001 - the value's own code
        return f"(reading it raised {type(exc).__name__})"


def _details_of(value: Any, room: int, masker: Masker) -> str:
    if isinstance(value, (types.ModuleType, type)) or (callable(value) and hasattr(value, "__name__")):
        doc = inspect.getdoc(value) or ""
        return masker.text(doc.strip().partition("\n")[0])[:room]
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(value, pandas.DataFrame):
        return _frame(value, room, masker)
    shape = shape_of(value)
    if isinstance(shape, Scalar):
        return ""
    if isinstance(shape, Text):
        return render(shape.text, max_chars=room, masker=masker).content
    if shape.main == "rows" and "columns" in (facts := _facts(shape)):
        return _table(facts, room, masker)
    if shape.main:
        shown: Any = dict(shape.start_at(0))[shape.main]
        return "first values: " + render(shown, max_chars=room - 14, masker=masker).content
    if isinstance(value, (bytes, bytearray, memoryview)):
        return f"first bytes: {bytes(value[: room // 5])!r}"[:room]
    return render(value, max_chars=room, masker=masker).content


def _frame(value: Any, room: int, masker: Masker) -> str:
    """Columns with dtypes (and missing values where they are quickly counted), then the first rows as a table."""
    n_rows, n_columns = value.shape
    names = [clean(masker.text(key_text(c))) for c in value.columns]
    is_counted = n_rows <= MAX_COUNTED and n_rows * n_columns <= 20 * MAX_COUNTED
    counts = value.isna().sum().tolist() if is_counted else [0] * n_columns
    columns = [
        f"{name} {dtype}" + (f" ({n:,} missing)" if n else "")
        for name, dtype, n in zip(names, map(str, value.dtypes), counts, strict=True)
    ]
    lines = ["columns: " + _listed(columns, max(room // 2, 40))] if columns else []
    if index := frame_index(value):
        lines.insert(0, "index: " + ", ".join(f"{key_text(n)} {t}" for n, t in index))
    left = room - sum(len(line) + 1 for line in lines)
    n_shown = min(n_columns, max(1, left // 8 // (HEAD_ROWS + 2)), 20)
    encoder = Encoder(masker, is_masking=True)
    head = value.iloc[:HEAD_ROWS, :n_shown]
    cells = [[_cell(encoder, v) for v in head.iloc[:, n].tolist()] for n in range(n_shown)]
    if index:
        for n in reversed(range(len(index))):
            cells.insert(0, [_cell(encoder, v) for v in head.index.get_level_values(n).tolist()])
    titles = [key_text(n) for n, _ in index] + names[:n_shown]
    table = [" | ".join(titles), *(" | ".join(row) for row in zip(*cells, strict=True))]
    if left >= 40 and n_rows and columns:
        lines.append(f"first {min(HEAD_ROWS, n_rows)} rows" + (f", {n_shown} columns:" if n_shown < n_columns else ":"))
        lines += table
    return "\n".join(lines)


def _table(facts: Mapping[str, Any], room: int, masker: Masker) -> str:
    """Columns with types, then the first rows, of a table that is no pandas frame."""
    held = facts["columns"]
    pairs = [(n, t) if held.is_object else tuple(t) for n, t in held.start_at(0)]
    pairs = [(clean(masker.text(name)), kind) for name, kind in pairs]
    lines = ["columns: " + _listed([f"{name} {kind}" for name, kind in pairs], max(room // 2, 40))] if pairs else []
    left = room - sum(len(line) + 1 for line in lines)
    n_shown = min(len(pairs), max(1, left // 8 // (HEAD_ROWS + 2)), 20)
    rows = [row for (_, row), _ in zip(facts["rows"].start_at(0), range(HEAD_ROWS), strict=False)]
    if left >= 40 and rows and pairs:
        encoder = Encoder(masker, is_masking=True)
        lines.append(f"first {len(rows)} rows" + (f", {n_shown} columns:" if n_shown < len(pairs) else ":"))
        lines.append(" | ".join(name for name, _ in pairs[:n_shown]))
        lines += [" | ".join(_cell(encoder, cell) for cell in row[:n_shown]) for row in rows]
    return "\n".join(lines)


def _cell(encoder: Encoder, value: Any) -> str:
    shape = shape_of(value)
    if isinstance(shape, Scalar) and not isinstance(shape.value, str):
        return "" if shape.value is None else f"{shape.value:.6g}" if isinstance(shape.value, float) else str(shape.value)
    plain = encoder.encode(value, 4 * CELL_CHARS)
    text = " ".join((plain if isinstance(plain, str) else dumps(plain)).split())
    if text == "NaN":
        return ""
    return text if len(text) <= CELL_CHARS else text[: CELL_CHARS - 3] + "..."


def _listed(parts: list[str], room: int) -> str:
    shown, used = list[str](), 0
    for part in parts:
        if used + len(part) + 2 > room - 24 and shown:
            return ", ".join(shown) + f" ... and {len(parts) - len(shown):,} more"
        shown.append(part)
        used += len(part) + 2
    return ", ".join(shown)


def _cut(text: str, room: int) -> str:
    return text if len(text) <= room else text[: room - 3] + "..."
