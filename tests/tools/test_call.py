"""How one tool call ends."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import itertools
import json
import os
import sqlite3
import subprocess
import sys
import threading
import warnings

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hermes_nb.errors import LoopBlockedError, ToolArgumentError, ToolRetry
from hermes_nb.tools import call
from hermes_nb.tools.builtin import ResultStore
from hermes_nb.tools.call import ToolOutcome, denied, failed, run_async, run_sync, stopped, timed_out
from hermes_nb.tools.decorator import tool


class Size(enum.Enum):
    SMALL = "s"


def sync(function, arguments="{}", /, **options):
    return run_sync(tool(function, **options), arguments)


async def awaited(function, arguments="{}", /, **options):
    return await run_async(tool(function, **options), arguments)


def told(outcome: ToolOutcome) -> dict:
    return json.loads(outcome.content)


# ---------------------------------------------------------------------------------------------- it returns


def test_a_call_gives_value_content_and_when_it_ran():
    def double(n: int) -> dict:
        return {"n": n * 2}

    outcome = sync(double, '{"n": 4}')
    assert (outcome.status, outcome.content, outcome.value, outcome.result_chars) == ("ok", '{"n": 8}', {"n": 8}, 8)
    assert outcome.started_at_unix_s > 1_700_000_000
    assert 0 <= outcome.duration_ms < 10_000


def test_the_body_gets_built_arguments():
    def pick(size: Size, pair: tuple[int, str]) -> bool:
        return size is Size.SMALL and pair == (1, "a")

    assert sync(pick, '{"size": "s", "pair": [1, "a"]}').value is True


async def test_an_async_tool_is_awaited_on_the_running_loop():
    async def loop_of() -> bool:
        return asyncio.get_running_loop() is here

    here = asyncio.get_running_loop()
    assert (await awaited(loop_of)).value is True


async def test_what_a_sync_function_returns_is_awaited_where_there_is_a_loop():
    async def later() -> int:
        return 3

    outcome = await awaited(lambda: later(), name="wrapped")
    assert (outcome.status, outcome.value) == ("ok", 3)
    future = asyncio.get_running_loop().create_future()
    future.set_result(4)
    assert (await awaited(lambda: future, name="wrapped")).value == 4


def test_an_unawaited_coroutine_is_an_error_that_names_the_cure():
    async def later() -> int:
        return 3

    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        outcome = sync(lambda: later(), name="wrapped")
    assert outcome.status == "error"
    assert outcome.error == (
        "Tool 'wrapped' returned a coroutine, which nothing awaits. Define it with 'async def', or let it return the"
        " value itself."
    )
    assert not seen


def test_a_generator_is_read_into_a_list():
    def count():
        yield from range(3)

    outcome = sync(count)
    assert (outcome.value, outcome.content) == ([0, 1, 2], "[0, 1, 2]")


def test_an_endless_generator_is_read_up_to_a_bound_and_closed():
    closed = []

    def count():
        try:
            yield from itertools.count()
        finally:
            closed.append(True)

    outcome = sync(count, max_result_chars=500)
    assert len(outcome.value) == call.MAX_ITEMS
    assert told(outcome)["note"] == "The generator was closed after 10,000 items."
    assert closed == [True]


def test_lazy_iterators_of_python_are_read_and_others_are_not():
    def rows():
        with contextlib.closing(sqlite3.connect(":memory:")) as database:
            yield from database.execute("select 1, 'a'")

    assert sync(rows).content == '[[1, "a"]]'
    assert sync(lambda: map(str, [1, 2]), name="mapped").value == ["1", "2"]
    assert sync(lambda: itertools.count(), name="endless", max_result_chars=400).status == "ok"


async def test_an_async_generator_is_read_up_to_a_bound_and_closed():
    closed = []

    async def count():
        try:
            for n in itertools.count():
                yield n
        finally:
            closed.append(True)

    outcome = await awaited(lambda: count(), name="counting", max_result_chars=500)
    assert len(outcome.value) == call.MAX_ITEMS
    assert closed == [True]
    assert "async generator" in sync(lambda: count(), name="counting").error


def test_a_long_result_is_cut_kept_whole_and_read_on():
    results = ResultStore()
    outcome = run_sync(tool(lambda: "x" * 5_000_000, name="big"), "{}", results=results)
    assert len(outcome.content) <= 20_000
    assert outcome.result_chars == 5_000_000
    assert len(outcome.value) == 5_000_000
    assert len(results) == 1
    result_id = outcome.content.partition("result_id='")[2].partition("'")[0]
    assert results.get(result_id) is outcome.value


class Raising(dict[str, int]):
    def items(self):
        raise RuntimeError("not now")


def test_a_value_that_can_not_be_shown_is_named_and_kept():
    value = Raising(a=1)
    outcome = run_sync(tool(lambda: value, name="f", description="F."), "{}")
    assert (outcome.status, outcome.content) == ("ok", "<Raising, which can't be shown: RuntimeError: not now>")
    assert outcome.value is value


def test_a_result_that_fits_is_not_kept():
    results = ResultStore()
    run_sync(tool(lambda: "small", name="small"), "{}", results=results)
    assert len(results) == 0


# ---------------------------------------------------------------------------------------------- it does not run


@pytest.mark.parametrize(
    ("arguments", "named"),
    [('{"n": "x"}', "n"), ('{"n": 1, "m": 2}', "m"), ("{}", "n"), ('{"n": 1', "JSON"), ("[1]", "object"), ("", "n")],
)
async def test_wrong_arguments_go_back_naming_the_field_and_the_body_does_not_run(arguments, named):
    ran = []

    def body(n: int) -> None:
        ran.append(n)

    async def later(n: int) -> None:
        ran.append(n)

    for outcome in (sync(body, arguments), await awaited(later, arguments)):
        assert outcome.status == "error"
        assert outcome.error_type == ToolArgumentError.__name__
        assert named in told(outcome)["error"]
        assert told(outcome)["hint"] == "The tool did not run. Correct the arguments and call it again."
    assert ran == []


def test_a_notebook_variable_is_taken_by_name():
    class Connection:
        pass

    def use(connection: Connection) -> bool:
        return connection is held

    held = Connection()
    assert run_sync(tool(use), '{"connection": "held"}', namespace={"held": held}).value is True
    outcome = run_sync(tool(use), '{"connection": "other"}', namespace={"held": held})
    assert "held" in told(outcome)["error"]


def test_outcomes_of_calls_that_never_ran():
    assert (stopped("f").status, told(stopped("f"))) == ("stopped", {"error": "Tool 'f' was stopped before it returned."})
    assert told(timed_out("f", 1.5)) == {"error": "Tool 'f' did not return within 1.5 s."}
    assert (timed_out("f", None).status, timed_out("f", None).error) == ("timed_out", "Tool 'f' did not return in time.")
    assert (denied("not now").status, told(denied("not now"))) == ("denied", {"error": "The call was not allowed: not now"})
    refused = failed(LoopBlockedError("The caller blocks the loop. Await it instead."))
    assert told(refused) == {"error": "LoopBlockedError: The caller blocks the loop. Await it instead."}


# ---------------------------------------------------------------------------------------------- it raises


def test_retry_tells_the_model_to_try_otherwise():
    def fetch() -> None:
        raise ToolRetry("No city 'Pariss'. Known: Paris.")

    def give_up() -> None:
        raise ToolRetry

    outcome = sync(fetch)
    assert (outcome.status, outcome.error_type) == ("error", "ToolRetry")
    assert told(outcome) == {
        "error": "No city 'Pariss'. Known: Paris.",
        "hint": "Try again in another way: with other arguments, or with another tool.",
    }
    assert told(sync(give_up))["error"] == "The tool did not get there this way."


@pytest.mark.parametrize("error", [SystemExit(2), GeneratorExit(), asyncio.CancelledError()])
def test_an_exit_in_a_body_is_an_error_and_ends_nothing(error):
    def leave() -> None:
        raise error

    outcome = sync(leave)
    assert (outcome.status, outcome.error_type) == ("error", type(error).__name__)


@pytest.mark.parametrize(("leave", "code"), [("sys.exit(3)", 3), ("sys.exit()", 0), ("1 / 0", 1), ("pass", 0)])
@pytest.mark.parametrize("is_async", [False, True])
def test_a_process_that_a_body_forks_ends_with_the_body(leave, code, is_async):
    space: dict = {"os": os, "sys": sys}
    head = "async def forks() -> int:" if is_async else "def forks() -> int:"
    exec(
        f"{head}\n    pid = os.fork()\n    if pid == 0:\n        os.close(2)\n        {leave}\n        return -1\n"
        "    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])",
        space,
    )
    pid = os.getpid()
    outcome = asyncio.run(awaited(space["forks"])) if is_async else sync(space["forks"])
    assert os.getpid() == pid
    assert (outcome.status, outcome.value) == ("ok", code)


async def test_an_exit_in_an_async_body_is_an_error_and_ends_nothing():
    async def leave() -> None:
        sys.exit(1)

    outcome = await awaited(leave)
    assert (outcome.status, outcome.error_type) == ("error", "SystemExit")


# ---------------------------------------------------------------------------------------------- it is stopped


def test_an_interrupt_in_a_body_is_stopped_and_a_late_one_timed_out():
    def work() -> None:
        raise KeyboardInterrupt

    assert sync(work).status == "stopped"
    late = run_sync(tool(work, timeout_s=2), "{}", is_late=lambda: True)
    assert (late.status, late.error) == ("timed_out", "Tool 'work' did not return within 2 s.")
    assert run_sync(tool(work), "{}", is_late=lambda: False).status == "stopped"


def test_an_interrupt_that_was_replaced_on_its_way_out_is_one():
    def cleans_up():
        try:
            raise KeyboardInterrupt
        finally:
            raise OSError("The connection is closed.")

    assert sync(cleans_up).status == "stopped"
    assert run_sync(tool(cleans_up, timeout_s=5), "{}", is_late=lambda: True).status == "timed_out"


def test_an_interrupt_that_the_caller_is_handling_is_none_of_the_body():
    def fails():
        raise OSError("No connection.")

    try:
        raise KeyboardInterrupt
    except KeyboardInterrupt:
        assert sync(fails).status == "error"


async def test_a_cancelled_or_timed_out_body_that_fails_to_clean_up_is_still_that():
    async def cleans_up():
        try:
            await asyncio.sleep(60)
        finally:
            raise OSError("The connection is closed.")

    running = asyncio.create_task(awaited(cleans_up))
    await asyncio.sleep(0)
    running.cancel()
    assert (await running).status == "stopped"
    assert (await awaited(cleans_up, timeout_s=0.01)).status == "timed_out"


def test_an_interrupt_inside_a_group_is_stopped():
    def work() -> None:
        raise BaseExceptionGroup("tasks", [ValueError("x"), KeyboardInterrupt()])

    assert sync(work).status == "stopped"


async def test_an_interrupt_in_an_async_body_does_not_reach_the_loop():
    async def work() -> None:
        raise KeyboardInterrupt

    assert (await awaited(work)).status == "stopped"


def test_a_real_sigint_stops_a_body_and_the_process_goes_on():
    code = """
