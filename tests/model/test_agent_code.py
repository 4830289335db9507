from __future__ import annotations

import ast

import pytest

from hermes_nb.model.agent import Agent, Model
from hermes_nb.model.agent_code import agent_code, quoted

TEXTS = ["", "plain", "it's", 'say "so"', "both ' and \"", "back\\slash", "\\'", "é\u2028\ud800\x00", "tail\\"]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_written_so_that_python_reads_it_back(text: str) -> None:
    assert ast.literal_eval(quoted(text)) == text


def test_a_key_is_named_by_its_variable_and_a_tool_by_its_own() -> None:
    def look() -> None: ...

    agent = Agent("a", model=Model("m", "custom", "http://h/v1", "sk-0123456789"), tools=[look])
    code = agent_code(agent, "a", name_of=lambda v: "look" if v is look else None, key_variable=lambda m: "MY_KEY")
    assert 'api_key=os.environ["MY_KEY"]' in code
    assert "tools=[look]" in code
    assert "sk-" not in code
    assert 'os.environ["HERMES_NB_MODEL_KEY"]' in agent_code(agent, "a", name_of=lambda v: "look" if v is look else None)


def test_a_tool_without_a_name_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'a'.*'<lambda>'.*no variable"):
        agent_code(Agent("a", tools=[lambda: 1]), "a", name_of=lambda v: None)


def test_a_plain_agent_is_a_short_cell() -> None:
    code = agent_code(Agent("a", "Be brief.", "offline"), "a", name_of=lambda v: None)
    made = 'a = Agent(\n    "a",\n    instructions="Be brief.",\n    model="offline",\n)'
    assert code == f"from hermes_nb import Agent\n\n{made}\n%hermes agent a"


def test_a_long_line_has_each_part_on_its_own() -> None:
    names = [f"look_at_number_{n}" for n in range(8)]
    tools = {name: (lambda: None) for name in names}
    model = Model("a/very-long-name-of-a-model", "custom", "http://somewhere.example.org:8000/v1", "sk-0123456789")
    agent = Agent("a", model=model, tools=list(tools.values()), toolsets=["web", "file"])
    code = agent_code(agent, "a", name_of=lambda v: next((n for n, f in tools.items() if f is v), None))
    assert max(map(len, code.splitlines())) <= 88
    assert "        look_at_number_7,\n    ]," in code
    assert '    toolsets=["web", "file"],' in code
    made = ast.parse(code.rpartition("\n")[0]).body[-1]
    assert isinstance(made, ast.Assign)
    assert isinstance(made.value, ast.Call)
    assert [k.arg for k in made.value.keywords] == ["model", "tools", "toolsets"]
