"""`%hermes run` and `%%hermes run`: ask an agent, watch it work, get its answer."""

from __future__ import annotations

import argparse
import contextlib
from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.magics import _foreground
from hermes_nb.magics._context import PROCESS, Context
from hermes_nb.magics._foreground import Asked
from hermes_nb.magics._parser import Parser, amount, name_list, positive_count, positive_number, variable_name
from hermes_nb.magics._type import named_type
from hermes_nb.turns.limit import checked
from hermes_nb.turns.request import TurnRequest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.api.turn import Turn

SUMMARY = "ask an agent a question"
EXAMPLES = (
    "%hermes run Which customers matter most?",
    "%%hermes run -a analyst -o answer\nWhich customers matter most,\nand why?",
    "%%hermes run --with df --timeout 60\nWhat is odd about this table?",
)
NOTES = """\
The cell's body reaches the model as it is typed. With --format, {{name}} in it becomes the value of that variable.
Options come before a question on the same line; a question in quotes may be followed by options. After options alone, or
after a question in quotes, `# ...` is a comment; in a question as it stands, and in a cell's body, # is part of it.
Without -a the only agent is asked, or the default one. Without -s an agent's runs continue its session, also when a cell
is run again: that adds a turn, unless --again replaces the turn the cell made before.
A stopped run ends the cell as KeyboardInterrupt, a failed one as an error in one line; NAME of -o holds the partial result.
A tool that needs an approval is asked about in the cell; where nobody can answer it is denied, unless --yes is given.
--replay answers from what %hermes record wrote; HERMES_NB_REPLAY=FILE does so for the whole notebook.
With --background NAME holds the running turn, and its RunResult from the first cell that starts after it ended; `await NAME`
waits and gives the RunResult, whichever it is. `NAME = %hermes run ...`, on a line of its own, is the same as -o NAME."""
TAKES_CELL = True


def parser() -> Parser:
    """The options."""
    parser = Parser("run", takes_text=True)
    parser.add_argument("-a", "--agent", metavar="NAME", help="who is asked: an agent's name or variable")
    parser.add_argument("-s", "--session", metavar="ID", help="the conversation: an id, the start of one, a title, or `new`")
    parser.add_argument("-o", "--out", metavar="NAME", type=variable_name, help="put the RunResult into this variable")
    parser.add_argument("--background", action="store_true", help="do not wait; the answer streams into this cell")
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        type=positive_number,
        help="stop the turn after so long; a provider's wait (HTTP 429) of more than this, or 180 s, fails it at once",
    )
    parser.add_argument("--again", action="store_true", help="replace the turn this cell made when it last ran")
    parser.add_argument("--format", action="store_true", help="fill {{name}} in with the notebook's variables")
    parser.add_argument(
        "--with",
        dest="variables",
        metavar="NAME,...",
        type=name_list,
        help="describe these variables (type, shape, columns, head) before the question",
    )
    parser.add_argument(
        "--image",
        dest="images",
        metavar="NAME,...",
        type=name_list,
        help="show these to the model: variables that hold a figure, a picture, or the path of an image file",
    )
    parser.add_argument(
        "--returns",
        metavar="NAME",
        help="a type of the notebook or of Python: the answer comes validated, as the result's `value`",
    )
    parser.add_argument("--yes", action="store_true", help="allow every tool that needs an approval, unasked")
    parser.add_argument("--max-cost", metavar="USD", type=amount, help="no further model call once it cost so much")
    parser.add_argument("--max-tokens", metavar="N", type=positive_count, help="the same for tokens, in and out")
    parser.add_argument("--steer", action="store_true", help="put the question into the session's running turn, if any")
    parser.add_argument("--replay", metavar="FILE", help="answer from this recording; no key, nothing is sent")
    parser.add_argument("--live", action="store_true", help="let what the recording does not hold go to the model")
    parser.add_argument(
        "--on", metavar="RUNTIME", help="where: process, flyte, flyte:local, or a variable that holds a runtime"
    )
    parser.add_argument("--quiet", action="store_true", help="show nothing but errors")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Ask and block until the end; the turn's tools run meanwhile, async ones are refused."""
    asked = _ask(context, options, cell, blocks=not options.background)
    if not options.background:
        _foreground.wait_blocking(context, asked, yes=options.yes)


