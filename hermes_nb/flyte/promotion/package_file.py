"""Data files of a local package: which of them travel with its source, and why the others stay.

They are read where the package looks for them: a task unpacks what it was given into a folder (`task`), so that
`Path(__file__).parent / "rates.csv"` holds there as `importlib.resources` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

MAX_BYTES = 2_000_000  # of all data files of a package; each tool's task carries them
_SOURCE = frozenset({".py", ".pyc", ".pyi", ".ipynb"})
_SECRET = re.compile(
    r"\.?env(\..*)?|.*\.env|.*\.(pem|key|p12|pfx|jks|keystore|kdbx|ppk|der|asc|gpg)|id_(rsa|dsa|ecdsa|ed25519)(\..*)?"
    r"|\.?(netrc|npmrc|pypirc|htpasswd|pgpass)|.*(credential|secret|password|service[-_.]?account)s?.*",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class PackageFiles:
    """The data files of a package.

    Attributes:
        taken: Those that travel, by their place in the package.
        left: Those that stay, by their place, and why: "" for each of a package that has too much of them.
        size_bytes: Of all that could travel.
    """

    taken: dict[str, Path] = field(default_factory=dict)
    left: dict[str, str] = field(default_factory=dict)
    size_bytes: int = 0


def package_files(folder: Path) -> PackageFiles:
    """What is beside the source in a package's folder, hidden files and caches apart.

    Files named as keys and secrets stay, as does what is not in the folder (links that lead out of it). Where all others
    together are more than 2 MB, none travels.
    """
    found, left = dict[str, Path](), dict[str, str]()
    for path in _beside_source(folder):
        place = path.relative_to(folder).as_posix()
        if _SECRET.fullmatch(path.name):
            left[place] = "named as a key or a secret"
        elif not path.resolve().is_relative_to(folder.resolve()):
            left[place] = "a link out of the package"
        else:
            found[place] = path
    size_bytes = sum(path.stat().st_size for path in found.values())
    if size_bytes <= MAX_BYTES:
        return PackageFiles(found, left, size_bytes)
    return PackageFiles({}, dict.fromkeys(found, "") | left, size_bytes)


def _beside_source(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.rglob("*")):
        *parents, name = path.relative_to(folder).parts
        is_aside = any(part.startswith(".") or part == "__pycache__" for part in parents)
        is_hidden = name.startswith(".") and not _SECRET.fullmatch(name)
        if path.is_file() and path.suffix not in _SOURCE and not is_aside and not is_hidden:
            yield path
