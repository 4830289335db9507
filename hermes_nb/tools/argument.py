"""From what a model sent to what the function is called with; or an error that tells the model what to send."""

from __future__ import annotations

import difflib
import inspect
import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from hermes_nb.errors import ToolArgumentError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

    from hermes_nb.tools.schema import Compiled

_SHOWN_CHARS = 80  # how much of a wrong value an error shows
_SHOWN_ERRORS = 6
_REASON = re.compile(r"^(?:Value error, |Assertion failed, )?(?:Input should be )?(?:a valid \w+, )?")


class Validator(Protocol):
    """Takes the arguments object; gives (values by field, None, names of the fields that were given)."""

    def validate_json(self, text: str, /, *, context: Any = None) -> Any:
        """The values of JSON text."""

    def validate_python(self, data: Any, /, *, context: Any = None) -> Any:
        """The values of a mapping that holds Python objects."""


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
            values, _, given = compiled.validator.validate_json(text, context=context)
    except ValidationError as exc:
        errors = exc.errors(include_url=False, include_context=False)
        raise ToolArgumentError(_explain(tool, errors, data, compiled.parameters)) from None
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
        return data, text
    if not isinstance(arguments, Mapping):
        raise ToolArgumentError(f"{tool}: the arguments must be an object; got {_shown(arguments)}.")
    data = dict(arguments)
    try:
        return data, json.dumps(data, allow_nan=False)
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
        raise ToolArgumentError(
            f"{tool}: the arguments are not valid JSON: {name} is no JSON number. Use null or a string."
        )

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


def _explain(tool: str, errors: Sequence[ErrorDetails], data: Any, parameters: Mapping[str, Any]) -> str:
    properties = parameters.get("properties", {})
    problems: dict[str, str] = {}
    for error in errors:
        path, got = _path(error["loc"], data)
        problem = _problem(error, path, got, properties)
        if path not in problems or error["type"] == "variable":
            problems[path] = problem
    shown = list(problems.values())[:_SHOWN_ERRORS]
    if len(problems) > _SHOWN_ERRORS:
        shown.append(f"and {len(problems) - _SHOWN_ERRORS} more")
    return f"{tool}: {'; '.join(shown)}."


def _problem(error: ErrorDetails, path: str, got: Any, properties: Mapping[str, Any]) -> str:
    kind, top = error["type"], str(error["loc"][0]) if error["loc"] else ""
    whole = path == top
    if kind == "missing":
        wanted = f" (wanted: {_wanted(properties[top])})" if whole and top in properties else ""
        return f"argument '{path}' is missing{wanted}"
    if kind in ("extra_forbidden", "unexpected_keyword_argument") and whole:
        near = difflib.get_close_matches(top, properties, n=1)
        meant = f" Did you mean '{near[0]}'?" if near else ""
        return f"there is no argument '{path}'.{meant} Known: {_quoted(properties) or 'none'}"
    if kind in ("extra_forbidden", "unexpected_keyword_argument"):
        return f"argument '{path}' is unknown there"
    if kind == "variable":
        return f"argument '{path}': {error['msg']}"
    reason = _REASON.sub("", error["msg"])
    if kind.endswith(("_type", "_parsing", "_error")) or kind == "enum":
        reason = reason.partition(", ")[0]
        is_plain = True
    else:
        is_plain = False
    wanted = _wanted(properties[top]) if whole and top in properties else ""
    more = f" ({reason})" if wanted and not is_plain else ""
    return f"argument '{path}' got {_shown(got)}, wanted {wanted or reason}{more}"


def _path(loc: Sequence[int | str], data: Any) -> tuple[str, Any]:
    """Where in the data an error is, e.g. `rows[2].name`, and what stands there; labels of union branches are left out."""
    path, at = "", data
    for index, part in enumerate(loc):
        if isinstance(at, Mapping) and part in at:  # noqa: SIM114 - two index types
            at = at[part]
        elif isinstance(at, (list, tuple)) and isinstance(part, int) and part < len(at):
            at = at[part]
        elif index < len(loc) - 1 or not isinstance(at, Mapping) or not isinstance(part, str):
            continue
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path, at


def _wanted(schema: Mapping[str, Any]) -> str:
    """A schema in a few words; "" where there are no few."""
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return "one of " + ", ".join(json.dumps(v) for v in schema["enum"])
    if "anyOf" in schema:
        branches = [_wanted(branch) for branch in schema["anyOf"]]
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
