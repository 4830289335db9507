"""The engine's own source, for an interpreter that has no hermes_nb: sent over the worker's pipe, held in memory there.

An archive is the same bytes for the same source. For an interpreter of the kernel's own Python version it also holds the
compiled modules, so that a worker starts as fast as from files.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import io
import marshal
import zipfile
from collections.abc import Iterator
from pathlib import Path

ROOMS = ("", "model", "engine", "offline_model")  # "" is the package's own folder
_STAMP = (2020, 1, 1, 0, 0, 0)
_ROOT = Path(__file__).resolve().parents[1]


def files(rooms: tuple[str, ...] = ROOMS) -> Iterator[tuple[str, Path]]:
    """Yield the Python files of rooms of this package, sub-rooms included, with their place below `hermes_nb/`; sorted."""
    for room in rooms:
        for path in sorted((_ROOT / room).glob("**/*.py" if room else "*.py")):
            yield path.relative_to(_ROOT).as_posix(), path


@functools.lru_cache(maxsize=4)
def archive(*, with_code: bool = False) -> bytes:
    """Return the engine as a zip: `hermes_nb/...py`; `with_code` adds the compiled modules, `...pyc` without a header."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as packed:
        for place, path in files():
            text = path.read_bytes()
            _add(packed, f"hermes_nb/{place}", text)
            if with_code:
                _add(packed, f"hermes_nb/{place}c", _compiled(path, text, place))
    return buffer.getvalue()


def digest(data: bytes) -> str:
    """Return the SHA-256 of an archive, hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def _compiled(path: Path, text: bytes, place: str) -> bytes:
    """The module's code: from the interpreter's own cache where that is of this text, else compiled."""
    cached = Path(importlib.util.cache_from_source(str(path)))
    try:
        data, changed = cached.read_bytes(), path.stat()
    except OSError:
        data, changed = b"", None
    header = data[:16]
    if changed is not None and header[:4] == importlib.util.MAGIC_NUMBER and header[4:8] == b"\0\0\0\0":
        is_same_time = int.from_bytes(header[8:12], "little") == int(changed.st_mtime) & 0xFFFFFFFF
        if is_same_time and int.from_bytes(header[12:16], "little") == changed.st_size & 0xFFFFFFFF:
            return data[16:]
    return marshal.dumps(compile(text, f"engine:hermes_nb/{place}", "exec", dont_inherit=True))


def _add(packed: zipfile.ZipFile, name: str, data: bytes) -> None:
    info = zipfile.ZipInfo(name, _STAMP)
    info.external_attr = 0o644 << 16
    packed.writestr(info, data)
