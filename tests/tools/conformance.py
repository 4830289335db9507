"""The conformance table: what a model must see of a signature, and what the body must get of a call.

Standard library and pydantic only (pandas and numpy where a row is about them): `tests/benchmarks/tool_bench.py` runs
the same rows through other libraries, where hermes_nb is not installed.
"""

import contextlib
import dataclasses
import json
from collections.abc import Callable
from typing import Any

SEEN: list[Any] = []  # what the bodies got
MISSING = object()


def seen(*values: Any) -> str:
    """Called by a body with what it got; one value alone is kept as itself."""
    SEEN.append(values[0] if len(values) == 1 else values)
    return "done"


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes:
        name: For reports and `pytest -k`.
        make: Gives the callable; called once for each look at the row.
        facts: Each takes a `View` of the schema and says whether it holds.
        calls: (arguments, what the body must get); a callable expectation is a predicate.
        refused: Arguments that must not reach the body.
        error: True when the definition itself must be refused.
        namespace: Notebook variables of the calls.
        options: How the tool is made, beyond the callable.
    """

    name: str
    make: Callable[[], Callable[..., Any]]
    facts: tuple[Callable[["View"], bool], ...] = ()
    calls: tuple[tuple[dict[str, Any], Any], ...] = ()
    refused: tuple[dict[str, Any], ...] = ()
    error: bool = False
    namespace: dict[str, Any] | None = None
    options: dict[str, Any] = dataclasses.field(default_factory=dict)


class View:
    """A tool as the model sees it, with references resolved and nullability told apart from the type."""

    def __init__(self, schema: dict[str, Any], description: str = "") -> None:
        self.schema = schema
        self.description = description or ""

    @property
    def properties(self) -> dict[str, Any]:
        return self.schema.get("properties") or {}

    def resolve(self, node: Any) -> dict[str, Any]:
        """The schema behind a `$ref` or a lone `allOf`, with what stands beside it."""
        if not isinstance(node, dict):
            return {}
        for _ in range(20):
            if "$ref" in node:
                target: Any = self.schema
                for part in node["$ref"].removeprefix("#/").split("/"):
                    target = target[part]
                node = {**target, **{k: v for k, v in node.items() if k != "$ref"}}
            elif len(node.get("allOf", ())) == 1:
                node = {**node["allOf"][0], **{k: v for k, v in node.items() if k != "allOf"}}
            else:
                break
        return node

    def branches(self, node: Any) -> list[dict[str, Any]]:
        """The alternatives of a schema, resolved; `type: [a, b]` counts as two."""
        node = self.resolve(node)
        options = node.get("anyOf") or node.get("oneOf")
        if options:
            return [b for option in options for b in self.branches(option)]
        if isinstance(node.get("type"), list):
            return [{**node, "type": kind} for kind in node["type"]]
        return [node]

    def main(self, node: Any) -> dict[str, Any]:
        """The branch that is not null."""
        found = [b for b in self.branches(node) if b.get("type") != "null"]
        return found[0] if found else {}

    def is_nullable(self, node: Any) -> bool:
        return any(
            b.get("type") == "null" or None in b.get("enum", ()) or b.get("const", 0) is None for b in self.branches(node)
        )

    def types(self, node: Any) -> set[str]:
        return {_kind(b) for b in self.branches(node)}


def _kind(node: dict[str, Any]) -> str:
    if "type" in node:
        return str(node["type"])
    values = node.get("enum", [node["const"]] if "const" in node else [])
    names = {str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
    kinds = {names[type(v)] for v in values}
    return kinds.pop() if len(kinds) == 1 else "any"


def prop(
    name: str,
    kind: str | None = None,
    *,
    required: bool | None = None,
    nullable: bool | None = None,
    default: Any = MISSING,
    description: str | None = None,
    **keywords: Any,
) -> Callable[[View], bool]:
    """A fact about one property: its type (the branch that is not null), whether it is required, its keywords."""

    def holds(view: View) -> bool:
        if name not in view.properties:
            return False
        whole = view.properties[name]
        node = view.main(whole)
        resolved = view.resolve(whole)
        checks = [
            kind is None or _kind(node) == kind,
            required is None or (name in view.schema.get("required", ())) is required,
            nullable is None or view.is_nullable(whole) is nullable,
            default is MISSING or ("default" in resolved and same(resolved["default"], default)),
            description is None or description in flat(resolved.get("description") or node.get("description")),
            all(same(node.get(key, MISSING), value) for key, value in keywords.items()),
        ]
        return all(checks)

    return holds


def same(left: Any, right: Any) -> bool:
    """Equal, of one type (1 is not True, 1 is not 1.0)."""
    if isinstance(left, (list, tuple)) and type(left) is type(right):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def only(*names: str) -> Callable[[View], bool]:
    """The model is offered exactly these parameters, in this order, and no others are allowed."""
    return lambda view: list(view.properties) == list(names) and view.schema.get("additionalProperties", False) is False


def says(*texts: str, without: tuple[str, ...] = ()) -> Callable[[View], bool]:
    """The description holds each text and none of the others."""
    return lambda view: (
        all(t in flat(view.description) for t in texts) and not any(t in flat(view.description) for t in without)
    )


def flat(text: str | None) -> str:
    """The text on one line: where a library breaks lines is its own affair."""
    return " ".join((text or "").split())


def is_json(view: View) -> bool:
    """The schema is JSON, to the letter."""
    json.dumps(view.schema, allow_nan=False)
    return True


def judge(row: Row, make: Callable[..., tuple[dict[str, Any], str, Callable[[dict[str, Any]], object]]]) -> str:
    """What a library gets wrong about a row, in a few words; "" when nothing.

    Args:
        row: The row.
        make: Takes a callable, a name and the row's namespace; gives the schema, the description and what calls the
            tool with arguments as a model would. Whatever it raises is a refusal.
    """
    made: list[Any] = []

    def tool(function: Callable[..., Any]) -> None:
        made.append(make(function, row.options.get("name", "probe"), row.namespace))

    wrap = row.options.get("wrap")
    try:
        if wrap:
            wrap(tool)
        else:
            tool(row.make())
        schema, description, call = made[0]
        text = json.dumps(schema, allow_nan=False)
    except Exception as exc:  # noqa: BLE001 - any refusal counts
        return "" if row.error else f"definition: {type(exc).__name__}: {str(exc).splitlines()[0] if str(exc) else ''}"
    if row.error:
        return "accepted what it can't call"
    view = View(json.loads(text), description)
    for index, fact in enumerate(row.facts):
        if not holds(fact, view):
            return f"schema: fact {index + 1} of {len(row.facts)}"
    for arguments, expected in row.calls:
        got = _seen(call, arguments)
        if got is MISSING and expected is not MISSING:
            return f"call: {arguments} did not reach the body"
        if not (same(got, expected) or (callable(expected) and holds(expected, got))):
            return f"call: the body got {got!r}"
    for arguments in row.refused:
        if _seen(call, arguments) is not MISSING:
            return f"call: {arguments} reached the body"
    return ""


def holds(fact: Callable[[Any], Any], thing: Any) -> bool:
    """Whether a predicate is true; one that can't be evaluated is not."""
    try:
        return bool(fact(thing))
    except (LookupError, TypeError, AttributeError, ValueError):
        return False


def _seen(call: Callable[[dict[str, Any]], object], arguments: dict[str, Any]) -> Any:
    SEEN.clear()
    with contextlib.suppress(Exception):  # what counts is whether the body ran
        call(arguments)
    return SEEN[-1] if SEEN else MISSING
