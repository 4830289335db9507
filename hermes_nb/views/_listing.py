"""Rows and answers in reading order, as the textual views print them, bounded for logs that no one reads to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from hermes_nb.views._source import Source, has_several_turns, stories
from hermes_nb.views.rows import MAX_CHARS, Piece, Row, row_makers

MAX_ROWS = 150
MAX_OPENED_CHARS = 200_000


@dataclass(slots=True)
class Listing:
    """What a textual view prints.

    Attributes:
        entries: Rows; an answer is the text itself.
        max_opened_chars: How much each value may show when opened, so that all together stay bounded.
    """

    entries: list[Row | str]
    max_opened_chars: int = MAX_CHARS


def listing(source: Source, *, whole: bool = True, max_rows: int | None = MAX_ROWS) -> Listing:
    """The entries of a log.

    Args:
        source: Events, or a folder.
        whole: Answers follow the rows of their turns, whole; False leaves them cut in the final rows alone.
        max_rows: Beyond this number the middle is left out, and a row says how much; None for all.
    """
    told = stories(source)
    with_prompt = has_several_turns(told)
    makers: list[Callable[[], Row | str]] = []
    for story in told:
        rows: list[Callable[[], Row | str]] = [*row_makers(story, with_prompt=with_prompt)]
        answer = story.answer.strip() if whole else ""
        if answer and story.turn is not None and not story.turn.is_running:
            rows[-1] = partial(_bare, rows[-1])
        makers += rows
        if answer:
            makers.append(partial(str, answer))
    if max_rows is not None and len(makers) > max_rows:
        head = max_rows // 3
        tail = len(makers) - (max_rows - head)
        makers[head:tail] = [partial(_more, tail - head)]
    entries = [make() for make in makers]
    n_values = sum(len(e.detail) for e in entries if isinstance(e, Row))
    return Listing(entries, min(MAX_CHARS, MAX_OPENED_CHARS // max(n_values, 1)))


def _bare(make: Callable[[], Row | str]) -> Row | str:
    """A final row whose answer follows it."""
    row = make()
    return replace(row, detail=()) if isinstance(row, Row) else row


def _more(n_rows: int) -> Row:
    what = f"{n_rows:,} more rows are left out here; frame() and figure() hold them all"
    return Row(kind="more", icon="⋯", label="", detail=(Piece("", what, len(what), is_code=False),))
