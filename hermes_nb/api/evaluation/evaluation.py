"""What an evaluation came to: a frame, means with intervals, comparisons, a page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb._near import near, suggesting_methods
from hermes_nb.api.evaluation.comparison import Comparison
from hermes_nb.api.evaluation.statistics import CONFIDENCE, interval
from hermes_nb.api.evaluation.trial import Trial, by_score
from hermes_nb.errors import UsageError

if TYPE_CHECKING:
    import pandas


@suggesting_methods
class Evaluation:
    """What an evaluation came to; made by `evaluate`.

    Attributes:
        trials: Each case, asked of each variant so often, with its outcome and scores.
    """

    def __init__(self, trials: Sequence[Trial]) -> None:
        self.trials = list(trials)

    def __repr__(self) -> str:
        n_cases = len({t.case.name for t in self.trials})
        return f"<Evaluation: {n_cases} cases, {', '.join(self.variants)}>"

    @property
    def variants(self) -> list[str]:
        """The names of the variants, in the order given."""
        return list(dict.fromkeys(t.variant for t in self.trials))

    @property
    def frame(self) -> pandas.DataFrame:
        """One row per case, variant and repeat: case, variant, repeat, prompt, expected, answer, status, error, a column per
        score (a number, or a label), then reasons, cost_usd, n_tokens, duration_s, session_id and turn_id."""
        from hermes_nb.api.evaluation import table

        return table.frame(self.trials)

    @property
    def scores(self) -> pandas.DataFrame:
        """One row per variant and score: variant, score, mean, low, high (its interval of 95 %), n (cases that were scored),
        n_cases, n_failed (trials without an answer, and faults of the scorer)."""
        from hermes_nb.api.evaluation import table

        return table.scores(self.summary())

    def summary(self, *, confidence: float = CONFIDENCE) -> list[dict[str, Any]]:
        """Return what `scores` holds, as plain data.

        Args:
            confidence: Of the intervals, e.g. 0.95.
        """
        n_cases = len({t.case.name for t in self.trials})
        rows = []
        means = by_score(self.trials)
        names = list(dict.fromkeys(name for _, name in means))
        for variant in self.variants:
            own = [t for t in self.trials if t.variant == variant]
            n_unanswered = sum(not t.outcome.is_answered for t in own)
            for name in names:
                values = list(means.get((variant, name), {}).values())
                said = [s for t in own for s in t.scores if s.name == name]
                if not values and said and all(s.label for s in said if not s.error) and any(s.label for s in said):
                    continue  # a label is counted in the frame
                found = interval(values, confidence=confidence)
                rows.append(
                    {
                        "variant": variant,
                        "score": name,
                        "mean": found.mean,
                        "low": found.low,
                        "high": found.high,
                        "n": len(values),
                        "n_cases": n_cases,
                        "n_failed": n_unanswered + sum(bool(s.error) for s in said),
                    }
                )
        return rows

    def worst(self, n: int = 20) -> list[Trial]:
        """Return the trials with the lowest scores, those without an answer first."""
        return sorted(self.trials, key=lambda t: t.badness)[:n]

    def variant(self, name: str) -> Evaluation:
        """Return the part that one variant is, e.g. to compare it with another.

        Raises:
            UsageError: There is none of that name.
        """
        if name not in self.variants:
            known = ", ".join(self.variants)
            raise UsageError(f"There is no variant {name!r}.{near(name, self.variants)} Known: {known}.")
        return Evaluation([t for t in self.trials if t.variant == name])

    def compare(self, other: Evaluation | str, than: str | None = None) -> Comparison:
        """Return how this differs from another, case by case, with a paired test.

        Args:
            other: Another evaluation of the same cases, whose variants are paired by name (or the only ones of each); or the
                name of a variant of this one, which is compared with `than`.
            than: A variant of this one.

        Raises:
            UsageError: They share no variant or no case.

        Example:
            evaluation.compare(before)
            evaluation.compare("long", than="short")
        """
        if isinstance(other, str):
            if than is None:
                raise UsageError("compare takes an evaluation, or two variants: compare('long', than='short').")
            return Comparison.of(self.variant(other).trials, self.variant(than).trials, {other: than})
        if not isinstance(other, Evaluation):
            raise UsageError(f"compare takes another evaluation or the names of two variants, not {other!r}.")
        pairs = {name: name for name in self.variants if name in other.variants}
        if not pairs and len(self.variants) == len(other.variants) == 1:
            pairs = {self.variants[0]: other.variants[0]}
        if not pairs:
            raise UsageError(
                f"The evaluations share no variant: {', '.join(self.variants)}; {', '.join(other.variants)}. Name one of"
                " each: one.variant('...').compare(other.variant('...'))."
            )
        return Comparison.of(self.trials, other.trials, pairs)

    def to_inspect(self, folder: str | Path) -> list[Path]:
        """Write a log of Inspect for each variant; `inspect view` and `inspect_ai.log.read_eval_log` read it.

        Args:
            folder: Where to; it is made.

        Returns: the files.
        """
        from hermes_nb.api.evaluation.inspect_log import log_of

        place = Path(folder).expanduser()
        place.mkdir(parents=True, exist_ok=True)
        made = []
        for number, name in enumerate(self.variants, 1):
            log = log_of([t for t in self.trials if t.variant == name], name)
            path = place / f"{log['eval']['created'].replace(':', '-')}_hermes-nb_{number}.json"
            path.write_text(json.dumps(log, ensure_ascii=False, indent=1), encoding="utf-8", errors="replace")
            made.append(path)
        return made

    def __str__(self) -> str:
        from hermes_nb.api.evaluation import report

        return report.text(self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        from hermes_nb.api.evaluation import report

        return {"text/html": report.html(self), "text/plain": report.text(self)}

    def _repr_html_(self) -> str:
        from hermes_nb.api.evaluation import report

        return report.html(self)
