"""LoopbackPlane: the control plane as one server thread on 127.0.0.1."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import tempfile
import threading
import uuid
from pathlib import Path
from typing import Any

import uvicorn

from tests.flyte.loopback.executor import Crash, Executor
from tests.flyte.loopback.services import applications
from tests.flyte.loopback.state import RunRecord, Store


class _Server(uvicorn.Server):
    """A server that tells when it listens, and leaves signals alone (it is not on the main thread)."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = threading.Event()

    def install_signal_handlers(self) -> None:
        return None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()


class LoopbackPlane:
    """A Flyte control plane and "cluster" in this process, for tests.

    with LoopbackPlane() as plane:
        flyte.init(**plane.init_kwargs())
        run = flyte.run(task, x=1)
        run.wait()
    """

    def __init__(
        self,
        root: str | Path | None = None,
        *,
        env: dict[str, str] | None = None,
        secrets: dict[str, str] | None = None,
        org: str = "loopback",
        project: str | None = None,
        domain: str = "development",
    ) -> None:
        self._own_root = root is None
        self.root = Path(root or tempfile.mkdtemp(prefix="flyte-loopback-")).resolve()
        # The SDK remembers uploaded bundles per endpoint/project/domain (~/.flyte): never reuse a scope.
        self.org, self.project, self.domain = org, project or f"loopback-{uuid.uuid4().hex[:8]}", domain
        self.store = Store(self.root)
        self.executor = Executor(self.store, org=org, env=dict(env or {}), secrets=dict(secrets or {}))
        self.refusal = ""  # a code of Connect's: what calls are answered with, as by a sign-in that has expired
        self.refused: tuple[str, ...] = ("",)  # ... those whose path ends so
        self.n_refused = 0
        self.calls: list[str] = []  # every RPC path served, in order
        apps, self._proxy = applications(self.store, self.executor, self.project, self.domain)
        self._routes = {app.path: app for app in apps}
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self.endpoint = ""

    # -- what a test uses
    def init_kwargs(self, **overrides: Any) -> dict[str, Any]:
        """Arguments for `flyte.init` that point the SDK here."""
        base = {"endpoint": self.endpoint, "insecure": True, "org": self.org}
        return base | {"project": self.project, "domain": self.domain} | overrides

    def crash(self, task: str, **when: Any) -> Crash:
        """Arrange for an attempt of `task` to be killed; see `Crash`. Its `.fired` tells if it was."""
        crash = Crash(task, **when)
        self.executor.crashes.append(crash)
        return crash

    def run(self, name: str) -> RunRecord:
        return self.store.runs[name]

    def tree(self, run_name: str) -> list[tuple[str, str, int, int]]:
        """(parent, task name, phase, attempts) of each action, oldest first."""
        actions = sorted(self.run(run_name).actions.values(), key=lambda a: a.created)
        return [(a.parent, a.task_name, a.phase, len(a.attempts)) for a in actions]

    def logs(self, run_name: str, action: str = "a0", attempt: int = -1) -> str:
        record = self.run(run_name).actions[action].attempts
        return record[attempt if attempt < 0 else attempt - 1].log_path.read_text(errors="replace")

    # -- lifecycle
    def start(self) -> LoopbackPlane:
        sock = socket.create_server(("127.0.0.1", 0))
        self.endpoint = f"127.0.0.1:{sock.getsockname()[1]}"
        self.executor.endpoint = self.endpoint
        self._proxy.base_url = f"http://{self.endpoint}"
        config = uvicorn.Config(
            self._app, interface="asgi3", lifespan="off", log_level="warning", timeout_graceful_shutdown=1
        )
        self._server = _Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve(sock)), name="flyte-loopback", daemon=True)
        self._thread.start()
        if not self._server.is_up.wait(10):
            raise RuntimeError("The loopback plane did not start.")
        return self

    async def _serve(self, sock: socket.socket) -> None:
        assert self._server is not None
        self._loop = asyncio.get_running_loop()
        try:
            await self._server.serve(sockets=[sock])
        finally:
            await self.executor.close()

    def stop(self) -> None:
        if self._server is not None and self._thread is not None and self._loop is not None:
            self._loop.call_soon_threadsafe(self.store.close)
            self._server.should_exit = True
            self._thread.join(timeout=15)
        if self._own_root:
            shutil.rmtree(self.root, ignore_errors=True)

    def __enter__(self) -> LoopbackPlane:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()

    # -- HTTP
    async def _app(self, scope: Any, receive: Any, send: Any) -> None:
        path: str = scope["path"]
        if path.startswith("/files/"):
            await self._files(scope["method"], self.root / path.removeprefix("/files/"), receive, send)
            return
        if self.refusal and path.endswith(self.refused):
            self.n_refused += 1
            body = json.dumps({"code": self.refusal, "message": f"{self.refusal}: the loopback plane refuses"}).encode()
            await _respond(send, 401, body, content_type="application/json")
            return
        app = self._routes.get(path.rpartition("/")[0])
        if app is None:
            self.calls.append(f"UNSERVED {path}")
            await _respond(send, 404, b"")
            return
        self.calls.append(path)
        await app(scope, receive, send)

    async def _files(self, method: str, path: Path, receive: Any, send: Any) -> None:
        """The object store's side of pre-signed URLs."""
        if not path.resolve().is_relative_to(self.root):
            await _respond(send, 403, b"")
        elif method == "PUT":
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("wb") as out:
                more = True
                while more:
                    message = await receive()
                    out.write(message.get("body", b""))
                    more = message.get("more_body", False)
            await _respond(send, 200, b"")
        elif path.is_file():
            await _respond(send, 200, path.read_bytes())
        else:
            await _respond(send, 404, b"")


async def _respond(send: Any, status: int, body: bytes, *, content_type: str = "") -> None:
    headers = [(b"content-type", content_type.encode())] if content_type else []
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
