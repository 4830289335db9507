"""From what a model sent to what the function is called with; or an error that tells the model what to send."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import ToolArgumentError
from hermes_nb.tools import variable
from hermes_nb.tools.exact_number import validated

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from hermes_nb.tools.schema.definition import Compiled

_SHOWN_CHARS = 80  # how much of a wrong value an error shows
_SHOWN_ERRORS = 6
_SHOWN_VALUES = 30


def build(
    tool: str, compiled: Compiled, arguments: Mapping[str, Any] | str, namespace: Mapping[str, Any] | None
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Positional and keyword arguments for the function: positional-only ones first, everything else by keyword.

    Lax where a model's slip has one meaning ("3" for 3, 3.0 for 3), exact where it has two (a str for `str | int`
    stays one). JSON text and a mapping of JSON values go the same way.

    Args:
        tool: The tool's name, for errors.
        compiled: Of the function's signature.
        arguments: A JSON object as text ("" counts as {}), or a mapping; its values may be Python objects.
        namespace: The notebook's variables by name; None where there is no notebook.

    Raises:
        ToolArgumentError: Names each wrong field, what was got and what is wanted.
    """
    from pydantic_core import ValidationError

    context = {"namespace": namespace}
    data, text = _read(tool, arguments)
    try:
        if text is None:
            values, _, given = compiled.validator.validate_python(data, context=context)
        else:
            values, _, given = validated(compiled.validator, text, context=context)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_context=False)
        raise ToolArgumentError(_explain(tool, errors, data, compiled)) from None
    except Exception as exc:  # a validator of the user's, or pydantic 2.13 on a Decimal given as [null, null, null]
        raise ToolArgumentError(
            _encodable(f"{tool}: the arguments can't be used: {type(exc).__name__}: {_short(str(exc))}.")
        ) from exc
    return _call(tool, compiled, values, given)


