"""Words of the offline model, in Markdown: what tools gave, what is missing, what it can't do."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from hermes_nb.offline_model.plan import Step
from hermes_nb.offline_model.profile import Param, Profile
from hermes_nb.offline_model.talk import PastCall, Talk

MAX_ROWS = 30
MAX_COLUMNS = 12
MAX_CELL_CHARS = 80
NOTE = "*Offline model: it matches words with tools and has no understanding of language.*"

_WHY = re.compile(
    r"\b(?:why|explain|interpret|recommend|advise|opinion|should (?:i|we)|conclusions?|insights?|compare)\b", re.I
)
_LEFT_OUT = re.compile(r"\.\.\. [\d,]+ of (?P<n>[\d,]+) \w+ left out")  # how a tool's result ends that was cut
_GREETING = re.compile(r"\s*(?:hi|hello|hey|good (?:morning|day|evening|afternoon))\b[\s!.,]*$", re.I)
_THANKS = re.compile(r"\s*(?:thanks?|thank you|cheers|great|perfect|ok|okay)\b[^?]{0,40}$", re.I)
_WHO = re.compile(r"\b(?:who|what) are you\b|\bwhat can you do\b|\bhelp\b|\bwhich tools\b|\bwhat tools\b", re.I)


def no_match(prompt: str, profiles: Sequence[Profile]) -> str:
    """That nothing fits, what the model is, and which tools there are."""
    if _THANKS.match(prompt):
        opening = "You're welcome."
    elif _GREETING.match(prompt):
        opening = "Hello. I am hermes-nb's offline model: I match words with tools and call them, without understanding."
    elif _WHO.search(prompt):
        opening = "I am hermes-nb's offline model: deterministic, without a network; I match words with tools and call them."
    elif profiles:
        opening = "None of the tools fits this, so I called nothing. I am an offline model and can't answer from knowledge."
    else:
        opening = "I am an offline model without tools here, and I can't answer from knowledge."
    if not profiles:
        return f"{opening} Give the agent tools, or choose another model, e.g. `Model('...', 'openrouter')`."
    listed = "\n".join(_listed(p) for p in profiles[:40])
    more = f"\n- and {len(profiles) - 40} more" if len(profiles) > 40 else ""
    return f"{opening}\n\nTools I can call:\n{listed}{more}"


def _listed(profile: Profile) -> str:
    signature = ", ".join(p.name if p.is_required else f"{p.name}?" for p in profile.params[:8])
    summary = _line(profile.description.partition("\n")[0], 100)
    return f"- `{profile.name}({signature})`" + (f": {summary}" if summary else "")


def question(step: Step, talk: Talk) -> str:
    """What is missing, in words, with an example of how to say it."""
    needed = [_needed(p) for p in step.missing]
    listed = needed[0] if len(needed) == 1 else ", ".join(needed[:-1]) + f" and {needed[-1]}"
    have = ", ".join(f"`{n}` = {_line(_inline(v), 60)}" for n, v in step.calls[0].items())
    known = f" I have {have}." if have else ""
    before = f"{_results(talk.done)}\n\n" if talk.done else ""
    example = ", ".join(f"{p.name}=..." for p in step.missing)
    name = step.profile.name
    return f"{before}To call `{name}` I need {listed}.{known} Please tell me, e.g. `{name}({example})`.\n\n{NOTE}"


def _needed(param: Param) -> str:
    said = _line(param.description, 80).rstrip(".")
    choices = f"one of {', '.join(str(c) for c in param.choices[:12])}" if param.choices else ""
    told = "; ".join(t for t in (said, choices) if t)
    return f"`{param.name}`" + (f" ({told})" if told else "")


def answer(talk: Talk) -> str:
    """The answer from the calls that were made."""
    parts = [_results(talk.done)]
    if _WHY.search(talk.prompt) and not any(d.error for d in talk.done):
        parts.append("Why, or what to make of it, I can't say.")
    parts.append(NOTE)
    return "\n\n".join(parts)


def _results(done: Sequence[PastCall]) -> str:
    return "\n\n".join(_one(d) for d in done)


def _one(done: PastCall) -> str:
    call = f"`{done.name}({_arguments(done.arguments)})`"
    if done.error:
        return f"{call} failed: {_line(done.error, 400)}"
    result, n = _whole(_table_like(done.result))
    if isinstance(result, list) and result and all(isinstance(r, dict) for r in result):
        return f"{call} returned {_count(n, 'row')}:\n\n{_table(result)}{_cut(n, result)}"
    if isinstance(result, list):
        if not n:
            return f"{call} returned an empty list."
        listed = "\n".join(f"- {_line(_inline(v), 200)}" for v in result[:MAX_ROWS])
        return f"{call} returned {_count(n, 'item')}:\n\n{listed}{_cut(n, result)}"
    if isinstance(result, dict):
        if not n:
            return f"{call} returned nothing."
        listed = "\n".join(f"- **{_cell(k)}**: {_nested(v)}" for k, v in list(result.items())[:MAX_ROWS])
        return f"{call} returned:\n\n{listed}{_cut(n, result)}"
    if result is None or result == "":
        return f"{call} ran and returned nothing."
    if isinstance(result, str) and ("\n" in result or len(result) > 200):
        fence = "````" if "```" in result else "```"
        return f"{call} returned:\n\n{fence}\n{result[:4000]}\n{fence}"
    text = _inline(result)
    if isinstance(result, str):
        return f"{call} says: {_escaped(text)}"
    return f"{call} gives **{text}**."


def _whole(result: Any) -> tuple[Any, int]:
    """A list or an object without the mark that says how much of it was left out, and how much there was in all."""
    mark: Any = None
    if isinstance(result, list) and result:
        mark = result[-1]
    elif isinstance(result, dict):
        mark = result.get("...")
    if not isinstance(mark, str) or not (left_out := _LEFT_OUT.match(mark)):
        return result, len(result) if isinstance(result, list | dict) else 0
    rest = result[:-1] if isinstance(result, list) else {k: v for k, v in result.items() if k != "..."}
    return rest, int(left_out["n"].replace(",", ""))


def _table_like(result: Any) -> Any:
    """Frames and series as rows, where the tool's result is the form they are sent in; what they lack is still last."""
    if not isinstance(result, dict):
        return result
    columns, rows = result.get("columns"), result.get("rows")
    if isinstance(columns, dict) and isinstance(rows, list) and "shape" in result:
        index = result.get("index")
        names = [*(index if isinstance(index, list) else []), *columns]
        found = [dict(zip(names, r, strict=False)) if isinstance(r, list) else r for r in rows]
        return found if found else result
    values = result.get("values")
    if result.get("type") == "Series" and isinstance(values, list) and isinstance(result.get("index"), list):
        names = [*result["index"], result.get("name") or "value"]
        return [dict(zip(names, v, strict=False)) if isinstance(v, list) else v for v in values] or result
    return result


