"""A recorded turn that answers in the model's and the tools' place, and says what differs when it can't."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb.engine.durability.journal import ToolResult
from hermes_nb.engine.hermes.reply import flat_text

if TYPE_CHECKING:
    from hermes_nb.model.message_part import Json, ReplayTold

HEAD_CHARS = 400
_SHOWN_CHARS = 160


class NotRecorded(BaseException):
    """A request that the recording does not hold, and that may not go out; `hint` is the cure."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


class RecordedSteps:
    """One turn of a recording.

    Args:
        told: The wire's `replay`.

    Attributes:
        responses: Recorded responses by (fingerprint, occurrence).
    """

    def __init__(self, told: ReplayTold) -> None:
        self._told = told
        self._steps = [dict(r) for r in told.get("responses") or ()]
        self.responses: dict[tuple[str, int], Json] = {
            (str(r["fingerprint"]), int(r["occurrence"])): dict(r["body"]) for r in self._steps
        }

    def tool_results(self, turn_id: str) -> dict[str, ToolResult]:
        """Recorded tool results by call key."""
        return {
            str(r["call_key"]): ToolResult(
                turn_id, str(r["call_key"]), str(r["name"]), str(r["arguments"]), 1, dict(r["body"])
            )
            for r in self._told.get("tool_results") or ()
        }

    def miss(self, request: Mapping[str, Any]) -> None:
        """A request was not found: let it go to the model when that is allowed.

        Raises:
            NotRecorded: It is not; the message says what differs.
        """
        if self._told.get("is_live"):
            return
        messages = request.get("messages") or request.get("input") or []
        raise NotRecorded(
            f"The recording {self._told.get('file')} has no answer to this request: {self._difference(messages)}",
            "Run the cell as it was recorded, record anew (%hermes record FILE), or let it go to the model:"
            " HERMES_NB_REPLAY_MISS=live.",
        )

    def _difference(self, messages: Any) -> str:
        found = [str(line) for line in self._told.get("changes") or ()]
        last = flat_text(messages[-1])[:HEAD_CHARS] if messages else ""
        same_place = [r for r in self._steps if r.get("n_messages") == len(messages)]
        if not self._steps:
            found.append("it holds no step of this turn")
        elif not same_place:
            known = sorted({int(r.get("n_messages") or 0) for r in self._steps})
            found.append(
                f"it has {len(messages)} messages, and those recorded for this turn have {', '.join(map(str, known))}"
            )
        elif all(r.get("last_message") != last for r in same_place):
            found.append(
                f"its last message was recorded as {_short(same_place[0].get('last_message'))} and is {_short(last)}"
            )
        elif not found:
            found.append("an earlier message, the model or Hermes's own prompt (its version, its toolsets) changed")
        return "; ".join(found) + "."


def _short(text: Any) -> str:
    line = " ".join(str(text or "").split())
    return repr(line if len(line) <= _SHOWN_CHARS else line[: _SHOWN_CHARS - 1] + "…")
