"""A turn by Flyte's local mode, in a child process: nothing of it touches the kernel.

Model responses are kept in a journal of ours, because `flyte.trace` keeps nothing locally: a retry on this machine replays
them. That is as far as it goes; a run that shall outlive this machine is a remote one.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import pickle
import signal
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hermes_nb import _settings
from hermes_nb.engine import wire
from hermes_nb.flyte.promotion.spec import CUSTOM_KEY_VARIABLE
from hermes_nb.flyte.run.run import LOG_EVERY_S, RUN, FlyteRun
from hermes_nb.model.credential import revealed
from hermes_nb.model.event import Event
from hermes_nb.workers.journal import of_turn

LOOK = "The end of its log is above."


class LocalRun(FlyteRun):
    """One local run, in a process of its own."""

    _process: asyncio.subprocess.Process | None = None
    report_path = ""

    def raw(self) -> dict[str, Any]:
        """`report`, the path of the report's HTML."""
        return {"report": self.report_path} if self.report_path else {}

    async def travel(self) -> None:
        """Start the child, pass its events on."""
        from hermes_nb.flyte.promotion.bundle import dumps
        from hermes_nb.flyte.promotion.submit import request_of

        plan = await self.plan()
        self.emit(RUN, {"phase": "starting"})
        folder = of_turn(self.place.journal, self.turn_id).parent
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        payload = dumps(
            {
                "spec": plan.spec.to_json(),
                "bundle": vars(plan.bundle),
                "prompt": self.prompt,
                "remotes": {name: tool.remote for name, tool in plan.tools.items()},
                "retries": self.runtime.retries,
                "cache": self.runtime.cache,
                "request": request_of({**self.order(), "home": str(folder)}),
            }
        )
        variables = {name: v for name in plan.spec.secrets if (v := _settings.variable(name))}
        if plan.spec.key_variable and self.bound.model.api_key:
            variables[plan.spec.key_variable or CUSTOM_KEY_VARIABLE] = revealed(self.bound.model.api_key) or ""
        environment = _settings.worker_environment(
            {
                **self.runtime.env_vars,
                **variables,
                _settings.DECLARED: ",".join(plan.spec.secrets),
                "PYTHONHASHSEED": "0",
                "DO_NOT_TRACK": "1",
                "PYTHONUNBUFFERED": "1",
            }
        )
        await self._follow(payload, environment, folder)
        is_bad = not self.has_end or self.has_failed
        self.emit(RUN, {"phase": "failed" if is_bad else "succeeded", "report": self.report_path})
        if not self.has_end:
            code = self._process.returncode if self._process is not None else None
            self.fail(f"The local run ended without an answer (status {code}).", "FlyteRunFailed", hint=LOOK)

    async def _follow(self, payload: bytes, environment: dict[str, str], folder: Path) -> None:
        read_fd, write_fd = os.pipe()
        with (folder / "log.txt").open("ab") as log:
            self._process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "hermes_nb.flyte.run.local",
                str(write_fd),
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=environment,
                cwd=str(self.place.working_dir),
                pass_fds=(write_fd,),
                start_new_session=True,
            )
        os.close(write_fd)
        assert self._process.stdin is not None
        with contextlib.suppress(ConnectionError):
            self._process.stdin.write(payload)
            await self._process.stdin.drain()
            self._process.stdin.close()
        reader = asyncio.StreamReader(limit=1 << 26)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read_fd, "rb", 0)
        )
        tailing = asyncio.create_task(self._tail_log(folder / "log.txt"))
        try:
            while line := await reader.readline():
                self._on_message(wire.decode(line))
            await self._process.wait()
            self.tail.read_file(folder / "log.txt")
            self.tell_log(is_last=True)
        finally:
            tailing.cancel()
            transport.close()
            self._kill()

    async def _tail_log(self, path: Path) -> None:
        while True:
            await asyncio.sleep(LOG_EVERY_S)
            self.tail.read_file(path)
            self.tell_log()

    def _on_message(self, message: dict[str, Any]) -> None:
        if message["kind"] == "event":
            self.pass_on(Event.from_dict(message["event"]))
        elif message["kind"] == "report":
            self.report_path = str(message["path"])
            self.emit(RUN, {"phase": "running", "report": self.report_path})
        elif message["kind"] == "failed" and not self.has_end:
            self.fail(str(message["error"]), str(message["error_type"]))

    async def stop(self, reason: str) -> None:
        """Tell the end, end the child."""
        self.end_stopped(reason)
        self._kill()
        if self._task is not None:
            self._task.cancel()

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _end_with_kernel(descriptor: int) -> None:
    """End this process when nobody reads the descriptor any more: without its kernel it would go on asking, and paying."""
    import select
    import threading

    def watch() -> None:
        poll = select.poll()
        poll.register(descriptor, 0)  # its errors alone
        poll.poll()
        os.killpg(0, signal.SIGKILL)  # a session of its own: what the tools started ends with it

    threading.Thread(target=watch, name="hermes-nb-kernel", daemon=True).start()


def main(arguments: list[str]) -> int:
    """The child: run the turn in Flyte's local mode and write its events to the descriptor given."""
    sender = wire.Sender(int(arguments[0]))
    _end_with_kernel(int(arguments[0]))
    given = pickle.loads(sys.stdin.buffer.read())
    from hermes_nb.flyte import _sdk
    from hermes_nb.flyte.promotion.bundle import Bundle
    from hermes_nb.flyte.promotion.spec import Spec
    from hermes_nb.flyte.task import task_body
    from hermes_nb.flyte.task.definition import build

    flyte = _sdk.sdk()
    folder = json.loads(given["request"])["home"]
    tempfile.tempdir = folder

    def tell(event: dict[str, Any]) -> None:
        if event["kind"] == "turn.started":
            sender.send("report", path=str(Path(task_body.places[-1]) / "report.html"))
        sender.send("event", event=event)

    task_body.sinks.append(tell)
    config: Any = SimpleNamespace(image="local", resources=None, retries=given["retries"], cache=given["cache"], env_vars={})
    tools: Any = {name: SimpleNamespace(remote=remote) for name, remote in given["remotes"].items()}
    try:
        task = build(Spec.from_json(given["spec"]), Bundle(**given["bundle"]), tools, config)
        flyte.with_runcontext(mode="local", raw_data_path=folder).run(task, prompt=given["prompt"], request=given["request"])
    except Exception as exc:  # noqa: BLE001 - told to the notebook
        sender.send("failed", error=str(exc)[:4000], error_type=type(exc).__name__)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
