"""The tools every agent may get besides its own."""

from __future__ import annotations

import json
import re
import threading

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.model.mask import Masker
from hermes_nb.tools.builtin import ResultStore, list_variables_tool, more_tool, variables
from hermes_nb.tools.call import run_sync
from hermes_nb.tools.decorator import tool
from hermes_nb.tools.name import HERMES_NAMES

CALL = re.compile(r"call more\(result_id='(\w+)'(?:, path='([^']*)')?, offset=(\d+)\) to read on")


def first(value, results, max_result_chars=1_000):
    return run_sync(tool(lambda: value, name="made", max_result_chars=max_result_chars), "{}", results=results).content


def follow(content, more):
    """The contents of the calls that each content asks for, until none does."""
    while match := CALL.search(content):
        result_id, path, offset = match.groups()
        arguments = {"result_id": result_id, "offset": int(offset)} | ({"path": path} if path else {})
        outcome = run_sync(more, json.dumps(arguments))
        assert outcome.status == "ok", outcome
        content = outcome.content
        yield content


def test_neither_name_is_one_of_hermes():
    names = {more_tool(ResultStore()).name, list_variables_tool({}).name}
    assert names == {"more", "list_variables"}
    assert not names & HERMES_NAMES


def test_more_reads_a_text_on_to_its_end():
    results, text = ResultStore(), "".join(f"line {n}\n" for n in range(1_000))
    contents = [first(text, results), *follow(first(text, results), more_tool(results, max_result_chars=1_000))]
    assert len(contents) > 8
    assert all(len(c) <= 1_000 for c in contents)
    assert "".join(c.rpartition("\n... ")[0] if "left out" in c else c for c in contents) == text


def test_more_reads_a_list_on_to_its_end():
    results, value = ResultStore(), list(range(2_000))
    contents = [first(value, results), *follow(first(value, results), more_tool(results, max_result_chars=1_000))]
    assert [n for c in contents for n in json.loads(c) if isinstance(n, int)] == value


def test_more_reads_the_rows_of_a_frame_on_to_its_end():
    results, frame = ResultStore(), pd.DataFrame({"a": np.arange(500), "b": "x"})
    head, *rest = [first(frame, results), *follow(first(frame, results), more_tool(results, max_result_chars=1_000))]
    rows = [r for r in json.loads(head)["rows"] if isinstance(r, list)]
    rows += [r for c in rest for r in json.loads(c) if isinstance(r, list)]
    assert rows == [[n, "x"] for n in range(500)]


def test_more_reads_the_keys_of_an_object_on_to_its_end():
    results, value = ResultStore(), {f"k{n}": n for n in range(500)}
    contents = [first(value, results), *follow(first(value, results), more_tool(results, max_result_chars=1_000))]
    assert {k: v for c in contents for k, v in json.loads(c).items() if k != "..."} == value


def test_more_reads_on_inside_a_result_by_its_path():
    results = ResultStore()
    value = {"a/b": {"rows": list(range(1_000))}, "n": 1}
    content = first(value, results)
    assert "path='/a~1b/rows'" in content
    shown = json.loads(content)["a/b"]["rows"][:-1]
    for part in follow(content, more_tool(results, max_result_chars=1_000)):
        shown += [n for n in json.loads(part) if isinstance(n, int)]
    assert shown == list(range(1_000))


def test_more_counts_a_negative_offset_from_the_end():
    results = ResultStore()
    result_id = results.keep("f", "{}", "", "0123456789" * 100)
    assert results.read(result_id, offset=-4) == "6789"
    result_id = results.keep("g", "{}", "", list(range(100)))
    assert results.read(result_id, offset=-2) == "[98, 99]"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"result_id": "r0"}, "No result 'r0' is kept (any more). Kept: {id}. Call its tool again."),
        ({"result_id": "{id}", "offset": 5_000}, "Offset 5,000 lies outside: result '{id}' has length 10."),
        ({"result_id": "{id}", "path": "/x"}, "The result has nothing at path '/x': 'x' is not there."),
        ({"result_id": "{id}", "path": "/99"}, "The result has nothing at path '/99': '99' is not there."),
    ],
)
def test_a_wrong_call_of_more_says_what_is_right(arguments, said):
    results = ResultStore()
    result_id = results.keep("f", "{}", "", list(range(10)))
    text = json.dumps(arguments).replace("{id}", result_id)
    outcome = run_sync(more_tool(results), text)
    assert outcome.error_type == "ToolRetry"
    assert outcome.error == said.replace("{id}", result_id)


