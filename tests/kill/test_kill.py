"""Eight kills of `make kill-test` in the default suite."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.kill.rig import Rig

N_KILLS = 8


@pytest.mark.hermes
@pytest.mark.timeout(600)
def test_a_killed_turn_goes_on_and_nothing_is_paid_twice_or_lost(tmp_path: Path) -> None:
    seed = random.randrange(2**32)
    rig = Rig(tmp_path, seed)
    try:
        run = 0
        while rig.report.n_kills < N_KILLS:
            rig.kill_once(run)
            run += 1
    finally:
        rig.close()
    print(f"seed {seed}: {rig.report}")
    assert rig.report.faults == [], f"seed {seed}"
    assert rig.report.n_repeated <= rig.report.n_kills
