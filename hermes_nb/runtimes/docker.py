"""Workers in containers: docker or podman runs them, the engine travels over the container's standard input.

Nothing of this machine is mounted unless it is asked for: the journal comes over the wire, the agent's files are in memory
and gone with the container. It has a read-only root, no capabilities and a user without rights. No key is in its arguments
or in what `inspect` shows: a model's key and the values of `environment` go over the wire.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, cast
from urllib.parse import urlsplit

from hermes_nb import _api_key, _settings
from hermes_nb._near import suggesting, unknown_options
from hermes_nb.environments import boot
from hermes_nb.errors import UnsupportedPlatformError, UsageError, WorkerStartError
from hermes_nb.model.identifier import new_id
from hermes_nb.runtimes._base import WorkerConnection, WorkerFiles
from hermes_nb.runtimes._child import ChildPipes, open_log

if TYPE_CHECKING:
    from hermes_nb.model.message import OnMessage
    from hermes_nb.model.message_part import AgentTold, Json, ModelRouteTold

PROGRAMS = ("docker", "podman")
OPTIONS = ("executable", "network", "mounts", "gpus", "user", "python")
LABEL = "hermes_nb.kernel"  # host, pid and start of the kernel that started a container
HOME = "/tmp/hermes-nb"
NOBODY = "65534:65534"
_MEMORY = re.compile(r"(\d+(?:\.\d+)?)\s*(B|[KMGT]i?B?)?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1000, "m": 1000**2, "g": 1000**3, "t": 1000**4}
_UNITS |= {"ki": 1024, "mi": 1024**2, "gi": 1024**3, "ti": 1024**4}
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LOOK_S = 30.0
_LOOPBACK = ("127.", "localhost", "[::1]", "::1")
# How `run` ends when it is no worker's end, and what to do then.
_ENDS = {
    125: "the container engine refused it; its words are in the worker's log",
    126: "the image's Python can't be run; name another by Docker(options={'python': PATH})",
    127: "the image has no such Python; name one by Docker(options={'python': PATH})",
    137: "it was killed; when that was for its memory, raise it by Docker(memory='4Gi')",
}


class DockerOptions(TypedDict, total=False):
    """What a container may have besides.

    Attributes:
        executable: `docker`, `podman`, or a path to one; the first that is found otherwise.
        network: As `--network` takes it: `none`, `host`, a network's name.
        mounts: Folders of this machine by their place in the container; read-only, unless the place ends in `:rw`.
        gpus: As `--gpus` takes it: `all`, `device=0`.
        user: As `--user` takes it; a user without rights otherwise.
        python: The interpreter in the image; `python3` otherwise. It needs hermes-agent, or a mount that has it.
    """

    executable: str
    network: str
    mounts: dict[str, str]
    gpus: str
    user: str
    python: str


@suggesting
@dataclass
class Docker:
    """Runs agents in a container of this machine's docker or podman.

    Args:
        image: An image with Python 3.11 or newer and hermes-agent; it needs no hermes_nb. Pulled when it is not there.
        cpu: How many processors it may use, as a number.
        memory: How much memory, e.g. 512Mi or 2Gi.
        environment: Variables of the container. Their values are not printed and are in no argument.
        options: See `DockerOptions`.

    Raises:
        UsageError: A field can't be meant as it is.
    """

    image: str = "nousresearch/hermes-agent:latest"
    cpu: str = "1"
    memory: str = "2Gi"
    environment: dict[str, str] = field(default_factory=dict, repr=False)
    options: dict[str, Any] = field(default_factory=dict)

    shares_disk = False

    def __post_init__(self) -> None:
        if not isinstance(self.image, str) or not self.image.strip() or self.image.startswith("-"):
            raise UsageError(f"Docker: image takes the name of one, e.g. 'python:3.12', not {self.image!r}.")
        self._check_limits()
        for name, value in dict(self.environment).items():
            if not isinstance(name, str) or not _VARIABLE.fullmatch(name) or not isinstance(value, str):
                raise UsageError(f"Docker: {name!r} is no name of a variable, or its value is no text.")
        if not isinstance(self.options, dict):
            raise UsageError(f"Docker: options takes a dict, e.g. {{'network': 'none'}}, not {self.options!r}.")
        if (said := unknown_options("Docker: options", self.options, OPTIONS)) is not None:
            raise UsageError(said)
        for name, value in self.options.items():
            if name != "mounts" and (not isinstance(value, str) or not value or value.startswith("-")):
                raise UsageError(f"Docker: the option {name} takes a text, not {value!r}.")
        for there, here in self._mounts():
            if not there.startswith("/") or ":" in there.removesuffix(":rw") or ":" in here:
                raise UsageError(
                    f"Docker: a mount is {{PLACE IN THE CONTAINER: FOLDER HERE}}, both absolute, not {there!r}: {here!r}."
                )

    def _check_limits(self) -> None:
        try:
            is_number = float(self.cpu) > 0
        except (TypeError, ValueError):
            is_number = False
        if not is_number:
            raise UsageError(f"Docker: cpu takes a number of processors as a text, e.g. '1' or '0.5', not {self.cpu!r}.")
        if not isinstance(self.memory, str) or not _MEMORY.fullmatch(self.memory.strip()):
            raise UsageError(f"Docker: memory takes an amount, e.g. '512Mi' or '2Gi', not {self.memory!r}.")

    @classmethod
    def from_name(cls, text: str) -> Docker:
        """Return the runtime that `--on docker:IMAGE` means; `docker` alone takes the default image."""
        return cls(text) if text else cls()

    def to_dict(self) -> dict[str, Any]:
        """`{"type": "docker", "image": ..., "cpu": ..., "memory": ..., "options": ...}`; variables are left out."""
        told = {"type": "docker", "image": self.image, "cpu": self.cpu, "memory": self.memory}
        return {**told, "options": dict(self.options)}

    def label(self) -> Json:
        """Return what a turn's log keeps of it (see `NamedRuntime`)."""
        return self.to_dict()

    @classmethod
    def from_label(cls, label: Mapping[str, Any]) -> Docker:
        """Return the runtime that `label` tells of, without its variables."""
        return cls(str(label["image"]), str(label["cpu"]), str(label["memory"]), options=dict(label.get("options") or {}))

    def engine_text(self) -> str:
        """Which Hermes a worker would be started with, in words; starts nothing."""
        return f"the Hermes of the image {self.image}, in a container"

    @property
    def program(self) -> str:
        """The path of docker or podman.

        Raises:
            UsageError: There is none.
        """
        named = self.options.get("executable")
        for name in (named,) if named else PROGRAMS:
            if (found := shutil.which(str(name))) is not None:
                return found
        raise UsageError(
            f"There is no program {named!r}."
            if named
            else "There is neither docker nor podman on the PATH. Install one,"
            " or name it: Docker(options={'executable': '/path/to/docker'})."
        )

    def problem(self) -> str | None:
        """Why no container can be started, in words; None when nothing is known against it."""
        try:
            _ = self.program
        except UsageError as exc:
            return str(exc)
        return None

    def worker_variables(self) -> dict[str, str]:
        """The variables of the container; keys are freed of white space and quotes around them."""
        given = self.environment.items()
        return {name: _api_key.clean(value) if _api_key.is_variable(name) else value for name, value in given}

    def _mounts(self) -> list[tuple[str, str]]:
        given = self.options.get("mounts") or {}
        if not isinstance(given, dict):
            raise UsageError(f"Docker: mounts takes a dict, {{PLACE IN THE CONTAINER: FOLDER HERE}}, not {given!r}.")
        return [(str(there), str(Path(here).expanduser().absolute())) for there, here in given.items()]

    def arguments(self, name: str, place: WorkerFiles) -> list[str]:
        """What docker is started with; no variable of `environment` is among them.

        Args:
            name: The container's.
            place: Of the worker.
        """
        found = ["run", "--interactive", "--rm", "--name", name, "--label", f"{LABEL}={_kernel()}"]
        found += ["--cpus", str(float(self.cpu)), "--memory", str(_bytes(self.memory))]
        found += ["--read-only", "--tmpfs", "/tmp:mode=1777", "--cap-drop", "ALL"]
        found += ["--security-opt", "no-new-privileges", "--user", str(self.options.get("user") or _user())]
        for option in ("network", "gpus"):
            if value := self.options.get(option):
                found += [f"--{option}", str(value)]
        for there, here in self._mounts():
            found += ["--volume", f"{here}:{there}" if there.endswith(":rw") else f"{here}:{there}:ro"]
        found += ["--env", f"HOME={HOME}", "--env", "PYTHONUNBUFFERED=1", "--workdir", "/tmp"]
        found += ["--entrypoint", str(self.options.get("python") or "python3"), self.image, "-P", "-c", boot.BOOT]
        return [*found, "--home", HOME, "--journal", "-", "--producer", place.producer]

    async def open(self, place: WorkerFiles, *, on_message: OnMessage, on_end: Callable[[str], None]) -> WorkerConnection:
        """Start a container (see `Runtime.open`); an image that is not there is pulled, and shown as it comes."""
        if os.name != "posix":
            raise UnsupportedPlatformError("The Docker runtime needs a POSIX system (Linux, macOS, WSL); this is Windows.")
        loop, program = asyncio.get_running_loop(), self.program

        def on_progress(text: str) -> None:
            loop.call_soon_threadsafe(lambda: on_message({"kind": "engine.progress", "text": text}))

        await asyncio.to_thread(_remove_orphans, program)
        await asyncio.to_thread(self._fetch, program, on_progress)
        on_message({"kind": "engine.found", "source": "image", "hermes": self.engine_text(), "python": self.image})
        variables = self.worker_variables()
        preamble = await asyncio.to_thread(lambda: boot.preamble(python=(0, 0), environment=variables))
        name = f"hermes-nb-{new_id('c')}"
        process, read_fd, write_fd = await asyncio.to_thread(self._spawn, program, name, place)
        container = _Container(self, program, name, process, read_fd, write_fd, on_message, on_end)
        container.write(preamble)
        return container

    def _fetch(self, program: str, on_progress: Callable[[str], None]) -> None:
        """Pull the image where it is not there.

        Raises:
            WorkerStartError: It can't be had, or the engine does not answer.
        """
        here = _call(program, "image", "inspect", "--format", "{{.Id}}", self.image)
        if here.returncode == 0:
            return
        if _call(program, "version").returncode:
            raise WorkerStartError(f"{program} does not answer: {_last(here.stderr)} Start its daemon, or join its group.")
        on_progress(f"{self.image} is pulled")
        line, said_s = "", 0.0
        with subprocess.Popen(
            [program, "pull", self.image],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=_settings.container_environment(),
        ) as pulling:
            for line in pulling.stdout or ():
                if line.strip() and time.monotonic() > said_s + 1:
                    said_s = time.monotonic()
                    on_progress(f"{self.image}: {line.strip()[:200]}")
        if pulling.returncode:
            raise WorkerStartError(
                f"The image {self.image} can't be pulled: {_last(line)} Check its name, or build it here:"
                f" {Path(program).name} build -t NAME ."
            )

    def _spawn(self, program: str, name: str, place: WorkerFiles) -> tuple[subprocess.Popen[bytes], int, int]:
        log_fd = open_log(place)
        read_here, write_there = os.pipe()
        read_there, write_here = os.pipe()
        try:
            process = subprocess.Popen(
                [program, *self.arguments(name, place)],
                stdin=read_there,
                stdout=write_there,
                stderr=log_fd,
                env=_settings.container_environment(),
                start_new_session=True,
            )
        except OSError as exc:
            os.close(read_here)
            os.close(write_here)
            raise WorkerStartError(f"{program} can't be started: {exc.strerror}.") from exc
        finally:
            for descriptor in (read_there, write_there, log_fd):
                os.close(descriptor)
        return process, read_here, write_here

    def misfit(self, agent: AgentTold) -> str | None:
        """Why an agent can't be bound in such a container, with what to do; None when nothing is known against it."""
        places = [Path(there.removesuffix(":rw")) for there, _ in self._mounts() if there.endswith(":rw")]
        home = agent.get("home")
        if home is not None and not any(Path(home["path"]).is_relative_to(place) for place in places):
            return (
                f"The memory and skills of {agent['name']!r} last on this disk, which the container does not have. Mount"
                f" them: Docker(options={{'mounts': {{{home['path'] + ':rw'!r}: {home['path']!r}}}}}), or leave out the"
                " toolsets memory and skills."
            )
        routes = [agent["model"], *(agent["model"].get("fallbacks") or ())]
        if self.options.get("network") != "host" and (local := next(filter(_is_local, routes), None)) is not None:
            return (
                f"The model at {local.get('base_url')} is on this machine's own loopback, which a container does not see."
                " Share this machine's network, Docker(options={'network': 'host'}), or let the model listen on all of its"
                " addresses, and name it by this machine's own (host.docker.internal in Docker Desktop)."
            )
        return None