def _table(rows: Sequence[Mapping[str, Any]]) -> str:
    names: list[str] = list(dict.fromkeys(str(k) for r in rows[:MAX_ROWS] for k in r))[:MAX_COLUMNS]
    numeric = {n for n in names if all(isinstance(r.get(n), int | float) for r in rows[:MAX_ROWS] if n in r)}
    lines = [
        "| " + " | ".join(_cell(n) for n in names) + " |",
        "| " + " | ".join("---:" if n in numeric else "---" for n in names) + " |",
        *("| " + " | ".join(_cell(_inline(r.get(n))) if n in r else "" for n in names) + " |" for r in rows[:MAX_ROWS]),
    ]
    return "\n".join(lines)


def _cut(n: int, shown: Collection[Any]) -> str:
    left = n - min(len(shown), MAX_ROWS)
    return f"\n\n… and {left:,} more." if left > 0 else ""


def _count(n: int, noun: str) -> str:
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def _nested(value: Any) -> str:
    return _line(_inline(value), 300)


def _inline(value: Any) -> str:
    if isinstance(value, bool) or value is None:
        return {True: "yes", False: "no"}.get(value, "—") if value is not None else "—"
    if isinstance(value, float):
        return f"{value:,.10g}" if abs(value) < 1e15 else f"{value:g}"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _arguments(arguments: Mapping[str, Any]) -> str:
    text = ", ".join(f"{n}={json.dumps(v, ensure_ascii=False)}" for n, v in arguments.items())
    return text.replace("`", "'") if len(text) <= 120 else text[:117].replace("`", "'") + "..."


def _line(text: str, n_chars: int) -> str:
    text = " ".join(text.split())
    return _escaped(text if len(text) <= n_chars else text[: n_chars - 1] + "…")


def _cell(value: Any) -> str:
    text = " ".join(str(value).split())
    text = text if len(text) <= MAX_CELL_CHARS else text[: MAX_CELL_CHARS - 1] + "…"
    return _escaped(text).replace("|", "\\|")


def _escaped(text: str) -> str:
    """Text that Markdown shows as it is: no HTML, no accidental emphasis at word edges."""
    return text.replace("<", "&lt;").replace("*", "\\*")
