"""Who runs the turn of an idempotency key: one row per key, taken in one transaction by whichever kernel comes first."""

from __future__ import annotations

import time
from dataclasses import astuple, dataclass

from hermes_nb.store.connection import StoreConnection

_COLUMNS = "key, body, session_id, turn_id, owner"


@dataclass(frozen=True, slots=True)
class Claim:
    """A key that a kernel has taken.

    Attributes:
        key: The idempotency key.
        body: Digest of what was asked under it.
        session_id: The turn's conversation.
        turn_id: The turn that runs.
        owner: The kernel that runs it.
    """

    key: str
    body: str
    session_id: str
    turn_id: str
    owner: str


async def claim(connection: StoreConnection, wanted: Claim, *, instead_of: Claim | None = None) -> Claim:
    """Take a key that is free, or that is still held as `instead_of` says; returns how it is held now."""
    async with connection.transaction():
        if instead_of is not None:
            await connection.execute(
                "DELETE FROM claims WHERE key = ? AND owner = ? AND turn_id = ?",
                (instead_of.key, instead_of.owner, instead_of.turn_id),
            )
        await connection.execute(
            f"INSERT INTO claims ({_COLUMNS}, at_unix_s) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING",
            (*astuple(wanted), time.time()),
        )
        rows = await connection.rows(f"SELECT {_COLUMNS} FROM claims WHERE key = ?", (wanted.key,))
    return Claim(*rows[0])


async def claim_of(connection: StoreConnection, key: str) -> Claim | None:
    """How a key is held; None when it is free."""
    rows = await connection.rows(f"SELECT {_COLUMNS} FROM claims WHERE key = ?", (key,))
    return Claim(*rows[0]) if rows else None


async def unclaim(connection: StoreConnection, held: Claim) -> None:
    """Free a key whose turn never began."""
    async with connection.transaction():
        await connection.execute(
            "DELETE FROM claims WHERE key = ? AND owner = ? AND turn_id = ?", (held.key, held.owner, held.turn_id)
        )
