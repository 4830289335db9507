"""Build what browsers run from `extensions/` into the package, or check that what is there was built from these sources.

    python scripts/extensions.py build      npm ci, build both, write the digests (needs Node 20 or newer): make extensions
    python scripts/extensions.py check      compare digests; needs nothing. Status 1: make extensions
    python scripts/extensions.py run NAME   npm ci, then a script of extensions/package.json. Status 69: it can't run here

What is built is committed, so that neither a wheel nor an editable installation needs Node. `npm ci` runs once a lock file.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MIN_NODE = 20
UNAVAILABLE = 69  # EX_UNAVAILABLE of sysexits.h
# What npm says where the index can't be reached; anything else, a lock file out of step among it, is a failure.
OFFLINE = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ENETUNREACH|EHOSTUNREACH|ETIMEDOUT|ERR_SOCKET_TIMEOUT")


@dataclass(frozen=True)
class Package:
    """A package of the workspace: what it is built of, by pattern below `extensions/`, and where its assets are."""

    sources: tuple[str, ...]
    assets: str


WORKSPACE = ("package.json", "package-lock.json", ".npmrc")
PACKAGES = {
    "lab": Package(
        ("lab/src/**/*.ts", "lab/style/*", "lab/schema/*.json", "lab/package.json", "lab/tsconfig.json"),
        "hermes_nb/labextension",
    ),
    "widgets": Package(("widgets/src/**/*.*", "widgets/build.mjs", "widgets/package.json"), "hermes_nb/widgets/static"),
}


class UnavailableError(Exception):
    """Why no script of JavaScript can run here."""


def digests(name: str, root: Path = ROOT) -> dict[str, str]:
    """SHA-256 over names and bytes of a package's sources, and of what was built from them."""
    folder, assets = root / "extensions", root / PACKAGES[name].assets
    sources = {path for pattern in (*WORKSPACE, *PACKAGES[name].sources) for path in folder.glob(pattern)}
    built = {path for path in assets.rglob("*") if path.is_file() and path.name != "sources.json"}
    return {"sources": _digest(sources, folder), "assets": _digest(built, assets)}


def _digest(paths: Iterable[Path], folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(paths):
        found.update(f"{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
        found.update(path.read_bytes())
    return found.hexdigest()


def outdated(root: Path = ROOT) -> list[str]:
    """Of each package that is not what its sources give: which, in words."""
    said = []
    for name, package in PACKAGES.items():
        file = root / package.assets / "sources.json"
        recorded = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
        now = digests(name, root)
        if recorded.get("sources") != now["sources"]:
            said.append(f"{package.assets} was not built from extensions/{name} as it is. Run make extensions.")
        elif recorded.get("assets") != now["assets"]:
            said.append(
                f"{package.assets} was changed after it was built. Change extensions/{name}, then run make extensions."
            )
    return said


def install() -> None:
    """Let npm install what the lock file names, once.

    Raises:
        UnavailableError: There is no Node of the version that is needed, or no index can be reached.
    """
    node, npm = shutil.which("node"), shutil.which("npm")
    if node is None or npm is None:
        raise UnavailableError(f"there is no Node: install Node {MIN_NODE} or newer, with npm")
    version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    if int(version.removeprefix("v").partition(".")[0]) < MIN_NODE:
        raise UnavailableError(f"Node is {version}: install Node {MIN_NODE} or newer")
    folder = ROOT / "extensions"
    files = {folder / name for name in WORKSPACE} | {folder / name / "package.json" for name in PACKAGES}
    stamp, wanted = folder / "node_modules" / ".installed", _digest(files, folder)
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return
    print("Installing the packages of extensions/package-lock.json (once, half a minute) ...", file=sys.stderr)
    done = subprocess.run([npm, "ci", "--prefer-offline"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        if OFFLINE.search(done.stderr):
            raise UnavailableError("npm can't reach its index")
        sys.exit(done.stdout + done.stderr)
    stamp.write_text(wanted, encoding="utf-8")


def run(script: str) -> int:
    """Run a script of `extensions/package.json`; jupyter-builder, which one needs, is in this interpreter's environment."""
    install()
    env = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(["npm", "run", "--silent", script], cwd=ROOT / "extensions", env=env, check=False).returncode


def build() -> int:
    """Build all; the same sources give the same assets."""
    style = ROOT / "extensions" / "lab" / "style" / "static.css"
    style.write_text(static_style(), encoding="utf-8")
    if status := run("build"):
        return status
    for name, package in PACKAGES.items():
        assets = ROOT / package.assets
        for rest in assets.rglob("*.orig"):
            rest.unlink()
        (assets / "sources.json").write_text(json.dumps(digests(name), indent=2) + "\n", encoding="utf-8")
        n_bytes = sum(path.stat().st_size for path in assets.rglob("*") if path.is_file())
        print(f"Wrote {package.assets}: {n_bytes / 1000:.0f} kB.")
    return 0


def static_style() -> str:
    """The look of what is saved in notebooks: JupyterLab strips its style element where the notebook was not run there."""
    from hermes_nb.views import html
    from hermes_nb.widgets import _static_html, _transcript

    head = "/* The look of what is saved in notebooks, from its Python modules: written by scripts/extensions.py. */"
    return "\n".join([head, html.STYLE, _transcript.STYLE, _static_html.style()])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build")
    commands.add_parser("check")
    commands.add_parser("run").add_argument("name")
    arguments = parser.parse_args()
    if arguments.command == "check":
        said = outdated()
        print(*said, sep="\n", end="\n" if said else "", file=sys.stderr)
        return int(bool(said))
    try:
        return build() if arguments.command == "build" else run(arguments.name)
    except UnavailableError as exc:
        print(exc, file=sys.stderr)
        return UNAVAILABLE


if __name__ == "__main__":
    sys.exit(main())
