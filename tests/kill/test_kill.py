"""Some kills of `make kill-test` in the default suite; with the worker's disk on this machine, and taken away with it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.kill.rig import Rig

N_KILLS, N_FAR = 8, 3


@pytest.mark.hermes
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("is_far", "n_kills"), [(False, N_KILLS), (True, N_FAR)], ids=["here", "disk gone"])
def test_a_killed_turn_goes_on_and_nothing_is_paid_twice_or_lost(tmp_path: Path, is_far: bool, n_kills: int) -> None:
    seed = random.randrange(2**32)
    rig = Rig(tmp_path, seed, is_far=is_far)
    try:
        run = 0
        while rig.report.n_kills < n_kills:
            rig.kill_once(run)
            run += 1
    finally:
        rig.close()
    print(f"seed {seed}: {rig.report}")
    assert rig.report.faults == [], f"seed {seed}"
    assert rig.report.n_repeated <= rig.report.n_kills
