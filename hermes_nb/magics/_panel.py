"""What the side panel of the Lab extension shows of a kernel, as plain data. How it gets there is `_panel_comm`'s job."""

from __future__ import annotations

from typing import Any

from hermes_nb import __version__
from hermes_nb._require import lack_of_widgets
from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.api.turn import Turn

VERSION = 1
N_SESSIONS = 50
N_RUNS = 20
N_ANSWERS = 10
_MAX_CHARS = 200


def now(context: Context) -> dict[str, Any]:
    """What can change at any moment, and costs next to nothing to look at.

    Returns:
        agents: name, model, provider, n_tools, is_bound, is_default, session_id;
        answers, the newest of turns that are over, in the cell that asked: turn_id, cell, prompt;
        turns, those that run: turn_id, agent, session_id, status, prompt, started_unix_s, tokens, tools, question, cell.
    """
    return {
        "agents": _agents(context),
        "turns": [_turn(context, turn) for turn in context.running],
        "answers": [
            {"turn_id": turn.id, "cell": cell, "prompt": _short(turn.prompt)}
            for turn in over(context)
            if (cell := context.cells.key_of(turn)) is not None
        ],
    }


def over(context: Context) -> list[Turn]:
    """The newest turns of this kernel that are over."""
    hermes = context.opened_hermes
    return [] if hermes is None else [turn for turn in list(hermes.turns)[-N_ANSWERS:] if turn.is_done]


def answer(context: Context, turn_id: str) -> dict[str, Any]:
    """The static forms of a turn that is over, for the cell that asked and whose page was reloaded meanwhile.

    Raises:
        UsageError: This kernel has no such turn any more.
    """
    from hermes_nb.views._bundle import bundle

    for turn in over(context):
        if turn.id == turn_id:
            return {"turn_id": turn_id, "cell": context.cells.key_of(turn), "data": bundle(turn.events)}
    raise UsageError(f"Turn {turn_id} is not at hand any more. %hermes sessions lists what was said.")


def state(context: Context) -> dict[str, Any]:
    """All that is shown; reads the store. Any thread but the IO loop's may ask.

    Returns: `now`'s keys, `v`, `version`, `is_open` (whether there is a Hermes yet), and
        sessions, forks right behind their parents: session_id, depth, title, agent, n_turns, input_tokens, output_tokens,
        cost (as people read it, "" when unknown), last_used_unix_s, is_running, is_unfinished;
        runs: run, agent, session_id, phase, url, at_unix_s;
        has_forms: whether `--ui` can show a form, of `%hermes agent` and `%hermes promote`.
    """
    hermes = context.opened_hermes
    busy = {turn.session_id for turn in context.running}
    return {
        "v": VERSION,
        "version": __version__,
        "is_open": hermes is not None,
        **now(context),
        "sessions": [] if hermes is None else _sessions(hermes, busy),
        "runs": [] if hermes is None else _runs(hermes),
        "has_forms": not lack_of_widgets(),
    }


def _agents(context: Context) -> list[dict[str, Any]]:
    bound = context.agents
    rows: list[dict[str, Any]] = [
        {
            "name": name,
            "model": agent.model.id,
            "provider": agent.model.provider,
            "n_tools": len(agent.tools),
            "is_bound": True,
            "is_default": name == context.default_agent,
            "session_id": agent.session_id,
        }
        for name, agent in sorted(bound.items())
    ]
    seen = set(bound)
    for variable, declared in sorted(context.declared().items()):
        if declared.name in seen:
            continue
        seen.add(declared.name)
        model = declared.model
        rows.append(
            {
                "name": variable,
                "model": model if isinstance(model, str) else getattr(model, "id", ""),
                "provider": declared.provider or getattr(model, "provider", "") or "",
                "n_tools": len(declared.tools),
                "is_bound": False,
                "is_default": False,
                "session_id": None,
            }
        )
    return rows


def _turn(context: Context, turn: Turn) -> dict[str, Any]:
    events = turn.events
    pending = turn.pending
    usages = [event.data.get("usage") or {} for event in events if event.kind == "model.completed"]
    tokens = [usage.get(name) for usage in usages for name in ("input_tokens", "output_tokens")]
    known = [number for number in tokens if number is not None]
    return {
        "turn_id": turn.id,
        "agent": turn.agent_name,
        "session_id": turn.session_id,
        "status": turn.status,
        "prompt": _short(turn.prompt),
        "started_unix_s": events[0].at_unix_s if events else None,
        "tokens": sum(known) if known else None,
        "tools": turn.running_tools(),
        "question": _short(str(pending[0].get("question") or "A tool needs an approval.")) if pending else None,
        "cell": context.cells.key_of(turn),
    }


def _sessions(hermes: Hermes, busy: set[str]) -> list[dict[str, Any]]:
    from hermes_nb.api.library import tree
    from hermes_nb.model.format import format_cost

    return [
        {
            "session_id": row.session_id,
            "depth": depth,
            "title": _short(row.title),
            "agent": row.agent,
            "n_turns": row.n_turns,
            "input_tokens": row.input_tokens,
            "output_tokens": row.output_tokens,
            "cost": "" if row.cost_usd is None else format_cost(row.cost_usd, is_whole=row.is_cost_whole),
            "last_used_unix_s": row.last_used_unix_s,
            "is_running": row.session_id in busy,
            "is_unfinished": row.last_status not in (None, "completed") and row.session_id not in busy,
        }
        for depth, row in tree(hermes.sessions(limit=N_SESSIONS))
    ]


def _runs(hermes: Hermes) -> list[dict[str, Any]]:
    return [
        {
            "run": row.run,
            "agent": row.agent,
            "session_id": row.session_id,
            "phase": row.phase,
            "url": row.url,
            "at_unix_s": row.at_unix_s,
        }
        for row in hermes.library.runs(limit=N_RUNS)
    ]


def _short(text: str) -> str:
    line = " ".join(text[: 2 * _MAX_CHARS].split())
    cut = line if len(line) <= _MAX_CHARS else line[: _MAX_CHARS - 1] + "…"
    return cut.encode("utf-8", "replace").decode("utf-8")  # JSON carries no lone surrogate
