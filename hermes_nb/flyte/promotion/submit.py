"""Submitting a run and following it: the SDK's public client, on its own loop, awaited from ours."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import re
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_nb import _settings
from hermes_nb.errors import UsageError
from hermes_nb.flyte import _sdk
from hermes_nb.flyte.task.report import events_in
from hermes_nb.model.event import Event

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.flyte.config import FlyteConfig
    from hermes_nb.flyte.promotion.plan import Plan

POLL_S = 0.5
LOST_S = 120.0  # how long a control plane may be away before a run is no longer followed
ENDS = frozenset({"succeeded", "failed", "aborted", "timed_out", "recovered"})


async def connect(config: FlyteConfig) -> None:
    """Make sure that the SDK knows its control plane; one that was initialised is taken as it is.

    Raises:
        UsageError: Nothing says where the control plane is, or the user's own `flyte.init` names another.
    """
    flyte = _sdk.sdk()
    known = known_endpoint()
    if known is not None:
        if config.endpoint and config.endpoint.rpartition("/")[2] != known.rpartition("/")[2]:
            raise UsageError(
                f"flyte.init has connected this kernel to {known}; Flyte(endpoint={config.endpoint!r}) is another."
                " Leave endpoint out, or restart the kernel."
            )
        return
    with _sdk.undisturbed():
        if config.endpoint:
            is_here = re.match(r"(https?://)?(localhost|127\.)", config.endpoint) is not None
            options = {"project": config.project, "domain": config.domain, "org": config.org}
            await flyte.init.aio(endpoint=config.endpoint, insecure=is_here, **{k: v for k, v in options.items() if v})
        elif config_file() is not None:
            await flyte.init_from_config.aio()
        else:
            raise UsageError(
                "Nothing says where Flyte is. Call flyte.init(endpoint=...), write ~/.flyte/config.yaml"
                " (`flyte create config`), or pass Flyte(endpoint=...)."
            )


def known_endpoint() -> str | None:
    """The control plane that `flyte.init` connected this process to; None before."""
    client = _sdk.sdk("flyte._initialize")._get_init_config()  # 2.12 has no public way to ask without raising
    client = None if client is None else client.client
    return None if client is None else str(client.endpoint)


def config_file() -> Path | None:
    """The configuration that the SDK would read; None when there is none."""
    named = _settings.variable("FLYTECTL_CONFIG")
    places = [Path(named)] if named else []
    places += [Path("config.yaml"), Path(".flyte/config.yaml"), Path("~/.flyte/config.yaml").expanduser()]
    return next((p for p in places if p.is_file()), None)


def request_of(order: Mapping[str, Any]) -> str:
    """The turn's request as one line of JSON; the run's inputs hold it, so that a restarted kernel can attach."""
    return json.dumps(order, sort_keys=True, ensure_ascii=True)


def run_name(key: str) -> str:
    """The name that stands for an idempotency key."""
    return "h" + hashlib.sha256(key.encode()).hexdigest()[:19]


async def submit(plan: Plan, *, prompt: str, request: str, key: str | None = None) -> Any:
    """The run of a plan.

    Args:
        plan: Looked at before (see `preflight`).
        prompt: What is asked.
        request: `request_of`.
        key: Submitting the same key again gives the run there is; None makes a new one each time.

    Raises:
        UsageError: The plan has a fatal finding, the backend refuses the run, or the key was used for another question.
    """
    refuse(plan)
    flyte, config = _sdk.sdk(), plan.config
    await connect(config)
    place = (str(known_endpoint()), config.project or "", config.domain or "")
    with _sdk.uploads_in_chunks():
        held = await plan.upload(place)
    task = await asyncio.to_thread(plan.task, held)
    runner = flyte.with_runcontext(
        mode="remote",
        name=run_name(key) if key else None,
        project=config.project,
        domain=config.domain,
        interactive_mode=True,
        env_vars=dict(config.env_vars) or None,
        labels={"hermes-nb": plan.spec.environment_name},
    )
    try:
        with _sdk.uploads_in_chunks():
            return await runner.run.aio(task, prompt=prompt, request=request)
    except flyte.errors.RuntimeUserError as exc:
        if key and "already exists" in str(exc):
            return await _same(await get(run_name(key)), key, prompt, request)
        raise UsageError(f"Flyte refused the run: {exc}") from exc


async def _same(run: Any, key: str, prompt: str, request: str) -> Any:
    """The run there is under a key, when it was asked the same."""
    before, now = await request_in(run), {**json.loads(request), "prompt": prompt}
    asked = ("agent", "prompt", "prompt_parts")
    if any(before.get(k) != now.get(k) for k in asked):
        raise UsageError(
            f"The key {key!r} was used for another question or agent (run {run.name}). Take a new key for a new question;"
            " the same key gives the run it was first used for."
        )
    return run


def refuse(plan: Plan) -> None:
    """Raise when a finding stops the promotion.

    Raises:
        UsageError: Names every such finding.
    """
    if plan.fatal:
        lines = "\n".join(f"- [{f.code}] {f}" for f in plan.fatal)
        raise UsageError(f"Agent {plan.bound.name!r} can't run on Flyte yet:\n{lines}")


async def get(name: str) -> Any:
    """A run by name.

    Raises:
        UsageError: There is none.
    """
    try:
        return await _sdk.sdk("flyte.remote").Run.get.aio(name)
    except Exception as exc:  # the client raises its transport's own errors
        raise UsageError(f"Flyte has no run {name!r} here: {' '.join(str(exc).split())[:200]}") from exc


async def request_in(run: Any) -> dict[str, Any]:
    """The turn's request and prompt, from a run's inputs.

    Raises:
        UsageError: The run is not one of an agent.
    """
    inputs = await run.inputs.aio()
    values = {name: inputs[name] for name in ("prompt", "request") if name in inputs}
    if len(values) < 2:
        raise UsageError(f"Run {run.name!r} was not made by hermes_nb: it has no request among its inputs.")
    return {**json.loads(values["request"]), "prompt": values["prompt"]}


@dataclass(frozen=True)
class News:
    """What is new about a run.

    Attributes:
        phase: Its phase: queued, running, succeeded, failed, aborted ...
        n_attempts: Attempts so far.
        events: Events not told before.
        is_over: Whether nothing follows.
    """

    phase: str
    n_attempts: int
    events: list[Event]
    is_over: bool


async def follow(run: Any) -> AsyncIterator[News]:
    """News of a run until it is over: its phase, and the events in its report. A control plane may be away for a while.

    Raises:
        UsageError: It did not answer for `LOST_S`; the run may go on.
    """
    lost: tuple[type[Exception], ...] = (UsageError, OSError, *_transport_errors())
    over: asyncio.Future[Any] | None = None
    seen: set[tuple[str, str, int, int]] = set()
    lost_s: float | None = None
    try:
        while True:
            if over is None or over.done():
                _forget(over)
                over = asyncio.ensure_future(run.wait.aio(quiet=True))
            await asyncio.wait({over}, timeout=POLL_S)
            try:
                now = await get(run.name)
                details = await now.action.details()
            except lost as exc:
                lost_s = lost_s or time.monotonic()
                if time.monotonic() > lost_s + LOST_S:
                    raise UsageError(
                        f"Flyte has not answered for {LOST_S:g} s. The run may go on: %hermes resume {run.name}"
                    ) from exc
                await asyncio.sleep(POLL_S)
                continue
            lost_s = None
            phase, n_attempts = str(getattr(now.phase, "value", now.phase)).lower(), int(details.attempts)
            is_over = phase in ENDS
            events = [e for e in await report_events(now, n_attempts) if e.key not in seen]
            seen.update(e.key for e in events)
            yield News(phase, n_attempts, events, is_over)
            if is_over:
                return
            if over.done():  # it was cut off: the run is not over
                await asyncio.sleep(POLL_S)
    finally:
        _forget(over)


def _forget(waiting: asyncio.Future[Any] | None) -> None:
    if waiting is not None and not waiting.done():
        waiting.cancel()
    elif waiting is not None and not waiting.cancelled():
        waiting.exception()  # seen; the run's own phase and error say it better


async def report_events(run: Any, n_attempts: int) -> list[Event]:
    """The events in the newest report of a run that has any; earlier attempts' are in later ones'."""
    async for report in _reports(run, n_attempts):
        with contextlib.suppress(ValueError):
            if found := events_in(report):
                return found
    return []


async def report_html(run: Any, n_attempts: int) -> str:
    """The newest report of a run; "" while there is none."""
    async for report in _reports(run, n_attempts):
        return report
    return ""


async def _reports(run: Any, n_attempts: int) -> AsyncIterator[str]:
    for attempt in range(max(n_attempts, 1), 0, -1):
        with contextlib.suppress(RuntimeError, OSError, *_transport_errors()):
            yield str(await run.get_report.aio(attempt=attempt))


def _transport_errors() -> tuple[type[Exception], ...]:
    from importlib import import_module

    return (import_module("httpx").HTTPError, _sdk.sdk("connectrpc.errors").ConnectError)
