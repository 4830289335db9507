"""What a worker's log may hold: who said something and of what kind, not what people, models and tools wrote.

Hermes (0.19) logs prompts, arguments, results and the text of errors, at every level and mostly without saying whose they
are, so that nothing could take them out of its logs again when a session is deleted.
"""

from __future__ import annotations

import functools
import logging
import re
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hermes_nb.model.mask import Masker

_ID = re.compile(r"(?:[a-z]{1,4}-)?[0-9a-f]{6,32}")
_ERRORS = re.compile(r"\b[A-Z]\w*(?:Error|Exception|Timeout)\b|\b(?:HTTP|Error code:) \d{3}\b")
_LEFT_OUT = "…"
_MAX_SOURCE = 4_000_000


def install(masker: Masker) -> None:
    """Every log record of the process, our own apart, loses what was said; all lose the secrets known when they are made."""
    make = logging.getLogRecordFactory()

    def plain(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        if not record.name.startswith("hermes_nb"):
            record.msg, record.args = _said(record), None
            if record.exc_info and record.exc_info[0] is not None:
                kind, _, where = record.exc_info
                record.exc_text = "".join(traceback.format_tb(where)) + kind.__name__
        try:
            text = record.getMessage()
        except (TypeError, ValueError):
            return record
        clean = masker.text(text)
        if clean is not text:
            record.msg, record.args = clean, None
        if record.exc_info and record.exc_info[0] is not None:
            record.exc_text = masker.text(record.exc_text or "".join(traceback.format_exception(*record.exc_info)).rstrip())
        return record

    logging.setLogRecordFactory(plain)


def _said(record: logging.LogRecord) -> str:
    """The message as its author wrote it, with numbers and ids alone put in."""
    template = record.msg if isinstance(record.msg, str) else type(record.msg).__name__
    if not isinstance(record.msg, str) or template not in _source(record.pathname):  # put together at run time
        found = ", ".join(dict.fromkeys(_ERRORS.findall(template)))
        return f"{_LEFT_OUT} {found}".rstrip().replace("%", "%%")
    if not record.args:
        return template
    given: Any = record.args
    try:
        if isinstance(given, Mapping):
            return template % {name: _plain(value) for name, value in given.items()}
        return template % tuple(_plain(value) for value in given)
    except (TypeError, ValueError, KeyError):
        return template.replace("%", "%%")


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, int | float) or (isinstance(value, str) and _ID.fullmatch(value)):
        return value
    if isinstance(value, BaseException):
        return type(value).__name__
    found = _ERRORS.findall(str(value)) if isinstance(value, str) else []
    return ", ".join(dict.fromkeys(found)) or _LEFT_OUT


@functools.lru_cache(maxsize=64)
def _source(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8", errors="replace")[:_MAX_SOURCE]
    except OSError:
        return ""
