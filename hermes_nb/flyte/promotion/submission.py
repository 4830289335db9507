"""A promotion on its way, for whoever shows it: phase, link, log, cost and report, to poll or to await.

All but the report is a pure function of the turn's events, so that a widget, a magic and a script see the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.flyte.promotion.plan import Plan
from hermes_nb.flyte.run.run import LOG, RUN
from hermes_nb.model.event import Event
from hermes_nb.model.sentence import join

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.turn import Turn, TurnAction
    from hermes_nb.turns.result import RunResult


@dataclass(frozen=True)
class Progress:
    """Where a promotion is.

    Attributes:
        phase: submitting, then the run's own in Flyte's words (queued, running, succeeded, failed, aborted ...); "" before.
        status: The turn's: queued, running, stopping, or how it ended (completed, failed, stopped ...).
        is_done: Whether nothing follows.
        run: The run's name; "" before it is submitted, and for a local one.
        url: Where Flyte shows it; "" when nowhere.
        attempt: The attempt that runs, from 1.
        log: The last lines of its log.
        report_path: The report's file of a local run; "" for a remote one.
        n_model_calls: Model calls so far, replayed ones left out.
        n_tool_calls: Tool calls so far.
        input_tokens: Tokens sent; None when nobody told.
        output_tokens: Tokens got; None when nobody told.
        cost_usd: What the model calls cost; None when nobody told.
        text: The answer so far.
        error: What went wrong; "" when nothing did.
    """

    phase: str = ""
    status: str = "queued"
    is_done: bool = False
    run: str = ""
    url: str = ""
    attempt: int = 1
    log: tuple[str, ...] = ()
    report_path: str = ""
    n_model_calls: int = 0
    n_tool_calls: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    text: str = ""
    error: str = ""


def progress_of(events: Iterable[Event], *, status: str = "running", is_done: bool = False) -> Progress:
    """Where a turn is, from its events so far."""
    from hermes_nb.views._total import totals

    events = list(events)
    known: dict[str, Any] = {}
    log: tuple[str, ...] = ()
    text = error = ""
    for event in events:
        if event.kind == RUN:
            known |= {k: v for k, v in event.data.items() if v}
        elif event.kind == LOG:
            log = tuple(str(line) for line in event.data.get("lines") or ())
        elif event.kind == "model.completed":
            text = str(event.data.get("text") or "")
        elif event.kind == "turn.started":
            text = error = ""
        elif event.is_turn_end:
            text = str(event.data.get("text") or "")
            error = join(event.data.get("error"), event.data.get("hint"))
    total = totals(events)
    return Progress(
        phase=str(known.get("phase", "")),
        status=status,
        is_done=is_done,
        run=str(known.get("run", "")),
        url=str(known.get("url", "")),
        attempt=max([int(known.get("attempt", 1)), *(e.attempt for e in events)]),
        log=log,
        report_path=str(known.get("report", "")),
        n_model_calls=total["n_live_calls"],
        n_tool_calls=total["n_tool_calls"],
        input_tokens=total["input_tokens"],
        output_tokens=total["output_tokens"],
        cost_usd=total["cost_usd"],
        text=text,
        error=error,
    )


class Submission:
    """The handle of a promoted turn. Awaiting it gives the `RunResult`; `progress` may be asked from any thread.

    Args:
        turn: What `bound.promote` or `attach_run` gave.
    """

    def __init__(self, turn: Turn) -> None:
        self.turn = turn

    def __repr__(self) -> str:
        now = self.progress
        return f"<Submission {now.run or self.turn.id}: {now.phase or now.status}>"

    def __await__(self) -> Generator[Any, None, RunResult]:
        return self.turn.wait().__await__()

    @property
    def progress(self) -> Progress:
        """Where it is now; cheap, and never touches the network."""
        return progress_of(self.turn.events, status=self.turn.status, is_done=self.turn.is_done)

    async def changes(self, *, every_s: float = 0.25) -> AsyncIterator[Progress]:
        """Progress whenever it is another than before, at most once in `every_s` seconds; ends with the turn's end."""
        told: Progress | None = None
        while True:
            now = self.progress
            if now != told:
                told = now
                yield now
            if now.is_done:
                return
            await asyncio.sleep(every_s)

    def stop(self) -> TurnAction:
        """Stop the turn and abort its run; returns at once, await what it returns for the end."""
        return self.turn.stop()

    async def report_html(self) -> str:
        """The report's HTML as it is now; "" while there is none.

        Raises:
            UsageError: The control plane does not know the run, or nothing says where it is.
        """
        now = self.progress
        if now.report_path:
            path = Path(now.report_path)
            return await asyncio.to_thread(path.read_text, encoding="utf-8") if path.is_file() else ""
        if not now.run:
            return ""
        from hermes_nb.flyte.promotion.submit import connect, get, report_html

        await connect(self._config())
        return await report_html(await get(now.run), now.attempt)

    def _config(self) -> Any:
        runtime: Any = self.turn.agent.instance.runtime
        if not hasattr(runtime, "endpoint"):
            raise UsageError(f"Turn {self.turn.id} did not run on Flyte.")
        return runtime


def submit_plan(plan: Plan, prompt: str | None = None, *, quiet: bool = True) -> Submission:
    """Submit what was looked at: the plan's agent is asked `prompt` (None: its last question again).

    What was looked at is what is submitted: functions that were redefined since need another look.

    Raises:
        UsageError: The plan has a finding that stops it, or there is nothing to ask. Nothing was sent.
    """
    from hermes_nb.flyte.promotion.promoted import last_question, submitted
    from hermes_nb.flyte.promotion.submit import refuse

    refuse(plan)
    bound = plan.bound
    return Submission(submitted(bound, prompt or last_question(bound), plan, quiet=quiet))


__all__ = ["Progress", "Submission", "progress_of", "submit_plan"]
