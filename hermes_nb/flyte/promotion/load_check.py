"""Whether each tool can be read where nothing of the notebook is: tried in an interpreter of its own.

What cloudpickle takes by name is found in the kernel and missing in a task (a C object of `__main__`, a function that was
wrapped, a module that nobody has there), and the model would be the first to hear of it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import pickle
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

from hermes_nb.flyte.promotion.dependency_scan import site_of
from hermes_nb.flyte.promotion.finding import Finding
from hermes_nb.flyte.promotion.plan import Plan

TIMEOUT_S = 30.0
# Told on the descriptor that stdout was; what a module prints when it is imported goes nowhere. `__main__` is empty there.
_CHILD = """
import json, os, pickle, sys, types, zipfile
told = os.fdopen(os.dup(1), "w")
sys.stdout = sys.stderr
sys.modules["__main__"] = types.ModuleType("__main__")
try:
    import cloudpickle, hermes_nb.tools.decorator
except ImportError:
    pass
order = pickle.load(sys.stdin.buffer)
zipfile.ZipFile(order["code"]).extractall(order["folder"])
sys.path.append(order["folder"])
for name, data in order["tools"].items():
    try:
        pickle.loads(data)
        error = None
    except BaseException as exc:
        error = [type(exc).__name__, str(exc)]
    print(json.dumps([name, error]), file=told, flush=True)
"""


_read = set[str]()  # what was read without a fault in this process is not read again


class LoadCheck:
    """An interpreter that waits for tools to read; started early, because it takes its time to import what it needs."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="hermes-nb-load-", ignore_cleanup_errors=True)
        self._child = subprocess.Popen(
            [sys.executable, "-P", "-c", _CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=self._folder.name,
        )

    def __enter__(self) -> LoadCheck:
        return self

    def __exit__(self, *exc: object) -> None:
        self._child.kill()
        with contextlib.suppress(OSError):
            self._child.communicate()
        self._folder.cleanup()

    def findings(self, plan: Plan) -> Iterator[Finding]:
        """What can't be read there, for each tool that has a pickle."""
        if not plan.pickles:
            return
        key = _digest(plan)
        if key in _read:
            return
        code = Path(self._folder.name, "code.zip")
        code.write_bytes(plan.bundle.code)
        order = {"code": str(code), "folder": str(Path(self._folder.name, "code")), "tools": plan.pickles}
        late = threading.Timer(TIMEOUT_S, self._child.kill)
        late.start()
        try:
            out, _ = self._child.communicate(pickle.dumps(order))
        finally:
            is_late = not late.is_alive()
            late.cancel()
        told = dict(json.loads(line) for line in out.decode().splitlines())
        if told == dict.fromkeys(plan.pickles):
            _read.add(key)
        missing = any(f.code == "missing-module" for f in plan.findings)
        for name in plan.pickles:
            site = site_of(plan.tools[name].function, name)
            if name not in told:
                what = f"was not read within {TIMEOUT_S:g} s" if is_late else "ended the interpreter that read it"
                yield Finding(
                    "unreadable",
                    f"It {what} outside of this kernel, where nothing of the notebook is.",
                    "Move what is slow or fragile at its import into the function.",
                    site,
                    is_fatal=not is_late,
                )
                return
            if told[name] is None or (missing and told[name][0] == "ModuleNotFoundError"):
                continue
            kind, text = told[name]
            yield Finding(
                "unreadable",
                f"It can't be read where nothing of the notebook is: {kind}: {text}.",
                "Put what is named there into a .py file of yours and import it, or make it inside the function.",
                site,
            )


def _digest(plan: Plan) -> str:
    found = hashlib.sha256(plan.bundle.code)
    for name, data in plan.pickles.items():
        found.update(f"{name} {len(data)} ".encode() + data)
    return found.hexdigest()
