"""The kernel's loop: never blocked but by a sync tool, and the one on which earlier cells made their objects."""

from __future__ import annotations

import pytest

from tests.host.kernels import Kernel

pytestmark = pytest.mark.kernel

TICKER = """
async def tick(seconds):
    "How many ticks of 0.1 s came in that time."
    n, loop, end = 0, asyncio.get_running_loop(), asyncio.get_running_loop().time() + seconds
    while loop.time() < end:
        await asyncio.sleep(0.1)
        n += 1
    return n

async def waits() -> None:
    "Wait a little."
    await asyncio.sleep(1.5)

@tool(parallel=True)
def waits_in_a_thread() -> None:
    "Wait a little."
    time.sleep(1.5)
"""


@pytest.mark.parametrize("function", ["waits", "waits_in_a_thread"])
def test_the_loop_keeps_ticking_while_a_turn_waits(kernel, function):
    kernel.run(TICKER)
    reply = kernel.run(
        f"turn = FakeTurn(host, {function}); ticker = asyncio.ensure_future(tick(1.5))\n"
        "await turn.wait(); print(await ticker)"
    )
    assert int(reply.text) >= 0.9 * 14


def test_an_async_tool_meets_a_lock_of_an_earlier_cell(kernel):
    kernel.run("lock = asyncio.Lock(); await lock.acquire()")
    kernel.run("task = asyncio.ensure_future(lock.acquire()); await asyncio.sleep(0); lock.release(); await task")
    reply = kernel.run(
        "async def uses_the_lock() -> str:\n"
        "    'Wait for the lock.'\n"
        "    async with lock:\n"
        "        return 'held'\n"
        "turn = FakeTurn(host, uses_the_lock)\n"
        "asyncio.get_running_loop().call_later(0.1, lock.release)\n"
        "await turn.wait(); print(turn.outcomes[0].value)"
    )
    assert reply.text == "held\n"


def test_a_sync_tool_uses_a_database_connection_of_an_earlier_cell(kernel):
    kernel.run("import sqlite3; db = sqlite3.connect(':memory:'); x = db.execute('create table t (n int)')")
    reply = kernel.run(
        "def adds() -> int:\n"
        "    'Insert a row.'\n"
        "    db.execute('insert into t values (1)')\n"
        "    return db.execute('select count(*) from t').fetchone()[0]\n"
        "one = await FakeTurn(host, adds).wait()\n"
        "two = FakeTurn(host, adds, blocks=True).wait_blocking()\n"
        "print(one.outcomes[0].value, two.outcomes[0].value)"
    )
    assert reply.text == "1 2\n"


@pytest.mark.parametrize(
    "call",
    [
        "def f():\n    return FakeTurn(host, adds, blocks=True).wait_blocking()\nturn = f()",
        "turn = FakeTurn(host, adds, blocks=True).wait_blocking()",
        "%%capture\nturn = FakeTurn(host, adds, blocks=True).wait_blocking()",
        "%%time\nturn = FakeTurn(host, adds, blocks=True).wait_blocking()",
    ],
)
def test_where_the_loop_is_blocked_an_async_tool_is_refused(kernel, call):
    kernel.run("async def adds() -> int:\n    'Add.'\n    return 1 + 1")
    kernel.run(call)
    assert kernel.value("[turn.statuses, turn.outcomes[0].error_type]") == [["error"], "LoopBlockedError"]


def test_a_turn_of_a_users_thread_uses_the_main_thread_and_the_kernels_loop(kernel):
    kernel.run(
        "def where() -> bool:\n    'Whether this is the main thread.'\n"
        "    return threading.current_thread() is threading.main_thread()\n"
        "async def which() -> bool:\n    'Whether this is the loop of the cells.'\n"
        "    return asyncio.get_running_loop() is loop\n"
        "loop = asyncio.get_running_loop(); done = []\n"
        "def other(): done.append(FakeTurn(host, where, which, blocks=True).wait_blocking())\n"
        "thread = threading.Thread(target=other); thread.start()"
    )
    kernel.run("while thread.is_alive(): await asyncio.sleep(0.01)")
    assert kernel.value("[o.value for o in done[0].outcomes]") == [True, True]


WHERE = """
from concurrent.futures import ThreadPoolExecutor
def where() -> bool:
    "Whether this is the main thread."
    return threading.current_thread() is threading.main_thread()
async def which() -> bool:
    "Whether this is the loop of the cells."
    return asyncio.get_running_loop() is loop
loop = asyncio.get_running_loop()
def ask(_=None): return FakeTurn(host, where, where, where, blocks=True).wait_blocking()
"""