class _Container(ChildPipes):
    """The pipes of a `run`, and the container behind it."""

    def __init__(
        self,
        runtime: Docker,
        program: str,
        name: str,
        process: subprocess.Popen[bytes],
        read_fd: int,
        write_fd: int,
        on_message: OnMessage,
        on_end: Callable[[str], None],
    ) -> None:
        super().__init__(process, read_fd, write_fd, on_message, lambda reason: on_end(self._why(reason)))
        self._runtime, self._program, self._name = runtime, program, name

    def send(self, kind: str, /, **keys: Any) -> None:
        said = self._runtime.misfit(cast("AgentTold", keys["agent"])) if kind == "bind" else None
        if said is None:
            super().send(kind, **keys)
            return
        agent_id = str(keys["agent_id"])
        self._loop.call_soon_threadsafe(
            lambda: self._on_message(
                {"kind": "bind.failed", "agent_id": agent_id, "error": said, "error_type": "UsageError", "hint": ""}
            )
        )

    def kill(self) -> None:
        """End it at once: the container, too, which does not end with the program that started it."""
        if not self._is_gone:
            self._loop.run_in_executor(None, _call, self._program, "rm", "--force", self._name)
        super().kill()

    def _why(self, reason: str) -> str:
        code = re.fullmatch(r"it exited with status (\d+)", reason)
        said = _ENDS.get(int(code[1])) if code else None
        return f"{reason}: {said}" if said else reason


