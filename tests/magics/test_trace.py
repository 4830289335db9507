"""What a notebook's debugging and profiling tools see of a turn, and what a turn leaves behind in the kernel: nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.magics.conftest import Asked, called
from tests.magics.kernel import Cell, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]

KINDS = ["plain", "awaiting", "threaded"]
ENDS = {"works": "ok", "fails": "error", "is_late": "timed_out", "sleeps": "stopped"}
TOOLS = '''
import asyncio, builtins, cProfile, decimal, gc, getpass, locale, logging, os, pstats, signal, socket, sys, threading, time
import tracemalloc, warnings
import matplotlib.pyplot, matplotlib.units, numpy

def work(n):
    total = 0
    for i in range(n):
        total += i
    return total

@tool
def plain_works(n: int = 100) -> str:
    "W."
    return str(work(n))

@tool
async def awaiting_works(n: int = 100) -> str:
    "W."
    await asyncio.sleep(0)
    return str(work(n))

@tool(parallel=True)
def threaded_works(n: int = 100) -> str:
    "W."
    return str(work(n))

@tool
def plain_fails() -> str:
    "F."
    raise ValueError("no")

@tool
async def awaiting_fails() -> str:
    "F."
    raise ValueError("no")

@tool(parallel=True)
def threaded_fails() -> str:
    "F."
    raise ValueError("no")

def naps():
    print("it sleeps", flush=True)
    for _ in range(3000):
        time.sleep(0.01)

async def anaps():
    print("it sleeps", flush=True)
    await asyncio.sleep(30)

plain_sleeps, threaded_sleeps = tool(naps, name="plain_sleeps"), tool(naps, name="threaded_sleeps", parallel=True)
awaiting_sleeps = tool(anaps, name="awaiting_sleeps")
plain_is_late = tool(naps, name="plain_is_late", timeout_s=0.05)
threaded_is_late = tool(naps, name="threaded_is_late", parallel=True, timeout_s=0.05)
awaiting_is_late = tool(anaps, name="awaiting_is_late", timeout_s=0.05)

def loop_s():
    """Seconds of a pure Python loop with calls; the best of some."""
    def call(i):
        return i
    def once():
        began_s = time.perf_counter()
        for i in range(20_000):
            call(i)
        return time.perf_counter() - began_s
    return min(once() for _ in range(9))

def state():
    """Everything global that a turn could have changed, by name, as text."""
    shell, loop = get_ipython(), asyncio.get_event_loop()
    names = "stdout stderr stdin displayhook excepthook unraisablehook breakpointhook path meta_path path_hooks"
    found = {f"sys.{name}": getattr(sys, name) for name in names.split()}
    found |= {f"signal {number}": signal.getsignal(number) for number in signal.valid_signals()}
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)
    umask = os.umask(0)
    os.umask(umask)
    root = logging.root
    set_up = {n: (g.level, g.handlers, g.propagate) for n, g in root.manager.loggerDict.items() if hasattr(g, "handlers")}
    found |= {
        "wakeup": wakeup, "umask": umask, "cwd": os.getcwd(), "environ": dict(os.environ), "warnings": warnings.filters,
        "mask of signals": signal.pthread_sigmask(signal.SIG_BLOCK, []), "showwarning": warnings.showwarning,
        "timers": [signal.getitimer(which)[0] for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)],
        "tracing": (sys.gettrace(), sys.getprofile(), threading.gettrace(), threading.getprofile()),
        "tracemalloc": tracemalloc.is_tracing(),
        "threading.excepthook": threading.excepthook, "root logger": (root.handlers, root.level, root.manager.disable),
        "loggers": {name: one for name, one in set_up.items() if one[0] or one[1]},
        "asyncio": (type(asyncio.get_event_loop_policy()), loop, loop.get_debug(), loop.get_exception_handler()),
        "decimal": decimal.getcontext(), "locale": locale.setlocale(locale.LC_ALL), "socket": socket.getdefaulttimeout(),
        "rcParams": dict(matplotlib.rcParams), "units": sorted(map(str, matplotlib.units.registry)),
        "backend": matplotlib.get_backend(), "figures": matplotlib.pyplot.get_fignums(), "numpy": numpy.geterr(),
        "builtins": {**vars(builtins), "_": None},
        "asking": (getpass.getpass, shell.kernel._sys_raw_input, shell.kernel._save_getpass),
        "gc": (gc.isenabled(), gc.get_threshold(), gc.callbacks),
        "switchinterval": sys.getswitchinterval(), "recursionlimit": sys.getrecursionlimit(),
        "events": {name: list(calls) for name, calls in shell.events.callbacks.items()},
        "display hooks": shell.display_pub._hooks, "display_pub": shell.display_pub, "custom_tb": shell.custom_exceptions,
        "transformers": (shell.input_transformers_cleanup, shell.input_transformers_post, shell.ast_transformers),
        "formatters": {mime: list(one.type_printers) for mime, one in shell.display_formatter.formatters.items()},
        "magics": sorted(shell.magics_manager.magics["line"]) + sorted(shell.magics_manager.magics["cell"]),
        "names": sorted(name for name in shell.user_ns if not name.startswith("_")),
    }
    return {name: repr(value) for name, value in found.items()}

def counts():
    children = open(f"/proc/self/task/{os.getpid()}/children").read().split() if os.path.exists("/proc/self/task") else []
    return {"threads": threading.active_count(), "files": len(os.listdir("/dev/fd")), "children": len(children)}
'''


@pytest.fixture(scope="module")
def module_traced(module_kernel: Kernel, module_model: Asked) -> Kernel:
    module_kernel.ok(TOOLS)
    names = ", ".join(f"{kind}_{end}" for kind in KINDS for end in ENDS)
    module_kernel.ok(f"worker = Agent('worker', model=model, tools=[{names}])")
    module_kernel.ok("other = Agent('other', model=model, tools=[plain_works, threaded_works])")
    module_kernel.ok("%hermes agent other -o blocking")
    module_kernel.ok("%hermes agent worker --default -o bound")
    module_model.answer = called
    turn(module_kernel, "plain_works")  # the names that a cell of a turn has, the store's and the timer's threads
    return module_kernel


@pytest.fixture
def traced(module_traced: Kernel, model: Asked) -> Kernel:
    """The module's kernel: the model calls the tool that the question names."""
    model.answer = called
    return module_traced


