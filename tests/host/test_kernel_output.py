"""Whatever a tool prints, displays or plots lands in the cell that asked, in a real kernel."""

from __future__ import annotations

import pytest

from tests.host.kernels import Kernel

pytestmark = pytest.mark.kernel

TOOLS = """
def talks() -> bool:
    "Print and display."
    from IPython.display import HTML, display
    print("printed by the tool")
    print("to stderr", file=sys.stderr)
    display(HTML("<b>shown</b>"))
    return threading.current_thread() is threading.main_thread()

def plots() -> None:
    "Plot."
    import matplotlib.pyplot as plt
    plt.plot([1, 2, 3])

async def plots_async() -> None:
    "Plot, wait, plot."
    import matplotlib.pyplot as plt
    plt.plot([1, 2, 3])
    await asyncio.sleep(0.01)
    plt.title("the same figure")

@tool(parallel=True)
def plots_in_a_thread() -> None:
    "Plot, wait, plot."
    import time
    import matplotlib.pyplot as plt
    plt.plot([1, 2, 3])
    time.sleep(0.2)
    plt.title("the same figure")

async def talks_async() -> None:
    "Print, wait, print."
    from IPython.display import HTML, display
    print("printed by the tool")
    await asyncio.sleep(0.3)
    display(HTML("<b>shown</b>"))

@tool(parallel=True)
def talks_in_a_thread() -> None:
    "Print and display."
    from IPython.display import HTML, display
    print("printed by the tool")
    display(HTML("<b>shown</b>"))
"""


@pytest.fixture(autouse=True)
def _tools(kernel: Kernel):
    kernel.run(TOOLS)


@pytest.mark.parametrize("wait", ["await turn.wait()", "turn.wait_blocking()"])
def test_a_sync_tool_prints_and_displays_into_the_cell_on_the_main_thread(kernel, wait):
    blocks = "blocking" in wait
    reply = kernel.run(f"turn = FakeTurn(host, talks, blocks={blocks}); x = {wait}")
    assert reply.text == "printed by the tool\n"
    assert reply.stderr == "to stderr\n"
    assert [c["data"]["text/html"] for c in reply.of("display_data")] == ["<b>shown</b>"]
    assert kernel.value("turn.outcomes[0].value") is True
    streams = kernel.value("turn.outputs")
    assert [o[:2] for o in streams[:2]] == [["stdout", "printed by the tool\n"], ["stderr", "to stderr\n"]]
    assert streams[2][0] == "display"
    assert "text/html" in streams[2][2]


@pytest.mark.parametrize("function", ["plots", "plots_async", "plots_in_a_thread"])
def test_a_plot_is_shown_once_in_the_cell_and_heard(kernel, function):
    reply = kernel.run(f"turn = FakeTurn(host, {function}); x = await turn.wait()")
    assert reply.images == 1
    assert kernel.value("[list(o[2]) for o in turn.outputs]")[0].count("image/png") == 1
    assert kernel.run("1").images == 0


@pytest.mark.parametrize("function", ["plots", "plots_async", "plots_in_a_thread"])
def test_a_plot_of_a_background_turn_is_not_drawn_into_the_users_figure(kernel, function):
    asking = kernel.send(f"turn = FakeTurn(host, {function}, background=True)")
    kernel.finish(asking)
    other = kernel.run(
        "import matplotlib.pyplot as plt\n"
        "figure, axes = plt.subplots()\n"
        "x = await turn.wait()\n"
        "axes.plot([3, 4])\n"
        "print(len(axes.lines), plt.gcf() is figure)"
    )
    assert other.text == "1 True\n"
    assert other.images == 1  # the user's own
    kernel.pump(lambda: kernel.cells[asking].images == 1)


def test_plots_of_threads_at_once_are_shown_each_and_the_users_figure_stays(kernel):
    kernel.run("import matplotlib.pyplot as plt\n%config InlineBackend.close_figures = False\nfigure, axes = plt.subplots()")
    try:
        asking = kernel.send("turns = [FakeTurn(host, plots_in_a_thread, background=True) for _ in range(3)]")
        kernel.finish(asking)
        other = kernel.run(
            "axes.plot([3, 4])\nfor t in turns:\n    await t.wait()\nprint(len(axes.lines), plt.gcf() is figure)"
        )
        assert other.text == "1 True\n"
        kernel.pump(lambda: kernel.cells[asking].images == 3)
        assert other.images == 0
        assert kernel.run("print(plt.get_fignums())").text == "[1]\n"
    finally:
        kernel.run("plt.close('all')\n%config InlineBackend.close_figures = True")


@pytest.mark.parametrize("function", ["plots", "plots_in_a_thread"])
def test_a_figure_that_is_open_across_cells_stays_the_users(kernel, function):
    kernel.run("import matplotlib.pyplot as plt\n%config InlineBackend.close_figures = False\nfigure, axes = plt.subplots()")
    try:
        reply = kernel.run(f"turn = await FakeTurn(host, {function}).wait(); print(len(axes.lines), plt.gcf() is figure)")
        assert reply.text == "0 True\n"
        assert reply.images == 1
    finally:
        kernel.run("plt.close('all')\n%config InlineBackend.close_figures = True")


