"""An answer of a type: asked for as JSON, validated, asked for once more when it does not fit (`run(..., returns=...)`)."""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hermes_nb.model.content import ContentPart, prompt_text
from hermes_nb.sessions.result import RunResult
from hermes_nb.tools.answer import AnswerError, parse, repair, request

if TYPE_CHECKING:
    from hermes_nb.sessions.order import TurnOptions


@dataclass(frozen=True, slots=True)
class Round:
    """A turn to run.

    Attributes:
        prompt: What to ask.
        session_id: The conversation; None continues the agent's own.
        again: The turn it replaces (see `BoundAgent.submit`).
        options: Its options.
    """

    prompt: str | list[ContentPart]
    session_id: str | None
    again: bool | str
    options: TurnOptions


def rounds(first: Round, returns: Any) -> Generator[Round, RunResult, RunResult]:
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
    result = yield Round(answer.prompt(first.prompt), first.session_id, first.again, first.options)
    more = answer.read(result) if result.status == "completed" else None
    if more is None:
        return result
    return answer.read_last((yield Round(more, result.session_id, False, further(first.options))))


def further(options: TurnOptions) -> TurnOptions:
    """The options of the one further round: those of the first, under a key of its own."""
    key = options.get("idempotency_key")
    return options if key is None else {**options, "idempotency_key": f"{key} (further round)"}


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

    def read(self, result: RunResult) -> str | None:
        """Put the value into the result; None when it fits, else the prompt of the one further round."""
        try:
            result.value = parse(self._returns, result.text)
        except AnswerError as exc:
            return repair(exc)
        return None

    def read_last(self, result: RunResult) -> RunResult:
        """The result of the further round, failed when its answer does not fit either."""
        if result.status != "completed":
            return result
        try:
            result.value = parse(self._returns, result.text)
        except AnswerError as exc:
            result.status = "failed"
            result.problem = f"The answer is not of the type asked for, also when asked again: {exc}"
        return result
