"""However a worker, a kernel or a notebook ends: nothing of it is left, nothing shown is lost, the next run works."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from hermes_nb.testing import Call, Hang, Say
from tests.magics.conftest import SETUP, Asked
from tests.magics.kernel import PROJECT, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes]


@pytest.fixture
def own(tmp_path: Path, model: Asked) -> Iterator[Kernel]:
    """A fresh kernel with `analyst` bound."""
    kernel = _opened(tmp_path, model)
    try:
        yield kernel
    finally:
        kernel.close()


def _opened(folder: Path, model: Asked) -> Kernel:
    temporary = folder / "tmp"
    temporary.mkdir(exist_ok=True)
    kernel = Kernel(folder, {"TMPDIR": str(temporary)})
    kernel.ok(SETUP.format(url=model.scripted.base_url) + "\n%hermes agent analyst")
    return kernel


def _worker(kernel: Kernel) -> psutil.Process:
    (found,) = psutil.Process(kernel.value("__import__('os').getpid()")).children()
    return found


def _is_gone(process: psutil.Process) -> bool:
    """Ended; where nobody reaps what lost its parent, a zombie counts."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def test_a_killed_worker_is_one_line_and_the_next_run_works(own: Kernel, model: Asked) -> None:
    model.answer = lambda request: Hang("Once upon ", "a time.")
    worker = _worker(own)
    cell = own.start("%hermes run -o answer Tell me")
    own.until(lambda: "Once upon" in cell.text)
    worker.kill()
    own.finish(cell)
    assert cell.reply["ename"] == "TurnFailedError"
    assert cell.error is not None
    assert len(cell.error["traceback"]) == 1
    assert "killed by SIGKILL" in cell.reply["evalue"]
    assert "Once upon" in cell.text
    assert own.value("[answer.status, answer.text.strip()]") == ["failed", "Once upon"]
    model.answer = None
    assert "You said: again" in own.ok("%hermes run again").text


@pytest.mark.parametrize("where", ["idle", "streaming", "in a tool"])
def test_a_killed_kernel_leaves_no_worker(own: Kernel, model: Asked, where: str) -> None:
    worker = _worker(own)
    own.ok("%hermes run warm up")
    if where == "streaming":
        model.answer = lambda request: Hang("Once upon ", "a time.")
        cell = own.start("%hermes run Tell me")
        own.until(lambda: "Once upon" in cell.text)
    elif where == "in a tool":
        model.answer = lambda request: Call("sleepy", {"seconds": 60})
        cell = own.start("%hermes run Sleep")
        own.until(lambda: "sleepy" in cell.text)
    os.kill(worker.ppid(), 9)
    began_s = time.monotonic()
    while not _is_gone(worker):
        assert time.monotonic() - began_s < 1.0
        time.sleep(0.01)


def test_a_restarted_kernel_finds_its_sessions(tmp_path: Path, model: Asked) -> None:
    kernel = _opened(tmp_path, model)
    try:
        kernel.ok("%hermes run -o answer My name is Ada")
        session_id = kernel.value("answer.session_id")
        model.answer = lambda request: Hang("Half ", "of it.")
        cell = kernel.start("%hermes run Tell me")
        kernel.until(lambda: "Half" in cell.text)
        kernel.manager.restart_kernel(now=True)  # in the middle of a turn
        kernel.client.wait_for_ready(timeout=60)
        model.answer = None
        kernel.ok(SETUP.format(url=model.scripted.base_url) + "\n%hermes agent analyst")
        assert session_id in kernel.ok("%hermes sessions").text
        kernel.ok("from hermes_nb.magics import context\nbound = context(get_ipython()).agents['analyst']")
        kernel.ok(f"await bound.open_session({session_id!r})")
        kernel.ok("%hermes run What is my name?")
        said = [m["content"] for m in model.scripted.requests[-1].messages if m["role"] == "user"]
        assert said[0] == "My name is Ada"
        assert said[-1] == "What is my name?"
    finally:
        kernel.close()


# Threads, descriptors (without the kernel's own event pipes, one per thread that ever printed) and temporary files.
LEFT = """
import collections, os, tempfile, threading
def left():
    links = [os.readlink(f"/proc/self/fd/{n}") for n in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{n}")]
    kinds = collections.Counter(link.split(":[")[0] if link[0] != "a" else link for link in links)
    kinds.pop("anon_inode:[eventfd]", None)
    return [sorted(t.name for t in threading.enumerate()), sorted(kinds.items()), sorted(os.listdir(tempfile.gettempdir()))]
"""


