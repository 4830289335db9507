"""Two evaluations of the same cases, case by case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hermes_nb.api.evaluation.statistics import interval, paired_p
from hermes_nb.api.evaluation.trial import Trial, by_score
from hermes_nb.errors import UsageError

if TYPE_CHECKING:
    import pandas


class Comparison:
    """How an evaluation differs from another; made by `Evaluation.compare`.

    Attributes:
        summary: One dict per pair of variants and score: variant, than, score, n (cases scored in both), mean, mean_than,
            difference, low, high (its interval of 95 %), p (two-sided), n_better, n_worse.
        pairs: One dict per case and score: case, variant, than, score, value, value_than, difference.
    """

    def __init__(self, summary: list[dict[str, Any]], pairs: list[dict[str, Any]]) -> None:
        self.summary, self.pairs = summary, pairs

    @classmethod
    def of(cls, trials: Sequence[Trial], others: Sequence[Trial], names: Mapping[str, str]) -> Comparison:
        """Compare variants by name.

        Raises:
            UsageError: They share no case that both scored.
        """
        mine, theirs = by_score(list(trials)), by_score(list(others))
        summary, pairs = [], []
        for (variant, score), values in mine.items():
            than = names.get(variant)
            values_than = theirs.get((than, score)) if than is not None else None
            shared = [case for case in values if case in values_than] if values_than else []
            if not shared or values_than is None:
                continue
            differences = [values[case] - values_than[case] for case in shared]
            spread = interval(differences, is_share=False)
            summary.append(
                {
                    "variant": variant,
                    "than": than,
                    "score": score,
                    "n": len(shared),
                    "mean": interval([values[c] for c in shared]).mean,
                    "mean_than": interval([values_than[c] for c in shared]).mean,
                    "difference": spread.mean,
                    "low": spread.low,
                    "high": spread.high,
                    "p": paired_p(differences),
                    "n_better": sum(d > 0 for d in differences),
                    "n_worse": sum(d < 0 for d in differences),
                }
            )
            pairs += [
                {
                    "case": case,
                    "variant": variant,
                    "than": than,
                    "score": score,
                    "value": values[case],
                    "value_than": values_than[case],
                    "difference": difference,
                }
                for case, difference in zip(shared, differences, strict=True)
            ]
        if not summary:
            raise UsageError("They share no case that both scored: there is nothing to compare. Cases are paired by name.")
        return cls(summary, sorted(pairs, key=lambda p: p["difference"]))

    def __repr__(self) -> str:
        return f"<Comparison: {len(self.summary)} scores, {len({p['case'] for p in self.pairs})} cases>"

    @property
    def frame(self) -> pandas.DataFrame:
        """`summary` as a frame."""
        from hermes_nb.api.evaluation import table

        return table.plain(self.summary)

    @property
    def cases(self) -> pandas.DataFrame:
        """`pairs` as a frame, what became worse first."""
        from hermes_nb.api.evaluation import table

        return table.plain(self.pairs)

    def _repr_html_(self) -> str:
        from hermes_nb.api.evaluation import report

        return report.comparison_html(self)

    def __str__(self) -> str:
        from hermes_nb.api.evaluation import report

        return report.comparison_text(self)
