"""Words in prompts and answers, found by sqlite's FTS5."""

from __future__ import annotations

import re

from hermes_nb.store.connection import StoreConnection
from hermes_nb.store.row import SearchHit

_HEAD = """SELECT e.session_id, e.turn_id, s.agent, s.title,
    CASE e.kind WHEN 'turn.started' THEN 'prompt' ELSE 'answer' END, {excerpt}, e.at_unix_s
    FROM said JOIN events e ON e.rowid = said.rowid JOIN sessions s ON s.session_id = e.session_id"""
_WORDS = _HEAD.format(excerpt="snippet(said, 0, '[', ']', '…', 16)") + " WHERE said MATCH ? ORDER BY rank LIMIT ?"
_PART = (
    _HEAD.format(
        excerpt="""substr(said.text, max(1, instr(lower(said.text), lower(?1)) - 40), instr(lower(said.text), lower(?1))
        - max(1, instr(lower(said.text), lower(?1)) - 40)) || '[' ||
        substr(said.text, instr(lower(said.text), lower(?1)), length(?1)) || ']' ||
        substr(said.text, instr(lower(said.text), lower(?1)) + length(?1), 60)"""
    )
    + " WHERE instr(lower(said.text), lower(?1)) > 0 ORDER BY e.rowid DESC LIMIT ?2"
)


async def search(connection: StoreConnection, text: str, limit: int = 20) -> list[SearchHit]:
    """Prompts and answers that hold every word of `text`, the best first; a last word that ends the
    text may be a beginning.

    Where no word matches (scripts written without spaces, a piece of a word), texts that contain `text` as it stands,
    the newest first.
    """
    text = text.strip()
    words = re.findall(r"\w+", text)
    if not text or limit < 1:
        return []
    rows = []
    if words:
        query = " ".join(f'"{word}"' for word in words) + ("*" if text.endswith(words[-1]) else "")
        rows = await connection.rows(_WORDS, (query, limit))
    if not rows:
        rows = await connection.rows(_PART, (text, limit))
    return [SearchHit(*row) for row in rows]
