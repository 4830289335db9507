"""The Lab extension as it ships: small, found without Node; and its sources."""

from __future__ import annotations

import json
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from hermes_nb import __version__
from hermes_nb.views import html
from hermes_nb.widgets import _static_html, _transcript

ROOT = Path(__file__).resolve().parents[2]
SOURCES, ASSETS = ROOT / "extensions" / "lab", ROOT / "hermes_nb" / "labextension"
PLACE = "share/jupyter/labextensions/hermes-nb"


def test_it_has_the_look_of_what_is_saved() -> None:
    style = (SOURCES / "style" / "static.css").read_text(encoding="utf-8")
    built = "".join(path.read_text(encoding="utf-8") for path in (ASSETS / "static").glob("*.js"))
    parts = {html.STYLE: ".hnb .hnb-total{", _transcript.STYLE: ".hnb-you{", _static_html.style(): ".hnb-strip i.hnb-tool{"}
    for part, rule in parts.items():
        assert part in style
        assert rule in built


def test_the_assets_are_under_200_kb_and_whole() -> None:
    files = [path for path in ASSETS.rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) < 200_000
    package = json.loads((ASSETS / "package.json").read_text())
    assert (ASSETS / package["jupyterlab"]["_build"]["load"]).is_file()
    assert package["version"] == __version__
    assert (ASSETS / "schemas" / "hermes-nb" / "plugin.json").is_file()


@pytest.mark.parametrize("file", [f.relative_to(SOURCES) for f in sorted(SOURCES.glob("s*/*.[tcj]s*"))], ids=str)
def test_sources_are_short_and_ask_nothing_of_the_network_or_of_html(file: Path) -> None:
    text = (SOURCES / file).read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 350
    for word in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "fetch(", "XMLHttpRequest"):
        assert word not in text


def build(target: str, folder: Path) -> Path:
    pytest.importorskip("hatchling", reason="hatchling is not installed: pip install '.[test]'")
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


def test_a_wheel_carries_the_assets_once_where_jupyter_looks(tmp_path: Path) -> None:
    wheel = build("wheel", tmp_path / "dist")
    assert wheel.stat().st_size < 3_000_000
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (data,) = {name.partition("/")[0] for name in names if ".data/" in name}
        inside = {name.removeprefix(f"{data}/data/{PLACE}/") for name in names if name.startswith(f"{data}/")}
        assets = {path.relative_to(ASSETS).as_posix() for path in ASSETS.rglob("*") if path.is_file()}
        assert inside == assets | {"install.json"}
        assert not [name for name in names if name.startswith("hermes_nb/labextension")]
        assert not [name for name in names if "node_modules" in name]
    # Where an installer puts it, JupyterLab finds it: no build step, no Node.
    prefix = tmp_path / "prefix"
    # --ignore-installed: else pip would take the installation under test away.
    options = ["--ignore-installed", "--no-deps", "--no-index", "--no-compile", "--prefix", str(prefix)]
    subprocess.run([sys.executable, "-m", "pip", "install", "-q", *options, str(wheel)], check=True, capture_output=True)
    environment = {"JUPYTER_PATH": str(prefix / "share" / "jupyter"), "HOME": str(tmp_path), "PATH": "/nowhere"}
    command = [sys.executable, "-m", "jupyter", "labextension", "list"]
    listed = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = next(line for line in (listed.stdout + listed.stderr).splitlines() if "hermes-nb" in line)
    assert f"v{__version__}" in found
    assert "enabled" in found
    assert "OK" in found


def test_a_source_distribution_carries_the_sources(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    sources = [path for path in SOURCES.parent.rglob("*") if path.is_file()]
    kept = {path.relative_to(ROOT).as_posix() for path in sources if not {"node_modules", "lib"} & set(path.parts)}
    assert {"extensions/package-lock.json", "extensions/.npmrc", "extensions/widgets/src/shared/dom.js"} <= kept <= names
    assert "hermes_nb/labextension/package.json" in names
    assert "scripts/extensions.py" in names
    assert not [name for name in names if "node_modules" in name or name.startswith("extensions/lab/lib")]
