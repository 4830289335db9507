"""Rows and prose in reading order, as the static views print them, bounded for logs that no one reads to the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from hermes_nb.views._input import Source, folder_of, has_several_turns, stories
from hermes_nb.views._row_text import Detail, with_traceback
from hermes_nb.views._steps import Planned, Step, model_calls, more, plan_steps
from hermes_nb.views.rows import MAX_CHARS

MAX_ROWS = 150
MAX_OPENED_CHARS = 150_000
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Prose:
    """What a model said: the answer, or a word before its tool calls."""

    text: str
    is_answer: bool = True


@dataclass(slots=True)
class Listing:
    """What a static view prints.

    Attributes:
        entries: Rows and prose.
        models: The model calls, which are behind the line of totals.
    """

    entries: list[Step | Prose]
    models: Detail = field(default_factory=lambda: model_calls(()))

    @property
    def latest(self) -> list[Step | Prose]:
        """The entries with one row for each run of Flyte, where a view does not print as it goes."""
        return latest_phases(self.entries, lambda entry: "" if isinstance(entry, Prose) else entry["kind"])


def listing(
    source: Source,
    *,
    max_rows: int | None = MAX_ROWS,
    pictures: Mapping[str, Sequence[str]] | None = None,
    tracebacks: Mapping[str, str] | None = None,
) -> Listing:
    """The entries of a log.

    Args:
        source: Events, or a folder.
        max_rows: Beyond this number the middle is left out, and a row says how much; None for all.
        pictures: What calls displayed, by span: data URIs.
        tracebacks: What calls raised, by span, with colours of a terminal.
    """
    folder = folder_of(source)
    told = stories(folder)
    with_prompt = has_several_turns(told)
    planned: list[Planned | int] = [one for story in told for one in plan_steps(story, with_prompt=with_prompt)]
    if max_rows is not None and len(planned) > max_rows:
        head = max_rows // 3
        tail = len(planned) - (max_rows - head)
        planned[head:tail] = [tail - head]
    # So much of each text that all together stay bounded.
    max_chars = min(MAX_CHARS, MAX_OPENED_CHARS // max(2 * len(planned), 1))
    return Listing([_made(one, max_chars, pictures or {}, tracebacks or {}) for one in planned], model_calls(folder.spans()))


def latest_phases(rows: Iterable[R], kind_of: Callable[[R], str]) -> list[R]:
    """The rows with one for each run of Flyte: its latest phase, in the place of its first.

    Args:
        rows: Rows, planned or made, and prose.
        kind_of: Gives a row's kind; a `heading` begins another attempt.
    """
    kept: list[R] = []
    place: int | None = None
    for row in rows:
        kind = kind_of(row)
        if kind == "phase" and place is not None:
            kept[place] = row
            continue
        place = len(kept) if kind == "phase" else None if kind == "heading" else place
        kept.append(row)
    return kept


def _made(
    one: Planned | int, max_chars: int, pictures: Mapping[str, Sequence[str]], tracebacks: Mapping[str, str]
) -> Step | Prose:
    if isinstance(one, int):
        return more(one, "rows")
    if one.make is None:
        return Prose(one.text, one.kind == "answer")
    step = one.make(max_chars)
    if shown := [uri for span in one.spans for uri in pictures.get(span.span_id, ())]:
        step["pictures"] = shown
    if step["kind"] == "call" and one.spans and (text := tracebacks.get(one.spans[0].span_id)):
        step["details"] = with_traceback(step["details"], text)
    return step
