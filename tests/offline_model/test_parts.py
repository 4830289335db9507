"""What the offline model reads in a prompt: words, numbers, dates, units, mentions, code."""

import json

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.offline_model.date import dates
from hermes_nb.offline_model.literal import literal_call
from hermes_nb.offline_model.mention import mentions
from hermes_nb.offline_model.profile import profile, shape
from hermes_nb.offline_model.row import rows
from hermes_nb.offline_model.scene import Scene
from hermes_nb.offline_model.served import reply
from hermes_nb.offline_model.thesaurus import similarity
from hermes_nb.offline_model.unit import convert
from hermes_nb.offline_model.words import number_word, split_name, stem, tokens
from hermes_nb.tools.decorator import tool
from hermes_nb.tools.rendering.result import to_content
from tests.offline_model.cases import TUNED, tool_of

TODAY = "2025-01-15"  # a Wednesday


@pytest.mark.parametrize(
    "words",
    [
        "customer customers",
        "schedule scheduling scheduled",
        "correlate correlation",
        "translate translation",
        "city cities",
        "colour color",
        "normalise normalized",
        "calculator calculate",
        "directed director",
        "die dice",
    ],
)
def test_forms_of_a_word_share_a_stem(words):
    assert len({stem(w) for w in words.split()}) == 1


@pytest.mark.parametrize(("a", "b"), [("state", "statement"), ("price", "prize"), ("order", "border"), ("sell", "cell")])
def test_other_words_do_not(a, b):
    assert stem(a) != stem(b)


@pytest.mark.parametrize(
    ("a", "b", "least"),
    [("rain", "weather", 0.7), ("average", "mean", 0.7), ("acceleeration", "acceleration", 0.5), ("cat", "dog", 0.0)],
)
def test_kindred_words_are_near(a, b, least):
    assert similarity(stem(a), stem(b)) >= least


def test_identifiers_are_split_into_words():
    assert split_name("fromUnit_2") == ["from", "unit", "2"]
    assert split_name("HTTPServer") == ["http", "server"]
    assert split_name("nrows") == ["n", "rows"]


@pytest.mark.parametrize(
    ("words", "number"),
    [
        ("five", 5),
        ("twenty - five", 25),
        ("one hundred and five", 105),
        ("two million three hundred", 2_000_300),
        ("two dozen", 24),
        ("three twenty", 3),
        ("five and ten", 5),
    ],
)
def test_numbers_in_words(words, number):
    assert number_word(words.split())[0] == number


@pytest.mark.parametrize("words", ["many", "a", "hundredth", ""])
def test_what_is_no_number(words):
    assert number_word(words.split()) is None


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on 2025-03-14", "2025-03-14"),
        ("March 5, 2025", "2025-03-05"),
        ("5th of March 2025", "2025-03-05"),
        ("Jun.20,2023", "2023-06-20"),
        ("2023 April 4th", "2023-04-04"),
        ("14.03.2025", "2025-03-14"),
        ("03/14/2025", "2025-03-14"),
        ("2025/3/4", "2025-03-04"),
        ("July 4", "2025-07-04"),
        ("tomorrow", "2025-01-16"),
        ("next Friday", "2025-01-17"),
        ("last Monday", "2025-01-13"),
        ("3 days ago", "2025-01-12"),
        ("in 2 weeks.", "2025-01-29"),
        ("at 2pm", "14:00"),
        ("12:30 am", "00:30"),
        ("noon", "12:00"),
        ("7 o'clock", "07:00"),
        ("2025-03-14T09:30", "2025-03-14T09:30"),
        ("in 2025-03", "2025-03"),
    ],
)
def test_dates_and_times_in_iso_form(text, value):
    assert [d.value for d in dates(text, TODAY)] == [value]


@pytest.mark.parametrize("text", ["version 2.4.1", "31 February 2025", "1/2", "chapter 12", "25:61", "may I?"])
def test_what_is_no_date(text):
    assert dates(text, TODAY) == []


def found(text):
    return [(m.kind, m.value, m.unit) for m in mentions(text, TODAY)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1,200.50 dollars", [("number", 1200.5, "USD")]),
        ("$5k", [("number", 5000, "USD")]),
        ("-10 days", [("number", -10, "day")]),
        ("7.5 percent", [("number", 7.5, "percent")]),
        ("22 °C", [("number", 22, "celsius")]),
        ("9.8 m/s^2", [("number", 9.8, "m")]),
        ("1e-9", [("number", 1e-9, "")]),
        ("an hour", [("number", 1, "hour")]),
        ("the 95th", [("number", 95, "")]),
        ("AB-1002", [("code", "AB-1002", "")]),
        ("v2.4.1", [("code", "v2.4.1", "")]),
        ("978-0-13-110362-7", [("code", "978-0-13-110362-7", "")]),
        ("#ops", [("code", "#ops", "")]),
        ("bob@corp.io.", [("email", "bob@corp.io", "")]),
        ("see https://x.org/a?b=1.", [("url", "https://x.org/a?b=1", "")]),
        ("/var/log/syslog", [("path", "/var/log/syslog", "")]),
        ("src/main.py", [("path", "src/main.py", "")]),
        ("+49 170 1234567", [("phone", "+49 170 1234567", "")]),
        ("'it's fine'", [("quoted", "it's fine", "")]),
        ("“curly”", [("quoted", "curly", "")]),
        ("`x`", [("quoted", "x", "")]),
        ("```sql\nselect 1\n```", [("fence", "select 1", "")]),
        ("don't", []),
    ],
)
def test_mentions(text, wanted):
    assert found(text) == wanted


