"""Scorers: plain functions of the case, the result and its spans, and evaluators of pydantic-evals as they are."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from hermes_nb.api.evaluation.case import Case
from hermes_nb.api.evaluation.judge import Judge
from hermes_nb.api.evaluation.score import Score, read
from hermes_nb.errors import UsageError

if TYPE_CHECKING:
    from hermes_nb.turns.result import RunResult

_PARTS = ("case", "result", "spans")


class Scorer:
    """Something that scores one answer.

    Args:
        given: A function, sync or async, or an evaluator.

    Raises:
        UsageError: It is neither, or takes parameters that there are not.
    """

    def __init__(self, given: Any) -> None:
        self._given = given
        self._is_evaluator = hasattr(given, "evaluate_async") and hasattr(given, "get_default_evaluation_name")
        if self._is_evaluator and not isinstance(given, type):
            self.name = str(given.get_default_evaluation_name())
            return
        if not callable(given) or isinstance(given, type):
            raise UsageError(f"A scorer is a function of (case, result, spans) or an evaluator, not {given!r}.")
        self.name = str(getattr(given, "__name__", type(given).__name__))
        self._names = _parameters(given, self.name)

    async def scores(self, case: Case, result: RunResult) -> list[Score]:
        """Return what it says of an answer; a fault of it is a score with an error, and loses no other."""
        try:
            said = await self._ask(case, result)
            return list(read(said, self.name))
        except Exception as exc:  # noqa: BLE001 - the user's own code
            return [Score(self.name, error=f"{type(exc).__name__}: {exc}")]

    async def _ask(self, case: Case, result: RunResult) -> Any:
        if self._is_evaluator:
            return await self._given.evaluate_async(_context(case, result))
        parts: dict[str, Any] = {"case": case, "result": result}
        said = self._given(*(result.spans if name == "spans" else parts[name] for name in self._names))
        return await said if inspect.isawaitable(said) else said


def scorers_of(given: Sequence[Any]) -> tuple[list[Scorer], list[Judge]]:
    """Return the scorers and the judges that were given.

    Raises:
        UsageError: There is none, one is neither, or two have the same name.
    """
    if callable(given) or isinstance(given, Judge) or not isinstance(given, Sequence) or isinstance(given, str):
        raise UsageError("scorers takes a list of functions, evaluators and judges, e.g. scorers=[is_right].")
    judges = [one for one in given if isinstance(one, Judge)]
    scorers = [Scorer(one) for one in given if not isinstance(one, Judge)]
    names = [s.name for s in scorers] + [j.name for j in judges]
    if not names:
        raise UsageError("An evaluation needs a scorer, e.g. scorers=[lambda case, result: case.expected in result.text].")
    twice = [n for n in names if names.count(n) > 1 and n != "<lambda>"]
    if twice:
        raise UsageError(f"Two scorers are named {twice[0]!r}. Give each a name of its own.")
    for i, scorer in enumerate(s for s in scorers if s.name == "<lambda>"):
        scorer.name = f"scorer_{i + 1}"
    return scorers, judges


def _parameters(given: Callable[..., Any], name: str) -> list[str]:
    """Which parts a function takes, in the order of its parameters: by their names, else by their places."""
    try:
        known = list(inspect.signature(given).parameters.values())
    except (TypeError, ValueError):
        return ["case", "result"]
    needed = [p for p in known if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    taken = [p.name for p in known if p.name in _PARTS and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if needed and all(p.name in _PARTS for p in needed):
        return taken
    if any(p.kind is p.VAR_POSITIONAL for p in known):
        return list(_PARTS)
    if not 1 <= len(needed) <= len(_PARTS):
        raise UsageError(f"Scorer {name!r} takes {len(needed)} parameters; write it as a function of (case, result, spans).")
    return list(_PARTS[: len(needed)]) if len(needed) > 1 else ["result"]


def _context(case: Case, result: RunResult) -> Any:
    """The answer as an evaluator of pydantic-evals is given it."""
    context = sys.modules["pydantic_evals.evaluators"].EvaluatorContext
    counted = {**result.usage, **({} if result.cost_usd is None else {"cost": result.cost_usd})}
    return context(
        name=case.name,
        inputs=case.inputs,
        metadata=dict(case.metadata) or None,
        expected_output=case.expected,
        output=result.text if result.value is None else result.value,
        duration=result.duration_s or 0.0,
        _span_tree=_tree(result),
        attributes={"model": result.model, "turn_id": result.turn_id},
        metrics={**counted, "requests": sum(s.kind == "model" for s in result.spans)},
    )


def _tree(result: RunResult) -> Any:
    """The turn's spans as pydantic-evals has them, with the names and attributes of the OpenTelemetry export."""
    import datetime

    from hermes_nb.views import otlp

    forest: Any = sys.modules["pydantic_evals.otel.span_tree"]

    def when(unix_ns: int) -> datetime.datetime:
        return datetime.datetime.fromtimestamp(unix_ns / 1e9, tz=datetime.UTC)

    nodes = [
        forest.SpanNode(
            name=span["name"],
            trace_id=int(span["trace_id"], 16),
            span_id=int(span["span_id"], 16),
            parent_span_id=int(span["parent_id"], 16) if span["parent_id"] else None,
            start_timestamp=when(span["start_unix_ns"]),
            end_timestamp=when(span["end_unix_ns"]),
            attributes=span["attributes"],
        )
        for span in otlp.render(result.events, content=True)
    ]
    return forest.SpanTree(roots=[], nodes_by_id={n.node_key: n for n in nodes}) if not nodes else _grown(forest, nodes)


def _grown(forest: Any, nodes: list[Any]) -> Any:
    tree = forest.SpanTree()
    tree.add_spans(nodes)
    return tree
