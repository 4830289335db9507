"""What holds of every sub-command, and of those that ask no model."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from types import ModuleType

import pytest
from IPython.core.interactiveshell import InteractiveShell

from hermes_nb.magics import _subcommand, context

Run = Callable[[str], str]


@pytest.mark.parametrize("name", _subcommand.names())
def test_every_sub_command_has_a_line_examples_and_help(run: Run, name: str) -> None:
    subcommand = _subcommand.load(name)
    assert subcommand.SUMMARY
    assert subcommand.SUMMARY[0].islower()
    assert all(example.lstrip("%").startswith(f"hermes {name}") for example in subcommand.EXAMPLES)
    overview = run("%hermes")
    assert f"  {name} " in overview
    assert subcommand.SUMMARY in overview
    shown = run(f"%hermes help {name}")
    assert shown == run(f"%hermes {name} -h") == run(f"%hermes {name} --help") == run(f"%hermes {name}?")
    for option in subcommand.parser().options:
        assert option in shown


@pytest.mark.parametrize("name", _subcommand.names())
def test_examples_are_lines_their_parser_reads(name: str) -> None:
    subcommand = _subcommand.load(name)
    for example in subcommand.EXAMPLES:
        head = example.splitlines()[0]
        subcommand.parser().read(head.partition(name)[2].strip())


@pytest.mark.parametrize("source", ["%hermes", "%hermes help", "%hermes -h", "%hermes --help", "%%hermes", "%%hermes help"])
def test_no_sub_command_means_help(run: Run, source: str) -> None:
    assert run(source).startswith("Run Hermes agents from this notebook.")


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "%hermes rnu hi",
            "No sub-command named 'rnu'. Known: agent, approve, chat, doctor, engine, eval, fork, help, ",
        ),
        ("%hermes rnu hi", "Did you mean 'run'?"),
        ("%hermes Which one?", "To ask a question, write %hermes run Which ..."),
        ("%hermes help nope", "There is no help on 'nope'."),
        ("%hermes _context", "No sub-command named '_context'."),
        ("%hermes run", "The question is empty: nothing was sent. Write it after %hermes run."),
        ("%%hermes run", "The question is empty: nothing was sent. Write it below the %%hermes run line."),
        ("%%hermes run\n \n\t\n", "The question is empty: nothing was sent."),
        ("%%hermes run -a x Which one?\nAnd why?", "'Which one?' stands on the %%hermes run line"),
        ("%%hermes\nWhich customers?", "%%hermes names no sub-command: nothing was sent."),
        ("%%hermes last\nbody", "%hermes last takes no cell. Write it as a line: %hermes last ..."),
        ("%hermes run --nope hi", "Unknown option --nope."),
        ("%hermes run -a nobody hi", "No agent named 'nobody'. Known: none. Make one: nobody = Agent('nobody')"),
        ("%hermes run --with nope hi", "There is no variable named 'nope'."),
        ("%hermes run --with df.head() hi", "no expressions and no paths: put it into one first"),
        ("%hermes run --returns pd.DataFrame hi", "no expressions and no paths: put it into one first"),
        ("%hermes run --returns list[int] hi", "no expressions and no paths: put it into one first"),
        ("%hermes run --format {{nope}}", "{{nope}} names no variable of this notebook."),
        ("%hermes last", "There is no result yet."),
        ("%hermes stop t-1", "No running turn has the id 't-1'. Running: none."),
        ("%hermes agent nobody", "No Agent named 'nobody' is in this notebook."),
        ("%hermes agent --model x", "An agent needs a name"),
        ("%hermes agent 'a b' --provider offline", "Agent name 'a b' can't be used."),
        ("%hermes agent a --tools nope", "There is no variable named 'nope'."),
        ("%hermes agent a --max-turns 0", "'0' is not a whole number above 0."),
        ("%hermes agent a --base-url http://localhost:1/v1", "--base-url needs --model"),
        ("%%hermes agent a --instructions x\ny", "Keep one of them."),
        ("%hermes tools -a nobody", "No agent named 'nobody'."),
        ("%hermes tools attach", "Write %hermes tools attach NAME,... or"),
        ("%hermes tools remove x", "%hermes tools: Argument action: invalid choice: 'remove'"),
    ],
)
def test_a_mistake_is_a_usage_error_without_traceback(shell: InteractiveShell, run: Run, source: str, message: str) -> None:
    said = run(source)
    assert said.startswith("UsageError: ")
    assert message in said
    assert "Traceback" not in said
    assert len(said.splitlines()) == 1
    assert not shell.last_execution_succeeded
    assert context(shell).opened_hermes is None


def test_an_agent_is_not_a_variable_of_another_kind(run: Run) -> None:
    run("thing = 3")
    assert "The variable 'thing' holds a int, not an Agent." in run("%hermes agent thing")
    assert "'thing' is a int, not a function" in run("%hermes agent a --tools thing")


def test_two_different_agents_of_one_name_are_told_apart_by_variable(run: Run) -> None:
    run("from hermes_nb import Agent\na = Agent('x')\nb = Agent('x', instructions='other')")
    assert "Several agents are named 'x': the variables a, b." in run("%hermes agent x")


def test_several_declared_agents_need_a_name(run: Run) -> None:
    run("from hermes_nb import Agent\na = Agent('a')\nb = Agent('b')")
    assert "Several agents are there: a, b. Say which with -a NAME." in run("%hermes run hi")


def test_a_near_agent_is_suggested(run: Run) -> None:
    run("from hermes_nb import Agent\nanalyst = Agent('analyst')")
    assert "Did you mean 'analyst'?" in run("%hermes run -a analist hi")


def test_stop_without_turns_says_so(run: Run) -> None:
    assert run("%hermes stop") == "No turn is running.\n"


def test_agents_that_are_there_are_listed_when_none_is_bound(run: Run) -> None:
    run("from hermes_nb import Agent\nanalyst = Agent('analyst')")
    assert "No agent is bound. Agents in this notebook: analyst." in run("%hermes agent")


def test_doctor_shows_versions_and_key_names_and_starts_nothing(
    shell: InteractiveShell, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "sk-or-0123456789abcdef")
    said = run("%hermes doctor")
    assert "hermes-agent" in said
    assert "OPENROUTER_API_KEY; the first one is used" in said
    assert "sk-or" not in said
    assert "not started" in said
    assert context(shell).opened_hermes is None


def test_doctor_names_the_model_that_answers_and_what_is_missing(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "hermes-nb-offline (offline) answers agents that name none" in run("%hermes doctor")
    monkeypatch.setenv("HERMES_NB_MODEL", "nonsense")
    assert "HERMES_NB_MODEL" in run("%hermes doctor")


def test_doctor_names_the_traps_that_are_there(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from hermes_nb.magics.subcommands import doctor

    assert "none found" in run("%hermes doctor")
    monkeypatch.setenv("HERMES_HOME", "/nowhere")
    monkeypatch.setattr(doctor.asyncio, "_nest_patched", True, raising=False)
    monkeypatch.setattr(doctor, "_disk", lambda folder: "nfs4")
    monkeypatch.setattr(doctor, "_is_there", lambda package: package == "async-hermes-agent")
    said = run("%hermes doctor")
    for trap in ("nest_asyncio is loaded", "async-hermes-agent overwrites", "HERMES_HOME is set", "network disk (nfs4)"):
        assert trap in said


def test_doctor_says_where_a_report_can_t_be_written(run: Run) -> None:
    assert "The report can't be written to /no/such/folder.zip" in run("%hermes doctor --report /no/such/folder.zip")


def test_doctor_names_packages_of_versions_that_are_not_allowed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    from hermes_nb.magics.subcommands import doctor

    assert [line for line in doctor._outside() if not line.startswith("ipywidgets 7")] == []
    real, old = metadata.version, {"pandas": "1.0.0", "ipywidgets": "7.7.1"}
    monkeypatch.setattr(metadata, "version", lambda name: old.get(name) or real(name))
    said = run("%hermes doctor")
    assert "pandas 1.0.0 is not what hermes-nb needs: %pip install" in said
    assert "ipywidgets 7.7.1 is not what hermes-nb needs: %pip install" in said
    monkeypatch.setitem(sys.modules, "google.colab", ModuleType("google.colab"))
    assert "Colab has no other, so turns and timelines are shown without" in run("%hermes doctor")


def test_help_leads_a_newcomer_on(run: Run) -> None:
    import pydoc
    import re

    import hermes_nb

    overview = run("%hermes help")
    assert "help(hermes_nb)" in overview
    assert "%hermes doctor" in overview
    text = pydoc.plain(pydoc.render_doc(hermes_nb))
    for onward in ("%load_ext hermes_nb", "%hermes help", "%hermes doctor", "Hermes.local()"):
        assert onward in text
    for name in re.findall(r"help\((\w+)\)", hermes_nb.__doc__ or ""):
        assert len(pydoc.plain(pydoc.render_doc(getattr(hermes_nb, name))).splitlines()) > 5


@pytest.mark.parametrize("name", ["agent", "run", "help", "tools", "sessions", "doctor", "usage", "stop", "last"])
def test_a_comment_may_end_the_line_of_each_sub_command(run: Callable[[str], str], name: str) -> None:
    bare, commented = run(f"%hermes {name}"), run(f"%hermes {name} # c")
    strip = re.compile(r"\d+(\.\d+)?")
    assert strip.sub("N", commented) == strip.sub("N", bare)
    assert "# c" not in commented


def test_a_comment_on_the_line_of_a_cell_is_no_question(run: Callable[[str], str]) -> None:
    run("from hermes_nb import Agent\na = Agent('a', model='offline')")
    for comment in ("# c", "#c"):
        out = run(f"%%hermes run -a a -o r {comment}\nSay #5 # of 6")
        assert "takes options only" not in out
        assert run("print(r.events[0].data['prompt'])") == "Say #5 # of 6\n"
    assert "question is empty: nothing was sent" in run("%hermes run -a a -o r1 # c")
    assert run("%hermes # c") == run("%hermes")


@pytest.mark.parametrize(
    ("asked", "cure"),
    [
        ("'new name'", "No agent can be named 'new name': a letter, then letters, digits, '_', '.' or '-'"),
        ("1st", "No agent can be named '1st'"),
        ("my-agent", "Make one: my_agent = Agent('my-agent'"),
        ("class", "Make one: class_agent = Agent('class'"),
        ("df", "Make one: df_agent = Agent('df'"),
    ],
)
def test_the_code_that_makes_an_agent_that_is_not_there_can_run(run: Callable[[str], str], asked: str, cure: str) -> None:
    run("df = 3")
    for line in (f"%hermes run -a {asked} hi", f"%hermes agent {asked}"):
        out = run(line)
        assert cure in out
        assert f"{asked} = Agent" not in out


def test_a_place_that_is_unknown_is_not_said_to_mean_a_name_of_ipython(run: Callable[[str], str]) -> None:
    run("from hermes_nb import Agent\na = Agent('a', model='offline')\ncity = 'Bonn'")
    for wrong, meant in (("nope", ""), ("opne", ""), ("eixt", ""), ("ctiy", " Did you mean 'city'?")):
        assert f"names no variable of this notebook.{meant}\n" in run(f"%hermes run --format {{{{{wrong}}}}}")


def test_help_explains_names_and_errors_and_leads_on(run: Run) -> None:
    import hermes_nb

    told = run("%hermes help ToolRetry")
    assert "the message is what the model reads" in told
    assert "docs/reference/errors.md#toolretry" in told
    assert "reference/python.md" in run("%hermes help Agent")
    assert "Did you mean 'ToolRetry'?" in run("%hermes help Toolretry")
    assert run("import hermes_nb; hermes_nb.help('%hermes run')") == run("%hermes help run")
    assert run("hermes_nb.help()") == run("%hermes help")
    assert "help" not in hermes_nb.__all__  # `from hermes_nb import *` leaves Python's own alone