import os, signal, threading, time
from hermes_nb.tools.call import run_sync
from hermes_nb.tools.decorator import tool
main = threading.main_thread().ident
def work():
    threading.Thread(target=lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    time.sleep(60)
outcome = run_sync(tool(work), "{}")
print(outcome.status, outcome.duration_ms < 10_000)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stdout == "stopped True\n", done.stderr


async def test_a_cancelled_call_is_stopped_and_the_host_can_tell():
    entered = asyncio.Event()
    cleaned = []

    async def work() -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    task = asyncio.create_task(awaited(work))
    await entered.wait()
    task.cancel()
    outcome = await task
    assert (outcome.status, cleaned, task.cancelling()) == ("stopped", [True], 1)


async def test_something_else_that_was_cancelled_is_an_error_of_the_tool():
    async def work() -> None:
        future = asyncio.get_running_loop().create_future()
        future.cancel()
        await future

    outcome = await awaited(work)
    assert (outcome.status, outcome.error_type) == ("error", "CancelledError")


async def test_an_async_tool_times_out():
    async def work() -> None:
        await asyncio.Event().wait()

    outcome = await awaited(work, timeout_s=0.01)
    assert (outcome.status, outcome.error_type) == ("timed_out", "TimeoutError")
    assert told(outcome) == {"error": "Tool 'work' did not return within 0.01 s."}


async def test_a_timeout_of_the_tools_own_is_its_error():
    async def work() -> None:
        raise TimeoutError("the database did not answer")

    outcome = await awaited(work, timeout_s=60)
    assert (outcome.status, outcome.error) == ("error", "the database did not answer")


async def test_a_timeout_covers_an_async_generator():
    async def endless():
        while True:
            yield 1
            await asyncio.Event().wait()

    outcome = await awaited(lambda: endless(), name="endless", timeout_s=0.01)
    assert outcome.status == "timed_out"


async def test_async_calls_overlap():
    both = asyncio.Barrier(2)

    async def meet() -> int:
        await both.wait()
        return 1

    outcomes = await asyncio.gather(awaited(meet, timeout_s=30), awaited(meet, timeout_s=30))
    assert [o.status for o in outcomes] == ["ok", "ok"]


def test_calls_in_threads_do_not_meet():
    both = threading.Barrier(2, timeout=30)

    def meet(n: int) -> int:
        both.wait()
        return n

    outcomes = {}
    threads = [threading.Thread(target=lambda n=n: outcomes.update({n: sync(meet, f'{{"n": {n}}}')})) for n in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {n: o.value for n, o in outcomes.items()} == {1: 1, 2: 2}


# ---------------------------------------------------------------------------------------------- any value

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**60), 2**60)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=5),
    max_leaves=20,
)


def echo(value: object) -> object:
    return {"value": value}


ECHO = tool(echo, max_result_chars=1_000_000)


@settings(max_examples=200, deadline=None)
@given(json_values)
def test_a_json_value_round_trips_through_call_and_result(value):
    outcome = run_sync(ECHO, json.dumps({"value": value}))
    assert outcome.status == "ok", outcome
    assert outcome.value == {"value": value}
    assert json.loads(outcome.content) == {"value": value}


@settings(max_examples=200, deadline=None)
@given(st.text(st.characters(codec=None)))
def test_any_arguments_text_gives_an_outcome_in_valid_utf_8(arguments):
    outcome = run_sync(ECHO, arguments)
    assert outcome.status in ("ok", "error")
    (outcome.content + outcome.error + outcome.traceback).encode("utf-8")