def _is_local(route: ModelRouteTold) -> bool:
    host = urlsplit(route.get("base_url") or "").netloc.rpartition("@")[2]
    return route["provider"] != "offline" and host.startswith(_LOOPBACK)


def _user() -> str:
    """Who runs in the container: never root."""
    return f"{os.getuid()}:{os.getgid()}" if os.getuid() else NOBODY


def _bytes(memory: str) -> int:
    found = _MEMORY.fullmatch(memory.strip())
    assert found is not None
    return int(float(found[1]) * _UNITS[(found[2] or "").lower().removesuffix("b")])


def _kernel(pid: int | None = None) -> str:
    """This process, so that another can tell whether it lives: host, pid, and when it began."""
    pid = os.getpid() if pid is None else pid
    began = "0"
    with contextlib.suppress(OSError, IndexError):
        began = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    return f"{socket.gethostname()}/{pid}/{began}"


def _remove_orphans(program: str) -> None:
    """Remove the containers of kernels of this machine that are gone; who still runs says so by pid and start."""
    listed = _call(program, "ps", "--all", "--quiet", "--filter", f"label={LABEL}").stdout.split()
    if not listed:
        return
    shown = _call(program, "inspect", "--format", f'{{{{.Id}}}} {{{{index .Config.Labels "{LABEL}"}}}}', *listed).stdout
    rows = [line.split() for line in shown.splitlines()]
    gone = [row[0] for row in rows if len(row) == 2 and _is_gone(row[1])]
    if gone:
        _call(program, "rm", "--force", *gone)


def _is_gone(kernel: str) -> bool:
    host, _, rest = kernel.partition("/")
    pid = rest.partition("/")[0]
    return host == socket.gethostname() and pid.isdecimal() and _kernel(int(pid)) != kernel


def _call(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(
            [program, *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=_LOOK_S,
            check=False,
            env=_settings.container_environment(),
        )
    except (OSError, subprocess.TimeoutExpired) as exc:
        return subprocess.CompletedProcess([program], 125, "", f"{program} did not answer: {exc}")


def _last(text: str) -> str:
    """The last line of what a program said, as a sentence."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return f"{lines[-1].rstrip('.')}." if lines else "it gave no reason."


def lack() -> str:
    """What is missing to run containers; "" when nothing is."""
    return Docker().problem() or ""
