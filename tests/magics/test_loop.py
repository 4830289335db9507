"""The kernel's loop and main thread through a whole turn: free when nothing needs them, and the ones of earlier cells."""

from __future__ import annotations

import ipykernel
import pytest

from hermes_nb.offline_model.endpoint import ChatRequest
from hermes_nb.testing import Call, Say, Step
from tests.magics.conftest import Asked, prompt
from tests.magics.kernel import Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

EARLIER = """
import asyncio, sqlite3, threading
lock = asyncio.Lock()
db = sqlite3.connect(":memory:")
db.execute("create table t (x)")

@tool
async def look(name: str) -> str:
    "Look."
    async with lock:
        await asyncio.sleep(1)
        return f"{asyncio.get_running_loop() is loop}"

@tool
def count() -> str:
    "Count."
    db.execute("insert into t values (1)")
    return f"{threading.current_thread() is threading.main_thread()} {db.execute('select count(*) from t').fetchone()[0]}"

async def tick():
    global n_ticks
    n_ticks = 0
    while True:
        await asyncio.sleep(0.1)
        n_ticks += 1

worker = Agent("worker", model=model, tools=[look, count])
%hermes agent worker
"""


def test_the_loop_keeps_nine_ticks_of_ten_through_a_turn(kernel: Kernel, model: Asked) -> None:
    kernel.ok(EARLIER)
    kernel.ok("await asyncio.sleep(0); loop = asyncio.get_running_loop()")
    kernel.ok("%hermes run -a worker -s new warm up")
    steps = iter(
        [Call("look", {"name": "x"}), Call("count"), Say("word " * 200, deltas=200, delay_s=0.01, first_byte_delay_s=1)]
    )
    model.answer = lambda request: next(steps)
    kernel.ok("began = asyncio.get_running_loop().time(); ticker = asyncio.get_running_loop().create_task(tick())")
    kernel.ok("%hermes run -a worker -o answer go")
    n_ticks, took_s = kernel.value("[n_ticks, asyncio.get_event_loop().time() - began]")
    kernel.ok("ticker.cancel();")
    assert took_s > 3
    assert n_ticks >= 0.9 * took_s / 0.1
    assert kernel.value("[t.content for t in answer.tools]") == ["True", "True 1"]


@pytest.mark.skipif(ipykernel.version_info < (6, 18), reason="this ipykernel sends what is printed to the cell that runs")
def test_prints_of_a_background_turn_land_in_its_cell_while_others_run(kernel: Kernel, model: Asked) -> None:
    kernel.ok(
        "%matplotlib inline\nimport asyncio\nimport matplotlib.pyplot as plt\n"
        "@tool\nasync def talk() -> str:\n    'Talk.'\n    for n in range(5):\n        print(f'line {n}')\n"
        "        await asyncio.sleep(0.1)\n    plt.plot([1, 2]); return 'talked'\n"
        "talker = Agent('talker', model=model, tools=[talk])\n%hermes agent talker"
    )
    steps = iter([Call("talk"), Say("Done talking.")])
    model.answer = lambda request: next(steps)
    asking = kernel.ok("%hermes run -a talker -s new --background -o later go")
    mine = kernel.ok("fig, ax = plt.subplots()\nax.set_title('mine')\nprint('my own line')\nawait later.wait();")
    kernel.until(lambda: "Done talking." in asking.text + mine.text)
    assert [f"line {n}" in asking.out for n in range(5)] == [True] * 5
    assert mine.out == "my own line\n"
    assert sum("image/png" in data for data in asking.shown) == 1
    assert sum("image/png" in data for data in mine.shown) == 1
    assert kernel.value("len(ax.lines)") == 0


STARTED = "asyncio.run(started(bound, question))"


@pytest.mark.parametrize("ask", ["bound.run_sync(question)", "asyncio.run(bound.run(question))", STARTED])
def test_questions_of_a_thread_pool_that_the_cell_waits_for_are_answered(kernel: Kernel, model: Asked, ask: str) -> None:
    kernel.ok(
        "import asyncio\nfrom concurrent.futures import ThreadPoolExecutor\nfrom hermes_nb import Hermes\n"
        "@tool\ndef add(n: int) -> int:\n    'Add one.'\n    print(f'adding {n}\\n', end='')\n    return n + 1\n"
        "@tool\nasync def add_later(n: int) -> int:\n    'Add one.'\n    return n + 1\n"
        "hermes = Hermes.open_local()\n"
        "pooled = [hermes.bind(Agent(f'pooled{n}', model=model, tools=[add, add_later])) for n in range(2)]"
    )

    def answer(request: ChatRequest) -> Step:
        said = [m["content"] for m in request.messages if m["role"] == "tool"]
        name = "add" if not said else "add_later"
        return Say(str(said)) if len(said) == 2 else Call(name, {"n": int(prompt(request))})

    model.answer = answer
    cell = kernel.ok(
        "async def started(bound, question):\n    turn = await bound.start(question)\n    return await turn.wait()\n"
        f"def ask(bound, question): return {ask}\n"
        "with ThreadPoolExecutor(2) as pool: answers = list(pool.map(ask, pooled, ['1', '5']))"
    )
    assert kernel.value("[a.text for a in answers]") == ["['2', '2']", "['6', '6']"]
    assert kernel.value("[a.status for a in answers]") == ["completed"] * 2
    assert sorted(cell.out.splitlines()) == ["adding 1", "adding 5"]
    kernel.ok("hermes.close()")
