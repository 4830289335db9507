"""`%hermes usage` and what it sums: the unknown is said, never a zero, never left out of a sum in silence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from hermes_nb.api._usage import summed, total
from hermes_nb.api.hermes import Hermes
from hermes_nb.magics.subcommands.usage import _cells
from hermes_nb.model.agent import Agent
from hermes_nb.testing import Say, ScriptedModel, log

DAY = date.fromtimestamp(1_790_000_000).isoformat()
TOLD = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
ZEROS = {**TOLD, "prompt_tokens_details": {"cached_tokens": 0}, "completion_tokens_details": {"reasoning_tokens": 0}}


async def _cells_of(path: Path, *usages: object) -> tuple[str, ...]:
    hermes = Hermes.open_local(state=path)
    try:
        with ScriptedModel([Say("ok", usage=usage) for usage in usages]) as model:
            bound = hermes.bind(Agent("a", model=model.model))
            for _ in usages:
                assert (await bound.run("q")).status == "completed"
            return _cells(total(await hermes.io.awaited(_turns(hermes, bound.session_id))), "")[2:]
    finally:
        await hermes.aclose()


async def _turns(hermes: Hermes, session_id: str | None) -> list[object]:
    return await (await hermes.conversations.opened_store()).turns(session_id)


@pytest.mark.parametrize(
    ("usages", "shown"),
    [
        ((TOLD,), ("100", "unknown", "10", "unknown")),
        ((ZEROS,), ("100", "0", "10", "0")),
        ((TOLD, None), ("at least 100", "unknown", "at least 10", "unknown")),
        ((ZEROS, TOLD), ("200", "at least 0", "20", "at least 0")),
        ((None,), ("unknown",) * 4),
    ],
)
async def test_a_sum_says_what_of_it_is_unknown(usages: tuple[object, ...], shown: tuple[str, ...], tmp_path: Path) -> None:
    assert (await _cells_of(tmp_path, *usages))[:4] == shown


async def test_a_cost_that_the_provider_gives_is_the_cost_and_is_marked(tmp_path: Path) -> None:
    hermes = Hermes.open_local(state=tmp_path)
    try:
        with ScriptedModel([Say("ok", usage={**TOLD, "cost": 0.0123}), Say("ok", usage={**TOLD, "cost": "dear"})]) as model:
            bound = hermes.bind(Agent("a", model=model.model))
            first, second = await bound.run("q"), await bound.run("q")
    finally:
        await hermes.aclose()
    assert (first.cost_usd, second.cost_usd) == (0.0123, None)
    told = [e.data for r in (first, second) for e in r.events if e.kind == "model.completed"]
    assert [d.get("cost_source") for d in told] == ["provider", None]


@pytest.mark.parametrize(
    ("times", "day"),
    [
        (lambda n: 0.0, "unknown"),
        (lambda n: 86_400.0 * n, "unknown"),
        (lambda n: -1e9, "unknown"),
        (lambda n: 0.0 if n < 2 else 1_790_000_000.0, DAY),
        (lambda n: 1_790_000_000.0, DAY),
    ],
)
async def test_a_day_that_no_clock_told_is_unknown(times: Callable[[int], float], day: str, tmp_path: Path) -> None:
    hermes = Hermes.open_local(state=tmp_path)
    try:
        store = await hermes.io.awaited(hermes.conversations.opened_store())
        events = [replace(event, at_unix_s=times(n)) for n, event in enumerate(log.plain())]
        await hermes.io.awaited(store.ingest(events))
        assert [row.name for row in summed(await hermes.io.awaited(store.turns(None)), "day")] == [day]
    finally:
        await hermes.aclose()