@pytest.mark.parametrize(
    "waits",
    [
        "with ThreadPoolExecutor(2) as pool: turns = list(pool.map(ask, range(4)))",
        "turns = []; thread = threading.Thread(target=lambda: turns.append(ask())); thread.start(); thread.join()",
        "with ThreadPoolExecutor(1) as pool:\n    asked = pool.submit(ask)\n"
        "    while not asked.done(): time.sleep(0.01)\nturns = [asked.result()]",
    ],
)
def test_a_tool_asked_for_by_a_thread_that_the_main_thread_waits_for_gets_a_thread(kernel, waits):
    kernel.run(WHERE)
    kernel.run(f"began = time.monotonic()\n{waits}\ntook_s = time.monotonic() - began")
    assert kernel.value("[[o.value for o in t.outcomes] for t in turns] == [[False] * 3] * len(turns)")
    assert kernel.value("took_s") < 5
    # the main thread is free again: so it is used again
    kernel.run("thread = threading.Thread(target=lambda: turns.append(ask())); thread.start()")
    kernel.run("while thread.is_alive(): await asyncio.sleep(0.01)")
    assert kernel.value("[o.value for o in turns[-1].outcomes]") == [True] * 3


def test_a_tool_that_asks_in_a_pool_is_not_waited_for_by_its_own_pool(kernel):
    kernel.run(WHERE)
    kernel.run(
        "def asks() -> list[bool]:\n    'Ask two agents at once.'\n    with ThreadPoolExecutor(2) as pool:\n"
        "        return [o.value for t in pool.map(ask, range(2)) for o in t.outcomes]\n"
        "outer = FakeTurn(host, asks, blocks=True).wait_blocking()"
    )
    assert kernel.value("outer.outcomes[0].value") == [False] * 6


def test_a_background_turn_still_waits_for_the_cell_that_computes(kernel):
    kernel.run(WHERE)
    kernel.run(
        "turn = FakeTurn(host, where, background=True); turn.running.wait(); time.sleep(1.5); early = len(turn.outcomes)"
    )
    kernel.run("await turn.wait()")
    assert kernel.value("[early, turn.outcomes[0].value]") == [0, True]


def test_an_async_tool_whose_loop_waits_for_the_asking_thread_is_refused(kernel):
    kernel.run(WHERE)
    kernel.run(
        "turns = []\ndef other(): turns.append(FakeTurn(host, which, blocks=True).wait_blocking())\n"
        "thread = threading.Thread(target=other); thread.start(); thread.join()"
    )
    assert kernel.value("[turns[0].statuses, turns[0].outcomes[0].error_type]") == [["error"], "LoopBlockedError"]


def test_a_task_of_an_earlier_cell_is_served_while_the_kernel_is_idle(kernel):
    kernel.run(
        "def where() -> bool:\n    'Whether this is the main thread.'\n"
        "    print('idle'); return threading.current_thread() is threading.main_thread()\n"
    )
    asking = kernel.send("turn = FakeTurn(host, where, background=True)")
    kernel.finish(asking)
    kernel.until(asking, "idle")
    kernel.run("turn.thread.join(5)")
    assert kernel.value("turn.outcomes[0].value") is True


def test_the_host_of_a_kernel(kernel):
    assert kernel.value("[host.name, host.is_interactive]") == ["kernel", True]
    key = kernel.send("print(host.cell_id())")
    assert kernel.finish(key).text == f"{key}\n"
    assert kernel.run("h = current(); h.close(); print([t.name for t in threading.enumerate() if 'hermes' in t.name])")


@pytest.mark.parametrize("package", ["nest_asyncio", "nest_asyncio2"])
def test_a_notebook_that_patched_asyncio_works(package, tmp_path):
    pytest.importorskip(package)
    kernel = Kernel(tmp_path)
    try:
        from tests.host.kernels import SETUP

        kernel.run(SETUP + f"\nimport {package}; {package}.apply()")
        kernel.run(
            "def sync() -> int:\n    'One.'\n    return 1\n"
            "async def other() -> int:\n    'Two.'\n    await asyncio.sleep(0.01); return 2\n"
            "def sleeps() -> None:\n    'Sleep.'\n    print('go', flush=True); time.sleep(60)\n"
        )
        for wait in ("await {}.wait()", "asyncio.get_event_loop().run_until_complete({}.wait())"):
            for _ in range(2):
                reply = kernel.run(f"turn = {wait.format('FakeTurn(host, sync, other, sync)')}; print(turn.statuses)")
                assert reply.text == "['ok', 'ok', 'ok']\n"
        reply = kernel.run("turn = FakeTurn(host, sync, blocks=True).wait_blocking(); print(turn.statuses)")
        assert reply.text == "['ok']\n"
        for wait in ("await turn.wait()", "asyncio.get_event_loop().run_until_complete(turn.wait())"):
            key = kernel.send(f"turn = FakeTurn(host, sleeps, sleeps)\nx = {wait}")
            kernel.until(key, "go")
            kernel.interrupt()
            kernel.finish(key, timeout_s=10)
            assert kernel.value("turn.statuses") == ["stopped"]
        assert kernel.run("print('next')").text == "next\n"
    finally:
        kernel.close()
