"""Who is alive, as other kernels on the same folder see it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path

from hermes_nb.sessions.file_lock import FileLock, is_taken
from hermes_nb.sessions.life import Life


def test_a_forked_child_holds_no_lock_of_its_parent(tmp_path: Path) -> None:
    lock = FileLock.take(tmp_path / "lock")
    assert lock is not None
    pause = multiprocessing.get_context("fork").Event()
    child = multiprocessing.get_context("fork").Process(target=pause.wait, daemon=True)
    child.start()
    assert is_taken(tmp_path / "lock")
    lock.release()
    assert not is_taken(tmp_path / "lock")  # though the child lives
    pause.set()
    child.join()


def test_a_killed_kernels_sign_is_seen_and_swept(tmp_path: Path) -> None:
    code = "import sys,time\nfrom pathlib import Path\nfrom hermes_nb.sessions.life import Life\n"
    code += "life = Life(Path(sys.argv[1]), 'k-1')\nlife.show()\nprint('shown', flush=True)\ntime.sleep(60)"
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    process.stdout.readline()
    mine = Life(tmp_path, "k-2")
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
