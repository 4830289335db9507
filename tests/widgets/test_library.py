"""The library that browsers load: built from the sources that are here, small, asking nobody for anything."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from pathlib import Path

from hermes_nb.widgets._asset import text as asset
from hermes_nb.widgets._comm import library, loader

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "extensions" / "widgets"
SHARED = [f"../../hermes_nb/widgets/static/{name}" for name in ("dom.js", "keep.js", "theme.css")]
MAX_GZIPPED_BYTES = 150_000


def test_it_is_built_from_these_sources() -> None:
    own = (f"src/{path.name}" for path in (SOURCES / "src").iterdir())
    names = ["build.mjs", "package-lock.json", "package.json", *own, *SHARED]
    digest = hashlib.sha256()
    for name in sorted(names):
        digest.update(name.encode() + b"\0" + (SOURCES / name).read_bytes() + b"\0")
    recorded = re.search(r"sources sha256:(\w+)", library())
    assert recorded is not None
    assert recorded[1] == digest.hexdigest(), "Run npm run build in extensions/widgets."


def test_it_is_small() -> None:
    assert len(gzip.compress((library() + loader()).encode())) < MAX_GZIPPED_BYTES


def test_the_lock_file_names_no_registry() -> None:
    lock = json.loads((SOURCES / "package-lock.json").read_text(encoding="utf-8"))
    assert lock["packages"]
    assert not [name for name, held in lock["packages"].items() if "resolved" in held]
    assert all("integrity" in held for name, held in lock["packages"].items() if name)


def test_it_loads_nothing() -> None:
    asks = re.compile(r"(?<![.\w}])fetch\(|XMLHttpRequest|WebSocket|sendBeacon|import\(\"|@import|url\(http")
    for code in (library(), loader()):
        assert not asks.search(code)


def test_its_parts_keep_their_licences() -> None:
    text = asset("library-LICENSES.txt")
    for name in ("markdown-it", "dompurify", "highlight.js", "linkify-it", "entities"):
        assert re.search(rf"^{re.escape(name)} \d", text, re.MULTILINE)
