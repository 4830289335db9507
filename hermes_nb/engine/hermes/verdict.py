"""How a turn ended, as our own log of replies tells it: in plain words, with what to do.

Hermes gives one reason for several ends (0.19: "Response truncated due to output length limit" also where arguments were no
JSON). What the model sent tells them apart. Pure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hermes_nb.engine.hermes.reply import Reply, is_object

# So many replies in a row without words or calls, of calls that can't be read, of one call that is refused: it stays so.
MOST_EMPTY, MOST_MALFORMED, MOST_REFUSED = 3, 5, 5
_ANOTHER = "Ask otherwise, or use another model."
_LATER = "Ask again; if it stays, look at the server's log, or at a proxy that ends long replies."
_ROOM = "Give the model more room (its max_tokens), or ask for less at once."
_STUB = "partial-stream-stub"  # the id of what Hermes makes of a reply that was broken off
_SHORTER = "Ask for a shorter answer or in parts, or give the model more room (its max_tokens)."


@dataclass(frozen=True, slots=True)
class Verdict:
    """Why a turn failed: a code, what happened, and what to do."""

    code: str
    error: str
    hint: str


EMPTY = Verdict("empty", "The model gave no answer.", "Ask again, or ask otherwise.")


class GivenUp(BaseException):
    """Asking the model again would change nothing, and cost; Hermes would."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.error)
        self.verdict = verdict


def of_replies(replies: Sequence[Reply], *, is_over: bool = True) -> Verdict | None:
    """Why the turn failed as its replies tell, in order; None when they don't.

    Args:
        replies: All there were.
        is_over: False while Hermes would ask again: tells only of what stays as it is however often it is asked.
    """
    if not replies:
        return None
    last = replies[-1]
    if last.finish_reason == "content_filter" and is_over:
        return filtered(last)
    malformed = _malformed(last)
    n_malformed = sum(1 for _ in _trailing(replies, _malformed))
    if malformed and (is_over or n_malformed >= MOST_MALFORMED):
        return _of_malformed(malformed[0], n_malformed)
    n_empty = sum(1 for _ in _trailing(replies, is_empty))
    if is_dropped(last) and (is_over or n_empty >= MOST_EMPTY):
        n = sum(1 for _ in _trailing(replies, is_dropped))
        kept = "; what had arrived is kept." if answer(replies) else "."
        return Verdict(
            "connection", f"The connection to the model ended in the middle of its reply, {times(n)}{kept}", _LATER
        )
    if n_empty and (is_over or n_empty >= MOST_EMPTY):
        return _of_empty(last)
    if last.finish_reason == "length" and last.tool_calls and is_over:
        n = sum(1 for _ in _trailing(replies, lambda r: r.finish_reason == "length" and r.tool_calls))
        name = short(last.tool_calls[0]["name"], 80)
        return Verdict(
            "length", f"The model reached its output limit while it called '{name}', {times(n)}; nothing was run.", _ROOM
        )
    if last.finish_reason == "length" and not last.tool_calls and is_over:
        n = sum(1 for _ in _trailing(replies, is_cut))
        parts = f", {n} parts joined" if n > 1 else ""
        return Verdict(
            "length", f"The answer was cut off at the model's output limit; what had arrived is kept{parts}.", _SHORTER
        )
    return None


def answer(replies: Sequence[Reply]) -> str:
    """The answer as the model wrote it: the last reply, and those that it continues."""
    parts = [replies[-1].text] if replies else []
    for reply in reversed(replies[:-1]):
        if not is_cut(reply):
            break
        parts.insert(0, reply.text)
    return "".join(parts).strip()


def is_empty(reply: Reply) -> bool:
    """Whether it holds neither words nor calls."""
    return not reply.text.strip() and not reply.tool_calls and reply.finish_reason != "content_filter"


def without_vain_end(kept: Mapping[tuple[str, int], dict[str, Any]]) -> dict[tuple[str, int], dict[str, Any]]:
    """Return the kept replies of a turn without those at its end that made it fail: a resumed turn asks for them anew.

    Args:
        kept: All of them as they are kept, oldest first.
    """
    keys = list(kept)
    while keys and _is_vain(kept[keys[-1]]):
        keys.pop()
    return {key: kept[key] for key in keys}


def _is_vain(body: Mapping[str, Any]) -> bool:
    """Whether a reply as it is kept was broken off, or holds neither words nor calls, or calls that can't be read."""
    if body.get("id") == _STUB:
        return True
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    if not isinstance(first, dict) or not isinstance(message, dict) or first.get("finish_reason") == "content_filter":
        return False
    calls = [c.get("function") for c in message.get("tool_calls") or () if isinstance(c, dict)]
    if not calls:
        return not str(message.get("content") or "").strip()
    return any(
        isinstance(f, dict) and str(f.get("arguments") or "").strip() and not is_object(f["arguments"]) for f in calls
    )


