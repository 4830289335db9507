"""Build the JupyterLab extension into `hermes_nb/labextension`, or check that what is there was built from these sources.

    python scripts/lab_extension.py            npm ci, compile, write the assets and the digest of their sources (needs Node)
    python scripts/lab_extension.py --check    compare digests; needs nothing. Status 1: make lab-extension

The assets are committed, so that neither a wheel nor an editable installation needs Node.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("src/**/*.ts", "style/*", "schema/*.json", "package.json", "package-lock.json", "tsconfig.json", ".npmrc")


def static_style() -> str:
    """The look of what is saved in notebooks: JupyterLab strips its style element where the notebook was not run there."""
    from hermes_nb.views import html
    from hermes_nb.widgets import _still, _transcript

    head = "/* The look of what is saved in notebooks, from its Python modules: written by scripts/lab_extension.py. */"
    return "\n".join([head, html.STYLE, _transcript.STYLE, _still.style()])


def digest(root: Path = ROOT) -> str:
    """SHA-256 over names and bytes of the sources."""
    folder = root / "extensions" / "lab"
    found = hashlib.sha256()
    for path in sorted({path for pattern in SOURCES for path in folder.glob(pattern)}):
        found.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def recorded(root: Path = ROOT) -> str:
    """The digest that the assets were built from; "" when none is recorded."""
    file = root / "hermes_nb" / "labextension" / "sources.json"
    return str(json.loads(file.read_text(encoding="utf-8"))["sha256"]) if file.is_file() else ""


def build() -> None:
    """Compile; the same sources give the same assets."""
    folder, assets = ROOT / "extensions" / "lab", ROOT / "hermes_nb" / "labextension"
    (folder / "style" / "static.css").write_text(static_style(), encoding="utf-8")
    # jupyter-builder comes with JupyterLab, in this interpreter's environment.
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in (["npm", "ci"], ["npm", "run", "build"]):
        subprocess.run(command, cwd=folder, env=env, check=True)
    for rest in assets.rglob("*.orig"):
        rest.unlink()
    (assets / "sources.json").write_text(json.dumps({"sha256": digest()}) + "\n", encoding="utf-8")
    n_bytes = sum(path.stat().st_size for path in assets.rglob("*") if path.is_file())
    print(f"Wrote {assets.relative_to(ROOT)}: {n_bytes / 1000:.0f} kB.")


if __name__ == "__main__":
    if "--check" not in sys.argv[1:]:
        build()
    elif digest() != recorded():
        sys.exit("hermes_nb/labextension was not built from extensions/lab as it is. Run make lab-extension.")
