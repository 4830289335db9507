"""`evaluate`: cases in, an `Evaluation` out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Never

from hermes_nb.api._options import refuse_unknown
from hermes_nb.api.batch.progress import ProgressLine
from hermes_nb.api.batch.runner import Progress, Terms
from hermes_nb.api.evaluation.case import cases_of
from hermes_nb.api.evaluation.evaluation import Evaluation
from hermes_nb.api.evaluation.runner import EvaluationRun
from hermes_nb.api.evaluation.scorer import scorers_of
from hermes_nb.api.evaluation.variant import variants_of
from hermes_nb.errors import UsageError
from hermes_nb.turns.limit import checked

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.model.agent import Model


async def evaluate(
    cases: Any,
    *,
    agents: Any,
    scorers: Sequence[Any],
    models: Sequence[str | Model] = (),
    instructions: Sequence[str] = (),
    prompt: str | Callable[[Any], str] | None = None,
    returns: Any = None,
    repeats: int = 1,
    n_parallel: int = 8,
    n_retries: int = 2,
    max_cost_usd: float | None = None,
    max_tokens: int | None = None,
    checkpoint: str | None = None,
    timeout_s: float | None = 300.0,
    show: bool | None = None,
    hermes: Hermes | None = None,
    **unknown: Never,
) -> Evaluation:
    """Ask cases of agents and score the answers; each case in a conversation of its own, several at once.

    Args:
        cases: `Case`s, texts, a table with columns `prompt` and `expected` (and `name`; the others are the case's metadata),
            a list of dicts, the path of a .jsonl file, or a dataset of pydantic-evals.
        agents: Bound agents, or declarations; one, or a list.
        scorers: Functions of `(case, result, spans)` or of some of these by name, sync or async, that return True or False,
            a number, a label, or a dict of these by name; evaluators of pydantic-evals as they are; `Judge`s.
        models: Each agent is asked with each of these models; () takes its own.
        instructions: Each agent is asked with each of these instructions; () takes its own.
        prompt: What is asked of each row, as for `map`; None takes the column `prompt`.
        returns: The type of each answer, as of `run`; scorers find it as `result.value`.
        repeats: How often each case is asked; the intervals are over cases, each with the mean of its repeats.
        n_parallel: Most cases at once.
        n_retries: How often a case is asked again after a limit, a server's error or a broken connection.
        max_cost_usd: No further case once the whole, judges included, has cost so much, in dollars.
        max_tokens: The same for tokens, sent and received.
        checkpoint: A name under which answers and verdicts are kept: the same call again, also in another kernel, asks only
            what is missing or failed; all answers are scored anew by functions.
        timeout_s: Seconds for each case; None for no limit.
        show: Show the progress; None does so in a notebook or IPython, and not in a script.
        hermes: Where declarations are bound; None takes that of a bound agent.
        **unknown: None is known; a misspelt option is an error that names the nearest.

    Returns: the evaluation. In a cell it shows scores by variant and the worst cases; `.frame` has a row for each case,
        variant and repeat, `.scores` means with intervals, `.compare(other)` a paired test.

    Raises:
        UsageError: There are no cases, or an option is wrong; nothing was sent.
        asyncio.CancelledError: The task was cancelled (the cell was interrupted); `last_evaluation` of each agent has what
            was answered.

    Example:
        await evaluate(df, agents=[analyst], scorers=[lambda case, result: case.expected in result.text])
    """
    from hermes_nb.tools.structured_output import schema_for

    refuse_unknown(evaluate, unknown)
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 1:
        raise UsageError(f"repeats is a whole number, 1 or more, not {repeats!r}.")
    terms = Terms(
        returns=returns,
        n_parallel=n_parallel,
        n_retries=n_retries,
        limits=checked(max_cost_usd=max_cost_usd, max_tokens=max_tokens),
        checkpoint=checkpoint,
        timeout_s=timeout_s,
    )
    if returns is not None:
        schema_for(returns)
    functions, judges = scorers_of(scorers)
    asked = cases_of(cases, prompt)
    variants = variants_of(agents, models, instructions, hermes)
    host = variants[0].bound.hermes.host
    is_shown = host.is_interactive if show is None else show
    lines: dict[str, tuple[ProgressLine, Progress]] = {}

    def told(name: str, progress: Progress) -> None:
        if is_shown:
            if name not in lines:
                draw = host.live_text(host.caller(blocks=False))
                lines[name] = (ProgressLine(lambda text, is_last: draw(f"{name}: {text}", is_last)), progress)
            lines[name][0](progress)

    running = EvaluationRun(asked, variants, n_repeats=repeats, scorers=functions, judges=judges, terms=terms, show=told)
    try:
        await running.run()
    finally:
        made = Evaluation(running.trials)
        for variant in variants:
            variant.bound.last_evaluation = made
        for line, progress in lines.values():
            line.end(progress)
    return made
