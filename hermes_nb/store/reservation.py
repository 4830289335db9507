"""What model calls that run may spend: a row per call, so that kernels side by side overstep a limit by one call in all.

A call's row is written before it begins and removed when its own events are stored: what was spent and what may be spent are
never both missing.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass

from hermes_nb.store import read
from hermes_nb.store.connection import StoreConnection
from hermes_nb.store.row import TurnRow

_COLUMNS = "call_id, turn_id, session_id, owner, n_tokens, cost_usd"


@dataclass(frozen=True, slots=True)
class Reservation:
    """The most that a call can come to.

    Attributes:
        call_id: Its span.
        turn_id: Its turn.
        session_id: Its conversation.
        owner: The kernel that waits for it.
        n_tokens: Tokens; None when nobody can say.
        cost_usd: Dollars; None when nobody can say.
    """

    call_id: str
    turn_id: str
    session_id: str
    owner: str
    n_tokens: int | None
    cost_usd: float | None


@dataclass(frozen=True, slots=True)
class SharedLimit:
    """A limit of a session (with `session_id`) or of all since a time (with `since_unix_s`)."""

    most: float
    is_cost: bool
    session_id: str | None = None
    since_unix_s: float | None = None
    counts: bool = True

    def spent(self, turns: Sequence[TurnRow]) -> float | None:
        """What turns have cost; None where a model call did not say how many tokens it took."""
        if self.is_cost:
            return sum(t.cost_usd or 0.0 for t in turns)
        if not all(t.are_tokens_whole for t in turns):
            return None
        return sum((t.input_tokens or 0) + (t.output_tokens or 0) for t in turns)

    def is_reached(self, spent: float | None) -> bool:
        """Whether no further call may begin; so too where nobody can say what was spent."""
        return self.counts and (spent is None or spent >= self.most)


async def reserve(
    connection: StoreConnection, wanted: Reservation, limits: Sequence[SharedLimit], is_alive: Callable[[str], bool]
) -> list[float | None] | None:
    """Reserve for a call; what was spent so far by each limit, None where that is not known.

    Args:
        connection: The writing one.
        wanted: The most the call can come to.
        limits: What must hold. One that does not count for the call (`counts`) is only reported.
        is_alive: Whether the kernel of that name lives; what a dead one reserved is dropped.

    Returns: None when the call has to wait for others. When a limit is reached already, nothing is reserved.
    """
    async with connection.transaction():
        spent = [
            limit.spent(await read.turns(connection, limit.session_id, since_unix_s=limit.since_unix_s)) for limit in limits
        ]
        if any(limit.is_reached(so_far) for limit, so_far in zip(limits, spent, strict=True)):
            return spent
        rows = [Reservation(*row) for row in await connection.rows(f"SELECT {_COLUMNS} FROM reservations")]
        alive = {owner: is_alive(owner) for owner in {row.owner for row in rows}}
        for row in rows:
            if not alive[row.owner]:
                await connection.execute("DELETE FROM reservations WHERE call_id = ?", (row.call_id,))
        running = [row for row in rows if alive[row.owner]]
        for limit, so_far in zip(limits, spent, strict=True):
            beside = [r for r in running if limit.session_id in (None, r.session_id)]
            most = [r.cost_usd if limit.is_cost else r.n_tokens for r in beside]
            known = [m for m in most if m is not None]
            if limit.counts and beside and (len(known) < len(most) or limit.is_reached((so_far or 0.0) + sum(known))):
                return None
        await connection.execute(
            f"INSERT OR REPLACE INTO reservations ({_COLUMNS}, at_unix_s) VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*astuple(wanted), time.time()),
        )
        return spent


async def release(connection: StoreConnection, *, call_id: str | None = None, turn_id: str | None = None) -> None:
    """Let go of what a call, or all calls of a turn, had reserved; their events are stored."""
    async with connection.transaction():
        await connection.execute("DELETE FROM reservations WHERE call_id = ? OR turn_id = ?", (call_id, turn_id))
