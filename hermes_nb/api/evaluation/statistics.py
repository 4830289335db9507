"""Intervals and tests of scores; equal to scipy's, which is not needed (tests/api/test_statistics.py compares them)."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean and where it lies.

    Attributes:
        mean: Of the values; NaN of none.
        low: Lower end; NaN where it can't be told.
        high: Upper end.
    """

    mean: float
    low: float
    high: float


def interval(values: Sequence[float], *, confidence: float = CONFIDENCE, is_share: bool = True) -> Interval:
    """Return the mean with its interval: Wilson's where all values are 0 or 1, else Student's t.

    Args:
        values: One for each case; they are taken as independent.
        confidence: How sure, e.g. 0.95.
        is_share: Whether values of 0 and 1 alone are right and wrong.
    """
    n = len(values)
    if not n:
        return Interval(math.nan, math.nan, math.nan)
    mean = statistics.fmean(values)
    if is_share and all(v in (0, 1) for v in values):
        return Interval(mean, *_wilson(sum(1 for v in values if v), n, confidence))
    if n < 2:
        return Interval(mean, math.nan, math.nan)
    half = t_quantile((1 + confidence) / 2, n - 1) * statistics.stdev(values) / math.sqrt(n)
    return Interval(mean, mean - half, mean + half)


def _wilson(n_ones: int, n: int, confidence: float) -> tuple[float, float]:
    z = statistics.NormalDist().inv_cdf((1 + confidence) / 2)
    share = n_ones / n
    centre = share + z * z / (2 * n)
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def paired_p(differences: Sequence[float]) -> float:
    """Return how likely such differences are where there is none: two-sided.

    The exact test of McNemar where all are -1, 0 or 1 (right or wrong, case by case), else the paired t-test; NaN where
    there are too few.
    """
    if all(d in (-1, 0, 1) for d in differences):
        return sign_p(sum(1 for d in differences if d > 0), sum(1 for d in differences if d < 0))
    n = len(differences)
    spread = statistics.stdev(differences) if n > 1 else 0.0
    mean = statistics.fmean(differences) if n else 0.0
    if n < 2 or not spread:
        return math.nan if n < 2 else 0.0  # all differ by the same
    return t_p(mean / (spread / math.sqrt(n)), n - 1)


def sign_p(n_better: int, n_worse: int) -> float:
    """Return the two-sided p of the exact binomial test at one half; 1 where nothing differs."""
    n, few = n_better + n_worse, min(n_better, n_worse)
    if not n:
        return 1.0
    tail = sum(math.comb(n, k) for k in range(few + 1)) / 2**n
    return float(min(1.0, 2 * tail))


def t_p(t: float, n_free: int) -> float:
    """Return the two-sided p of a value of Student's t."""
    return _beta(n_free / 2, 0.5, n_free / (n_free + t * t))


def t_quantile(p: float, n_free: int) -> float:
    """Return below which value of Student's t the share `p` lies, for p of 0.5 or more."""
    low, high = 0.0, 2.0
    while 1 - t_p(high, n_free) / 2 < p:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if 1 - t_p(middle, n_free) / 2 < p else (low, middle)
    return (low + high) / 2


def _beta(a: float, b: float, x: float) -> float:
    """The regularized incomplete beta function, by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return 0.0 if x <= 0 else 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - _beta(b, a, 1.0 - x)
    front = math.exp(math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)) / a
    tiny = 1e-300
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1)
    d = 1.0 / (d if abs(d) > tiny else tiny)
    value = d
    for m in range(1, 10_000):
        for factor in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 + factor * d
            d = 1.0 / (d if abs(d) > tiny else tiny)
            c = 1.0 + factor / c
            c = c if abs(c) > tiny else tiny
            step = c * d
            value *= step
        if abs(step - 1.0) < 1e-15:
            break
    return front * value