def test_a_figure_of_an_earlier_cell_can_be_drawn_in_by_a_tool(kernel):
    kernel.run("import matplotlib.pyplot as plt\nfigure, axes = plt.subplots()")
    reply = kernel.run(
        "def draws() -> int:\n"
        "    'Draw into the figure of an earlier cell.'\n"
        "    axes.plot([1, 2]); return len(axes.lines)\n"
        "turn = await FakeTurn(host, draws).wait(); print(turn.outcomes[0].value)"
    )
    assert reply.text == "1\n"


@pytest.mark.parametrize("function", ["talks", "talks_async", "talks_in_a_thread"])
def test_output_of_a_background_turn_lands_in_the_asking_cell_while_others_run(kernel, function):
    asking = kernel.send(f"turn = FakeTurn(host, {function}, {function}, background=True)")
    others = [kernel.send(f"print('mine', {n}); await asyncio.sleep(0.05)") for n in range(4)]
    others.append(kernel.send("for n in range(20): print('loop', n); await asyncio.sleep(0.05)"))
    for key in others:
        kernel.finish(key)
    cell = kernel.cells[asking]
    kernel.pump(lambda: cell.text.count("printed by the tool") == 2 and len(cell.of("display_data")) == 2)
    for key in others:
        assert "printed by the tool" not in kernel.cells[key].text
        assert kernel.cells[key].of("display_data") == []
    assert kernel.cells[others[-1]].text == "".join(f"loop {n}\n" for n in range(20))
    kernel.run("x = await turn.wait()")


def test_the_users_own_output_is_where_it_belongs_after_a_background_tool(kernel):
    kernel.finish(kernel.send("turn = FakeTurn(host, talks, background=True)"))
    kernel.run("x = await turn.wait()")
    reply = kernel.run("from IPython.display import HTML, display\nprint('mine'); display(HTML('<i>mine</i>'))\n3")
    assert reply.text == "mine\n"
    assert [c["data"]["text/html"] for c in reply.of("display_data")] == ["<i>mine</i>"]
    assert reply.of("execute_result")[0]["data"]["text/plain"] == "3"


def test_under_capture_the_output_is_captured_and_heard(kernel):
    reply = kernel.run("%%capture out\nturn = FakeTurn(host, talks, plots, blocks=True)\nx = turn.wait_blocking()")
    assert (reply.text, reply.of("display_data")) == ("", [])
    assert kernel.value("[out.stdout, out.stderr, len(out.outputs)]") == ["printed by the tool\n", "to stderr\n", 2]
    assert kernel.value("[o[0] for o in turn.outputs]") == ["stdout", "stderr", "display", "display"]


def test_what_a_background_turn_of_a_captured_cell_shows_is_captured(kernel):
    kernel.run("%%capture out\nturn = FakeTurn(host, talks, talks_async, background=True)")
    reply = kernel.run("x = await turn.wait()")
    assert (reply.text, reply.of("display_data")) == ("", [])
    assert kernel.value("[out.stdout, len(out.outputs)]") == ["printed by the tool\n" * 2, 2]


def test_output_of_a_sync_tool_inside_a_function_and_a_loop(kernel):
    reply = kernel.run(
        "def inside():\n"
        "    return FakeTurn(host, talks, blocks=True).wait_blocking().statuses\n"
        "for n in range(2):\n"
        "    print(inside())"
    )
    assert reply.text == "printed by the tool\n['ok']\n" * 2


RETURNS = """
def picture() -> object:
    "A picture."
    from PIL import Image
    return Image.new("RGB", (4, 4))

def figure() -> object:
    "A figure that pyplot knows nothing of."
    from matplotlib.figure import Figure
    made = Figure()
    made.subplots().plot([1, 2])
    return made

def axes() -> object:
    "Axes of a figure of pyplot's, which is shown anyway."
    import matplotlib.pyplot as plt
    return plt.subplots()[1]

def pictures() -> list:
    "Some."
    return [picture(), figure()]

async def picture_async() -> object:
    "A picture."
    return picture()

@tool(parallel=True)
def picture_in_a_thread() -> object:
    "A picture."
    return picture()

def displays_and_returns() -> object:
    "Shows what it returns."
    from IPython.display import display
    made = picture()
    display(made)
    return made

def table() -> object:
    "No picture."
    import pandas as pd
    return pd.DataFrame({"a": [1]})
"""


@pytest.mark.parametrize(
    ("function", "n_images"),
    [
        ("picture", 1),
        ("figure", 1),
        ("axes", 1),
        ("pictures", 2),
        ("picture_async", 1),
        ("picture_in_a_thread", 1),
        ("displays_and_returns", 1),
        ("table", 0),
    ],
)
def test_a_picture_that_is_returned_is_shown_once(kernel, function, n_images):
    kernel.run(RETURNS)
    reply = kernel.run(f"turn = FakeTurn(host, {function}); x = await turn.wait()")
    assert kernel.value("turn.outcomes[0].status") == "ok"
    assert reply.images == n_images


def test_a_plotly_figure_that_is_returned_is_shown(kernel):
    kernel.run("import plotly.graph_objects as go")
    kernel.run("def chart() -> object:\n    'A chart.'\n    return go.Figure(go.Bar(y=[1]))")
    reply = kernel.run("turn = FakeTurn(host, chart); x = await turn.wait()")
    assert [set(c["data"]) & {"application/vnd.plotly.v1+json"} for c in reply.of("display_data")] == [
        {"application/vnd.plotly.v1+json"}
    ]
