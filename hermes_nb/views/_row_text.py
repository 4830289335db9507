"""Texts of rows: what went wrong, what was printed, what a result opens to, cut to what a row may carry."""

from __future__ import annotations

import re
from typing import NotRequired, TypedDict

from hermes_nb.model.format import format_tokens
from hermes_nb.model.span import Span
from hermes_nb.views._ansi import runs
from hermes_nb.views._call import pretty, table
from hermes_nb.views.rows import valid

MAX_SUMMARY_CHARS = 200
_FIGURE = re.compile(r"^<Figure size \S+ with .*>\n?", re.MULTILINE)


class Detail(TypedDict):
    """What a row shows when it is opened: one of a text, a table, or pairs. `runs` is a text with colours.

    `rest` counts what is left out: characters of a text, rows of a table.
    """

    label: str
    text: NotRequired[str]
    runs: NotRequired[list[tuple[str, str]]]
    rest: NotRequired[int]
    columns: NotRequired[list[str]]
    rows: NotRequired[list[list[str]]]
    pairs: NotRequired[list[tuple[str, str]]]


def error_text(span: Span) -> str:
    """What went wrong; with its class where the message alone says little: of a KeyError it is `'revenue'`."""
    if not span.error:
        return span.error_type or "failed" if span.status == "error" else ""
    is_curt = span.error_type == "KeyError" or len(span.error.split()) < 2
    return f"{span.error_type}: {span.error}" if is_curt and span.error_type else span.error


def printed_text(span: Span) -> str:
    """What a call printed, without the words that stand for a plot where none can be drawn."""
    return _FIGURE.sub("", span.output) if span.output.strip() and _FIGURE.sub("", span.output).strip() else ""


def result_detail(span: Span, max_chars: int) -> Detail:
    if (found := table(span.result, span.result_chars)) is not None:
        columns, rows, n_rows = found
        n_shown = max(1, min(len(rows), max_chars // max(1, sum(map(len, rows[0])) if rows else 1)))
        return {"label": "Result", "columns": columns, "rows": rows[:n_shown], "rest": max(0, n_rows - n_shown)}
    return text_detail("Result", pretty(span.result), max_chars, span.result_chars)


def text_detail(label: str, text: str, max_chars: int, n_chars: int | None = None) -> Detail:
    shown = valid(text[:max_chars])
    return {"label": label, "text": shown, "rest": max(0, max(len(text), n_chars or 0) - max_chars)}


def token_text(span: Span) -> str:
    sent, got = span.usage.get("input_tokens"), span.usage.get("output_tokens")
    return "" if sent is None and got is None else format_tokens(sent, got, cached=span.usage.get("cache_read_tokens"))


def with_traceback(details: list[Detail], text: str) -> list[Detail]:
    """The details of a call that raised, with its traceback in place of its message.

    Args:
        details: What the row opens to.
        text: The traceback, with colours of a terminal.
    """
    shown = runs(text)
    whole = "".join(part for _, part in shown)
    first: Detail = {"label": "Traceback", "text": whole, "runs": shown, "rest": 0}
    return [first, *(detail for detail in details if detail["label"] != "Error")]


def cut(text: str, limit: int = MAX_SUMMARY_CHARS) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"
