"""What a turn gives: the seed's five fields, and everything else as a view of its events."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from hermes_nb._near import suggesting_methods
from hermes_nb.errors import (
    TurnBudgetError,
    TurnError,
    TurnFailedError,
    TurnReplayError,
    TurnStoppedError,
    TurnTimeoutError,
    TurnUnfinishedError,
)
from hermes_nb.model.event import Event
from hermes_nb.model.sentence import join
from hermes_nb.model.status import TurnStatus

if TYPE_CHECKING:
    import pandas
    import plotly.graph_objects

    from hermes_nb.model.span import Span
    from hermes_nb.views.rows import Row

_ERRORS: Mapping[str, type[TurnError]] = {
    "failed": TurnFailedError,
    "stopped": TurnStoppedError,
    "timed_out": TurnTimeoutError,
}
_ENDED = {
    "timed_out": "It was not done at its time limit; what had arrived is kept. A longer one: --timeout S, timeout_s=S.",
    "stopped": "It was stopped; what had arrived is kept. %hermes resume goes on with it.",
    "max_turns": (
        "It reached the agent's limit of model calls (max_turns); {what}. Ask it to go on, or raise the limit:"
        " Agent(..., max_turns=N)."
    ),
    "awaiting_approval": "It waits for your approval. %hermes approve answers, in a cell of its own.",
    "needs_confirmation": "A tool call of it may have run already, and would run again. %hermes resume asks whether it may.",
}
_BY_TYPE: Mapping[str, type[TurnError]] = {e.__name__: e for e in (TurnBudgetError, TurnReplayError)}


@dataclass(frozen=True, slots=True)
class ToolRecord:
    """One tool call of a turn.

    `arguments` is the raw JSON text the model wrote, `content` what the model got back, `value` what the function
    returned, whole (None for a tool of Hermes and in a result read back from the store).
    """

    name: str
    arguments: str
    status: str
    content: str
    duration_ms: float | None = None
    value: Any = field(default=None, repr=False)


def status_of(end: Event | None) -> TurnStatus:
    """Return how a turn ended, by its last event; None stands for a log without an end."""
    if end is None:
        return "failed"
    return cast("TurnStatus", str(end.data.get("status") or ("failed" if end.kind == "turn.failed" else "completed")))


@suggesting_methods
@dataclass(frozen=True)
class RunResult:
    """The outcome of a turn.

    Attributes:
        text: The answer; the part that had arrived when the turn did not complete.
        status: completed, stopped, failed, timed_out, max_turns, awaiting_approval or needs_confirmation.
        session_id: Its conversation.
        turn_id: Its turn.
        raw: Hermes's own result, messages left out.
        value: What `returns=` asked for, validated; None without it, or when the answer did not fit.
    """

    text: str
    status: TurnStatus
    session_id: str
    turn_id: str
    raw: dict[str, Any] = field(default_factory=dict, repr=False)
    events: Sequence[Event] = field(default=(), repr=False, kw_only=True)
    values: Mapping[str, Any] = field(default_factory=dict, repr=False, kw_only=True)
    shown_in: str | None = field(default=None, repr=False, kw_only=True)
    value: Any = field(default=None, repr=False, kw_only=True)
    problem: str | None = field(default=None, repr=False, kw_only=True)

    def __repr__(self) -> str:
        text = " ".join(self.text.split())
        head = text if len(text) <= 60 else text[:59] + "…"
        return f"RunResult({self.status}, {head!r}, session={self.session_id}, turn={self.turn_id})"

    def __str__(self) -> str:
        """The text that scripts and terminals show: answer, rows, total line; how to answer where the turn waits for it."""
        from hermes_nb.views.text import render

        return "\n\n".join(part for part in (render(self.events), self.problem) if part)

    @property
    def _end(self) -> Mapping[str, Any]:
        return next((e.data for e in reversed(self.events) if e.is_turn_end), {})

    def __await__(self) -> Generator[Any, None, RunResult]:
        """Itself, at once: `await NAME` is right whether the background turn of `-o NAME` still runs or has ended."""
        return self
        yield

    @property
    def spans(self) -> list[Span]:
        """The turn's spans, ordered by start."""
        from hermes_nb.model.span import fold

        return fold(self.events)

    @property
    def usage(self) -> dict[str, int]:
        """Tokens of the turn: input_tokens, output_tokens, cache_read_tokens, ...; a count nobody gave is missing."""
        return dict(self._end.get("usage") or {})

    @property
    def cost_usd(self) -> float | None:
        """Cost in US dollars; None when it is unknown."""
        cost = self._end.get("cost_usd")
        return None if cost is None else float(cost)

    @property
    def duration_s(self) -> float | None:
        """How long the turn took, in seconds; None when it was never measured."""
        duration_ms = self._end.get("duration_ms")
        return None if duration_ms is None else float(duration_ms) / 1000

    @property
    def model(self) -> str | None:
        """The model that was asked; None when the turn ended before."""
        return next((str(e.data["model"]) for e in self.events if e.data.get("model")), None)

    @property
    def metadata(self) -> dict[str, Any]:
        """What was given to be kept with the turn (`run(..., metadata=...)`); {} when nothing was."""
        return next((dict(e.data.get("metadata") or {}) for e in self.events if e.kind == "turn.started"), {})

    @property
    def error(self) -> str | None:
        """What went wrong and what to do; None when nothing did."""
        if self.problem is not None:
            return self.problem
        data = self._end
        return join(data.get("error"), data.get("hint")) or None

    @property
    def unread_steer(self) -> str | None:
        """What was put into the turn and never read by its model: the next question. None when there is nothing."""
        unread = [str(e.data.get("text")) for e in self.events if e.kind == "steer.received" and not e.data.get("applied")]
        return "\n\n".join(unread) or None

    @property
    def tools(self) -> list[ToolRecord]:
        """The turn's tool calls in the order they ended."""
        given = {e.span_id: str(e.data.get("arguments", "")) for e in self.events if e.kind == "tool.started"}
        return [
            ToolRecord(
                name=str(e.data.get("name", "")),
                arguments=given.get(e.span_id, "") or str(e.data.get("arguments") or ""),
                status=str(e.data.get("status", "")),
                content=str(e.data.get("result", "")),
                duration_ms=e.data.get("duration_ms"),
                value=self.values.get(e.span_id),
            )
            for e in self.events
            if e.kind == "tool.completed"
        ]

    @property
    def rows(self) -> list[Row]:
        """The rows of the turn, in the grammar of Flyte's Agent tab."""
        from hermes_nb.views.rows import render

        return render(self.events)

    def frame(self) -> pandas.DataFrame:
        """One row per span; columns and dtypes as `hermes_nb.views.frame.render` documents them."""
        from hermes_nb.views.frame import render

        return render(self.events)

    def figure(self) -> plotly.graph_objects.Figure:
        """The timeline as a Plotly figure."""
        from hermes_nb.views.figure import render, to_figure

        return to_figure(render(self.events))

    # A variable of `%hermes run --background -o NAME` holds the turn until it is over: what is asked of it then is
    # answered by the result, too.
    @property
    def is_done(self) -> bool:
        """True, as of a turn that has ended."""
        return True

    async def get(self) -> RunResult:
        """This result."""
        return self

    async def wait(self, timeout_s: float | None = None, *, until_asked: bool = False, by_click: bool = False) -> RunResult:
        """This result; there is nothing to wait for."""
        return self

    def wait_blocking(
        self, timeout_s: float | None = None, *, until_asked: bool = False, by_click: bool = False
    ) -> RunResult:
        """This result; there is nothing to wait for."""
        return self

    def raise_for_status(self) -> RunResult:
        """This result, when the turn completed.

        Raises:
            TurnFailedError: Status failed; TurnBudgetError and TurnReplayError are kinds of it.
            TurnStoppedError: Status stopped.
            TurnTimeoutError: Status timed_out.
            TurnUnfinishedError: Any other status but completed.
        """
        if self.status == "completed":
            return self
        told = "its text sums up what was done" if self.text.strip() else "the model gave no summary of what was done"
        ended = _ENDED.get(self.status, "").replace("{what}", told)
        what = self.error or ended or f"It ended as {self.status}, without an answer."
        kind = _BY_TYPE.get(str(self._end.get("error_type"))) if self.status == "failed" else None
        raise (kind or _ERRORS.get(self.status, TurnUnfinishedError))(f"Turn {self.turn_id}: {what}", self)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Answer, rows and totals as Markdown, HTML and text; one line in the cell that has already shown them."""
        from hermes_nb.host.detect import current
        from hermes_nb.views._bundle import bundle

        if self.shown_in is not None and current().cell_id() == self.shown_in:
            return {"text/plain": repr(self)}
        return bundle(self.events)
