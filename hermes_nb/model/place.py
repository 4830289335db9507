"""A path as outputs show it, which are saved with the notebook: without names of users and machines where that can be."""

from __future__ import annotations

import re
from pathlib import Path


def shown_path(path: str | Path, *, base: Path | None = None) -> str:
    """A path relative to a folder, else to the home folder (`~/...`), else as it is.

    Args:
        path: The path.
        base: The folder, e.g. the notebook's; None means the working directory.
    """
    given = Path(path)
    try:
        whole = given if given.is_absolute() else Path.cwd() / given
        for folder, lead in ((base or Path.cwd(), ""), (Path.home(), "~")):
            real = whole.parent.resolve() / whole.name if whole != folder else whole  # not its own link: python is one
            for left, right in ((whole, folder), (real, folder.resolve())):
                if left.is_relative_to(right):
                    rest = left.relative_to(right).as_posix()
                    return f"{lead}/{rest}" if lead and rest != "." else lead or rest
    except (OSError, RuntimeError):  # the working directory is gone, or there is no home
        pass
    return str(given)


def shortened(text: str, *, base: Path | None = None) -> str:
    """A text with the paths in it as `shown_path` gives them: those below the folder and below the home folder."""
    try:
        for folder, lead in ((base or Path.cwd(), ""), (Path.home(), "~/")):
            if len(folder.parts) > 1:  # not the root of all
                text = re.sub(rf"(?<![\w/.~-]){re.escape(str(folder))}/", lead, text)
    except (OSError, RuntimeError):
        pass
    return text
