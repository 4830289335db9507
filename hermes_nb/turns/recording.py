"""Recordings: committed steps of turns as one file, readable and fit for git, from which a notebook re-runs.

A file of JSON lines in the order the turns were asked: a header; then for each turn what was asked of whom, its model
responses and its tool results. Nothing in it depends on when or where it was made but the session's first day. Replaying
sends nothing: no key, no network. The functions of tools do not run either: their recorded results are taken.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hermes_nb._version import __version__
from hermes_nb.errors import StoreError, UsageError
from hermes_nb.model.agent import Model
from hermes_nb.model.mask import Masker
from hermes_nb.model.place import shown_path
from hermes_nb.store.json_lines import read_lines, write_whole
from hermes_nb.turns.agent_digest import differences
from hermes_nb.workers import journal

if TYPE_CHECKING:
    from hermes_nb.model.message_part import AgentDigest, Json, ReplayTold
    from hermes_nb.turns.context import RunningTurn, TurnTape

FORMAT = "hermes-nb recording"
VERSION = 1
_CURE = "%hermes record FILE writes one."
_OF_ONE_RUN = ("started_at_unix_s", "duration_ms")  # of a tool result; they would differ in each recording


@dataclass(slots=True)
class RecordedTurn:
    """One turn of a recording.

    Attributes:
        head: number, session (both counted from 1), agent, prompt, date, model, profile, status.
        responses: Dicts with fingerprint, occurrence, n_messages, last_message, body.
        tool_results: Dicts with call_key, name, arguments, body.
        file: The recording's name, for messages.
    """

    head: Json
    responses: list[Json] = field(default_factory=list)
    tool_results: list[Json] = field(default_factory=list)
    file: str = ""

    def for_wire(self, *, profile: AgentDigest, is_live: bool) -> ReplayTold:
        """What the worker is told of it; `profile` is what the agent is now."""
        return {
            "file": self.file,
            "is_live": is_live,
            "changes": differences(self.head["profile"], profile) if self.head.get("profile") else [],
            "responses": self.responses,
            "tool_results": self.tool_results,
        }


class Recording:
    """A recording that answers. Each turn takes the next one recorded with its agent and prompt; after the last the first.

    Args:
        path: The file.
        masker: Gives what takes keys out of a prompt, as it was recorded; None for none.

    Raises:
        UsageError: The file is missing, or no recording, or of a newer version.
    """

    def __init__(self, path: Path, masker: Callable[[], Masker] | None = None) -> None:
        self.path = path
        self._masker = masker or Masker
        _, lines = read_lines(path, FORMAT, VERSION, cure=_CURE)
        self.turns: list[RecordedTurn] = []
        self._n_taken: dict[tuple[str, str], int] = {}
        for number, line in enumerate(lines, 2):
            try:
                self._read(line)
            except (KeyError, IndexError, TypeError, ValueError) as exc:
                raise UsageError(
                    f"Line {number} of the recording {shown_path(path)!r} can't be read: {exc!r}. {_CURE}"
                ) from exc

    def _read(self, line: Json) -> None:
        if "prompt" in line:
            if not isinstance(line.get("profile") or {}, dict):
                raise ValueError("its profile is no object")
            _model(line)
            head = {**line, "agent": str(line["agent"]), "prompt": str(line["prompt"])}
            self.turns.append(RecordedTurn(head, file=shown_path(self.path)))
        elif "fingerprint" in line:
            body = dict(line["body"])
            if not body or ("choices" in body and not body["choices"][0]["message"]):
                raise ValueError("its body holds no answer")
            self.turns[-1].responses.append({**line, "occurrence": int(line["occurrence"]), "body": body})
        elif "call_key" in line:
            self.turns[-1].tool_results.append({**line, "body": dict(line["body"])})

    def take(self, agent: str, prompt: str) -> RecordedTurn:
        """The recorded turn for a question; one without steps, whose first request is then missed, when there is none."""
        asked = (prompt, self._masker().text(prompt))
        fits = [t for t in self.turns if t.head["agent"] == agent and t.head["prompt"] in asked]
        n = self._n_taken.get((agent, prompt), 0)
        self._n_taken[agent, prompt] = n + 1
        return fits[n % len(fits)] if fits else RecordedTurn({"agent": agent, "prompt": prompt}, file=shown_path(self.path))

    def model_of(self, agent: str) -> Model | None:
        """The model that answered an agent; None when the recording has none of its turns."""
        return next((model for t in self.turns if t.head["agent"] == agent and (model := _model(t.head))), None)


def _model(head: Mapping[str, Any]) -> Model | None:
    told = head.get("model")
    return Model(str(told["id"]), str(told["provider"]), told.get("base_url") or None) if told else None


class Tape:
    """A recording that is being made: all turns of this process so far, then each as it ends. Lives on the IO loop.

    Args:
        path: The file; replaced as a whole each time.
        masker: Takes out what the workers have not masked already.
    """

    def __init__(self, path: Path, masker: Masker) -> None:
        self.path = path
        self._masker = masker
        self._texts: dict[str, str] = {}
        self._numbers: dict[str, int] = {}
        self._lock = asyncio.Lock()

    async def keep(self, turns: Iterable[RunningTurn]) -> int:
        """Write what these turns, in the order they were asked, have come to; returns how many there are in the file.

        Raises:
            StoreError: The journal can't be read, or the file not written.
        """
        async with self._lock:
            done = list({t.id: t for t in turns if _status(t) and not t.is_replay}.values())
            for turn in done:
                path = turn.agent.worker.folder.journal
                steps = await asyncio.to_thread(journal.steps, turn.id, path) if path.exists() else journal.Steps()
                number = self._numbers.setdefault(turn.session_id, len(self._numbers) + 1)
                self._texts[turn.id] = self._text(turn, steps, number)
            order = [t.id for t in done if t.id in self._texts]
            head = _line({"format": FORMAT, "version": VERSION, "hermes_nb": __version__})
            await asyncio.to_thread(write_whole, self.path, head + "".join(self._texts[i] for i in order))
            return len(order)

    def _text(self, turn: RunningTurn, steps: journal.Steps, session: int) -> str:
        told = {
            (e.data.get("fingerprint"), e.data.get("occurrence")): e.data for e in turn.events if e.kind == "model.completed"
        }
        model = turn.agent.model
        lines: list[Json] = [
            {
                "prompt": turn.prompt,
                "agent": turn.agent_name,
                "session": session,
                "status": _status(turn),
                "date": turn.first_day,
                "model": {"id": model.id, "provider": model.provider, "base_url": model.base_url},
                "profile": turn.profile,
            }
        ]
        for step in steps.responses:
            said = told.get((step["fingerprint"], step["occurrence"]), {})
            words = {k: said[k] for k in ("text", "n_messages", "last_message") if k in said}
            body = dict(step["body"])
            if str(body.get("id", "")).startswith("stream-"):  # Hermes's own, another each time
                body.pop("id")
            lines.append({**words, "fingerprint": step["fingerprint"], "occurrence": step["occurrence"], "body": body})
        for step in steps.tool_results:
            body = {k: v for k, v in step["body"].items() if k not in _OF_ONE_RUN}
            lines.append({"name": step["name"], "arguments": step["arguments"], "call_key": step["call_key"], "body": body})
        return "".join(_line(self._masker.data(line)) for line in lines)


def _status(turn: RunningTurn) -> str:
    """As its last event tells; "" without one."""
    end = next((e for e in reversed(turn.events) if e.is_turn_end), None)
    return "" if end is None else str(end.data.get("status") or end.kind.removeprefix("turn."))


def _line(data: Mapping[str, Any]) -> str:
    text = json.dumps(data, ensure_ascii=False, allow_nan=False)
    return text.encode("utf-8", "replace").decode("utf-8") + "\n"


async def keep_soon(tape: TurnTape, turns: Iterable[RunningTurn]) -> str | None:
    """`Tape.keep` after a turn: what went wrong, None when nothing did."""
    try:
        await tape.keep(turns)
    except StoreError as exc:
        return f"The recording was not written: {exc}"
    return None
