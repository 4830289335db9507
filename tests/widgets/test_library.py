"""What browsers load for a widget: small, whole in one file, asking nobody for anything; its sources reach nowhere else."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest

from hermes_nb.widgets._asset import text as asset
from hermes_nb.widgets._comm import library, loader

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "extensions" / "widgets" / "src"
MODULES = ("library.js", "timeline.js", "builder.js", "promote.js")
MAX_GZIPPED_BYTES = 150_000
IMPORT = re.compile(r"""^(?:import|export)\b[^;]*? from ["']([^"']+)["'];|^@import "([^"]+)";""", re.MULTILINE)


def test_it_is_small() -> None:
    assert len(gzip.compress((library() + loader()).encode())) < MAX_GZIPPED_BYTES


@pytest.mark.parametrize("code", [*map(asset, MODULES), loader()], ids=[*MODULES, "loader.js"])
def test_a_module_loads_nothing(code: str) -> None:
    assert not re.search(
        r"(?<![.\w}])fetch\((?!\w*\)\{)|XMLHttpRequest|WebSocket|sendBeacon|import\(\"|@import|url\(http", code
    )
    assert not re.search(r"""(?:^|[;}\n])import[\s{*"]""", code)


@pytest.mark.parametrize("name", ["timeline.css", "form.css"])
def test_a_style_sheet_loads_nothing(name: str) -> None:
    assert "--hnb-paper" in asset(name)  # the colours of every widget are in it
    assert not re.search(r"@import|url\(http", asset(name))


@pytest.mark.parametrize("file", sorted(SOURCES.rglob("*.*")), ids=lambda path: path.name)
def test_a_source_imports_nothing_outside_of_the_sources(file: Path) -> None:
    for script, style in IMPORT.findall(file.read_text(encoding="utf-8")):
        name = script or style
        if name.startswith("."):
            found = (file.parent / name).resolve()
            assert found.is_file()
            assert found.is_relative_to(SOURCES)


def test_its_parts_keep_their_licences() -> None:
    text = asset("library-LICENSES.txt")
    for name in ("markdown-it", "dompurify", "highlight.js", "linkify-it", "entities"):
        assert re.search(rf"^{re.escape(name)} \d", text, re.MULTILINE)
