"""Prompts and the calls they ask for, over toolboxes of five very different tools each.

A file of them has, per toolbox, a line `# name`, the tools as `tool name(parameter: type = default "text", ...) "text"`, and
the prompts: `> prompt`, then `  tool {arguments}`, or `  nothing` where no tool fits, or `  tool ?` where an argument has to
be asked for.
"""

import json
import re
from pathlib import Path

ASK = "ASK"

_PARAMETER = re.compile(
    r'\s*(?P<name>\w+)\s*:\s*(?P<type>[\w\[\]|]+(?:\([^)]*\))?)(?:\s*=\s*(?P<default>"[^"]*"|[^",\s]+))?(?:\s*"(?P<text>[^"]*)")?\s*(?:,|$)'
)
_TYPES = {
    "str": {"type": "string"},
    "int": {"type": "integer"},
    "float": {"type": "number"},
    "bool": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "datetime": {"type": "string", "format": "date-time"},
    "time": {"type": "string", "format": "time"},
}


def _schema(kind):
    if kind.startswith("enum("):
        values = [json.loads(v) if v.lstrip("-").isdigit() else v for v in kind[5:-1].split("|")]
        return {"type": "string" if isinstance(values[0], str) else "integer", "enum": values}
    if kind.startswith("list["):
        return {"type": "array", "items": _schema(kind[5:-1])}
    return dict(_TYPES[kind])


def tool_of(text):
    """The function of a tool written in the short form."""
    name, rest = text.split("(", 1)
    inside, description = rest.rsplit(")", 1)
    properties, required = {}, []
    position = 0
    inside = inside.strip()
    while position < len(inside):
        match = _PARAMETER.match(inside, position)
        assert match, f"{name}: {inside[position:]!r}"
        position = match.end()
        schema = _schema(match["type"])
        if match["default"] is None:
            required.append(match["name"])
        elif match["default"] == "None":
            schema = {"anyOf": [schema, {"type": "null"}], "default": None}
        else:
            value = match["default"]
            schema["default"] = value.strip('"') if schema["type"] == "string" else json.loads(value.lower())
        if match["text"]:
            schema["description"] = match["text"]
        properties[match["name"]] = schema
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"name": name.strip(), "description": description.strip().strip('"'), "parameters": parameters}


def load(name):
    """Toolboxes by name: (tools, cases) each."""
    boxes, prompt = {}, ""
    for line in (Path(__file__).parent / name).read_text(encoding="utf-8").splitlines()[1:]:
        if line.startswith("# "):
            boxes[line[2:]] = tools, prompts = [], []
        elif line.startswith("tool "):
            tools.append(line[5:])
        elif line.startswith("> "):
            prompt = line[2:]
        elif line.startswith("  "):
            tool, _, arguments = line.strip().partition(" ")
            wanted = ASK if arguments == "?" else json.loads(arguments) if arguments else None
            prompts.append((prompt, None if tool == "nothing" else tool, wanted))
    return boxes


TUNED = load("tuned.txt")
HELD_OUT = load("held_out.txt")


def cases(toolboxes):
    """(box, tools, prompt, tool, arguments) of every case."""
    return [(box, [tool_of(t) for t in tools], *case) for box, (tools, prompts) in toolboxes.items() for case in prompts]
