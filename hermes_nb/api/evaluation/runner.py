"""Asks cases of variants on the map's runner, scores each answer as it comes, keeps the scores as events."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hermes_nb.api.batch.runner import BatchRun, Progress, Terms
from hermes_nb.api.evaluation.case import Case
from hermes_nb.api.evaluation.judge import Judge, Verdict
from hermes_nb.api.evaluation.score import KIND, Score, is_kept
from hermes_nb.api.evaluation.scorer import Scorer
from hermes_nb.api.evaluation.trial import Trial
from hermes_nb.api.evaluation.variant import Variant
from hermes_nb.errors import StoreError
from hermes_nb.turns.limit import Limits

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.model.event import Event
    from hermes_nb.turns.result import RunResult

N_OPENED = 20  # of the worst trials, whose steps the page opens
_N_TOGETHER = 100  # scores that are stored in one transaction


class EvaluationRun:
    """One evaluation, under way.

    Args:
        cases: What is asked.
        variants: Whom.
        n_repeats: How often each.
        scorers: Who scores each answer.
        judges: Agents that score them afterwards.
        terms: How the cases are asked; its limits are for the whole.
        show: Told of the progress of a variant.

    Attributes:
        trials: All, by variant, repeat and case; those that were not begun have the status `not_asked`.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        variants: Sequence[Variant],
        *,
        n_repeats: int,
        scorers: Sequence[Scorer],
        judges: Sequence[Judge],
        terms: Terms,
        show: Callable[[str, Progress], None],
    ) -> None:
        self._variants, self._scorers, self._judges = variants, scorers, judges
        self._terms, self._show = terms, show
        self._of = {v.name: [Trial(c, v.name, n + 1) for n in range(n_repeats) for c in cases] for v in variants}
        self.trials = [trial for trials in self._of.values() for trial in trials]
        self._spent_usd, self._n_tokens = 0.0, 0
        self._answers: dict[int, object] = {}
        self._unstored: list[Event] = []

    async def run(self) -> None:
        """Ask and score all; `trials` has what became of them, also after a cancellation.

        Raises:
            asyncio.CancelledError: The task was cancelled; what was answered is scored and kept.
        """
        try:
            for variant in self._variants:
                await self._ask(variant)
            for judge in self._judges:
                await self._judge(judge)
        finally:
            await self._open_worst()

    async def _ask(self, variant: Variant) -> None:
        trials = self._of[variant.name]
        scoring: set[asyncio.Task[None]] = set()

        def answered(i: int, result: RunResult) -> None:
            task = asyncio.ensure_future(self._score(variant, trials[i], result))
            scoring.add(task)

        running = BatchRun(
            variant.bound,
            [t.case.prompt for t in trials],
            replace(self._terms, limits=self._left()),
            show=lambda progress: self._show(variant.name, progress),
            on_result=answered,
        )
        try:
            await running.run()
        finally:
            for trial, outcome in zip(trials, running.outcomes, strict=True):
                trial.outcome = outcome
            if scoring:
                await asyncio.gather(*scoring)
            await self._store(variant.bound)
            self._add(running.progress)

    async def _score(self, variant: Variant, trial: Trial, result: RunResult) -> None:
        trial.session_id = result.session_id
        if result.status != "completed":
            return
        if self._judges:
            self._answers[id(trial)] = result.text if result.value is None else result.value
        for scorer in self._scorers:
            for score in await scorer.scores(trial.case, result):
                trial.scores.append(score)
                if not is_kept(score, trial.case.name, variant.name, tuple(result.events)):
                    self._keep(variant.bound, trial, score, result.turn_id)
        if len(self._unstored) >= _N_TOGETHER:
            await self._store(variant.bound)

    async def _judge(self, judge: Judge) -> None:
        """Ask a judge about all answers."""
        trials = [t for t in self.trials if id(t) in self._answers]
        whose = {v.name: v.bound for v in self._variants}

        def judged(i: int, result: RunResult) -> None:
            verdict, trial = result.value, trials[i]
            if result.status != "completed" or not isinstance(verdict, Verdict):
                score = Score(judge.name, error=result.error or f"The judge's turn ended as {result.status}.")
            elif not 0 <= verdict.score <= 1:
                score = Score(judge.name, error=f"The judge gave {verdict.score:g}; a score is from 0 to 1.")
            else:
                score = Score(judge.name, float(verdict.score), reason=verdict.reason)
            trial.scores.append(score)
            if trial.outcome.turn_id is not None and not trial.outcome.is_kept:
                self._keep(whose[trial.variant], trial, score, trial.outcome.turn_id)

        name = self._terms.checkpoint
        running = BatchRun(
            judge.agent,
            [judge.prompt(t.case, self._answers[id(t)]) for t in trials],
            replace(
                self._terms,
                returns=Verdict,
                checkpoint=None if name is None else f"{name} · {judge.name}",
                limits=self._left(),
            ),
            show=lambda progress: self._show(judge.name, progress),
            on_result=judged,
        )
        try:
            await running.run()
        finally:
            self._add(running.progress)
            for variant in self._variants:
                await self._store(variant.bound)

    def _keep(self, bound: BoundAgent, trial: Trial, score: Score, turn_id: str) -> None:
        event = bound.hermes.numberer.make(
            KIND,
            session_id=trial.session_id,
            turn_id=turn_id,
            span_id=turn_id,
            parent_id=None,
            attempt=1,
            data=bound.hermes.masker().data(score.data(trial.case.name, trial.variant)),
        )
        self._unstored.append(event)

    async def _store(self, bound: BoundAgent) -> None:
        events, self._unstored = self._unstored, []
        if not events:
            return
        hermes = bound.hermes
        try:
            store = await hermes.io.awaited(hermes.conversations.opened_store())
            await hermes.io.awaited(store.ingest(events))
        except StoreError as exc:
            hermes.warn("store", str(exc))

    async def _open_worst(self) -> None:
        """Read the steps of the worst trials, for the page."""
        whose = {v.name: v.bound.hermes for v in self._variants}
        asked = sorted((t for t in self.trials if t.outcome.turn_id is not None and t.session_id), key=lambda t: t.badness)
        for trial in asked[:N_OPENED]:
            hermes = whose[trial.variant]
            try:
                store = await hermes.io.awaited(hermes.conversations.opened_store())
                found = await hermes.io.awaited(store.events(trial.session_id, turn_id=trial.outcome.turn_id))
            except StoreError:  # said before, when it was to be written
                return
            trial.events = tuple(found)

    def _left(self) -> Limits:
        limits = self._terms.limits
        usd, n_tokens = limits.max_cost_usd, limits.max_tokens
        return Limits(
            None if usd is None else max(0.0, usd - self._spent_usd),
            None if n_tokens is None else max(0, n_tokens - self._n_tokens),
        )

    def _add(self, progress: Progress) -> None:
        self._spent_usd += progress.cost_usd
        self._n_tokens += progress.n_tokens