def test_the_result_unused_for_longest_goes_first():
    results = ResultStore(max_results=2)
    one, two = results.keep("f", "1", "", 1), results.keep("f", "2", "", 2)
    assert results.get(one) == 1
    three = results.keep("f", "3", "", 3)
    assert (results.get(one), results.get(three), len(results)) == (1, 3, 2)
    with pytest.raises(LookupError, match=two):
        results.get(two)


def test_the_same_result_has_the_same_id_again():
    assert first("x" * 5_000, ResultStore()) == first("x" * 5_000, ResultStore())
    assert first("x" * 5_000, ResultStore()) != first("y" * 5_000, ResultStore())


def test_more_masks_secrets():
    results, secret = ResultStore(), "sk-proj-abcdefghijklmnopqrstuvwxyz"
    result_id = results.keep("f", "{}", "", f"head {secret} tail")
    assert results.read(result_id, offset=5, masker=Masker([secret])) == "[masked] tail"


def test_results_are_kept_from_many_threads():
    results = ResultStore(max_results=10)
    threads = [threading.Thread(target=lambda n=n: results.keep("f", str(n), "", n)) for n in range(50)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 10


@settings(max_examples=100, deadline=None)
@given(st.text(st.characters(codec="utf-8"), min_size=500, max_size=3_000), st.integers(300, 600))
def test_any_text_is_read_whole(text, max_chars):
    results = ResultStore()
    more = more_tool(results, max_result_chars=max_chars)
    content = first(text, results, max_chars)
    contents = [content, *follow(content, more)] if len(text) > max_chars else [content]
    assert "".join(re.sub(r"\n\.\.\. [\d,]+ of [\d,]+ characters left out; call more.*\Z", "", c) for c in contents) == text


# ---------------------------------------------------------------------------------------------- variables


def notebook():
    return {
        "In": ["", "x"],
        "Out": {},
        "_": 1,
        "_secret": 2,
        "get_ipython": print,
        "pd": pd,
        "helper": lambda: None,
        "sales": pd.DataFrame({"a": [1, 2]}),
        "counts": pd.Series([1], name="n"),
        "limit": 3,
        "api_key": "correct-horse-battery",
    }


def test_variables_are_named_with_what_they_are():
    assert variables(notebook()) == {
        "api_key": "str, 21 long, not shown because of its name",
        "counts": "pandas.Series 'n', int64, 1 values",
        "limit": "int = 3",
        "sales": "pandas.DataFrame, 2 rows x 1 columns",
    }


@pytest.mark.parametrize("wanted", ["DataFrame", "dataframe", "pandas.DataFrame", "NDFrame"])
def test_variables_of_a_type_are_found_by_its_name(wanted):
    assert "sales" in variables(notebook(), wanted)
    assert "limit" not in variables(notebook(), wanted)


def test_functions_and_modules_are_named_when_asked_for():
    assert list(variables(notebook(), "function")) == ["helper"]
    assert list(variables(notebook(), "module")) == ["pd"]


def test_many_variables_are_bounded_and_counted():
    shown = variables({f"v{n:03}": n for n in range(250)})
    assert len(shown) == 101
    assert shown["..."] == "150 more variables; ask for one type"


def test_the_tool_sees_the_variables_of_the_moment():
    space = {"a": 1}
    listed = list_variables_tool(lambda: space)
    assert json.loads(run_sync(listed, "{}").content) == {"a": "int = 1"}
    space["b"] = 2
    assert json.loads(run_sync(listed, '{"type": "int"}').content) == {"a": "int = 1", "b": "int = 2"}
