from __future__ import annotations

import subprocess
import sys

import pytest

from hermes_nb.engine.hermes.tool_schema import garbled, restored
from hermes_nb.model.toolspec import ToolSpec

SCHEMA = {
    "type": "object",
    "properties": {
        "names": {"type": "array", "items": {"type": "string", "default": "x"}, "default": ["a", "b"]},
        "box": {"anyOf": [{"type": "object", "default": {"k": ["v"]}}, {"type": "integer"}]},
    },
}
SANITIZE = """
import json, sys
from tools.schema_sanitizer import sanitize_tool_schemas
print(json.dumps(sanitize_tool_schemas(json.load(sys.stdin))))
"""


def test_schemas_without_data_are_left_alone() -> None:
    assert garbled([ToolSpec("plain", "", {"type": "object", "properties": {"n": {"type": "integer", "default": 3}}})]) == {}
    tools = [{"type": "function", "function": {"name": "plain", "parameters": {}}}]
    assert restored(tools, {}) is tools


@pytest.mark.hermes
def test_defaults_reach_the_model_as_they_were_and_hermes_still_garbles_them(tmp_path) -> None:  # type: ignore[no-untyped-def]
    import json

    sent = [{"type": "function", "function": {"name": "pick", "description": "", "parameters": SCHEMA}}]
    done = subprocess.run(
        [sys.executable, "-P", "-c", SANITIZE],
        input=json.dumps(sent),
        capture_output=True,
        text=True,
        check=True,
        env={"HERMES_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path,
    )
    theirs = json.loads(done.stdout.splitlines()[-1])
    parameters = theirs[0]["function"]["parameters"]
    assert parameters["properties"]["names"]["default"] != ["a", "b"]  # when this fails, tool_schema.py is no longer needed
    schemas = garbled([ToolSpec("pick", "", SCHEMA)])
    for tools in (theirs, [{"name": "pick", "input_schema": parameters}], [{"name": "pick", "parameters": parameters}]):
        text = json.dumps(restored(tools, schemas))
        assert '"default": ["a", "b"]' in text
        assert '"default": {"k": ["v"]}' in text
