from __future__ import annotations

import subprocess
import sys

import pytest

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("agg")
plt = pytest.importorskip("matplotlib.pyplot")

from hermes_nb.host.output.figure import Figures  # noqa: E402


@pytest.fixture(autouse=True)
def _no_figures():
    plt.close("all")
    yield
    plt.close("all")


@pytest.fixture
def shown(monkeypatch):
    """Figures that were shown, as an inline backend does."""
    monkeypatch.setattr(Figures, "_shows_inline", staticmethod(lambda: True))
    return []


def call(figures: Figures, body) -> None:
    figures.enter()
    try:
        body()
    finally:
        figures.leave()
    figures.finish()


def test_a_plot_is_shown_and_closed(shown):
    call(Figures(shown.append), lambda: plt.plot([1, 2]))
    assert len(shown) == 1
    assert plt.get_fignums() == []


def test_a_tool_never_draws_into_a_figure_that_is_open(shown):
    mine, axes = plt.subplots()
    call(Figures(shown.append), lambda: plt.plot([1, 2]))
    assert axes.lines[:] == []
    assert shown[0] is not mine
    assert plt.gcf() is mine


def test_open_figures_keep_order_and_numbers(shown):
    first, second, third = plt.figure(), plt.figure(), plt.figure()
    plt.figure(second.number)
    call(Figures(shown.append), lambda: (plt.figure(), plt.figure()))
    assert plt.get_fignums() == [first.number, second.number, third.number]
    assert plt.gcf() is second
    assert len(shown) == 2


def test_a_figure_taken_up_by_its_object_is_drawn_in_and_stays_open(shown):
    mine, axes = plt.subplots()
    call(Figures(shown.append), lambda: (plt.sca(axes), plt.plot([1, 2])))
    assert len(axes.lines) == 1
    assert shown == []
    assert plt.fignum_exists(mine.number)


def test_a_figure_closed_by_its_tool_is_not_shown(shown):
    call(Figures(shown.append), lambda: (plt.plot([1, 2]), plt.close()))
    assert shown == []


def test_close_all_in_a_tool_closes_its_own(shown):
    mine = plt.figure()
    call(Figures(shown.append), lambda: (plt.plot([1, 2]), plt.close("all")))
    assert plt.fignum_exists(mine.number)


def test_steps_of_a_call_keep_their_figure_while_others_plot_between(shown):
    figures = Figures(shown.append)
    figures.enter()
    own = plt.figure()
    figures.leave()
    mine = plt.figure()
    figures.enter()
    assert plt.gcf() is own
    figures.leave()
    assert plt.gcf() is mine
    figures.finish()
    assert shown == [own]


def test_without_a_display_a_figure_stays_open_under_a_free_number():
    mine = plt.figure()
    call(Figures(None), lambda: plt.plot([1, 2]))
    assert plt.get_fignums() == [mine.number, mine.number + 1]


def test_matplotlib_is_not_imported_for_it():
    code = (
        "import sys; from hermes_nb.host.output.figure import Figures; f = Figures(print); f.enter(); f.leave(); f.finish();"
        "sys.exit('matplotlib' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