def is_dropped(reply: Reply) -> bool:
    """Whether its connection ended before it was over; Hermes says "length" of it, as of a model's limit."""
    return reply.body.get("id") == _STUB


def is_cut(reply: Reply) -> bool:
    """Whether it ended at the model's limit or with the connection, so that the next one continues it."""
    return reply.finish_reason == "length" and not reply.tool_calls


def filtered(reply: Reply | None = None, said: str = "") -> Verdict:
    """The provider's filter: it cut a reply, or refused the request."""
    if reply is None:
        return Verdict("content_filter", f"The provider's content filter refused the request: {said}", _ANOTHER)
    if reply.text.strip():
        error = "The provider's content filter ended the answer; what had arrived is kept."
    else:
        error = "The provider's content filter let no answer through."
    return Verdict("content_filter", error, _ANOTHER)


def refused(name: str, n: int, why: str) -> Verdict:
    """The model repeats a call that is refused each time."""
    because = f": {short(why, 300)}" if why.strip() else "."
    return Verdict(
        "refused",
        f"The model repeated the same call of '{name}' {times(n)}, refused each time{because}",
        "Ask otherwise, use another model, or let the tool take what the model gives.",
    )


def unknown_tool(replies: Sequence[Reply], said: str) -> Verdict | None:
    """The model calls a tool that is not there, as Hermes says."""
    if not said.startswith("Model generated invalid tool call") or not replies or not replies[-1].tool_calls:
        return None
    name = replies[-1].tool_calls[0]["name"]
    n = sum(1 for _ in _trailing(replies, lambda r: any(c["name"] == name for c in r.tool_calls)))
    return Verdict(
        "unknown_tool",
        f"The model called a tool '{short(name, 80)}' that it was not given, {times(n)}.",
        "Give the agent such a tool, ask otherwise, or use another model.",
    )


def overflow(where: str, said: str) -> Verdict:
    """The conversation is larger than the model takes."""
    return Verdict(
        "context",
        f"The conversation is too long for the model ({where}): {said}",
        "Begin a new session (-s new), go on from an earlier turn (%hermes fork --at TURN), or let tools return less.",
    )


def is_overflow(text: str) -> bool:
    """Whether a provider's words say that a request is larger than the model's context."""
    return _OVERFLOW.search(text) is not None


def is_filtered(text: str) -> bool:
    """Whether a provider's words say that its content filter refused a request."""
    return _FILTERED.search(text) is not None


_OVERFLOW = re.compile(
    r"context[_ ]length|context window|context size|maximum context|prompt is too long|input is too long"
    r"|too many (input )?tokens|exceeds? the (model's )?context|reduce the length of the (messages|prompt)",
    re.I,
)
_FILTERED = re.compile(r"content[_ ]filter|content management policy|content[_ ]policy|responsible ?ai ?policy", re.I)


def _of_malformed(call: dict[str, str], n: int) -> Verdict:
    wrote, more = call["arguments"], ""
    if not wrote.rstrip().endswith(("}", "]")):
        more = " They end in the middle: the model may need more room (its max_tokens), or less to write at once."
    return Verdict(
        "arguments",
        f"The model wrote arguments of '{call['name']}' that are no JSON object, {times(n)}: {short(wrote, 120)}",
        f"Ask again, or use a model that is better at calling tools.{more}",
    )


def _of_empty(last: Reply) -> Verdict:
    if last.finish_reason == "length":
        what = "on its thoughts" if last.reasoning else "before it said anything"
        return Verdict(
            "length",
            f"The model gave no answer: it used up its output limit {what}.",
            "Give the model more room (its max_tokens), ask for less thought, or ask for less at once.",
        )
    if last.reasoning:
        return Verdict("empty", "The model gave no answer, only thoughts.", "Ask again, or ask otherwise.")
    return EMPTY


def _malformed(reply: Reply) -> list[dict[str, str]]:
    return [c for c in reply.tool_calls if c["arguments"].strip() and not is_object(c["arguments"])]


def _trailing(replies: Sequence[Reply], fits: Callable[[Reply], object]) -> Iterator[Reply]:
    for reply in reversed(replies):
        if not fits(reply):
            return
        yield reply


def times(n: int) -> str:
    """`once`, `twice`, `five times`."""
    words = ("never", "once", "twice", "three times", "four times", "five times", "six times")
    return words[n] if n < len(words) else f"{n} times"


def short(text: str, n_chars: int) -> str:
    """One line of at most so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= n_chars else line[: n_chars - 1] + "…"
