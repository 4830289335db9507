"""JSON-lines files with a header that names their format and version; written whole or not at all."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

from hermes_nb.errors import StoreError, UsageError
from hermes_nb.model.place import shown_path


def read_lines(path: Path, form: str, version: int, *, cure: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The header and the other lines of a JSONL file of ours.

    Raises:
        UsageError: No such file, not of this form, or of a newer version.
    """
    try:
        # utf-8-sig: some editors put a mark first. Not splitlines: a text may hold U+2028.
        texts = path.read_text(encoding="utf-8-sig").split("\n")
    except OSError as exc:
        raise UsageError(f"The file {str(path)!r} can't be read: {exc.strerror or exc}.") from exc
    except ValueError as exc:
        raise UsageError(f"The file {str(path)!r} is not JSON lines: {exc}. {cure}") from exc
    lines = []
    for number, text in enumerate(texts, 1):
        try:
            lines += [json.loads(text)] if text.strip() else []
        except ValueError as exc:
            raise UsageError(f"The file {str(path)!r} is not JSON lines: line {number}: {exc}. {cure}") from exc
    if not lines or not all(isinstance(line, dict) for line in lines) or lines[0].get("format") != form:
        raise UsageError(f"The file {str(path)!r} is no file of {form!r}. {cure}")
    if not isinstance(lines[0].get("version"), int):
        raise UsageError(f"The file {str(path)!r} has no version that is a number. {cure}")
    if lines[0]["version"] > version:
        raise UsageError(
            f"The file {str(path)!r} has version {lines[0]['version']}, this hermes_nb knows {version}. Upgrade hermes-nb."
        )
    return lines[0], lines[1:]


def write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there whole or as it was; blocks.

    Raises:
        StoreError: It can't be written.
    """
    draft = path.with_name(f".{path.name}.draft")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    except OSError as exc:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise StoreError(
            f"The file {shown_path(path)!r} can't be written: {exc.strerror or exc}. Choose another place."
        ) from exc
