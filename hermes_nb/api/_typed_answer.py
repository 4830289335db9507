"""An answer of a type: asked for as JSON, validated, asked for once more when it does not fit (`run(..., returns=...)`)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import replace
from typing import Any

from hermes_nb.model.content import ContentPart, prompt_text
from hermes_nb.tools.structured_output import AnswerError, parse, repair, request
from hermes_nb.turns.request import TurnRequest
from hermes_nb.turns.result import RunResult


def rounds(first: TurnRequest, returns: Any) -> Generator[TurnRequest, RunResult, RunResult]:
    """The turns of one run, one or two: takes the result of each and returns the run's.

    Args:
        first: As the user asked it.
        returns: The type of the answer; None for none.

    Raises:
        UsageError: No schema can describe the type.
    """
    if returns is None:
        return (yield first)
    answer = TypedAnswer(returns)
    result = yield replace(first, prompt=answer.prompt(first.prompt))
    if result.status != "completed":
        return result
    read = answer.read(result)
    if isinstance(read, RunResult):
        return read
    key = first.idempotency_key
    further = None if key is None else f"{key} (further round)"
    second = replace(first, prompt=read, session_id=result.session_id, again=False, idempotency_key=further)
    return answer.read_last((yield second))


class TypedAnswer:
    """The words for one typed question.

    Raises:
        UsageError: No schema can describe the type.
    """

    def __init__(self, returns: Any) -> None:
        self._returns = returns
        self._request = request(returns)

    def prompt(self, prompt: str | list[ContentPart]) -> str | list[ContentPart]:
        """The prompt with what the answer must look like."""
        if isinstance(prompt, str):
            return f"{prompt}\n\n{self._request}" if prompt.strip() else prompt
        prompt_text(prompt)  # it may be no prompt at all
        return [*prompt, ContentPart("text", text=self._request)]

    def read(self, result: RunResult) -> RunResult | str:
        """The result with its value; the prompt of the one further round when its answer does not fit."""
        try:
            return replace(result, value=parse(self._returns, result.text))
        except AnswerError as exc:
            return repair(exc)

    def read_last(self, result: RunResult) -> RunResult:
        """The result of the further round, failed when its answer does not fit either."""
        if result.status != "completed":
            return result
        try:
            return replace(result, value=parse(self._returns, result.text))
        except AnswerError as exc:
            problem = f"The answer is not of the type asked for, also when asked again: {exc}"
            return replace(result, status="failed", problem=problem)
