"""Who is alive, as other kernels on the same folder see it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from hermes_nb._file_lock import is_taken
from hermes_nb.workers.liveness import KernelLease

FORK = """
import os, sys, time
from pathlib import Path
from hermes_nb._file_lock import FileLock
lock = FileLock.take(Path(sys.argv[1]))
if os.fork() == 0:
    print("child", os.getpid(), flush=True)
time.sleep(60)
"""


def test_a_forked_child_holds_no_lock_of_its_parent(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    parent = subprocess.Popen([sys.executable, "-c", FORK, str(path)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline().split()[1])
    assert is_taken(path)
    parent.kill()
    parent.wait()
    os.kill(child, 0)  # it lives
    assert not is_taken(path)
    os.kill(child, signal.SIGKILL)
    parent.stdout.close()


def test_a_killed_kernels_sign_is_seen_and_swept(tmp_path: Path) -> None:
    code = "import sys,time\nfrom pathlib import Path\nfrom hermes_nb.workers.liveness import KernelLease\n"
    code += "life = KernelLease(Path(sys.argv[1]), 'k-1')\nlife.show()\nprint('shown', flush=True)\ntime.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    mine = KernelLease(tmp_path, "k-2")
    assert mine.is_alive("k-1")
    assert not mine.is_alive("k-0")
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()
    assert not mine.is_alive("k-1")
    assert mine.show() == "k-2"
    assert [p.name for p in (tmp_path / "kernels").iterdir()] == ["k-2"]
    mine.end()
    assert list((tmp_path / "kernels").iterdir()) == []
