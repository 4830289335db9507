"""What holds for every test: no key of this machine is seen, nothing is kept, and skipped tests are not silent."""

from __future__ import annotations

import gc
import importlib.util
import os
import signal

import pytest

from hermes_nb._settings import KEY_VARIABLES

_OURS = (
    "HERMES_NB_ENGINE",
    "HERMES_NB_ENGINES",
    "HERMES_NB_ENGINE_INSTALL",
    "HERMES_NB_HOME",
    "HERMES_NB_MODEL",
    "HERMES_NB_REPLAY",
    "HERMES_HOME",
)


def pytest_configure(config: pytest.Config) -> None:
    # Before any fixture, and in each of xdist's processes: a test must never find, let alone spend, a real key.
    for name in (*KEY_VARIABLES, *_OURS):
        os.environ.pop(name, None)
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a shell's background job: what it starts would be deaf
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if importlib.util.find_spec("hypothesis") is not None:  # an example's time says how busy the machine is, no more
        from hypothesis import settings

        settings.register_profile("hermes_nb", deadline=None)
        settings.load_profile("hermes_nb")


def pytest_runtest_teardown() -> None:
    # Hypothesis times the garbage collector by a callback, where threads may be switched: before Python 3.11.9 and 3.12.3
    # that breaks an `ast.parse` that is under way in two of them (python/cpython#106905).
    gc.callbacks[:] = [call for call in gc.callbacks if not str(getattr(call, "__module__", "")).startswith("hypothesis")]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if missing := _missing_for_browser():
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason=missing))


def _missing_for_browser() -> str | None:
    from tests.browser.nbcheck import chromium

    for module in ("playwright", "jupyterlab"):
        if importlib.util.find_spec(module) is None:
            return f"{module} is not installed: pip install '.[test]'"
    return None if chromium() else "there is no Chromium: apt-get install chromium, or set NBCHECK_CHROMIUM"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for marker, title in (("browser", "NOT TESTED IN A BROWSER"), ("node", "JAVASCRIPT NOT TESTED")):
        skipped = [r for r in terminalreporter.stats.get("skipped", ()) if marker in getattr(r, "keywords", ())]
        if skipped:
            why = skipped[0].longrepr[2].removeprefix("Skipped: ")
            terminalreporter.section(title, sep="!", red=True, bold=True)
            terminalreporter.line(f"{len(skipped)} tests with the mark {marker} were skipped: {why}", red=True, bold=True)
