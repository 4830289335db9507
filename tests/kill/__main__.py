"""`python -m tests.kill --n 200 [--seed S]`: many kills; prints its seed, and each fault as it is found."""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

from tests.kill.rig import Rig


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=200, help="how many kills")
    parser.add_argument("--seed", type=int, default=None, help="of the random moments; None takes another each time")
    parser.add_argument("--far", action="store_true", help="workers have a disk of their own, which each kill takes away")
    parser.add_argument("--most-s", type=float, default=float("inf"), help="end after so many seconds")
    options = parser.parse_args()
    seed = random.randrange(2**32) if options.seed is None else options.seed
    print(f"seed {seed}", flush=True)
    began_s = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="hermes-nb-kill-") as folder:
        rig = Rig(Path(folder), seed, is_far=options.far)
        try:
            run, n_shown = 0, 0
            while rig.report.n_kills < options.n and time.monotonic() - began_s < options.most_s:
                rig.kill_once(run)
                run += 1
                for fault in rig.report.faults[n_shown:]:
                    print(f"FAULT {fault}", flush=True)
                n_shown = len(rig.report.faults)
                if run % 10 == 0:
                    print(f"{time.monotonic() - began_s:5.0f} s  {rig.report}", flush=True)
        finally:
            rig.close()
    print(f"seed {seed}: {rig.report} in {time.monotonic() - began_s:.0f} s")
    return 1 if rig.report.faults else 0


if __name__ == "__main__":
    sys.exit(main())