def test_numbers_in_a_row_are_a_list_too():
    lists = [m.value for m in mentions("3, 5 and 10, or [1.5, -2]", TODAY) if m.kind == "list"]
    assert lists == [[3, 5, 10], [1.5, -2]]


def test_names_in_a_row():
    (row,) = [r for r in rows(Scene("Invite Ann, Bob and New York to it", TODAY)) if r[0].form == "proper"]
    assert [s.value for s in row] == ["Ann", "Bob", "New York"]


@pytest.mark.parametrize(
    ("value", "unit", "wanted", "result"),
    [
        (2, "hour", "minute", 120),
        (170, "cm", "m", 1.7),
        (5, "year", "month", 60),
        (1, "kg", "g", 1000),
        (20, "celsius", "fahrenheit", None),
        (1, "km", "kg", None),
    ],
)
def test_units_convert_within_their_dimension(value, unit, wanted, result):
    assert convert(value, unit, wanted) == result


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("f(1, b='x')", {"a": 1, "b": "x"}),
        ("please run f(a=[1, (2)], b={'k': None})", {"a": [1, 2], "b": {"k": None}}),
        ("f(a=true, b=word)", {"a": True, "b": "word"}),
        ("f()", {}),
        ("f(a=')')", {"a": ")"}),
        ("f(", None),
        ("g(1)", None),
    ],
)
def test_calls_written_as_code(text, values):
    tool = profile(tool_of('f(a: str, b: str) "A tool."'))
    assert literal_call(text, tool) == values


@pytest.mark.parametrize(
    ("prompt", "arguments"),
    [
        ("Which values are missing in df?", {"df": "df"}),
        ("Count the missing values of the table df", {"df": "df"}),
        ("How many values are missing in df of the column sales?", {"df": "df", "column": "sales"}),
        ("missing values with df = orders", {"df": "orders"}),
        ("missing values of df 'orders'", {"df": "orders"}),
    ],
)
def test_a_parameter_named_as_its_variable_takes_that_name(prompt, arguments):
    def missing(df: pd.DataFrame, column: str | None = None) -> dict[str, int]:
        """Count the missing values of a table or of one column."""

    schema = tool(missing).parameters
    described = {"name": "missing", "description": missing.__doc__, "parameters": schema}
    _, (call,) = reply([{"role": "user", "content": prompt}], [described])
    assert json.loads(call.arguments) == arguments


def test_a_parameter_named_by_a_word_takes_what_follows_the_word():
    def count(table: pd.DataFrame) -> int:
        """Count the rows of a table."""

    described = {"name": "count", "description": count.__doc__, "parameters": tool(count).parameters}
    _, (call,) = reply([{"role": "user", "content": "Count the rows of the table tips"}], [described])
    assert json.loads(call.arguments) == {"table": "tips"}


def test_the_shape_of_a_code():
    assert [shape(w) for w in ("LH400", "AB-12", "AAPL", "x1")] == ["A0", "A-0", "A", "a0"]


def test_tokens_keep_their_place():
    text = "Ann's e-mail, 1,200.50!"
    assert all(text[t.start : t.end] == t.text for t in tokens(text))
    assert [t.text for t in tokens(text)] == ["Ann's", "e-mail", ",", "1,200.50", "!"]


SIGNS = "the 5 and 'x y' Paris then [1, 2] (3) \" ` ``` {} € -1 2024-02-30 a@b.c /x it convert 99999999999999999999 é \ud800"
WORDS = st.sampled_from(SIGNS.split(" "))
JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
ALL_TOOLS = [tool_of(t) for tools, _ in list(TUNED.values())[:6] for t in tools]


@settings(max_examples=60, deadline=None)
@given(st.lists(WORDS, max_size=14).map(" ".join), st.integers(0, 25))
def test_any_prompt_gets_a_reply(prompt, first):
    text, calls = reply([{"role": "user", "content": prompt}], ALL_TOOLS[first : first + 4])
    assert bool(text) != bool(calls)


@settings(max_examples=60, deadline=None)
@given(JSON)
def test_any_result_gets_an_answer(result):
    assert _answer_to(json.dumps(result))


def _answer_to(content):
    call = {"id": "c", "type": "function", "function": {"name": "roll_dice", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Throw a die"},
        {"role": "assistant", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c", "content": content},
    ]
    text, calls = reply(messages, [tool_of('roll_dice(sides: int = 6) "Roll dice."')])
    assert calls == []
    return text


@pytest.mark.parametrize(
    ("value", "counted", "rest"),
    [
        (pd.DataFrame({"a": range(2_000_000)}), "2,000,000 rows", "1,999,970"),
        (pd.Series(range(90_000), index=[f"n{i}" for i in range(90_000)], name="a"), "90,000 rows", "89,970"),
        ([{"a": i} for i in range(10_000)], "10,000 rows", "9,970"),
        (list(range(100_000)), "100,000 items", "99,970"),
        ({f"k{i}": i for i in range(10_000)}, "", "9,970"),
        (list(range(31)), "31 items", "1"),
    ],
    ids=["frame", "series", "records", "list", "mapping", "not cut"],
)
def test_of_a_result_that_was_cut_the_whole_is_counted(value, counted, rest):
    text = _answer_to(to_content(value)[0])
    assert f"returned {counted}".rstrip() + ":" in text
    assert f"… and {rest} more." in text
    assert "left out" not in text
