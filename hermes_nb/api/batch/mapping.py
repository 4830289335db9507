"""`BoundAgent.map`: rows in, a frame out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Never

from hermes_nb.api._options import refuse_unknown
from hermes_nb.api.batch.runner import BatchRun, Progress, Terms
from hermes_nb.api.batch.source import Source
from hermes_nb.turns.limit import checked

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent


async def map(
    self: BoundAgent,
    over: Any,
    prompt: str | Callable[[Any], str] | None = None,
    *,
    returns: Any = None,
    n_parallel: int = 8,
    n_retries: int = 2,
    max_cost_usd: float | None = None,
    max_tokens: int | None = None,
    checkpoint: str | None = None,
    unique: bool = False,
    timeout_s: float | None = 300.0,
    show: bool | None = None,
    metadata: Mapping[str, Any] | None = None,
    **unknown: Never,
) -> Any:
    """Ask the same question of many rows, several at once, each in a conversation of its own.

    A row that fails is a row with its error; the others go on. A row without a value (None, NaN, "") is not asked.

    Args:
        self: The agent.
        over: The rows: a pandas or polars column or table, a list, a dict of label to row, an iterator.
        prompt: What to ask of each: a template with `{{row.COLUMN}}` or `{{row["a column"]}}`, `{{value}}`, `{{index}}`; a
            function of the row that returns a text; None takes each value as its prompt.
        returns: The type of each answer, as of `run`; each field of a model, dataclass or TypedDict becomes a column.
        n_parallel: Most rows at once; fewer for a while when the provider limits requests, all waiting as it asks.
        n_retries: How often a row is asked again after a limit, a server's error or a broken connection.
        max_cost_usd: No further row once the whole has cost so much, in dollars; None for no limit of its own.
        max_tokens: The same for tokens, sent and received.
        checkpoint: A name under which each answer is kept: the same call again, also in another kernel, asks only rows
            that have no answer yet. Other instructions, tools, model or prompt ask anew. None keeps none.
        unique: Ask rows with the same prompt once.
        timeout_s: Seconds for each row; None for no limit.
        show: Show the progress; None does so in a notebook or IPython, and not in a script.
        metadata: As of `run`, kept in the log of each row's turn.
        **unknown: None is known; a misspelt option is an error that names the nearest.

    Returns: a frame (of polars when the rows came in one) with the index, columns and types of the rows, then `answer` or
        the fields of `returns`, and for each row its status, error, cost_usd, n_tokens, duration_s, n_tries and turn_id.

    Raises:
        UsageError: There are no rows, a prompt can't be made, or an option is wrong; nothing was sent.
        asyncio.CancelledError: The task was cancelled (the cell was interrupted); `last_map` has what was answered.

    Example:
        out = await bound.map(df, "Sentiment of: {{row.review}}", returns=Sentiment, checkpoint="reviews")
    """
    from hermes_nb.api.batch import table
    from hermes_nb.api.batch.progress import ProgressLine
    from hermes_nb.tools.structured_output import schema_for

    refuse_unknown(map, unknown)
    terms = Terms(
        returns=returns,
        n_parallel=n_parallel,
        n_retries=n_retries,
        limits=checked(max_cost_usd=max_cost_usd, max_tokens=max_tokens),
        checkpoint=checkpoint,
        unique=unique,
        timeout_s=timeout_s,
        metadata=None if metadata is None else dict(metadata),
    )
    if returns is not None:
        schema_for(returns)  # refuse a type that no schema can describe before a row is asked
    source = Source.of(over)
    prompts = source.prompts(prompt)
    host = self.hermes.host
    line = ProgressLine(host.live_text(host.caller(blocks=False)))
    is_shown = host.is_interactive if show is None else show
    running = BatchRun(self, prompts, terms, show=line if is_shown else _show_nothing)
    try:
        await running.run()
    finally:
        self.last_map = table.frame(source, running.outcomes, returns)
        if is_shown:
            line.end(running.progress)
    return self.last_map


def _show_nothing(progress: Progress) -> None:
    """Show nothing."""
