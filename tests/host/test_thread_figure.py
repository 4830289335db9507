"""Plots of tools in threads: each call has its own, and the user's figures are never touched."""

from __future__ import annotations

import contextvars
import subprocess
import sys
import threading

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

from matplotlib._pylab_helpers import Gcf  # noqa: E402

from hermes_nb.host.output.figure import Figures  # noqa: E402
from hermes_nb.host.output.thread_figure import ThreadFigures  # noqa: E402


@pytest.fixture(autouse=True)
def _no_figures():
    registry = Gcf.figs
    plt.close("all")
    yield
    plt.close("all")
    assert Gcf.figs is registry


@pytest.fixture
def shown(monkeypatch):
    """Figures that were shown, as an inline backend does."""
    monkeypatch.setattr(Figures, "_shows_inline", staticmethod(lambda: True))
    return []


def start(figures: ThreadFigures, body) -> threading.Thread:
    def run() -> None:
        figures.enter()
        try:
            body()
        finally:
            figures.leave()
        figures.finish()

    thread = threading.Thread(target=contextvars.copy_context().run, args=(run,))
    thread.start()
    return thread


def test_calls_at_once_and_the_users_cell_have_figures_of_their_own(shown):
    before = type(Gcf.figs)  # the stand-in, when a tool of another test sleeps on in its thread
    mine, axes = plt.subplots()
    n_calls = 8
    barrier = threading.Barrier(n_calls + 1)
    right = []

    def body(n: int) -> None:
        plt.plot([0, n])
        barrier.wait(20)
        plt.title(f"of {n}")
        plt.plot([n, n])
        right.append(plt.gca().get_title() == f"of {n}" and len(plt.gca().lines) == 2 and plt.get_fignums() == [1])
        barrier.wait(20)

    threads = [start(ThreadFigures(shown.append), lambda n=n: body(n)) for n in range(n_calls)]
    barrier.wait(20)
    assert plt.gcf() is mine
    axes.plot([1, 2])
    other = plt.figure()
    barrier.wait(20)
    for thread in threads:
        thread.join()
    assert right == [True] * n_calls
    assert len(axes.lines) == 1
    assert plt.get_fignums() == [mine.number, other.number]
    assert sorted(f.axes[0].get_title() for f in shown) == [f"of {n}" for n in range(n_calls)]
    assert type(Gcf.figs) is before


@pytest.mark.parametrize("close", ["plt.close()", "plt.close('all')", "plt.close(plt.gcf())", "plt.close(1)"])
def test_closing_closes_the_calls_own(shown, close):
    mine = plt.figure()
    start(ThreadFigures(shown.append), lambda: (plt.plot([1]), exec(close))).join()
    assert shown == []
    assert plt.fignum_exists(mine.number)


def test_a_figure_of_a_body_that_goes_on_after_others_ended_stays_its_own(shown):
    mine, axes = plt.subplots()
    gate = threading.Event()
    late = start(ThreadFigures(shown.append), lambda: (gate.wait(20), plt.plot([1, 2])))
    start(ThreadFigures(shown.append), lambda: plt.plot([1])).join()
    gate.set()
    late.join()
    assert len(shown) == 2
    assert axes.lines[:] == []
    assert plt.get_fignums() == [mine.number]


def test_a_call_on_the_main_thread_meanwhile_has_its_own(shown):
    mine, axes = plt.subplots()
    gate = threading.Event()
    thread = start(ThreadFigures(shown.append), lambda: (plt.plot([1]), gate.wait(20), plt.title("thread")))
    main = Figures(shown.append)
    main.enter()
    plt.plot([2])
    plt.title("main")
    gate.set()
    thread.join()
    assert plt.gca().get_title() == "main"
    main.leave()
    main.finish()
    assert [f.axes[0].get_title() for f in shown] == ["thread", "main"]
    assert (plt.gcf(), axes.lines[:]) == (mine, [])


def test_without_a_display_a_figure_stays_open_under_a_free_number():
    mine = plt.figure()
    start(ThreadFigures(None), lambda: plt.plot([1, 2])).join()
    assert plt.get_fignums() == [mine.number, mine.number + 1]


def test_a_figure_is_not_left_for_the_end_of_the_users_cell(shown, monkeypatch):
    inline = pytest.importorskip("matplotlib_inline.backend_inline")
    monkeypatch.setattr(inline.show, "_to_draw", [])
    monkeypatch.setattr(inline.show, "_draw_called", False)
    noted = []

    def body() -> None:
        figure = plt.figure()
        inline.show._to_draw.append(figure)  # as its `new_figure_manager` does where plots are interactive
        inline.show._draw_called = True
        plt.figure(figure.number)
        noted.append((list(inline.show._to_draw), inline.show._draw_called))

    start(ThreadFigures(shown.append), body).join()
    assert noted == [([], False)]


@pytest.mark.parametrize("plots", [True, False])
def test_the_first_import_of_matplotlib_may_be_in_a_thread(plots):
    code = f"""
import contextvars, sys, threading
from hermes_nb.host.output.thread_figure import ThreadFigures
shown = []
def run():
    figures = ThreadFigures(shown.append)
    figures._shows_inline = lambda: True
    figures.enter()
    if {plots}:
        import matplotlib; matplotlib.use("agg")
        import matplotlib.pyplot as plt
        plt.plot([1, 2])
    figures.leave()
    figures.finish()
n_finders = len(sys.meta_path)
threads = [threading.Thread(target=contextvars.copy_context().run, args=(run,)) for _ in range(4)]
[t.start() for t in threads]; [t.join() for t in threads]
assert len(shown) == 4 * {plots}, shown
assert len(sys.meta_path) == n_finders, sys.meta_path
assert ("matplotlib" in sys.modules) is {plots}
if {plots}:
    from matplotlib._pylab_helpers import Gcf
    assert type(Gcf.figs).__name__ == "OrderedDict" and not Gcf.figs
"""
    subprocess.run([sys.executable, "-W", "error", "-c", code], check=True, timeout=120)
