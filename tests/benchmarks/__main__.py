"""`make bench`: run each `bench_*.py` of this folder and print its table. One machine, one run: read the ratios.

python -m tests.benchmarks            all
python -m tests.benchmarks store      those whose name contains "store"
"""

from __future__ import annotations

import importlib
import os
import platform
import sys
from pathlib import Path


def main(wanted: list[str]) -> int:
    """Run what is wanted; a benchmark is a module with `run()`, which returns rows of (what, figure)."""
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.system()} {platform.machine()}")
    for path in sorted(Path(__file__).parent.glob("bench_*.py")):
        name = path.stem.removeprefix("bench_")
        if wanted and not any(part in name for part in wanted):
            continue
        module = importlib.import_module(f"tests.benchmarks.{path.stem}")
        print(f"\n{name}: {(module.__doc__ or '').strip().splitlines()[0]}", flush=True)
        for what, figure in module.run():
            print(f"  {what:<58} {figure}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
