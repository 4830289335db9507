"""A JupyterLab of a test's own: on 127.0.0.1, with a token and private config, settings, workspace and runtime folders."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

LAB_EXTENSION = Path(__file__).resolve().parents[2] / "hermes_nb" / "labextension"
DARK = {"@jupyterlab/apputils-extension:themes": {"theme": "JupyterLab Dark"}}
_SETTINGS: dict[str, Mapping[str, Any]] = {
    # All cells are in the page, also those below the fold.
    "@jupyterlab/notebook-extension:tracker": {"windowingMode": "none"},
    # A file changes when a test saves it, not after two minutes.
    "@jupyterlab/docmanager-extension:plugin": {"autosave": False},
}


class CheckError(AssertionError):
    """A check failed or timed out. The message says what was expected and what was there."""


class LabServer:
    """`jupyter lab` (or `notebook`) over a folder; a context manager.

    Args:
        root: The folder it serves.
        app: `lab` or `notebook`.
        settings: Values by Lab plug-in id, over the stock ones.
        lab_extension: Load this package's extension, from the working tree.
        env: Variables over this process's environment.
        start_timeout_s: How long it may take to answer.
        extra_args: More arguments of the server.
    """

    def __init__(
        self,
        root: Path,
        *,
        app: str = "lab",
        settings: Mapping[str, Mapping[str, Any]] | None = None,
        lab_extension: bool = False,
        env: Mapping[str, str] | None = None,
        start_timeout_s: float = 90,
        extra_args: Sequence[str] = (),
    ) -> None:
        self.root = root.resolve()
        self.app = app
        self.token = secrets.token_hex(16)
        self.port = 0
        self._settings = {**_SETTINGS, **(settings or {})}
        self._lab_extension = lab_extension
        self._env = dict(env or {})
        self._start_timeout_s = start_timeout_s
        self._extra_args = tuple(extra_args)
        self._process: subprocess.Popen[bytes] | None = None
        self._folder = Path()

    @property
    def url(self) -> str:
        """Where it answers. 127.0.0.1 and `localhost` are different cookie hosts: always this one."""
        return f"http://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        if not self.root.is_dir():
            raise CheckError(f"There is no notebook folder {self.root}.")
        self._folder = Path(tempfile.mkdtemp(prefix="nbcheck-"))
        try:
            self._start()
            self._wait_up()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._end()

    def api(self, method: str, path: str, *, timeout_s: float = 10) -> bytes:
        """The body of an answer of the server's REST API."""
        request = urllib.request.Request(self.url + path, method=method, headers={"Authorization": f"token {self.token}"})
        with urllib.request.urlopen(request, timeout=timeout_s) as answer:
            body: bytes = answer.read()
            return body

    def log_tail(self, n_lines: int = 25) -> str:
        """The last lines the server wrote."""
        lines = (self._folder / "server.log").read_text(encoding="utf-8", errors="replace").splitlines()
        return "\n".join(lines[-n_lines:])

    def _start(self) -> None:
        config = self._folder / "config"
        (config / "labconfig").mkdir(parents=True)
        # No 'Jupyter news' pop-up over the page.
        page = {"disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}}
        (config / "labconfig" / "page_config.json").write_text(json.dumps(page), encoding="utf-8")
        for plugin, values in self._settings.items():
            package, _, name = plugin.partition(":")
            file = self._folder / "settings" / package / f"{name}.jupyterlab-settings"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(values), encoding="utf-8")
        env = {
            **os.environ,
            "JUPYTER_CONFIG_DIR": str(config),
            "JUPYTER_RUNTIME_DIR": str(self._folder / "runtime"),
            "JUPYTERLAB_SETTINGS_DIR": str(self._folder / "settings"),
            "JUPYTERLAB_WORKSPACES_DIR": str(self._folder / "workspaces"),
            "IPYTHONDIR": str(self._folder / "ipython"),
            "JUPYTER_PLATFORM_DIRS": "1",
            **self._env,
        }
        extra_args = [*self._extra_args]
        if self._lab_extension:
            (self._folder / "labextensions").mkdir()
            (self._folder / "labextensions" / "hermes-nb").symlink_to(LAB_EXTENSION)
            extra_args.append(f"--LabServerApp.extra_labextensions_path={self._folder / 'labextensions'}")
        app = "LabApp" if self.app == "lab" else "JupyterNotebookApp"
        self.port = _free_port()
        command = [
            sys.executable,
            "-m",
            "jupyterlab" if self.app == "lab" else self.app,
            "--no-browser",
            "--ip=127.0.0.1",
            f"--port={self.port}",
            "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={self.token}",
            f"--ServerApp.root_dir={self.root}",
            f"--{app}.expose_app_in_browser=True",
            "--ServerApp.allow_root=True",
            *extra_args,
        ]
        with (self._folder / "server.log").open("wb") as log:
            self._process = subprocess.Popen(
                command, stdout=log, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, env=env, start_new_session=True
            )

    def _wait_up(self) -> None:
        assert self._process is not None
        end_s = time.monotonic() + self._start_timeout_s
        while time.monotonic() < end_s:
            if self._process.poll() is not None:
                raise CheckError(f"jupyter {self.app} ended with {self._process.returncode}:\n{self.log_tail()}")
            try:
                self.api("GET", "/api/status", timeout_s=2)
                return
            except (urllib.error.URLError, OSError):
                time.sleep(0.1)  # nothing to await: the server has no other sign of being up
        raise CheckError(f"jupyter {self.app} was not up after {self._start_timeout_s:.0f} s:\n{self.log_tail()}")

    def _end(self) -> None:
        process = self._process
        if process is not None and process.poll() is None:
            try:
                self.api("POST", "/api/shutdown", timeout_s=5)  # also ends the kernels
                process.wait(15)
            except (OSError, subprocess.TimeoutExpired):
                _kill(process)
        shutil.rmtree(self._folder, ignore_errors=True)


def _kill(process: subprocess.Popen[bytes]) -> None:
    # The process leads its own session: only what it started is ended.
    for number in (signal.SIGTERM, signal.SIGKILL):
        if process.poll() is not None:
            return
        os.killpg(process.pid, number)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            continue


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
