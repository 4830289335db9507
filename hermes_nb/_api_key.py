"""Makes a key sendable: what clings to one that was pasted or read from a file is removed, the rest is checked."""

from __future__ import annotations

import re
import unicodedata

_PREFIX = re.compile(r"(?:authorization\s*:\s*)?bearer\s+", re.IGNORECASE)
_QUOTES = {'"': '"', "'": "'", "`": "`", "\u201c": "\u201d", "\u2018": "\u2019", "\u00ab": "\u00bb"}


def clean(key: str) -> str:
    """Return the key without what no key holds.

    Removed are white space, line ends, quotes and `Bearer ` around it, and invisible characters (a byte order mark, a
    zero-width space) anywhere.
    """
    key = "".join(c for c in key if unicodedata.category(c) != "Cf")
    while True:
        bare = _PREFIX.sub("", key.strip(), count=1) if _PREFIX.match(key.strip()) else key.strip()
        if len(bare) > 1 and _QUOTES.get(bare[0]) == bare[-1]:
            bare = bare[1:-1]
        if bare == key:
            return key
        key = bare


def is_variable(name: str) -> bool:
    """Return whether a variable's name says that it holds a key for requests; a `PRIVATE_KEY` may have lines."""
    return name.upper().endswith(("API_KEY", "API_TOKEN", "ACCESS_TOKEN")) or name.upper() in ("HF_TOKEN", "GH_TOKEN")


def problem(key: str, what: str) -> str | None:
    """Return why a cleaned key can't be sent, in a sentence without the key; None when it can.

    Args:
        key: What `clean` returned.
        what: The key's name for people, e.g. `The key in OPENAI_API_KEY`.
    """
    for i, letter in enumerate(key, 1):
        if "!" <= letter <= "~":
            continue
        if letter.isspace():
            name = "a line end" if letter in "\r\n" else "white space"
        else:
            name = f"{unicodedata.name(letter, f'U+{ord(letter):04X}')}"
        return (
            f"{what} can't be sent: its character {i} of {len(key)} is {name}, which an HTTP header can't hold."
            " Copy the key again from the provider's page."
        )
    return None
