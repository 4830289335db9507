"""What a remote and a local run have in common: they tell a turn's story to sessions, and it always has an end."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, cast

from hermes_nb import _settings
from hermes_nb.errors import HermesNbError
from hermes_nb.flyte.promotion.spec import secret_names
from hermes_nb.flyte.run.log import LogTail
from hermes_nb.model.event import Event, EventNumberer
from hermes_nb.runtimes._base import WorkerFiles
from hermes_nb.tools.secret import declare

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.flyte.config import FlyteConfig
    from hermes_nb.flyte.promotion.plan import Plan
    from hermes_nb.model.message import TurnStartKeys
    from hermes_nb.model.message_part import Json
    from hermes_nb.model.message_sender import SendToKernel
    from hermes_nb.model.status import TurnStatus

RUN, LOG = "flyte.run", "flyte.log"  # the kinds of our events about the run itself: its phase, and the tail of its log
LOG_EVERY_S = 1.0


class FlyteRun:
    """One turn on its way; on the IO loop.

    Args:
        runtime: The configuration.
        agent_of: Gives the bound agent of an id.
        place: Where files go.
        start: The wire's `turn.start`.
        tell: Sends one message to sessions.
    """

    def __init__(
        self,
        runtime: FlyteConfig,
        agent_of: Callable[[str], Any],
        place: WorkerFiles,
        start: TurnStartKeys,
        tell: SendToKernel,
    ) -> None:
        self.runtime, self.place, self.start = runtime, place, start
        self.bound: BoundAgent = agent_of(str(start["agent_id"]))
        self.turn_id, self.session_id = str(start["turn_id"]), str(start["session_id"])
        self._tell = tell
        self._numberer = EventNumberer(f"{place.producer}.{self.turn_id}", time.time)
        self._end: Mapping[str, Any] | None = None
        self._is_told = False
        self._task: asyncio.Task[Any] | None = None
        self._mask: Callable[[str], str] | None = None
        self._log_told_s = 0.0
        self.attempt = int(start.get("attempt") or 1)
        self.tail = LogTail(self.mask)

    # -- telling -----------------------------------------------------------------------------------------------------
    def emit(self, kind: str, data: Mapping[str, Any]) -> None:
        """An event of our own: what the notebook's side knows of the run."""
        event = self._numberer.make(
            kind, session_id=self.session_id, turn_id=self.turn_id, span_id=self.turn_id, attempt=self.attempt, data=data
        )
        self.pass_on(event)

    def tell_log(self, *, is_last: bool = False) -> None:
        """The log's tail, when it is new; once a second at most, but for the last one."""
        if not is_last and time.monotonic() < self._log_told_s + LOG_EVERY_S:
            return
        lines = self.tail.news()
        if lines is not None:
            self._log_told_s = time.monotonic()
            self.emit(LOG, {"lines": list(lines)})

    async def plan(self) -> Plan:
        """What was planned when it was promoted, else a plan of the agent as it is now.

        Raises:
            UsageError: A finding stops it. Nothing was sent.
        """
        from hermes_nb.flyte.promotion.preflight import checked
        from hermes_nb.flyte.promotion.submit import refuse

        planned: Plan | None = self.start.get("plan")
        if planned is None:
            planned = await asyncio.to_thread(checked, self.bound, self.runtime)
            refuse(planned)
        return planned

    def mask(self, text: str) -> str:
        """The text without keys of this process."""
        if self._mask is None:
            masker = self.bound.hermes.masker()
            declare(masker, filter(None, map(_settings.variable, secret_names(self.runtime.secrets))))
            self._mask = masker.text
        return self._mask(text)

    def pass_on(self, event: Event) -> None:
        """One event, of the run or of our own."""
        if self._is_told:
            return
        if event.is_turn_end:
            self._end = {"kind": event.kind, **event.data}
        elif event.kind == "turn.started":
            self._end = None  # another attempt
            self.attempt = max(self.attempt, event.attempt)
        self._tell("event", event=event.to_dict())

    def warn(self, code: str, message: str) -> None:
        """Something to know, shown among the turn's rows."""
        self.emit("warning", {"code": code, "message": message})

    @property
    def has_end(self) -> bool:
        """Whether the newest attempt has ended."""
        return self._end is not None

    @property
    def has_failed(self) -> bool:
        """Whether it has ended with an error."""
        return self._end is not None and self._end.get("kind") == "turn.failed"

    def done(self) -> None:
        """Nothing follows."""
        if self._is_told:
            return
        self._is_told = True
        end = dict(self._end or {})
        status = str(end.get("status") or ("failed" if end.get("kind") == "turn.failed" else "completed"))
        self._tell(
            "turn.done",
            turn_id=self.turn_id,
            status=cast("TurnStatus", status),
            text=end.get("text", ""),
            usage=end.get("usage"),
            cost_usd=end.get("cost_usd"),
            error=end.get("error", ""),
            error_type=end.get("error_type", ""),
            hint=end.get("hint", ""),
            n_model_calls=end.get("n_model_calls", 0),
            exit_reason="",
            raw=self.raw(),
        )

    def raw(self) -> Json:
        """What is known of the run itself, for `RunResult.raw`."""
        return {}

    def fail(self, error: str, error_type: str, **more: Any) -> None:
        """End the turn as failed."""
        self.emit("turn.failed", {"text": "", "error": error, "error_type": error_type, **more})

    def end_stopped(self, reason: str) -> None:
        """End the turn as stopped, at once."""
        status = "timed_out" if reason == "timeout" else "stopped"
        self.emit("turn.stopped", {"text": "", "status": status, "reason": reason})
        self.done()

    # -- running -----------------------------------------------------------------------------------------------------
    async def run(self) -> None:
        """Run it to its end; always ends with `turn.done`."""
        self._task = asyncio.current_task()
        try:
            await self.travel()
        except asyncio.CancelledError:
            pass
        except HermesNbError as exc:
            self.fail(str(exc), type(exc).__name__)
        except Exception as exc:  # noqa: BLE001 - the turn must end, and say why
            self.fail(f"Flyte's client failed: {exc!r}"[:2000], type(exc).__name__)
        finally:
            self.done()

    async def travel(self) -> None:
        """Submit or start, follow, tell."""
        raise AssertionError("a Ride is one of its sub-classes")

    async def stop(self, reason: str) -> None:
        """End it: what is told ends at once, what runs is ended behind it."""
        raise AssertionError("a Ride is one of its sub-classes")

    def order(self) -> Json:
        """The turn's request, as it travels."""
        kept = ("turn_id", "session_id", "history", "date", "n_prior_turns", "labels")
        prompt, start = self.start["prompt"], dict(self.start)
        parts: Json = {} if isinstance(prompt, str) else {"prompt_parts": prompt}
        if self.attempt > 1:
            parts |= {"attempt": self.start["attempt"], "declined": self.start.get("declined") or []}
        return {
            **{k: start[k] for k in kept if k in start},
            **parts,
            "agent": self.bound.name,
            "runtime": self.start["runtime"] or "flyte",
            "yes": self.runtime.yes,
        }

    @property
    def prompt(self) -> str:
        """What is asked, as text; pictures travel beside it, in the order."""
        prompt = self.start["prompt"]
        return prompt if isinstance(prompt, str) else "\n\n".join(str(p["text"]) for p in prompt if p.get("text"))