def turn(kernel: Kernel, name: str) -> Cell:
    """A turn whose tool ends as its name says."""
    cell = kernel.start(f"%%hermes run -s new -o answer\n{name}")
    if name.endswith("sleeps"):
        kernel.until(lambda: "it sleeps" in cell.out)
        kernel.interrupt()
    return kernel.finish(cell)


@pytest.fixture(scope="module")
def thirty_turns(module_traced: Kernel, module_model: Asked) -> dict[str, Any]:
    """Turns with tools of all kinds and all ends; what changed with each end, and how threads, files and times grew."""
    kernel, module_model.answer = module_traced, called
    turn(kernel, "plain_sleeps")
    kernel.ok("before = after = n_before = before_s = None")
    kernel.ok("before, n_before, before_s = state(), counts(), loop_s()")
    changed, statuses = {}, []
    for kind in KINDS:
        for end in ENDS:
            turn(kernel, f"{kind}_{end}")
            statuses.append(kernel.value("answer.tools[0].status"))
            kernel.ok("after = state()")
            changed[kind, end] = kernel.value("{n: [before[n], after[n]] for n in after if before[n] != after[n]}")
    for kind in KINDS * 6:
        turn(kernel, f"{kind}_works")
    more = kernel.value("{name: n - n_before[name] for name, n in counts().items()}")
    assert statuses == list(ENDS.values()) * 3
    return {"changed": changed, "more": more, "slower": kernel.value("loop_s() / before_s")}


