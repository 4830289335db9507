"""`clear_output` of ipykernel 6.17, which Colab has: it passes the publisher's hooks by. From 6.18 on it asks them.

Strict test: tests/host/test_clear.py.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# By publisher: how many calls wait to hear of it. Parallel calls end in any order; the last one takes the stand-in away.
_n_waiting: dict[int, int] = {}


@contextmanager
def clears_are_hooked(publisher: Any) -> Iterator[None]:
    """While it is open, `publisher.clear_output` asks the hooks of `publisher`, as its `publish` does."""
    code = getattr(type(publisher).clear_output, "__code__", None)
    if code is None or "_hooks" in code.co_names:
        yield
        return
    key = id(publisher)
    _n_waiting[key] = _n_waiting.get(key, 0) + 1
    publisher.clear_output = lambda wait=False: _clear(publisher, wait)
    try:
        yield
    finally:
        _n_waiting[key] -= 1
        if not _n_waiting[key]:
            del _n_waiting[key], publisher.clear_output


def _clear(publisher: Any, wait: bool) -> None:
    publisher._flush_streams()
    message = publisher.session.msg("clear_output", {"wait": wait}, parent=publisher.parent_header)
    for hook in publisher._hooks:
        message = hook(message)
        if message is None:
            return
    publisher.session.send(publisher.pub_socket, message, ident=publisher.topic)
