"""Typed answers: the schema a model is asked to answer in, and the Python value of what it answered.

The types are pydantic's (a model, a dataclass, `list[int]`, a TypedDict, an Enum ...), and frames of pandas, polars or
pyarrow: an array of row objects, or any other form of JSON that can be read as one table only. Bare words are taken
where the type leaves one reading (`yes` for a Literal, `2024-02-29` for a date). Asking,
and asking once more, is the sessions' business; `request` and `repair` are the words for it.
"""

from __future__ import annotations

import datetime
import json
import re
import typing
from collections.abc import Iterator
from typing import Any

from hermes_nb.errors import ModelError, UsageError
from hermes_nb.tools.exact_number import validated
from hermes_nb.tools.reading import bare, build, is_frame, table_in
from hermes_nb.tools.rendering.shape import printed
from hermes_nb.tools.schema.translation import Unfit, prepare

MAX_STARTS = 200  # places of an answer that are tried as the start of a JSON value
MAX_ERRORS = 8
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*(\w*)[^\n]*\n(.*?)\n?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_CLASS = re.compile(r"<class '([^']+)'>")  # whose schema pydantic can't generate
_ROWS = {
    "type": "array",
    "items": {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}},
    "description": "The rows of a table; each an object of column name to value, all with the same keys.",
}


class AnswerError(ModelError, ValueError):
    """The model's answer is not of the type that was asked for; the message tells the model what to change."""


def schema_for(returns: Any) -> dict[str, Any]:
    """JSON schema (draft 2020-12) of an answer.

    Args:
        returns: A type, as for a parameter; or `pandas.DataFrame`.

    Raises:
        UsageError: No schema can describe it.
    """
    if is_frame(returns):
        return json.loads(json.dumps(_ROWS))  # type: ignore[no-any-return]
    from pydantic.errors import PydanticInvalidForJsonSchema, PydanticSchemaGenerationError, PydanticUserError

    use = "Use a pydantic model, a dataclass, a type such as list[int], or pandas.DataFrame."
    try:
        schema: dict[str, Any] = _adapter(returns).json_schema()
        json.dumps(schema, allow_nan=False)
    except Unfit as exc:
        kind = type(returns)
        near = f" Perhaps returns={kind.__name__}." if kind.__module__ not in ("builtins", "typing", "types") else ""
        raise UsageError(f"returns={_name(returns)} can't be used: {exc.reason}.{near} {use}") from exc
    except (PydanticInvalidForJsonSchema, PydanticSchemaGenerationError) as exc:
        inner = _CLASS.search(str(exc))
        what = inner[1].removeprefix("__main__.") if inner else _name(returns)
        raise UsageError(
            f"returns={_name(returns)} can't be described to a model: {what} has no form in JSON. {use}"
        ) from exc
    except (PydanticUserError, TypeError, ValueError, NameError) as exc:
        raise UsageError(
            f"returns={_name(returns)} can't be described to a model: {str(exc).splitlines()[0]} {use}"
        ) from exc
    return schema


def request(returns: Any) -> str:
    """What is added to a prompt to get such an answer."""
    return f"Answer with JSON only, in one ```json block, that fits this JSON schema:\n{json.dumps(schema_for(returns))}"


def repair(error: AnswerError) -> str:
    """The prompt of the one further round after a wrong answer."""
    return f"That answer could not be used. {error} Answer again, with the whole JSON only, in one ```json block."


def parse(returns: Any, text: str) -> Any:
    """The value in an answer: JSON that is the whole text, stands in a fenced block, or somewhere in the prose.

    Of several the first that fits is taken, blocks marked `json` before all others. A text without JSON that fits is
    the answer itself where the type takes it: a str, a word of a Literal or an Enum, a date, a UUID.

    Raises:
        AnswerError: There is no JSON, or it does not fit; names each field and what is wanted.
        UsageError: No schema can describe `returns`.
    """
    from pydantic import ValidationError

    schema_for(returns)
    if is_frame(returns):
        return _frame(returns, text)
    adapter = _adapter(returns)
    first: str | None = None
    for candidate in _candidates(text):
        try:
            value = validated(adapter.validator, candidate)
        except ValidationError as exc:
            if first is None and _is_json(candidate):
                first = _explained(exc)
            continue
        if not (isinstance(value, (datetime.date, datetime.time)) and _is_number(candidate)):  # read as seconds since 1970
            return value
    found, value = bare(adapter, returns, text)
    if found:
        return value
    if first is None:
        raise AnswerError(f"The answer holds no JSON for {_name(returns)}.")
    raise AnswerError(f"The answer does not fit {_name(returns)}: {first}.")


def _frame(returns: Any, text: str) -> Any:
    problem = ""
    for candidate in _candidates(text):
        if not _is_json(candidate):
            continue
        table = table_in(json.loads(candidate))
        if table is None:
            problem = problem or "it can't be read as one table"
            continue
        try:
            return build(returns, table)
        except Exception as exc:  # noqa: BLE001 - the package's own, of many classes
            problem = f"{type(exc).__name__}: {str(exc).splitlines()[0] if str(exc) else ''}"
    if not problem:
        raise AnswerError(f"The answer holds no JSON for {_name(returns)}.")
    raise AnswerError(f"The answer does not fit {_name(returns)}: {problem}. Give an array with an object for each row.")


def _candidates(text: str) -> Iterator[str]:
    """Pieces of an answer that may be its JSON, likeliest first."""
    yield text.strip()
    blocks = [(match[2].lower(), match[3]) for match in _FENCE.finditer(text)]
    yield from (block for language, block in sorted(blocks, key=lambda b: not b[0].startswith("json")))
    decoder, at = json.JSONDecoder(), 0
    for _ in range(MAX_STARTS):
        match = re.compile(r"[\[{]").search(text, at)
        if match is None:
            return
        try:
            _, at = decoder.raw_decode(text, match.start())
            yield text[match.start() : at]
        except (ValueError, RecursionError):
            at = match.start() + 1


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_number(text: str) -> bool:
    return isinstance(json.loads(text), (int, float))


def _explained(error: Any) -> str:
    problems = []
    for item in error.errors(include_url=False, include_context=False):
        path = "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in item["loc"]).lstrip(".")
        got = json.dumps(item["input"], ensure_ascii=False, default=str)
        got = got if len(got) <= 80 else f"{got[:80]}..."
        problems.append(f"{path or 'the whole'}: {item['msg']}" + ("" if item["type"] == "missing" else f", got {got}"))
    more = [f"and {len(problems) - MAX_ERRORS} more"] if len(problems) > MAX_ERRORS else []
    return "; ".join(problems[:MAX_ERRORS] + more)


def _adapter(returns: Any) -> Any:
    from pydantic import TypeAdapter

    return TypeAdapter(prepare(returns))


def _name(returns: Any) -> str:
    if isinstance(returns, type) and not getattr(returns, "__args__", None):
        return returns.__name__
    text = str(returns) if typing.get_origin(returns) is not None else printed(returns)
    return text if len(text) <= 80 else f"{text[:80]}..."
