"""Intervals and tests are those of scipy, on generated data."""

from __future__ import annotations

import math
import random

import pytest

from hermes_nb.api.evaluation.statistics import interval, paired_p, sign_p, t_p, t_quantile


def test_known_values() -> None:
    # Tables of Student's t and of Wilson's interval.
    assert t_quantile(0.975, 1) == pytest.approx(12.706204736, rel=1e-8)
    assert t_quantile(0.975, 10) == pytest.approx(2.228138852, rel=1e-8)
    assert t_p(2.228138852, 10) == pytest.approx(0.05, rel=1e-8)
    assert sign_p(9, 1) == pytest.approx(22 / 1024)
    found = interval([1] * 8 + [0] * 2)
    assert (found.low, found.high) == pytest.approx((0.4901625, 0.9433178), rel=1e-6)
    assert found.mean == 0.8


def test_what_is_too_little_is_told_by_nan() -> None:
    assert all(math.isnan(v) for v in (interval([]).mean, interval([]).low, interval([0.5]).low, paired_p([0.5])))
    assert (interval([1]).low, interval([1]).high) == pytest.approx((0.2065493, 1.0), rel=1e-6)
    assert paired_p([0, 0, 0]) == 1.0
    assert paired_p([0.5, 0.5]) == 0.0


def test_equal_to_scipy() -> None:
    scipy = pytest.importorskip(
        "scipy.stats", reason="scipy is not installed: intervals and tests are compared with nothing"
    )
    rng = random.Random(7)
    for n in (2, 3, 5, 20, 200, 2_000):
        for spread in (0.01, 1.0, 300.0):
            values = [rng.gauss(0.3, spread) for _ in range(n)]
            others = [rng.gauss(0.2, spread) for _ in range(n)]
            found = interval(values)
            mean, sem = found.mean, scipy.sem(values)
            assert (found.low, found.high) == pytest.approx(scipy.t.interval(0.95, n - 1, loc=mean, scale=sem), rel=1e-9)
            differences = [a - b for a, b in zip(values, others, strict=True)]
            assert paired_p(differences) == pytest.approx(scipy.ttest_rel(values, others).pvalue, rel=1e-8, abs=1e-300)
        ones = [float(rng.random() < 0.8) for _ in range(n)]
        wilson = scipy.binomtest(int(sum(ones)), n).proportion_ci(method="wilson")
        found = interval(ones)
        assert (found.low, found.high) == pytest.approx((wilson.low, wilson.high), rel=1e-9, abs=1e-12)
        signs = [rng.choice([-1, 0, 0, 1]) for _ in range(n)]
        n_up, n_down = signs.count(1), signs.count(-1)
        expected = scipy.binomtest(n_up, n_up + n_down).pvalue if n_up + n_down else 1.0
        assert paired_p(signs) == pytest.approx(expected, rel=1e-9)
    for n_free in (1, 2, 7, 50, 10_000):
        for p in (0.5, 0.6, 0.9, 0.975, 0.9999):
            assert t_quantile(p, n_free) == pytest.approx(scipy.t.ppf(p, n_free), rel=1e-8, abs=1e-9)
        for t in (0.0, 0.1, 2.0, 30.0):
            assert t_p(t, n_free) == pytest.approx(2 * scipy.t.sf(t, n_free), rel=1e-8, abs=1e-300)