async def run_awaiting(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Ask and wait for the end on the cell's own loop."""
    asked = _ask(context, options, cell, blocks=False)
    context.given = asked.turn
    if not options.background:
        await _foreground.wait_awaiting(context, asked, yes=options.yes)


def _ask(context: Context, options: argparse.Namespace, cell: str | None, *, blocks: bool) -> Asked:
    """Check everything that can be wrong, then submit."""
    if options.yes and options.background:
        raise UsageError("--yes answers for a cell that waits. A background turn is answered with %hermes approve.")
    if options.returns and options.background:
        raise UsageError("--returns reads the answer in the cell, and --background does not wait for it. Keep one of them.")
    prompt = _prompt(context, options, cell)
    if options.returns:
        from hermes_nb.api._typed_answer import TypedAnswer
    answer = TypedAnswer(named_type(context, options.returns)) if options.returns else None
    with contextlib.nullcontext() if options.replay is None else context.hermes.replayed(options.replay):
        bound = context.pick(options.agent)
    session_id = _session_id(bound, options.session)
    run = context.cells.current()
    before = context.cells.previous_turn(run)
    replaces = _replaced(before, session_id or bound.session_id) if options.again else None
    for _, text in bound.notices.take():
        print(text, flush=True)
    parts = _with_images(context, options, answer.prompt(prompt) if answer else prompt)
    on = options.on or context.runs_on(bound.name) or PROCESS
    if on != PROCESS:
        bound = context.hermes.bind_on(bound, context.runtime(on))
    request = TurnRequest(
        prompt=parts,
        session_id=session_id,
        background=options.background,
        blocks=blocks,
        timeout_s=options.timeout,
        again=replaces or False,
        show=not options.quiet,
        mode="steer" if options.steer else "enqueue",
        limits=checked(max_cost_usd=options.max_cost, max_tokens=options.max_tokens),
        replay=options.replay,
        replay_miss="live" if options.live else None,
    )
    turn = bound.submit(request)
    run.turns.append(turn)
    if options.background:
        _foreground.follow(context, turn, options.out, quiet=options.quiet)
    is_rerun = before is not None and before.session_id == turn.session_id
    return Asked(turn, options.out, options.quiet, is_rerun, replaces, answer)


def _with_images(context: Context, options: argparse.Namespace, prompt: Any) -> Any:
    if not options.images:
        return prompt
    from hermes_nb.model.content import ContentPart
    from hermes_nb.tools.rendering.image import image_part

    return [ContentPart("text", text=prompt), *(image_part(name, context.value(name)) for name in options.images)]


def _prompt(context: Context, options: argparse.Namespace, cell: str | None) -> str:
    if cell is not None and options.text:
        raise UsageError(
            f"{options.text!r} stands on the %%hermes run line, which takes options only. Write the question below it, or"
            " use %hermes run for one on the line."
        )
    prompt = str(options.text if cell is None else cell)
    if not prompt.strip():
        where = "after %hermes run" if cell is None else "below the %%hermes run line"
        raise UsageError(f"The question is empty: nothing was sent. Write it {where}.")
    if options.format:
        from hermes_nb.model.template import fill

        prompt = fill(prompt, context.user_ns, context.variables())
    if options.variables:
        from hermes_nb.tools.rendering.description import describe

        described = [describe(name, context.value(name)) for name in options.variables]
        prompt = "\n\n".join([*described, prompt])
    return prompt


def _session_id(bound: BoundAgent, wanted: str | None) -> str | None:
    """The conversation's whole id; None for the agent's own, which `new` makes a new one."""
    hermes = bound.hermes
    if wanted == "new":
        bound.session_id = hermes.io.call(hermes.conversations.new_session(bound.name, "")).id
        return None
    return None if wanted is None else hermes.io.call(hermes.conversations.open_session(wanted)).id


def _replaced(before: Turn | None, session_id: str | None) -> str | None:
    """The turn that `--again` replaces: the one the cell made before, when it belongs to this conversation."""
    return before.id if before is not None and before.session_id == session_id else None
