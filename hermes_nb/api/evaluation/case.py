"""Cases: what is asked, and what should come; of tables, files, stored turns and the datasets of pydantic-evals."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb.api.batch.source import Row, Source, is_missing
from hermes_nb.errors import SessionNotFoundError, UsageError

if TYPE_CHECKING:
    from hermes_nb.model.event import Event
    from hermes_nb.turns.result import RunResult

_ASKED = ("prompt", "question", "input", "inputs")
_EXPECTED = ("expected", "expected_output", "target", "answer")
_NAMES = ("name", "id", "case")


@dataclass(frozen=True, slots=True)
class Case:
    """One question of an evaluation.

    Attributes:
        prompt: What is asked.
        expected: What should come; None where a scorer knows without it.
        name: By which it is found again in another evaluation; "" takes the prompt, or the index of a table.
        metadata: What else is known of it, for scorers.
        inputs: What the prompt was made of; the prompt itself where it was given.
    """

    prompt: str
    expected: Any = None
    name: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    inputs: Any = None

    def __post_init__(self) -> None:
        if not isinstance(self.prompt, str) or not self.prompt.strip():
            raise UsageError(f"A case needs a prompt, a text that is not empty, not {self.prompt!r}.")
        if not isinstance(self.name, str):
            raise UsageError(f"The name of a case is a text, not {self.name!r}.")

    @classmethod
    def of(cls, result: RunResult, expected: Any = None, *, name: str = "") -> Case:
        """Return the question of a turn as a case, e.g. because its answer was wrong.

        Args:
            result: What the turn gave.
            expected: What should have come; None takes the turn's answer.
            name: As of a case; "" takes the turn's id.
        """
        prompt = next((str(e.data.get("prompt") or "") for e in result.events if e.kind == "turn.started"), "")
        known = {"turn_id": result.turn_id, "answer": result.text}
        return cls(prompt, result.text if expected is None else expected, name or result.turn_id, known)


def cases_of(given: Any, prompt: str | Callable[[Any], str] | None = None) -> list[Case]:
    """Return the cases that were given, each with a name of its own.

    Args:
        given: Cases, texts, a pandas or polars table with columns such as `prompt` and `expected`, a list of dicts, the
            path of a JSONL file, or a dataset of pydantic-evals.
        prompt: What is asked of each row, as for `map`; None takes the column `prompt`, `question` or `input`.

    Raises:
        UsageError: There is no case, or none can be made of a row; the row is named.
    """
    if isinstance(given, Path) or (isinstance(given, str) and given.endswith((".jsonl", ".ndjson"))):
        given = _lines(Path(given))
    if isinstance(given, str | bytes | Case):
        raise UsageError("cases takes a list of cases, a table or the path of a .jsonl file, not one text or case.")
    if (held := getattr(given, "cases", None)) is not None and not isinstance(given, Mapping) and _is_listed(held):
        given = held
    if _is_listed(given) and given and all(isinstance(c, Case) or _is_foreign(c) for c in given):
        made = [c if isinstance(c, Case) else _foreign(c, prompt) for c in given]
    else:
        made = _rows(Source.of(given), prompt)
    if not made:
        raise UsageError("There are no cases: nothing was asked.")
    return _named(made)


def cases_of_turns(events: Iterable[Event]) -> list[Case]:
    """Return a case for each turn that completed: its prompt, and its answer as what is expected.

    Raises:
        SessionNotFoundError: No turn completed.
    """
    asked: dict[str, str] = {}
    made: dict[str, Case] = {}
    for event in events:
        if event.kind == "turn.started":
            asked[event.turn_id] = str(event.data.get("prompt") or "")
        elif event.kind == "turn.completed" and asked.get(event.turn_id, "").strip():
            text = str(event.data.get("text") or "")
            made[event.turn_id] = Case(asked[event.turn_id], text, name=event.turn_id, metadata={"turn_id": event.turn_id})
    if not made:
        raise SessionNotFoundError("No turn of this session completed: there is no case to make of it. Ask it something.")
    return list(made.values())


def _lines(path: Path) -> list[Any]:
    try:
        text = path.expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(f"The cases in {str(path)!r} can't be read: {exc}.") from None
    made = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            try:
                made.append(json.loads(line))
            except ValueError as exc:
                raise UsageError(f"{str(path)!r}, line {number} is no JSON: {exc}. Each line holds one case.") from None
    return made


def _is_listed(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def _is_foreign(value: Any) -> bool:
    """Whether it is a case of pydantic-evals."""
    return not isinstance(value, str | Mapping) and hasattr(value, "inputs") and hasattr(value, "expected_output")


def _foreign(given: Any, prompt: str | Callable[[Any], str] | None) -> Case:
    inputs = given.inputs
    plain = vars(inputs) if not isinstance(inputs, str | Mapping) and hasattr(inputs, "__dict__") else inputs
    asked = Source.of([plain]).prompts(prompt)[0]
    metadata = given.metadata if isinstance(given.metadata, Mapping) else {"metadata": given.metadata}
    known = {} if given.metadata is None else dict(metadata)
    return Case(asked or "", given.expected_output, str(given.name or ""), known, inputs)


def _rows(source: Source, prompt: str | Callable[[Any], str] | None) -> list[Case]:
    asked: Sequence[Any]
    if prompt is not None or not any(isinstance(v, Row) for v in source.values):
        asked = source.prompts(prompt)
    else:
        first = next(v for v in source.values if isinstance(v, Row))
        column = _first(first, _ASKED)
        if column is None:
            raise UsageError(
                f"The cases have no column {' or '.join(_ASKED[:3])}. Columns: {', '.join(first)}. Name what is asked:"
                " prompt='... {{row.NAME}}'."
            )
        asked = [row.raw.get(column) if isinstance(row, Row) else row for row in source.values]
    return [
        _row(value, text, source.index[i], is_table=source.kind not in ("list", "series"))
        for i, (value, text) in enumerate(zip(source.values, asked, strict=True))
    ]


def _row(value: Any, asked: Any, label: Any, *, is_table: bool) -> Case:
    if is_missing(asked) or not str(asked).strip():
        raise UsageError(f"The case at {label!r} has no prompt. Leave it out of the cases; nothing was asked.")
    if not isinstance(value, Row):
        return Case(str(asked), inputs=value)
    raw = dict(value.raw)
    expected, named = _first(value, _EXPECTED), _first(value, _NAMES)
    wanted = raw.pop(expected) if expected is not None else None
    name = str(raw[named]) if named is not None and not is_missing(raw[named]) else (str(label) if is_table else "")
    metadata = raw.get("metadata") if isinstance(raw.get("metadata"), Mapping) else raw
    return Case(str(asked), None if is_missing(wanted) else wanted, name, dict(metadata or {}), dict(value.raw))


def _first(row: Row, names: Sequence[str]) -> str | None:
    return next((name for name in names if name in row.raw), None)


def _named(cases: Sequence[Case]) -> list[Case]:
    """Give each a name of its own; a second one of the same name is `name (2)`."""
    seen: Counter[str] = Counter()
    made = []
    for case in cases:
        name = case.name or " ".join(case.prompt.split())[:80]
        seen[name] += 1
        unique = name if seen[name] == 1 else f"{name} ({seen[name]})"
        inputs = case.prompt if case.inputs is None else case.inputs
        made.append(Case(case.prompt, case.expected, unique, case.metadata, inputs))
    return made
