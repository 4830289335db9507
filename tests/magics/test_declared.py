"""The cell of an agent runs again: the next turn takes what it says, whoever asks, and one line says what changed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from IPython.core.interactiveshell import InteractiveShell

from hermes_nb.testing import Say, ScriptedModel
from hermes_nb.turns.request import TurnRequest

pytestmark = pytest.mark.hermes
Run = Callable[[str], str]


@pytest.fixture
def model() -> Iterator[ScriptedModel]:
    with ScriptedModel(lambda request: Say("Yes.")) as scripted:
        yield scripted


@pytest.fixture
def declare(run: Run, model: ScriptedModel) -> Callable[..., str]:
    """`declare(variable="b", name="b", ...)` runs the agent's cell, its tool and key in it."""

    def cell(
        variable: str = "b",
        name: str = "b",
        says: str = "OLD",
        key: str = "sk-old-0123456789",
        body: str = "1",
        extra: str = "",
    ) -> str:
        return run(
            "from hermes_nb import Agent, Model\n"
            f"def t1() -> int:\n    'Count.'\n    return {body}\n"
            f"{variable} = Agent({name!r}, instructions={says!r}, tools=[t1],"
            f" model=Model('scripted', 'custom', base_url={model.base_url!r}, api_key={key!r}){extra})"
        )

    return cell


def system(model: ScriptedModel) -> str:
    return str(model.requests[-1].messages[0]["content"])


def key(model: ScriptedModel) -> str:
    return str({k.lower(): v for k, v in model.requests[-1].headers.items()}.get("authorization", ""))


@pytest.mark.parametrize(
    ("names", "ask"),
    [
        (("b", "b"), "%hermes run -a b hi"),
        (("b", "b"), "%hermes run hi"),
        (("b", "b"), "%hermes run -a b -s new hi"),
        (("v", "other"), "%hermes run -a v hi"),
        (("v", "other"), "%hermes run -a other hi"),
        (("v", "other"), "_ = held.run_sync('hi', show=True)"),
    ],
)
def test_the_next_turn_takes_the_new_declaration_and_key(
    run: Run, model: ScriptedModel, declare: Callable[..., str], names: tuple[str, str], ask: str
) -> None:
    variable, name = names
    declare(variable, name)
    run(f"%hermes agent {variable} -o held")
    run(ask)
    assert "OLD" in system(model)
    assert key(model).endswith("sk-old-0123456789")
    declare(variable, name, says="NEW", key="sk-new-0123456789", body="2")
    said = run(ask)
    assert "NEW" in system(model)
    assert key(model).endswith("sk-new-0123456789")
    line = f"Agent {name!r} was declared anew: instructions; key; tool t1 redefined."
    assert said.count("declared anew") == said.count(line) == 1
    assert "sk-" not in said
    assert "redefined" not in said.replace(line, "")
    assert "declared anew" not in run(ask)


def test_a_cell_that_says_the_same_again_changes_nothing(
    run: Run, model: ScriptedModel, declare: Callable[..., str]
) -> None:
    declare()
    run("%hermes agent b --instructions BRIEF")
    run("%hermes run hi")
    declare()
    said = run("%hermes run -a b hi")
    assert "anew" not in said
    assert "BRIEF" in system(model)


def test_the_card_names_a_new_key_and_never_shows_it(run: Run, declare: Callable[..., str]) -> None:
    declare()
    run("%hermes agent b")
    declare(key="sk-new-0123456789")
    card = run("%hermes agent b")
    assert "changed  key\n" in card
    assert "sk-" not in card
    assert "changed  nothing" in run("%hermes agent b")


def test_a_declaration_that_was_changed_in_place_counts(run: Run, model: ScriptedModel, declare: Callable[..., str]) -> None:
    declare()
    run("%hermes agent b")
    run("b.instructions = 'NEW'; b.tools.clear()")
    said = run("%hermes run hi")
    assert "Agent 'b' was declared anew: instructions; tool t1 removed.\n" in said
    assert "NEW" in system(model)


def test_new_config_moves_the_agent_and_leaves_no_second_one(
    run: Run, shell: InteractiveShell, model: ScriptedModel, declare: Callable[..., str]
) -> None:
    declare()
    run("%hermes agent b -o held")
    run("%hermes run hi")
    declare(extra=", config={'agent': {'api_max_retries': 1}}, session_options={'max_tokens': 100000}")
    assert "Agent 'b' was declared anew: config; session_options.\n" in run("%hermes run hi")
    held = shell.user_ns["held"]
    assert [list(i.agents) for i in held.hermes.instances.values()] == [[], ["b"]]
    assert [m["content"] for m in model.requests[-1].messages if m["role"] == "user"] == ["hi", "hi"]
    declare()
    assert "declared anew: config; session_options" in run("%hermes run hi")
    assert held.hermes.agents == {"b": held}


def test_what_was_attached_stays_and_can_be_detached(run: Run, declare: Callable[..., str]) -> None:
    declare()
    run("%hermes agent b")
    run("def more_of() -> int:\n    'More.'\n    return 3")
    run("%hermes tools attach more_of")
    declare(says="NEW")
    assert "more_of" in run("%hermes tools")
    assert "more_of" not in run("%hermes tools detach more_of")


def test_a_key_that_came_into_the_environment_is_taken(
    run: Run, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, shell: InteractiveShell
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-old-0123456789")
    run("from hermes_nb import Agent\nb = Agent('b', model='openrouter:some/model')")
    run("%hermes agent b -o held")
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-new-0123456789")
    assert "Agent 'b' was declared anew: key." in run("%hermes tools")
    assert shell.user_ns["held"].model.api_key == "sk-or-new-0123456789"
    monkeypatch.delenv("OPENROUTER_API_KEY")
    assert "anew" not in run("%hermes tools")


def test_a_chat_that_is_open_asks_the_new_declaration(
    run: Run, shell: InteractiveShell, model: ScriptedModel, declare: Callable[..., str]
) -> None:
    declare()
    run("%hermes agent b -o held\nchat = held.chat_widget()")
    declare(says="NEW")
    turn = shell.user_ns["held"].submit(TurnRequest(prompt="hi", show=False))
    assert turn.wait_blocking().status == "completed"
    assert "NEW" in system(model)
    assert [e.data["message"] for e in turn.events if e.kind == "warning"] == ["Agent 'b' was declared anew: instructions."]
    assert shell.user_ns["chat"].bound is shell.user_ns["held"]


@pytest.mark.parametrize("is_bound", [True, False], ids=["bound", "declared"])
def test_the_agent_of_a_question_before_any_agent_makes_way_for_that_of_the_notebook(
    run: Run, declare: Callable[..., str], model: ScriptedModel, monkeypatch: pytest.MonkeyPatch, *, is_bound: bool
) -> None:
    monkeypatch.setenv("HERMES_NB_MODEL", "offline")
    assert "offline model" in run("%hermes run First")
    assert "offline model" in run("%hermes run Second")
    declare()
    if is_bound:
        run("%hermes agent b")
    said = run("%hermes run -o answer Third")
    assert "Several agents" not in said
    assert [request.messages[-1]["content"] for request in model.requests] == ["Third"]
    assert "b" in run("print(answer.events[0].data['agent'])")
    assert "Yes." in run("%hermes timeline --as text")
    run("%hermes agent hermes")
    assert "Several agents are bound: b, hermes." not in run("%hermes run Fourth")
    run("hermes = Agent('hermes', model='offline')\n%hermes agent hermes")
    assert "Several agents are bound: b, hermes." in run("%hermes run Fifth")
