"""Hermes's redaction of secrets (`agent.redact`, 0.19) in time that grows with the text, not with its square or cube.

Hermes redacts each answer, and the whole conversation when it shortens it. Two of its patterns begin anew at each place
of a long word: 20,000 characters of hex without a space take 18 s, 3,000 of `1.1.1.1` minutes. What is put in their place
replaces the same and begins once for each word.
"""

from __future__ import annotations

import re
from typing import Any

_KEY = r"[A-Za-z0-9_.\-]"


def make_linear(redact: Any) -> None:
    """Put linear patterns in place of the two of `agent.redact` that are not."""
    names, value = redact._SECRET_CFG_NAMES, redact._CFG_VALUE
    # A key of a settings file with a dot in it and a word for a secret. What is looked ahead for is cheap to miss: a word
    # of at most two parts ("api key") before an equals sign, which names a secret.
    redact._CFG_DOTTED_RE = re.compile(
        rf"(?<!{_KEY})(?={_KEY}*(?: {_KEY}*)?=[^\s&])(?={_KEY}*{names}{_KEY}*=)"
        rf"({_KEY}*[A-Za-z0-9_\-]\.{_KEY}*{names}{_KEY}*|{_KEY}*{names}{_KEY}*\.{_KEY}+)={value}",
        re.IGNORECASE,
    )
    lower = getattr(redact, "_ENV_ASSIGN_LOWER_RE", None)
    if lower is not None:  # of newer releases: begins anew at each place of a word, too
        redact._ENV_ASSIGN_LOWER_RE = re.compile(rf"(?<![A-Za-z0-9_]){lower.pattern}", lower.flags)
    redact._TELEGRAM_RE = re.compile(r"(bot)?(?<!\d)(\d{8,}):([-A-Za-z0-9_]{30,})")
