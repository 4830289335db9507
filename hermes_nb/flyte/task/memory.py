"""`memory_key` on both sides: a conversation begun in a notebook goes on in Flyte's memory store.

The adapter keeps what was asked and the final answers, at `hermes/history.json`; tool calls and reasoning are dropped. A
notebook's own session keeps everything, so its history is used as long as the store knows no more than it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hermes_nb.flyte import _sdk

SLOT = "hermes/history.json"


class Memory:
    """The store's side of one turn.

    Args:
        key: The conversation's key; "" for none.
        history: The notebook's messages before this turn.
    """

    def __init__(self, key: str, history: Sequence[Mapping[str, Any]]) -> None:
        self._key = key
        self._said = spoken(history)

    async def seed(self) -> None:
        """Put the notebook's conversation into a store that has none yet."""
        if not self._key or not self._said:
            return
        store = await _sdk.sdk("flyte.ai.agents.memory").MemoryStore.get_or_create.aio(key=self._key)
        if not await store.read_json.aio(SLOT, []):
            await store.write_json.aio(SLOT, self._said)
            await store.save.aio()

    def knows_more(self, told: Sequence[Mapping[str, Any]] | None) -> bool:
        """Whether the store's conversation is another than the notebook's."""
        return bool(self._key and told) and spoken(told or ()) != self._said


def spoken(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """What the adapter would have kept: each question and the last thing said to it."""
    kept: list[dict[str, str]] = []
    for message in messages:
        role, text = str(message.get("role")), message.get("content")
        if role not in ("user", "assistant") or not isinstance(text, str) or not text.strip():
            continue
        if kept and kept[-1]["role"] == role == "assistant":
            kept.pop()
        kept.append({"role": role, "content": text})
    return kept