def test_turns_leave_the_kernel_as_it_was(thirty_turns: dict[str, Any]) -> None:
    """What a failed tool leaves on purpose is `sys.last_value`, for `%debug`."""
    assert {how: what for how, what in thirty_turns["changed"].items() if what} == {}


def test_turns_leave_no_thread_file_or_process(thirty_turns: dict[str, Any]) -> None:
    """But for the sockets of threads that have printed, which ipykernel closes some seconds after their end."""
    more = thirty_turns["more"]
    assert more["threads"] <= 1
    assert more["files"] <= 6
    assert more["children"] == 0


def test_a_loop_is_as_fast_after_turns_as_before(thirty_turns: dict[str, Any]) -> None:
    assert thirty_turns["slower"] < 1.5


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", ["trace", "profile"])
def test_a_function_that_watches_sees_the_tool_and_stays(traced: Kernel, kind: str, way: str) -> None:
    """Set before the turn, in the thread and for new threads; it is there after it, and taken away as easily."""
    traced.ok(f"""
seen = []
def watch(frame, event, value):
    seen.append(frame.f_code.co_name)
threading.set{way}(watch)
sys.set{way}(watch)
result = await bound.run("{kind}_works")
stayed = [sys.get{way}() is watch, threading.get{way}() is watch]
sys.set{way}(None)
threading.set{way}(None)
""")
    assert traced.value("[result.text, stayed, 'work' in seen]") == ["Got: 4950", [True, True], True]
    turn(traced, f"{kind}_works")
    assert traced.value("[answer.text, sys.gettrace(), sys.getprofile()]") == ["Got: 4950", None, None]


def test_a_function_that_watches_may_be_set_in_one_cell_and_removed_in_another(traced: Kernel) -> None:
    traced.ok("sys.settrace(watch)")
    for kind in KINDS:
        turn(traced, f"{kind}_works")
    assert traced.value("[answer.text, sys.gettrace() is watch]") == ["Got: 4950", True]
    traced.ok("sys.settrace(None)")


@pytest.mark.parametrize("kind", ["plain", "awaiting"])
def test_a_profile_of_an_awaited_turn_has_the_tool(traced: Kernel, kind: str) -> None:
    traced.ok(f"""
profile = cProfile.Profile()
with profile:
    result = await bound.run("{kind}_works")
calls = {{name: found[0] for (_, _, name), found in pstats.Stats(profile).stats.items()}}
""")
    n_steps = 1 if kind == "plain" else 2
    assert traced.value(f"[result.text, calls['work'], calls['{kind}_works']]") == ["Got: 4950", 1, n_steps]


MEASURED = {
    "%%time": ("%%time\n%hermes run -s new -a other -o answer {}", "Wall time"),
    "%time": ("%time answer = blocking.run_sync({!r})", "Wall time"),
    "%%timeit": ("%%timeit -n1 -r2\nglobals()['answer'] = blocking.run_sync({!r})", "2 runs, 1 loop each"),
    "%%prun": ("%%prun -T prun.txt\nanswer = blocking.run_sync({!r})", "prun.txt"),
    "%%capture": ("%%capture captured\n%hermes run -s new -a other -o answer {}", ""),
}


@pytest.mark.parametrize(("magic", "kind"), [*((magic, "plain") for magic in MEASURED), ("%%prun", "threaded")])
def test_a_turn_is_measured_by_a_magic(traced: Kernel, magic: str, kind: str) -> None:
    source, said = MEASURED[magic]
    traced.ok("answer = None")
    cell = traced.ok(source.format(f"{kind}_works"))
    assert said in cell.out
    assert traced.value("[answer.text, sys.gettrace(), sys.getprofile()]") == ["Got: 4950", None, None]
    if magic == "%%prun" and kind == "plain":
        assert "(work)" in (traced.folder / "prun.txt").read_text()
    if magic == "%%capture":
        assert cell.shown == []
        assert "Got: 4950" in traced.ok("captured.show()").text
