"""What the store answers with: plain frozen rows, also for floors above that never touch sqlite."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SessionRow:
    """One conversation.

    Attributes:
        session_id: Its id.
        agent: Name of the agent it belongs to; "" while unknown.
        title: The title given, else the head of its first prompt; "" while there is neither.
        created_unix_s: Time of creation or of its first event, whichever is known and earlier.
        last_used_unix_s: Time of its newest event.
        parent_session_id: The session it was forked from.
        forked_at_turn_id: The last turn it shares with that one, or step (`turn_id/span_id`); `turn_id@n` for one that had
            not completed at its n-th attempt.
        first_day: The day the session began as its prompts state it, YYYY-MM-DD; "" while unknown.
        n_turns: Turns with a start or an end in the log. Read only, as all below.
        input_tokens: Sum over what reported it; None when nothing did.
        output_tokens: The same.
        cost_usd: The same.
        is_cost_whole: Whether the cost of every call is known; False makes `cost_usd` a lower bound.
        last_status: How its last turn ended, `running` when the log has no end of it; None without a turn.
    """

    session_id: str
    agent: str
    title: str
    created_unix_s: float
    last_used_unix_s: float
    parent_session_id: str | None = None
    forked_at_turn_id: str | None = None
    first_day: str = ""
    n_turns: int = 0
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    is_cost_whole: bool = True
    last_status: str | None = None


@dataclass(frozen=True, slots=True)
class TurnRow:
    """One turn, computed from its events; what the log does not hold is None.

    Attributes:
        turn_id: Its id.
        session_id: Its conversation.
        status: `completed`, `max_turns`, `failed`, `stopped`, `timed_out` ... as its end says; `running` without one.
        prompt: What was asked.
        text: The answer, whole or partial.
        started_unix_s: Time of its first event; None when its clock was not set.
        duration_ms: As its end says; None while it runs.
        input_tokens: Over all attempts; replayed calls cost nothing and count nothing.
        output_tokens: The same.
        cost_usd: The same.
        cache_read_tokens: The same; part of input_tokens.
        cache_write_tokens: The same; part of input_tokens.
        reasoning_tokens: The same; part of output_tokens.
        is_cost_whole: Whether the cost of every call is known; False makes `cost_usd` a lower bound.
        are_tokens_whole: Whether every model call reported its tokens.
    """

    turn_id: str
    session_id: str
    status: str
    prompt: str | None = None
    text: str | None = None
    started_unix_s: float | None = None
    duration_ms: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    is_cost_whole: bool = True
    are_tokens_whole: bool = True


@dataclass(frozen=True, slots=True)
class RunRow:
    """One remote run, as its newest event says.

    Attributes:
        run: Its name there.
        session_id: The conversation it belongs to.
        turn_id: The turn it is.
        agent: The conversation's agent; "" while unknown.
        phase: `queued`, `running`, `succeeded`, `failed`, `aborted` ... as it was last heard.
        url: Where its control plane shows it; "" for none.
        at_unix_s: When that was said.
    """

    run: str
    session_id: str
    turn_id: str
    agent: str
    phase: str
    url: str
    at_unix_s: float


@dataclass(frozen=True, slots=True)
class SearchHit:
    """One prompt or answer that matched.

    Attributes:
        session_id: Conversation.
        turn_id: Turn.
        agent: The conversation's agent.
        title: The conversation's title.
        part: `prompt` or `answer`.
        excerpt: Some words around the match, which stands between `[` and `]`.
        at_unix_s: When it was said.
    """

    session_id: str
    turn_id: str
    agent: str
    title: str
    part: str
    excerpt: str
    at_unix_s: float
