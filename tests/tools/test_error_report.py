"""What the model and the log learn from an exception of a tool."""

from __future__ import annotations

import json

from hermes_nb.tools.call import ToolOutcome, run_sync
from hermes_nb.tools.decorator import tool


def sync(function, arguments="{}", /, **options):
    return run_sync(tool(function, **options), arguments)


def told(outcome: ToolOutcome) -> dict:
    return json.loads(outcome.content)


def test_an_error_tells_type_message_and_the_users_own_lines():
    def inner(n):
        return 1 / n

    def share(n: int) -> float:
        return json.loads("0") or inner(n)

    outcome = sync(share, '{"n": 0}')
    assert (outcome.status, outcome.error_type, outcome.error) == ("error", "ZeroDivisionError", "division by zero")
    assert told(outcome)["error"] == "ZeroDivisionError: division by zero"
    lines = told(outcome)["lines"]
    assert [line.partition(", in ")[2] for line in lines] == [
        'share: return json.loads("0") or inner(n)',
        "inner: return 1 / n",
    ]
    assert all(line.startswith("tests/tools/test_error_report.py, line ") for line in lines)
    assert "Traceback" in outcome.traceback
    assert "hermes_nb/tools/call.py" not in outcome.traceback


def test_frames_of_installed_packages_are_not_the_users():
    def load() -> None:
        json.loads("{")

    outcome = sync(load)
    assert [line.rpartition(" in ")[2] for line in told(outcome)["lines"]] == ['load: json.loads("{")']
    assert "json/decoder.py" in outcome.traceback


def test_lines_of_a_cell_bear_its_number():
    import linecache

    source = "def share(n: int):\n    return 1 / n\n"
    name = "/tmp/ipykernel_1/123.py"
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    space = {"__name__": "__main__", "In": ["", "import os", source.strip(), "x = 1"]}
    exec(compile(source, name, "exec"), space)
    outcome = sync(space["share"], '{"n": 0}')
    assert told(outcome)["lines"] == ["cell 2, line 2, in share: return 1 / n"]


def test_a_deep_recursion_shows_the_first_and_the_last_lines():
    def dive(n: int) -> None:
        dive(n + 1)

    outcome = sync(dive, '{"n": 0}')
    lines = told(outcome)["lines"]
    assert len(lines) == 7
    assert "more lines" in lines[1]
    assert outcome.error_type == "RecursionError"


def test_causes_and_members_of_a_group_are_named():
    def fail() -> None:
        try:
            raise KeyError("a")
        except KeyError as exc:
            raise ValueError("bad row") from exc

    def fail_twice() -> None:
        raise ExceptionGroup("two", [ValueError("one"), TypeError("two")])

    def fail_the_same() -> None:
        try:
            raise KeyError("a")
        except KeyError as exc:
            raise KeyError("a") from exc

    assert told(sync(fail))["caused_by"] == ["KeyError: 'a'"]
    assert "caused_by" not in told(sync(fail_the_same))
    assert told(sync(fail_twice))["caused_by"] == ["ValueError: one", "TypeError: two"]


def test_an_error_whose_str_raises_is_still_told():
    class Awkward(Exception):
        def __str__(self):
            raise RuntimeError("no")

    def fail() -> None:
        raise Awkward

    outcome = sync(fail)
    assert outcome.error == "(its message could not be read: str() raised RuntimeError)"


def test_a_long_message_is_bounded():
    def fail() -> None:
        raise ValueError("x" * 100_000)

    assert len(sync(fail, max_result_chars=1_000).content) <= 1_000
    assert len(sync(fail).error) < 5_000


def test_secrets_are_masked_whole_in_content_error_and_traceback(monkeypatch):
    key = "sk-test-0123456789abcdefghij"
    monkeypatch.setenv("MY_API_KEY", key)

    def fail() -> None:
        raise RuntimeError(f"401 for Bearer {key}")

    def leak() -> dict:
        return {"header": f"Bearer {key}"}

    outcome = sync(fail)
    assert outcome.error == "401 for Bearer [masked]"
    assert "0123456789" not in repr(outcome)
    assert sync(leak).content == '{"header": "Bearer [masked]"}'
