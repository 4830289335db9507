"""Run the notebooks from top to bottom on the embedded offline model, and time them.

.venv/bin/python scripts/notebooks.py                  all of them
.venv/bin/python scripts/notebooks.py 02_tools         one
.venv/bin/python scripts/notebooks.py --write          and keep the outputs, as they are committed
"""

from __future__ import annotations

import argparse
import sys
import time

import nbformat
from demo import ROOT, run, shown
from nbclient.exceptions import CellExecutionError

FOLDER = ROOT / "notebooks"


def main() -> int:
    """Run those that are named; 1 when one fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="file names without .ipynb; all when none is given")
    parser.add_argument("--write", action="store_true", help="keep the outputs in the notebooks")
    parser.add_argument("--show", action="store_true", help="print what the cells show")
    options = parser.parse_args()
    paths = [FOLDER / f"{name}.ipynb" for name in options.names] or sorted(FOLDER.glob("*.ipynb"))
    began_s, failed = time.monotonic(), 0
    for path in paths:
        start_s = time.monotonic()
        try:
            notebook = run(path)
        except CellExecutionError as exc:
            print(f"{path.stem}: {exc}", file=sys.stderr)
            failed += 1
            continue
        print(f"{path.stem}: {time.monotonic() - start_s:.1f} s", flush=True)
        if options.show:
            print("\n\n".join(shown(cell) for cell in notebook.cells if cell.cell_type == "code"))
        if options.write:
            nbformat.write(notebook, path)
    print(f"{len(paths) - failed} of {len(paths)} notebooks ran, in {time.monotonic() - began_s:.1f} s.")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
