"""Our rows beside those of the Agent tab, from the same script: same rows, same words, same cuts, same escaping."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb import Agent, Hermes
from hermes_nb.model.event import Event
from hermes_nb.testing import Call, Say, ScriptedModel
from hermes_nb.views import rows
from hermes_nb.views._agent_tab import row_html
from hermes_nb.views.rows import cut_html
from tests.flyte.agent_tab import count, lookup
from tests.golden.logs import Log

HAS_ADAPTER = importlib.util.find_spec("flyte") is not None and importlib.util.find_spec("flyteplugins") is not None
pytestmark = [
    pytest.mark.hermes,
    pytest.mark.skipif(
        not HAS_ADAPTER, reason="flyte and flyteplugins-agents-hermes are not installed: the Agent tab is NOT compared"
    ),
]

ANSWER = "Paris is wet & <windy>. " + "It goes on and on. " * 20


def script() -> list[object]:
    return [
        [Call("lookup", {"city": "Paris", "days": 2}), Call("count", {"word": "moon"})],
        # What the model reads about an error is ours, so another result comes last.
        [Call("lookup", {"city": "Nowhere"}, text="Let me try another."), Call("count", {"word": "x" * 3})],
        Say(ANSWER),
    ]


ROW = re.compile(
    r"<div>(?P<icon>\S*) <b>(?P<label>.*?)</b>(?: <span>(?P<meta>.*?)</span>)?(?: — (?P<detail>.*?))?"
    r"(?: <span>⚠ (?P<error>.*)</span>)?</div>|<h[34]>(?P<heading>.*)</h[34]>",
    re.DOTALL,
)


def plain_tags(markup: str) -> str:
    """Elements without their attributes."""
    return re.sub(r"<(\w+) [^>]*>", r"<\1>", markup)


def shape(row: str) -> dict[str, str]:
    """What a row says, without what only looks, and without the number of milliseconds."""
    row = plain_tags(re.sub(r'<span class="hnb-icon">(.*?)</span>', r"\1", row))
    found = ROW.fullmatch(re.sub(r"\b\d[\d.]* (?:ms|s)\b", "N ms", row))  # the adapter has 1234 ms, our rows 1.2 s
    assert found, row
    return {name: value for name, value in found.groupdict().items() if value}


def theirs(base_url: str, home: Path) -> dict[str, object]:
    (home / "config.yaml").write_text("agent: {environment_probe: false}\ntools: {tool_search: {enabled: 'off'}}\n")
    done = subprocess.run(
        [sys.executable, "-P", str(Path(__file__).with_name("agent_tab.py")), base_url],
        env={"PATH": os.environ["PATH"], "HOME": str(home), "HERMES_HOME": str(home), "DO_NOT_TRACK": "1"},
        capture_output=True,
        text=True,
        timeout=120,
        cwd=home,
        check=False,
    )
    line = next((x for x in done.stdout.splitlines() if x.startswith("ROWS ")), None)
    assert line, done.stdout + done.stderr
    said: dict[str, object] = json.loads(line.removeprefix("ROWS "))
    return said


def ours(scripted: ScriptedModel, state: Path) -> list[Event]:
    hermes = Hermes.open_local(state=state)
    with closing(hermes):
        bound = hermes.bind(Agent("analyst", tools=[lookup, count], model=scripted.model))
        return list(bound.run_sync("Compare the cities, please.").events)


def test_the_rows_of_a_scripted_run_agree(tmp_path: Path) -> None:
    with ScriptedModel(script()) as scripted:
        events = ours(scripted, tmp_path / "state")
    home = tmp_path / "home"
    home.mkdir()
    with ScriptedModel(script()) as scripted:
        tab = theirs(scripted.base_url, home)
    assert tab["answer"] == ANSWER.strip()
    mine = [shape(row_html(row)) for row in rows.render(events) if not (row.span and row.span.builtin)]
    assert mine == [shape(str(row)) for row in tab["rows"]]  # type: ignore[attr-defined]


def test_a_replayed_row_agrees(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    with ScriptedModel([Say("x")]) as scripted:
        tab = theirs(scripted.base_url, home)
    log = Log()
    log.turn("Again?")
    log.model(
        1,
        last="Again?",
        text="Seen before.",
        calls=(("c1", "lookup", "{}"),),
        n_messages=1,
        replayed=True,
        model="scripted",
        usage={"input_tokens": 5, "output_tokens": 2},
    )
    assert shape(row_html(rows.render(log.events)[1])) == shape(str(tab["replayed"]))


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=60) | st.text(alphabet="<&\"'é\n x", min_size=150, max_size=400), st.sampled_from([160, 240]))
def test_values_are_escaped_and_cut_alike(value: str, limit: int) -> None:
    from flyte.report import abbreviate

    value = value.replace("\0", "")
    assert plain_tags(cut_html(value, limit)) == plain_tags(abbreviate(value, limit))


def test_a_value_of_a_megabyte_is_cut_alike() -> None:
    from flyte.report import abbreviate

    value = "<é>" * 400_000
    assert plain_tags(cut_html(value, 240)) == plain_tags(abbreviate(value, 240))
