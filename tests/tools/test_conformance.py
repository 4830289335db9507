"""The conformance table, run through hermes_nb. Each row is one test, found by its name."""

import asyncio
import inspect
import json

import jsonschema
import pytest

from hermes_nb.errors import ToolArgumentError, ToolDefinitionError
from hermes_nb.tools.decorator import Tool, tool

from . import conformance_rows, conformance_signatures
from .conformance import SEEN, Row, View, same

ROWS = [*conformance_rows.ROWS, *conformance_signatures.ROWS]


def make(row: Row) -> Tool:
    options = dict(row.options)
    wrap = options.pop("wrap", None)
    options.setdefault("name", "probe")
    return wrap(tool(**options)) if wrap else tool(row.make(), **options)


def call(made: Tool, arguments: object, namespace: dict | None) -> object:
    SEEN.clear()
    args, kwargs = made.build(arguments, namespace)
    result = made(*args, **kwargs)
    if inspect.isawaitable(result):
        asyncio.run(result)
    return SEEN[-1]


def test_the_table_is_long_enough_and_names_are_unique():
    names = [row.name for row in ROWS]
    assert len(names) >= 70
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_row(row):
    if row.error:
        with pytest.raises(ToolDefinitionError, match=r"(?s)parameter '.*\. "):
            make(row)
        return
    made = make(row)
    schema = made.parameters
    json.dumps(schema, allow_nan=False)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["additionalProperties"] is False
    assert json.dumps(make(row).parameters) == json.dumps(schema)
    view = View(schema, made.description)
    for index, fact in enumerate(row.facts):
        assert fact(view), f"fact {index}: {json.dumps(schema)} {made.description!r}"
    for arguments, expected in row.calls:
        for form in (json.dumps(arguments), arguments):
            got = call(made, form, row.namespace)
            assert expected(got) if callable(expected) and not same(got, expected) else same(got, expected), got
    for arguments in row.refused:
        SEEN.clear()
        with pytest.raises(ToolArgumentError, match=r"^probe: .*\.$") as error:
            made.build(json.dumps(arguments), row.namespace)
        assert "pydantic" not in str(error.value)
        assert not SEEN
