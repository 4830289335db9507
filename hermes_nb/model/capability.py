"""What an engine may be able to do and another can't: told by its worker with `ready`, asked before anything is promised."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# name -> what can't be had where it is missing
CAPABILITIES: Mapping[str, str] = {
    "tools": "functions of the notebook",
    "model": "a choice of the model",
    "instructions": "instructions apart from the first question",
    "toolsets": "a choice of Hermes's own tools",
    "approve": "questions before Hermes's own tools act",
    "clarify": "questions of the model to its user",
    "steer": "words put in while a turn runs",
    "journal": "resuming a turn without paying twice",
    "usage": "tokens of each model call",
    "cost": "cost, and limits of cost or tokens",
    "images": "images in prompts",
    "retries": "waits between attempts",
    "summary": "a recorded summary at the limit of model calls",
    "compression": "a recorded summary of a conversation that is shortened",
    "helpers": "tokens of helper models (vision, web pages, compression)",
    "delegation": "rows of agents that are delegated to",
}


def lacking(told: Iterable[str] | None) -> frozenset[str]:
    """Return what an engine can't do, from what it told; nothing for one that tells nothing (a runtime of other hands)."""
    return frozenset() if told is None else frozenset(CAPABILITIES) - set(told)


def in_words(missing: Iterable[str]) -> str:
    """Return what can't be had, in the order of the table; "" where nothing is missing."""
    missing = set(missing)
    return ", ".join(text for name, text in CAPABILITIES.items() if name in missing)
