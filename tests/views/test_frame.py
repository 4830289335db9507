from __future__ import annotations

import pandas as pd
import pytest

from hermes_nb.views import frame
from tests.golden.logs import ALL, Log, load


@pytest.mark.parametrize("name", sorted(ALL))
def test_columns_and_dtypes_are_those_of_the_docstring_for_any_log(name: str) -> None:
    table = frame.render(load(name))
    assert list(table.columns) == list(frame.COLUMNS)
    for column, dtype in frame.COLUMNS.items():
        assert str(table[column].dtype) == dtype, column
        assert column in (frame.render.__doc__ or "")


def test_tables_of_any_logs_concatenate_without_a_change_of_dtype() -> None:
    tables = [frame.render(load(name)) for name in ("plain", "empty", "running", "nested")]
    whole = pd.concat(tables, ignore_index=True)
    assert whole.dtypes.equals(tables[0].dtypes)


def test_times_are_exact_to_the_microsecond() -> None:
    row = frame.render(load("nested")).iloc[0]
    assert row.start == pd.Timestamp("2026-09-21 14:13:20", tz="UTC")
    assert row.end == pd.Timestamp("2026-09-21 14:13:28.110", tz="UTC")


def test_a_running_span_has_neither_end_nor_duration() -> None:
    table = frame.render(load("running"))
    running = table[table.status == "running"]
    assert running.end.isna().all()
    assert running.duration_ms.isna().all()


def test_unknown_is_not_zero() -> None:
    table = frame.render(load("parallel"))
    assert table.cost_usd.isna().all()
    assert table.cache_read_tokens.isna().all()
    assert table.cost_usd.sum(min_count=1) != 0


def test_a_turn_adds_what_it_reports_beyond_its_calls() -> None:
    table = frame.render(load("nested")).set_index("span_id")
    assert table.input_tokens["t1"] == 600  # 1,300 reported, 700 by the calls
    assert table.cache_read_tokens["t1"] == 256
    assert table.input_tokens.sum() == 1300


def test_the_recipes_of_the_docstring_work() -> None:
    table = frame.render([*load("plain"), *load("nested")[:0]])
    slowest = table[table.kind == "tool"].groupby("name").duration_ms.describe()
    assert slowest.loc["top_customers", "max"] == 50.0
    by_model = table.groupby("model")[["input_tokens", "output_tokens"]].sum(min_count=1)
    assert by_model.loc["scripted-1"].tolist() == [300, 30]
    per_day = table.groupby(table.start.dt.date).cost_usd.sum(min_count=1)
    assert per_day.to_list() == [pytest.approx(0.0033)]


def test_a_lone_surrogate_becomes_a_question_mark() -> None:
    log = Log()
    log.turn("a\ud800")
    assert frame.render(log.events).prompt[0] == "a?"
