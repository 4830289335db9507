"""One case, asked of one variant once, and what became of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean

from hermes_nb.api.batch.outcome import NOT_ASKED, Outcome
from hermes_nb.api.evaluation.case import Case
from hermes_nb.api.evaluation.score import Score
from hermes_nb.model.event import Event


@dataclass(slots=True)
class Trial:
    """One case, asked of one variant once.

    Attributes:
        case: What was asked.
        variant: The variant's name.
        repeat: Which time, from 1.
        outcome: What became of it.
        scores: What the scorers said.
        session_id: The conversation; "" when it was not asked.
        events: Its steps, for those that the page opens; () for others.
    """

    case: Case
    variant: str
    repeat: int
    outcome: Outcome = field(default_factory=lambda: Outcome(NOT_ASKED))
    scores: list[Score] = field(default_factory=list)
    session_id: str = ""
    events: tuple[Event, ...] = ()

    @property
    def badness(self) -> tuple[float, float]:
        """What it is ordered by, the worst first: no answer, a fault of a scorer, then by the mean."""
        values = [s.value for s in self.scores if s.value is not None]
        is_faulty = any(s.error for s in self.scores)
        return (0.0 if not self.outcome.is_answered else 0.5 if is_faulty else 1.0, fmean(values) if values else 1.0)


def by_score(trials: list[Trial]) -> dict[tuple[str, str], dict[str, float]]:
    """Return the mean over repeats of each score: (variant, score) to case to value. Cases without a value are left out."""
    found: dict[tuple[str, str], dict[str, list[float]]] = {}
    for trial, score in _scored(trials):
        cases = found.setdefault((trial.variant, score.name), {})
        if score.value is not None:
            cases.setdefault(trial.case.name, []).append(score.value)
    return {key: {case: fmean(values) for case, values in cases.items()} for key, cases in found.items()}


def _scored(trials: list[Trial]) -> Iterator[tuple[Trial, Score]]:
    for trial in trials:
        for score in trial.scores:
            yield trial, score
