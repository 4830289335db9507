"""How often the offline model picks the right tool with the right arguments, over prompts it was and wasn't tuned for."""

import json

import pytest

from hermes_nb.offline_model.served import reply
from tests.offline_model.cases import ASK, HELD_OUT, TUNED, cases, tool_of
from tests.offline_model.test_served import Conversation


def asked(tools, prompt):
    """(tool, arguments) the model comes to: (None, None) when it calls nothing, ASK when it asks for arguments."""
    system = {"role": "system", "content": "Conversation started: Wednesday, January 15, 2025"}
    text, calls = reply([system, {"role": "user", "content": prompt}], tools)
    if calls:
        return (calls[0].name, json.loads(calls[0].arguments)) if len(calls) == 1 else ("several", None)
    if text.startswith("To call `"):
        return text.split("`")[1], ASK
    return None, None


def without_defaults(tools, tool, arguments):
    properties = next(t for t in tools if t["name"] == tool)["parameters"]["properties"]
    return {n: v for n, v in arguments.items() if "default" not in properties[n] or properties[n]["default"] != v}


def misses(toolboxes):
    missed = []
    for box, tools, prompt, tool, arguments in cases(toolboxes):
        got_tool, got = asked(tools, prompt)
        is_right = got_tool == tool and (
            got == arguments
            if not isinstance(arguments, dict) or not isinstance(got, dict)
            else without_defaults(tools, tool, got) == without_defaults(tools, tool, arguments)
        )
        if not is_right:
            missed.append(f"[{box}] {prompt}\n    wanted {tool} {arguments}\n    got {got_tool} {got}")
    return missed, len(cases(toolboxes))


@pytest.mark.parametrize(("toolboxes", "least"), [(TUNED, 0.97), (HELD_OUT, 0.85)], ids=["tuned", "held out"])
def test_right_tool_with_right_arguments(toolboxes, least, record_property):
    missed, n = misses(toolboxes)
    rate = 1 - len(missed) / n
    record_property("rate", rate)
    assert rate >= least, f"{n - len(missed)} of {n}\n" + "\n".join(missed)


@pytest.mark.parametrize(("toolboxes", "least"), [(TUNED, 0.96), (HELD_OUT, 0.85)], ids=["tuned", "held out"])
def test_the_same_in_one_long_conversation(toolboxes, least):
    """What was said before must not change what a new question means."""
    missed, n = [], 0
    for tools, prompts in toolboxes.values():
        tools = [tool_of(t) for t in tools]
        talk = Conversation(tools, lambda name, arguments: {"value": 12.5, "name": "something", "id": 7})
        for prompt, tool, arguments in prompts:
            made, text = talk.ask(prompt)
            n += 1
            if tool is None or arguments == ASK:
                is_right = not made and text.startswith("To call `") == (tool is not None)
            else:
                is_right = [name for name, _ in made] == [tool] and (
                    without_defaults(tools, tool, made[0][1]) == without_defaults(tools, tool, arguments)
                )
            if not is_right:
                missed.append(f"{prompt}\n    wanted {tool} {arguments}\n    got {made or text[:60]}")
    assert 1 - len(missed) / n >= least, f"{n - len(missed)} of {n}\n" + "\n".join(missed)


def test_the_prompts_are_many_and_some_fit_no_tool():
    every = [*cases(TUNED), *cases(HELD_OUT)]
    assert len(every) >= 600
    assert len({t["name"] for case in every for t in case[1]}) >= 200
    assert sum(case[3] is None for case in every) >= 120
