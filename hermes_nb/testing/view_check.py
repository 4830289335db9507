"""What every view must hold, as one assertion for its author's test."""

from __future__ import annotations

import inspect
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from html.parser import HTMLParser
from types import ModuleType
from typing import Any
from unittest import mock

from hermes_nb.model.event import Event
from hermes_nb.testing.log import LOGS

_CLOCKS = ("time", "time_ns", "monotonic", "monotonic_ns")
_FORBIDDEN_TAGS = frozenset({"script", "iframe", "object", "embed", "link", "meta", "base", "form"})


def assert_view_conforms(module: ModuleType, **options: Any) -> None:
    """Check a view against logs of every sort.

    It is pure (same events, same result; no clock; the events stay as they are), takes any iterable, survives no
    events, unknown kinds, bare payloads, open ends and hostile text, ignores duplicates, returns one type whatever the log,
    and what it returns is valid: text that UTF-8 can carry, data that JSON can, HTML without a way for what tools
    and models wrote to run.

    Args:
        module: The view: a module (or any object) with `render(events, **options)`.
        options: Given to `render` each time.

    Raises:
        AssertionError: Names the view, the log and what does not hold.
    """
    name = getattr(module, "__name__", repr(module)).rpartition(".")[2]
    render = getattr(module, "render", None)
    assert callable(render), f"View '{name}' has no function render(events)."
    assert inspect.getdoc(render), f"View '{name}': render has no docstring; its first line is what a user reads."

    def rendered(events: Iterable[Event]) -> Any:
        return render(events, **options)

    types: dict[str, str] = {}
    own = _live(_safely(name, "no", rendered, []))  # what a page has without any log: its own script and style
    is_html = str(_safely(name, "plain", rendered, LOGS["plain"]())).lstrip().startswith("<")
    for log, make in LOGS.items():
        events = make()
        first = _safely(name, log, rendered, events)
        types[log] = type(first).__name__
        assert [e.to_dict() for e in events] == [e.to_dict() for e in make()], f"View '{name}' changes the {log} log."
        _same(name, log, first, rendered(make()), "gives two results for the same events")
        once = _safely(name, f"iterated {log}", rendered, iter(make()))
        _same(name, log, first, once, "needs a list; any iterable of events must do")
        _same(name, log, first, rendered([*make(), *make()]), "counts events twice that arrive twice")
        _same(name, log, first, _without_clock(name, log, rendered, make()), "reads the clock")
        _assert_valid(name, log, first)
        if is_html and isinstance(first, str):
            _assert_inert(name, log, first, own)
    assert len(set(types.values())) == 1, f"View '{name}' returns different types: {types}."


def _safely(name: str, log: str, rendered: Callable[[Iterable[Event]], Any], events: Iterable[Event]) -> Any:
    try:
        return rendered(events)
    except Exception as exc:
        raise AssertionError(f"View '{name}' raises on the {log} log: {type(exc).__name__}: {exc}") from exc


def _without_clock(name: str, log: str, rendered: Callable[[Iterable[Event]], Any], events: Iterable[Event]) -> Any:
    here = threading.get_ident()

    def stopped(real: Callable[[], Any]) -> Callable[[], Any]:
        def read() -> Any:
            if threading.get_ident() != here:  # whatever else runs in this process goes on
                return real()
            raise AssertionError(f"View '{name}' reads the clock on the {log} log; a view is a function of its events.")

        return read

    with ExitStack() as patched:
        for clock in _CLOCKS:
            patched.enter_context(mock.patch(f"time.{clock}", stopped(getattr(time, clock))))
        return rendered(events)


def _same(name: str, log: str, first: Any, second: Any, fault: str) -> None:
    equals = getattr(first, "equals", None)
    is_same = bool(equals(second)) if callable(equals) else bool(first == second) or repr(first) == repr(second)
    assert is_same, f"View '{name}' {fault} (the {log} log)."


def _assert_valid(name: str, log: str, result: Any) -> None:
    if isinstance(result, str):
        try:
            result.encode("utf-8")
        except UnicodeEncodeError as exc:
            raise AssertionError(f"View '{name}' gives text on the {log} log that UTF-8 can't carry: {exc}") from exc
    elif isinstance(result, dict):
        try:
            json.dumps(result, allow_nan=False).encode("utf-8")
        except (TypeError, ValueError) as exc:
            raise AssertionError(f"View '{name}' gives data on the {log} log that is not JSON: {exc}") from exc


def _live(text: Any) -> Counter[str]:
    """Tags and attributes that do something, and how often each is there."""
    if not isinstance(text, str):
        return Counter()
    reader = _Tags()
    reader.feed(text)
    reader.close()
    return Counter(reader.faults)


def _assert_inert(name: str, log: str, text: str, own: Counter[str]) -> None:
    faults = list((_live(text) - own).elements())
    assert not faults, f"View '{name}' lets text of the {log} log through as live HTML: {faults[:3]}."


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.faults: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _FORBIDDEN_TAGS:
            self.faults.append(f"<{tag}>")
        for key, value in attrs:
            target = "".join((value or "").split()).lower()
            is_link = key in ("href", "src", "action")
            if key.startswith("on") or (is_link and target.startswith(("javascript:", "data:text"))):
                self.faults.append(f"<{tag} {key}={value!r}>")