def test_nothing_is_left_after_the_extension_is_unloaded(own: Kernel, model: Asked) -> None:
    own.ok(LEFT)
    own.ok("%unload_ext hermes_nb")
    before = own.value("left()")
    own.ok(SETUP.format(url=model.scripted.base_url))
    steps = iter([Call("add", {"a": 1, "b": 2}), Say("3"), Hang("x ", "y")])
    model.answer = lambda request: next(steps)
    own.ok("%hermes run add")
    own.ok("%hermes run --background and hang")
    worker = _worker(own)
    own.ok("%unload_ext hermes_nb")
    assert _is_gone(worker)
    assert own.value("left()") == before


def test_two_notebooks_in_one_folder_do_not_meet(own: Kernel, tmp_path: Path, model: Asked) -> None:
    other = _opened(tmp_path, model)
    try:
        own.ok("%hermes run -o answer from the first")
        other.ok("%hermes run -o answer from the second")
        ids = [own.value("answer.session_id"), other.value("answer.session_id")]
        assert ids[0] != ids[1]
        for kernel in (own, other):
            text = kernel.ok("%hermes sessions").text
            assert all(session_id in text for session_id in ids)
        assert "You said: once more" in own.ok("%hermes run once more").text
        assert sorted(p.name for p in (tmp_path / ".hermes-nb" / "instances").iterdir()) == ["default", "default-2"]
    finally:
        other.close()


# -- the same text everywhere ----------------------------------------------------------------------------------------
SCRIPT = """
import sys
from hermes_nb import Agent, Hermes, Model, tool

@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    return a + b

model = Model("scripted", "custom", base_url=sys.argv[1], api_key="sk-scripted-0123456789abcdef")
hermes = Hermes.open_local()
print(hermes.bind(Agent("analyst", model=model, tools=[add])).run_sync("What is 1 + 2?", show={show}))
hermes.close()
"""


def _same(text: str) -> list[str]:
    """The lines of a turn, without durations and ids."""
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]|In \[\d+\]: ", "", text).replace("\r", "")
    text = re.sub(r"[\d.]+ m?s\b", "_ s", re.sub(r"\b[st]-[0-9a-f]{10}", "_", text))
    lines = [line.rstrip() for line in text.splitlines()]
    return lines[next(n for n, line in enumerate(lines) if line.startswith("✓ add(a=1, b=2)")) :]


def test_a_script_a_terminal_and_a_kernel_give_the_same_text(tmp_path: Path, model: Asked) -> None:
    def again() -> None:
        steps = iter([Call("add", {"a": 1, "b": 2}), Say("It is **3**.")])
        model.answer = lambda request: next(steps)

    url = model.scripted.base_url
    environment = {**os.environ, "PYTHONPATH": str(PROJECT), "IPYTHONDIR": str(tmp_path / ".ipython")}
    texts = []
    for show in (True, False):
        again()
        (tmp_path / "script.py").write_text(SCRIPT.format(show=show), encoding="utf-8")
        command = [sys.executable, "script.py", url]
        ran = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60, check=True)
        shown = _same(ran.stdout)
        texts.append(shown[: len(shown) // 2] if show else shown)
    again()
    setup = SETUP.format(url=url).replace("%load_ext hermes_nb\n", "")
    lines = ["%load_ext hermes_nb", "%run setup.py", "analyst.tools = [add]"]
    lines += ["%hermes run -a analyst What is 1 + 2?", "exit"]
    (tmp_path / "setup.py").write_text(setup.replace('    print("adding", a, b)\n', ""), encoding="utf-8")
    ran = subprocess.run(
        [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--colors=nocolor"],
        cwd=tmp_path,
        input="\n".join(lines) + "\n",
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    texts.append(_same(ran.stdout.partition("\nIn [5]")[0]))
    kernel = Kernel(tmp_path)
    try:
        kernel.ok(SETUP.format(url=url).replace('    print("adding", a, b)\n', "") + "analyst.tools = [add]")
        again()
        texts.append(_same(kernel.ok("%hermes run -a analyst What is 1 + 2?").text))
    finally:
        kernel.close()
    assert "It is **3**." in texts[-1]
    for text in texts[:-1]:
        assert [line for line in text if line] == [line for line in texts[-1] if line], json.dumps(texts, indent=1)
