"""Large pickles of a promotion: uploaded once as a file that is named by its content, and read by the tasks that need them.

In a task's closure they would be compressed and sent with the turn, and once more with each child.
"""

from __future__ import annotations

import asyncio
import hashlib
import tempfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_nb.flyte import _sdk

LEAST_BYTES = 1_000_000  # a smaller pickle travels with its task


@dataclass(frozen=True)
class Held:
    """A pickle in the object store: `uri` and the SHA-256 of what it holds."""

    uri: str
    sha256: str


_sent: dict[tuple[str, ...], Held] = {}


async def uploaded(data: bytes, place: tuple[str, ...]) -> Held:
    """The data in the object store of a control plane.

    Args:
        data: A pickle.
        place: The control plane, project and domain: what this process has sent there is not sent again.
    """
    sha256 = await asyncio.to_thread(lambda: hashlib.sha256(data).hexdigest())
    key = (*place, sha256)
    if key not in _sent:
        with tempfile.TemporaryDirectory(prefix="hermes-nb-held-") as folder:
            path = Path(folder, f"{sha256}.z")
            await asyncio.to_thread(lambda: path.write_bytes(zlib.compress(data, 1)))
            _, uri = await _sdk.sdk("flyte.remote").upload_file.aio(path, fname=path.name)
        _sent[key] = Held(str(uri), sha256)
    return _sent[key]


async def read(uri: str, sha256: str) -> bytes:
    """What is held there; in a task.

    Raises:
        RuntimeError: It is not what was uploaded.
    """
    file: Any = _sdk.sdk("flyte.io").File(path=uri)
    with tempfile.TemporaryDirectory(prefix="hermes-nb-held-") as folder:
        path = Path(str(await file.download(str(Path(folder, "held.z")))))
        data = await asyncio.to_thread(lambda: zlib.decompress(path.read_bytes()))
    if hashlib.sha256(data).hexdigest() != sha256:
        raise RuntimeError(f"What is at {uri} is not what this promotion uploaded there. Promote it again.")
    return data
