"""What is asked of a turn, as two values: as the caller said it, and as it is run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from hermes_nb.errors import UsageError
from hermes_nb.model.content import ContentPart, prompt_text
from hermes_nb.turns import limit

if TYPE_CHECKING:
    from hermes_nb.host.base import Caller, Sink
    from hermes_nb.turns.recording import RecordedTurn
    from hermes_nb.turns.resume import Resumable

Mode = Literal["enqueue", "steer"]
ReplayMiss = Literal["error", "live"]
STORE_EVERY_S = 0.05


@dataclass(frozen=True, kw_only=True)
class TurnTerms:
    """How a turn is run, whether it is asked anew or continued.

    Attributes:
        timeout_s: Stop the turn after so many seconds, with status timed_out; None for no limit.
        show: Whether it shows while it runs.
        background: Whether nobody waits; output still goes to the asking cell.
        blocks: Whether the caller blocks its loop until the end.
        limits: What the turn may cost.
        replay: A recording to answer from instead of the model.
        replay_miss: Whether what the recording does not hold goes to the model; None means as HERMES_NB_REPLAY_MISS says.

    Raises:
        UsageError: A value is none that the field can have; nothing was sent.
    """

    timeout_s: float | None = None
    show: bool = True
    background: bool = False
    blocks: bool = False
    limits: limit.Limits = limit.NO_LIMITS
    replay: str | Path | None = None
    replay_miss: ReplayMiss | None = None

    def __post_init__(self) -> None:
        if self.timeout_s is not None and self.timeout_s <= 0:
            raise UsageError(f"timeout must be more than 0 seconds, not {self.timeout_s:g}.")
        if self.replay_miss not in (None, "error", "live"):
            raise UsageError(f"replay_miss is 'error' or 'live', not {self.replay_miss!r}.")


@dataclass(frozen=True, kw_only=True)
class TurnRequest(TurnTerms):
    """A question and all that was said about how to run it; made once by `run`, `start`, `%%hermes run` or a widget.

    Attributes:
        prompt: What to ask.
        session_id: The conversation; None continues the agent's own, or starts one.
        again: A turn's id, or True for the session's last turn: the new turn takes its place in the history.
        sink: Where it shows, e.g. a chat; None means the running cell.
        idempotency_key: The turn runs once under this key, however often it is asked for.
        mode: `enqueue`: after the turns of its session that were asked before; `steer`: put into the one that runs.
        metadata: JSON values that are kept in the turn's log.
        tool_binding_ids: Only the tools of these bindings are offered; None means all of the agent's.
        plan: What a runtime with tools of its own prepared for this turn; it gets it back as it is.
        store_every_s: How long an event may wait for others before all are stored; the worker's journal has it meanwhile.

    Raises:
        UsageError: The prompt is empty, or a value is none that the field can have; nothing was sent.
    """

    prompt: str | list[ContentPart]
    session_id: str | None = None
    again: bool | str = False
    sink: Sink | None = None
    idempotency_key: str | None = None
    mode: Mode = "enqueue"
    metadata: Mapping[str, Any] | None = None
    tool_binding_ids: Sequence[str] | None = None
    plan: Any = None
    store_every_s: float = STORE_EVERY_S

    def __post_init__(self) -> None:
        if not self.text.strip():
            raise UsageError("The prompt is empty: nothing was sent.")
        super().__post_init__()
        if self.mode not in ("enqueue", "steer"):
            raise UsageError(f"mode is 'enqueue' or 'steer', not {self.mode!r}.")
        key = self.idempotency_key
        if key is None:
            return
        if not isinstance(key, str) or not key.strip() or "\0" in key or key.encode("utf-8", "replace").decode() != key:
            raise UsageError(
                f"An idempotency key is a text that names one question, not {str(key)[:40]!a} ({type(key).__name__})."
                " Write idempotency_key=str(...) of what is one for each question."
            )

    @property
    def text(self) -> str:
        """The prompt as text, without its pictures."""
        return prompt_text(self.prompt)


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedTurn:
    """A turn as it is run: the request with everything found that it names.

    Attributes:
        turn_id: Its id.
        prompt: What was asked, as text.
        parts: What was asked, as it is sent.
        caller: Who asked.
        sink: Where it shows.
        shown_in: The cell it shows in; None for none.
        timeout_s: Seconds after which it is stopped; None for no limit.
        replaces: The turn whose place in the history it takes; None for none.
        labels: What its first event says besides, e.g. metadata.
        limits: What it may cost.
        recorded: The recorded turn that answers instead of the model; None for none.
        is_live: Whether what the recording does not hold goes to the model.
        resumes: The attempt that it continues; None for a new turn.
        plan: What its runtime prepared for it; None for most.
        store_every_s: How long an event may wait for others, to be stored with them.
    """

    turn_id: str
    prompt: str
    caller: Caller
    sink: Sink
    shown_in: str | None = None
    timeout_s: float | None = None
    parts: str | list[dict[str, str]] | None = None
    replaces: str | None = None
    labels: Mapping[str, Any] = field(default_factory=dict)
    limits: limit.Limits = limit.NO_LIMITS
    recorded: RecordedTurn | None = None
    is_live: bool = False
    resumes: Resumable | None = None
    plan: Any = None
    store_every_s: float = STORE_EVERY_S
