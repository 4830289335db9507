"""Workers forked from a process that has imported Hermes: the same as others, safe, and gone when nobody needs them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from hermes_nb.environments import discovery, template
from hermes_nb.errors import WorkerDiedError
from hermes_nb.model.agent import Model
from hermes_nb.runtimes._base import WorkerFiles
from hermes_nb.runtimes.process import Process
from hermes_nb.testing import Say, ScriptedModel

pytestmark = [
    pytest.mark.hermes,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="templates are there on Linux alone"),
]
WAIT_S = 60.0


def until(condition: Callable[[], Any], what: str, wait_s: float = WAIT_S) -> Any:
    deadline = time.monotonic() + wait_s
    while not (found := condition()):
        assert time.monotonic() < deadline, f"not within {wait_s} s: {what}"
        time.sleep(0.02)
    return found


class Template:
    """One in a folder of its own."""

    def __init__(self, idle_s: float = template.IDLE_S) -> None:
        found = discovery.find()
        assert found is not None
        self.engine = found
        self.environment = {"PYTHONUNBUFFERED": "1", **Process().worker_variables()}
        path = template.socket_path(found.interpreter, self.environment)
        assert path is not None
        self.path = path
        self.idle_s = idle_s

    def start(self) -> Template:
        self.path.unlink(missing_ok=True)  # of one that was killed
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(template, "IDLE_S", self.idle_s)
            assert template.start(self.path, self.engine, self.environment)
        until(self.path.exists, f"the socket; {self.path.with_suffix('.log').read_text()}")
        return self

    @property
    def process(self) -> psutil.Process:
        (found,) = (
            p for p in psutil.process_iter() if str(self.path) in _command(p) and p.ppid() == 1
        )  # its workers look like it
        return found

    def end(self) -> None:
        for process in [p for p in psutil.process_iter() if str(self.path) in _command(p)]:
            process.kill()


def _command(process: psutil.Process) -> list[str]:
    try:
        return list(process.cmdline())
    except psutil.Error:  # it has just ended
        return []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    tmp_path_factory.getbasetemp()  # not below what is patched here
    # A socket's address is short: the test's own folder may not be.
    with tempfile.TemporaryDirectory(prefix="hnt-") as name, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", name)
        yield Path(name)


@pytest.fixture(scope="module")
def shared(folder: Path) -> Iterator[Template]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OPENAI_API_KEY", "sk-of-the-kernel-0123456789abcdef")
        made = Template().start()
    yield made
    made.end()


class Worker:
    """A worker of the Process runtime, with all that it said."""

    def __init__(self, folder: Path) -> None:
        self.files = WorkerFiles("w-1", folder / "home", folder / "journal.db", folder / "log", folder)
        self.messages: list[dict[str, Any]] = []
        self.ends: list[str] = []
        self._said = asyncio.Event()

    async def open(self, runtime: Process | None = None) -> Worker:
        self.files.working_dir.mkdir(parents=True, exist_ok=True)
        self.connection: Any = await (runtime or Process()).open(self.files, on_message=self._on, on_end=self.ends.append)
        return self

    def _on(self, message: dict[str, Any]) -> None:
        self.messages.append(message)
        self._said.set()

    async def said(self, kind: str) -> dict[str, Any]:
        async with asyncio.timeout(WAIT_S):
            while not (found := [m for m in self.messages if m["kind"] == kind]):
                self._said.clear()
                await self._said.wait()
        return found[-1]

    async def ask(self, model: Model) -> dict[str, Any]:
        told = {"id": model.id, "provider": model.provider, "base_url": model.base_url, "api_key": "none"}
        self.connection.send("bind", agent_id="a", agent={"name": "a", "model": told, "toolsets": ["skills"]})
        self.connection.send("turn.start", turn_id="t-1", session_id="s-1", agent_id="a", prompt="Hello", history=[])
        return await self.said("turn.done")

    @property
    def is_forked(self) -> bool:
        return isinstance(self.connection._process, template.ForkedWorker)


async def test_a_forked_worker_is_what_a_new_one_is(
    shared: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[bool, dict[str, Any]] = {}
    for is_forked in (True, False):
        if not is_forked:
            monkeypatch.setenv("HERMES_NB_TEMPLATE", "0")
        with ScriptedModel([Say("Hello.")]) as model:
            worker = await Worker(tmp_path / f"place-{is_forked}").open()
            assert worker.is_forked is is_forked
            done = await worker.ask(model.model)
            assert done["status"] == "completed", done
            (request,) = model.requests
            process = psutil.Process(worker.connection.pid)
            text = json.dumps(request.body).replace(f"place-{is_forked}", "place")
            ready = {k: v for k, v in (await worker.said("ready")).items() if k not in ("pid", "at_unix_s")}
            status = dict(line.split(":\t", 1) for line in Path(f"/proc/{process.pid}/status").read_text().splitlines())
            seen[is_forked] = {
                "request": text,
                "ready": ready,
                "cwd": process.cwd().replace(f"place-{is_forked}", "place"),
                "session": os.getsid(process.pid) == process.pid,
                "descriptors": sorted(process.open_files()) == [],
                "signals": [status[name] for name in ("SigBlk", "SigIgn", "SigCgt", "Umask")],
                "files": sorted(p.relative_to(worker.files.home).as_posix() for p in worker.files.home.rglob("*.*")),
                "home": str(shared.path.parent) not in (tmp_path / f"place-{is_forked}" / "log").read_text(),
            }
            await worker.connection.close()
    assert seen[True] == seen[False]
    assert shared.path.stem not in seen[True]["request"]


async def test_it_answers_in_a_fraction_of_the_time(
    shared: Template, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cpu_s = {}
    for is_forked in (True, False):
        if not is_forked:
            monkeypatch.setenv("HERMES_NB_TEMPLATE", "0")
        with ScriptedModel([Say("Hello.")]) as model:
            worker = await Worker(tmp_path / f"{is_forked}").open()
            await worker.ask(model.model)
            times = psutil.Process(worker.connection.pid).cpu_times()
            cpu_s[is_forked] = times.user + times.system
            await worker.connection.close()
    assert cpu_s[True] < cpu_s[False] / 3, cpu_s


def test_the_template_has_no_key_and_one_thread(shared: Template) -> None:
    process = shared.process
    assert process.num_threads() == 1
    assert "OPENAI_API_KEY" not in process.environ()
    assert "sk-of-the-kernel" not in str(process.environ())
    assert [c.status for c in process.net_connections("inet")] == []
    assert shared.path.stat().st_mode & 0o777 == 0o600
    assert shared.path.parent.stat().st_mode & 0o777 == 0o700


async def test_a_worker_that_is_killed_is_told_as_others_are_and_leaves_nothing(shared: Template, tmp_path: Path) -> None:
    worker = await Worker(tmp_path).open()
    assert worker.is_forked
    await worker.said("ready")
    pid = worker.connection.pid
    os.kill(pid, signal.SIGKILL)
    async with asyncio.timeout(WAIT_S):
        await worker.connection._watcher
    assert worker.ends == ["it was killed by SIGKILL"]
    assert not psutil.pid_exists(pid)
    with pytest.raises(WorkerDiedError):
        worker.connection.send("shutdown")


async def test_closing_ends_it_and_the_template_stays(shared: Template, tmp_path: Path) -> None:
    worker = await Worker(tmp_path).open()
    await worker.said("ready")
    pid = worker.connection.pid
    await worker.connection.close()
    assert worker.ends == ["it exited with status 0"]
    assert not psutil.pid_exists(pid)
    assert shared.process.children() == []


async def test_a_worker_with_variables_of_its_own_is_not_forked(shared: Template, tmp_path: Path) -> None:
    worker = await Worker(tmp_path).open(Process(options={"environment": {"MY_API_KEY": "sk-mine-0123456789abcdef"}}))
    try:
        assert not worker.is_forked
    finally:
        await worker.connection.close()


def test_other_variables_another_interpreter_another_umask_are_another_template(
    shared: Template, monkeypatch: pytest.MonkeyPatch
) -> None:
    interpreter = shared.engine.interpreter
    changed = template.socket_path(interpreter, {**shared.environment, "TZ": "Asia/Tokyo"})
    old = os.umask(0o007)
    try:
        masked = template.socket_path(interpreter, shared.environment)
    finally:
        os.umask(old)
    assert len({shared.path, changed, masked}) == 3
    assert template.socket_path(interpreter, {**shared.environment, "HERMES_HOME": "/x"}) == shared.path
    monkeypatch.setenv("HERMES_NB_TEMPLATE", "no")
    assert template.socket_path(interpreter, shared.environment) is None


def test_a_folder_that_others_can_enter_is_not_used(shared: Template) -> None:
    shared.path.parent.chmod(0o755)
    try:
        assert template.socket_path(shared.engine.interpreter, shared.environment) is None
    finally:
        shared.path.parent.chmod(0o700)


def test_only_one_is_started_and_little_memory_starts_none(shared: Template, monkeypatch: pytest.MonkeyPatch) -> None:
    assert not template.start(shared.path, shared.engine, shared.environment)
    other = shared.path.with_name("other.sock")
    monkeypatch.setattr(template, "_free_bytes", lambda: 999_999_999)
    assert not template.start(other, shared.engine, shared.environment)
    assert not other.exists()


async def test_a_template_that_is_killed_takes_no_worker_along_and_is_made_again(shared: Template, tmp_path: Path) -> None:
    with ScriptedModel([Say("Hello.")]) as model:
        worker = await Worker(tmp_path / "a").open()
        assert worker.is_forked
        shared.process.kill()
        assert (await worker.ask(model.model))["status"] == "completed"
        second = await Worker(tmp_path / "b").open()  # its socket is still there, and nobody behind it
        assert not second.is_forked
        await second.connection.close()
        await worker.connection.close()
        assert len(worker.ends) == 1
    until(lambda: not psutil.pid_exists(worker.connection.pid), "the worker's end")
    shared.start()
    third = await Worker(tmp_path / "c").open()
    assert third.is_forked
    await third.connection.close()


async def test_a_worker_ends_with_its_kernel(shared: Template, tmp_path: Path) -> None:
    script = (
        "import asyncio, os, sys, tempfile\nfrom pathlib import Path\n"
        f"tempfile.tempdir = {str(shared.path.parents[1])!r}\n"
        "from hermes_nb.runtimes._base import WorkerFiles\nfrom hermes_nb.runtimes.process import Process\n"
        "async def main():\n"
        f"    place = Path({str(tmp_path)!r})\n"
        "    files = WorkerFiles('w', place / 'home', place / 'j.db', place / 'log', place)\n"
        "    connection = await Process().open(files, on_message=lambda m: None, on_end=print)\n"
        "    print(connection.pid, type(connection._process).__name__, flush=True)\n"
        "    if not os.fork():\n"  # a child that still holds the pipe
        "        os.close(0); os.close(1); os.close(2)\n        import time\n        time.sleep(30)\n        os._exit(0)\n"
        "    await asyncio.sleep(60)\n"
        "asyncio.run(main())\n"
    )
    kernel = await asyncio.create_subprocess_exec(sys.executable, "-c", script, stdout=asyncio.subprocess.PIPE)
    assert kernel.stdout is not None
    pid, kind = (await kernel.stdout.readline()).decode().split()
    assert kind == "ForkedWorker"
    kernel.kill()
    await kernel.wait()
    until(lambda: not psutil.pid_exists(int(pid)), "the worker's end", 5)
    for left in psutil.process_iter():
        if str(tmp_path) in " ".join(_command(left)):
            left.kill()


def test_it_ends_when_nobody_asks_it(folder: Path) -> None:
    made = Template(idle_s=0.2)
    made.path = made.path.with_name("idle.sock")
    made.start()
    until(lambda: not made.path.exists(), "its end", 10)
    until(lambda: not [p for p in psutil.process_iter() if str(made.path) in _command(p)], "its end", 10)
    assert [path.suffix for path in folder.glob("*/idle.*") if path.is_dir()] == []
