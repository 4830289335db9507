"""Run notebooks/01_hello.ipynb headless, print what its cells show, and say how to open it.

    .venv/bin/python scripts/demo.py            print
    .venv/bin/python scripts/demo.py --write    and keep the outputs in the notebook, as they are committed

The run takes place in a temporary folder: nothing is left beside the notebook.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOK = ROOT / "notebooks" / "01_hello.ipynb"
# Widgets become their static version before the kernel goes: nbclient drops what comes between two cells.
FREEZE = """
import gc
for made in gc.get_objects():
    if str(type(made).__module__).startswith("hermes_nb.widgets") and callable(getattr(type(made), "freeze", None)):
        made.freeze()
"""
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def run(path: Path, *, timeout_s: int = 120) -> Any:
    """The notebook with its outputs; raises CellExecutionError where a cell does."""
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell(FREEZE))
    with tempfile.TemporaryDirectory(prefix="hermes-nb-demo-") as folder:
        # No key of this machine is used, whatever the environment holds.
        environment = {**os.environ, "HERMES_NB_MODEL": "offline", "IPYTHONDIR": f"{folder}/ipython"}
        environment.pop("HERMES_NB_HOME", None)
        client = NotebookClient(
            notebook,
            timeout=timeout_s,
            kernel_name="python3",
            resources={"metadata": {"path": folder}},
            extra_arguments=["--IPKernelApp.log_level=40"],  # ipykernel 7.4 warns about its own loopback sockets
        )
        client.execute(env=environment)
        notebook.cells.pop()
        _forget(notebook, folder)
    return notebook


def _forget(notebook: Any, folder: str) -> None:
    """Take out of the outputs what is of this run and this machine alone: folders, times of cells, states of widgets."""
    notebook.metadata.pop("widgets", None)
    notebook.metadata.language_info = {"name": "python"}
    here = {os.path.realpath(folder): "~", folder: "~", sys.prefix: "~/.venv", str(ROOT): "~", str(Path.home()): "~"}
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", ()):
            for holder in (output, output.get("data", {})):
                for key, value in holder.items():
                    if isinstance(value, str):
                        for place, instead in here.items():
                            value = value.replace(place, instead)
                        holder[key] = value


def shown(cell: Any) -> str:
    """What a cell shows, as text."""
    texts = []
    for output in cell.get("outputs", ()):
        text = output.get("text") or output.get("data", {}).get("text/plain") or ""
        texts.append(_ANSI.sub("", text).rstrip())
    return "\n".join(text for text in texts if text)


def main() -> int:
    """Run, print, and tell how to go on."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="keep the outputs in the notebook")
    options = parser.parse_args()
    name = NOTEBOOK.relative_to(ROOT)
    print(f"Running {name} on the embedded offline model (no key, no network) ...\n", flush=True)
    began_s = time.monotonic()
    try:
        notebook = run(NOTEBOOK)
    except CellExecutionError as exc:
        print(_ANSI.sub("", str(exc)), file=sys.stderr)
        print(f"\n{name} did not run to its end.", file=sys.stderr)
        return 1
    for cell in notebook.cells:
        if cell.cell_type == "code" and "hermes" in cell.source and shown(cell):
            print("\n".join(f"  │ {line}" for line in cell.source.splitlines()))
            print(f"\n{shown(cell)}\n")
    print(f"Ran in {time.monotonic() - began_s:.1f} s. Open it and ask something else:\n")
    print(f"    .venv/bin/jupyter lab {name}\n")
    if options.write:
        nbformat.write(notebook, NOTEBOOK)
        print(f"Outputs are kept in {name}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