def _call(
    tool: str, compiled: Compiled, values: Mapping[str, Any], given: set[str]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    from pydantic.fields import FieldInfo

    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    skipped: list[Any] = []
    for parameter in compiled.signature:
        field = compiled.fields[parameter.name]
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            _add_extra(tool, compiled, kwargs, values[field] if field in given else {})
        elif parameter.kind is not inspect.Parameter.POSITIONAL_ONLY:
            if field in given or isinstance(parameter.default, FieldInfo):
                kwargs[parameter.name] = values[field]
        elif field in given or isinstance(parameter.default, FieldInfo):
            args += [*skipped, values[field]]
            skipped = []
        else:  # a later positional-only argument needs this one's place filled
            skipped.append(parameter.default)
    return tuple(args), kwargs


def _add_extra(tool: str, compiled: Compiled, kwargs: dict[str, Any], extra: Mapping[str, Any]) -> None:
    taken = [p.name for p in compiled.signature if p.name in extra and p.kind is not inspect.Parameter.VAR_KEYWORD]
    if taken:
        raise ToolArgumentError(f"{tool}: {_quoted(taken)} is an argument of its own. Give it outside the object.")
    kwargs.update(extra)


def _read(tool: str, arguments: Mapping[str, Any] | str) -> tuple[Mapping[str, Any], str | None]:
    """The arguments as data, and as JSON text (None when JSON can't hold them)."""
    if isinstance(arguments, str):
        text = arguments.strip() or "{}"
        data = _parse(tool, text)
        if not isinstance(data, dict):
            raise ToolArgumentError(
                f'{tool}: the arguments must be a JSON object, e.g. {{"name": value}}; got {_shown(data)}.'
            )
        return data, _encodable(json.dumps(data, ensure_ascii=False)) if "\\ud" in text.lower() else text
    if not isinstance(arguments, Mapping):
        raise ToolArgumentError(f"{tool}: the arguments must be an object; got {_shown(arguments)}.")
    data = dict(arguments)
    try:
        return data, _encodable(json.dumps(data, allow_nan=False, ensure_ascii=False))
    except (TypeError, ValueError, RecursionError):
        return data, None


def _parse(tool: str, text: str) -> Any:
    def pairs(items: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(items)
        if len(found) < len(items):
            names = [name for name, _ in items]
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ToolArgumentError(f"{tool}: {_quoted(twice)} is given twice. Give each argument once.")
        return found

    def constant(name: str) -> Any:
        raise ToolArgumentError(f"{tool}: the arguments are not valid JSON: {name} is no JSON number. Use null or a string.")

    try:
        return json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except json.JSONDecodeError as exc:
        near = _shown(text[max(0, exc.pos - 20) : exc.pos + 20])
        raise ToolArgumentError(
            f"{tool}: the arguments are not valid JSON: {exc.msg} at character {exc.pos}, near {near}."
        ) from None
    except ToolArgumentError:
        raise
    except (ValueError, RecursionError) as exc:
        raise ToolArgumentError(f"{tool}: the arguments can't be read as JSON: {exc}.") from None


def _explain(tool: str, errors: Sequence[ErrorDetails], data: Any, compiled: Compiled) -> str:
    properties = compiled.parameters.get("properties", {})
    wanted = {name: _wanted(schema) for name, schema in properties.items()}
    wanted |= {name: f"the name of {variable.article(kind)}" for name, kind in compiled.variables.items()}
    unknown = [str(error["loc"][0]) for error in errors if _is_unknown(error) and len(error["loc"]) == 1]
    problems: dict[str, str] = {}
    for error in errors:
        path, got = _path(error["loc"], data)
        if path not in unknown and (path not in problems or error["type"] == "variable"):
            problems[path] = _problem(error, path, got, wanted.get(path, ""))
    sentences = list(problems.values())[:_SHOWN_ERRORS]
    if len(problems) > _SHOWN_ERRORS:
        sentences.append(f"and {len(problems) - _SHOWN_ERRORS} more")
    if unknown:
        sentences.append(_unknown(unknown, properties))
    return _encodable(f"{tool}: {'; '.join(sentences)}.")


def _is_unknown(error: ErrorDetails) -> bool:
    return error["type"] in ("extra_forbidden", "unexpected_keyword_argument")


def _unknown(names: Sequence[str], properties: Mapping[str, Any]) -> str:
    shown = [_short(name) for name in names[:_SHOWN_ERRORS]]
    more = f" and {len(names) - _SHOWN_ERRORS} more" if len(names) > _SHOWN_ERRORS else ""
    near = {name: difflib.get_close_matches(name, properties, n=1) for name in shown}
    meant = ", ".join(f"'{found[0]}' for '{name}'" for name, found in near.items() if found)
    return f"there is no argument {_quoted(shown)}{more}" + (
        f" (perhaps {meant})" if meant else f"; known: {_quoted(properties) or 'none'}"
    )


def _problem(error: ErrorDetails, path: str, got: Any, wanted: str) -> str:
    kind, name = error["type"], f"argument '{path}'" if path else "the arguments"
    if kind == "missing":
        return f"{name} is missing" + (f" (wanted: {wanted})" if wanted else "")
    if _is_unknown(error):
        return f"{name} is unknown there"
    if kind == "variable":
        return f"{name}: {error['msg']}"
    if error["loc"] and error["loc"][-1] == "[key]":
        name += " has the key"
    reason = error["msg"].removeprefix("Value error, ").removeprefix("Assertion failed, ")
    if kind.endswith(("_type", "_parsing")) or "_from_" in kind or kind in ("enum", "literal_error"):
        wanted = wanted or reason.removeprefix("Input should be ").partition(", ")[0]
        return f"{name} got {_shown(got)}, wanted {wanted}".replace("has the key got", "has the key")
    return f"{name} got {_shown(got)}: {reason}".replace("has the key got", "has the key")


def _path(loc: Sequence[int | str], data: Any) -> tuple[str, Any]:
    """Where in the data an error is, e.g. `rows[2].name`, and what stands there; labels of union branches are left out."""
    path, at = "", data
    for index, part in enumerate(loc):
        is_last = index == len(loc) - 1
        if part == "[key]" and is_last:
            at = loc[index - 1]
            break
        if isinstance(at, Mapping) and part in at:
            at = at[part]
        elif isinstance(at, (list, tuple)) and isinstance(part, int):
            at = at[part] if part < len(at) else None
        elif not (is_last and isinstance(at, Mapping) and isinstance(part, str)):
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return _short(path), at


def _short(text: str) -> str:
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}..."


def _encodable(text: str) -> str:
    """The text with lone surrogates replaced (a model that stops inside an emoji sends one)."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _wanted(schema: Mapping[str, Any]) -> str:
    """A schema in a few words; "" where there are no few."""
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        more = ", ..." if len(schema["enum"]) > _SHOWN_VALUES else ""
        return "one of " + ", ".join(json.dumps(v) for v in schema["enum"][:_SHOWN_VALUES]) + more
    if "anyOf" in schema:
        branches = [_wanted(branch) for branch in schema["anyOf"]]
        if branches[:2] == ["number", "string"] and "pattern" in schema["anyOf"][1]:  # of a Decimal
            branches[:2] = ["a decimal number"]
        return " or ".join(dict.fromkeys(branches)) if all(branches) else ""
    kind = str(schema.get("type", ""))
    if "format" in schema:
        return f"{kind} ({schema['format']})"
    if kind == "array" and _wanted(schema.get("items") or {}):
        return f"array of {_wanted(schema['items'])}"
    return kind


def _quoted(names: Any) -> str:
    return ", ".join(f"'{name}'" for name in names)


def _shown(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= _SHOWN_CHARS else f"{text[:_SHOWN_CHARS]}... ({len(text)} characters)"
