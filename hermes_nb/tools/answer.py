"""Typed answers: the schema a model is asked to answer in, and the Python value of what it answered.

The types are pydantic's (a model, a dataclass, `list[int]`, a TypedDict, an Enum ...), and `pandas.DataFrame`: an array
of row objects. Asking, and asking once more, is the sessions' business; `request` and `repair` are the words for it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from hermes_nb.errors import ModelError, UsageError

MAX_STARTS = 200  # places of an answer that are tried as the start of a JSON value
MAX_ERRORS = 8
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*(\w*)[^\n]*\n(.*?)\n?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
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
    if _is_frame(returns):
        return json.loads(json.dumps(_ROWS))  # type: ignore[no-any-return]
    from pydantic.errors import PydanticUserError

    try:
        schema: dict[str, Any] = _adapter(returns).json_schema()
        json.dumps(schema, allow_nan=False)
    except (PydanticUserError, TypeError, ValueError) as exc:
        raise UsageError(
            f"returns={_name(returns)} can't be described to a model: {str(exc).splitlines()[0]} Use a pydantic model,"
            f" a dataclass, a type such as list[int], or pandas.DataFrame."
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

    Of several the first that fits is taken, blocks marked `json` before all others. For `str`, a text without JSON is
    the answer itself.

    Raises:
        AnswerError: There is no JSON, or it does not fit; names each field and what is wanted.
        UsageError: No schema can describe `returns`.
    """
    from pydantic import ValidationError

    schema_for(returns)
    adapter = _adapter(list[dict[str, Any]] if _is_frame(returns) else returns)
    first: str | None = None
    for candidate in _candidates(text):
        try:
            value = adapter.validate_json(candidate)
        except ValidationError as exc:
            if first is None and _is_json(candidate):
                first = _explained(exc)
            continue
        return returns(value) if _is_frame(returns) else value
    if returns is str and text.strip():
        return text.strip()
    if first is None:
        raise AnswerError(f"The answer holds no JSON for {_name(returns)}.")
    raise AnswerError(f"The answer does not fit {_name(returns)}: {first}.")


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

    return TypeAdapter(returns)


def _is_frame(returns: Any) -> bool:
    """Whether it is pandas's DataFrame or a subclass; pandas is not imported to find out."""
    return isinstance(returns, type) and any(
        cls.__name__ == "DataFrame" and cls.__module__.partition(".")[0] == "pandas" for cls in returns.__mro__
    )


def _name(returns: Any) -> str:
    return returns.__name__ if isinstance(returns, type) and not getattr(returns, "__args__", None) else str(returns)
