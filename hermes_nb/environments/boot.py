"""Starts a worker in an interpreter that has no hermes_nb: `python -P -c BOOT ARGUMENTS`.

Standard input and output are the wire. The first line read is `{"size": bytes, "sha256": hex, "magic": hex, "entry":
module, "environment": variables}`, then comes the archive (see `source`). It is checked and put into an importer that reads
it from memory. The engine then runs on copies of the two descriptors; what is printed goes to standard error. No file is
written and nothing is installed.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from typing import Any

from hermes_nb.environments import source

# Runs on any Python 3.9 or newer, to be able to say that it is too old.
BOOT = """\
import sys, os
def _boot():
    import hashlib, importlib, importlib.abc, importlib.util, io, json, marshal, zipfile
    def take(n):
        parts = []
        while n:
            part = os.read(0, min(n, 1 << 16))
            if not part: os._exit(3)
            parts.append(part); n -= len(part)
        return b"".join(parts)
    head = b""
    while not head.endswith(b"\\n"): head += take(1)
    told = json.loads(head); data = take(told["size"]); os.environ.update(told.get("environment") or {})
    if hashlib.sha256(data).hexdigest() != told["sha256"]: sys.exit("hermes_nb: the engine was damaged on its way")
    if sys.version_info < (3, 11): sys.exit("hermes_nb: Python 3.11 or newer is needed, this is " + sys.version.split()[0])
    packed = zipfile.ZipFile(io.BytesIO(data)); names = set(packed.namelist())
    has_code = told["magic"] == importlib.util.MAGIC_NUMBER.hex()
    class Engine(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
        def _place(self, name):
            path = name.replace(".", "/")
            return path + "/__init__.py" if path + "/__init__.py" in names else path + ".py"
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] != "hermes_nb" or self._place(name) not in names: return None
            place = self._place(name)
            is_package = place.endswith("/__init__.py")
            return importlib.util.spec_from_loader(name, self, origin="engine:" + place, is_package=is_package)
        def is_package(self, name): return self._place(name).endswith("/__init__.py")
        def get_source(self, name): return packed.read(self._place(name)).decode()
        def get_code(self, name):
            place = self._place(name)
            if has_code and place + "c" in names: return marshal.loads(packed.read(place + "c"))
            return compile(packed.read(place), "engine:" + place, "exec", dont_inherit=True)
    sys.meta_path.insert(0, Engine())
    reads, writes = os.dup(0), os.dup(1)
    null = os.open(os.devnull, os.O_RDONLY); os.dup2(null, 0); os.close(null); os.dup2(2, 1)
    os.set_inheritable(reads, False); os.set_inheritable(writes, False)
    main = importlib.import_module(told["entry"]).main
    sys.exit(main(["--read-fd", str(reads), "--write-fd", str(writes), *sys.argv[1:]]))
_boot()
"""


WORKER = "hermes_nb.engine.__main__"


def preamble(*, python: tuple[int, int], entry: str = WORKER, environment: Mapping[str, str] = {}) -> bytes:
    """Return what is written to the worker's standard input before the first message: the head line and the archive.

    Args:
        python: The worker's Python; one of this kernel's version gets compiled modules too.
        entry: The module of the archive whose `main` runs.
        environment: Variables that the worker sets before anything is imported.
    """
    import sys

    data = source.archive(with_code=python == sys.version_info[:2])
    head: dict[str, Any] = {
        "size": len(data),
        "sha256": source.digest(data),
        "magic": importlib.util.MAGIC_NUMBER.hex(),
        "entry": entry,
    }
    if environment:
        head["environment"] = dict(environment)
    return json.dumps(head).encode() + b"\n" + data
