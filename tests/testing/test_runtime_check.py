import asyncio
import os
import subprocess
import sys
import time

import pytest

from hermes_nb.runtimes._child import ChildPipes
from hermes_nb.runtimes.process import Process
from hermes_nb.testing import assert_runtime_conforms


@pytest.mark.hermes
async def test_the_process_runtime_conforms(tmp_path):
    await assert_runtime_conforms(Process(), tmp_path)


@pytest.fixture
def like_macos(monkeypatch):
    """Without what Linux alone tells of processes; `waitid` came to macOS with Python 3.13."""
    for name in ("pidfd_open", "waitid"):
        monkeypatch.delattr(os, name, raising=False)


@pytest.mark.hermes
@pytest.mark.usefixtures("like_macos")
async def test_the_process_runtime_conforms_where_processes_have_no_descriptor(tmp_path):
    await assert_runtime_conforms(Process(), tmp_path)


@pytest.mark.parametrize(("last", "least_s"), [("", 0.0), ("import os, time; os.close(1); time.sleep(0.3)", 0.3)])
@pytest.mark.usefixtures("like_macos")
async def test_an_end_is_told_once_it_is_one_where_processes_have_no_descriptor(last, least_s):
    """A pipe that has closed says that the end is near, not that it is there."""
    process = subprocess.Popen([sys.executable, "-c", last], stdout=subprocess.PIPE, stdin=subprocess.PIPE)
    began_s, ended = time.monotonic(), asyncio.get_running_loop().create_future()
    with process.stdout as there, process.stdin as here:
        pipes = ChildPipes(process, os.dup(there.fileno()), os.dup(here.fileno()), print, ended.set_result)
    async with asyncio.timeout(10):
        assert await ended == "it exited with status 0"
    assert time.monotonic() - began_s >= least_s
    await pipes.close()


class Broken(Process):
    """A runtime with one fault, chosen by its name."""

    fault = ""

    def to_dict(self):
        told = super().to_dict()
        return {"secret": {1, 2}} if self.fault == "set" else {"options": {}} if self.fault == "typeless" else told

    async def open(self, place, *, on_message, on_end):
        connection = await super().open(place, on_message=on_message, on_end=on_end)
        if self.fault == "mute":
            connection._on_message = lambda message: None
        if self.fault == "twice":
            connection._on_end = lambda reason: (on_end(reason), on_end(reason))
        if self.fault == "renamed":
            connection._on_message = lambda message: on_message(
                {**message, "producer": "other"} if message["kind"] == "ready" else message
            )
        return connection


def broken(fault):
    return type("Broken", (Broken,), {"fault": fault})()


@pytest.mark.parametrize(("fault", "said"), [("set", "not plain data"), ("typeless", "no 'type'")])
async def test_a_faulty_configuration_is_named(tmp_path, fault, said):
    with pytest.raises(AssertionError, match=f"Broken.*{said}"):
        await assert_runtime_conforms(broken(fault), tmp_path)


@pytest.mark.hermes
async def test_a_worker_that_says_nothing_is_named(tmp_path):
    with pytest.raises(AssertionError, match=r"Broken: no message 'ready' within 0\.2 s"):
        await assert_runtime_conforms(broken("mute"), tmp_path, start_s=0.2)


@pytest.mark.hermes
async def test_a_worker_with_another_name_is_named(tmp_path):
    with pytest.raises(AssertionError, match="another name"):
        await assert_runtime_conforms(broken("renamed"), tmp_path)


@pytest.mark.hermes
async def test_an_end_told_twice_is_named(tmp_path):
    with pytest.raises(AssertionError, match="on_end is called 2 times"):
        await assert_runtime_conforms(broken("twice"), tmp_path)
