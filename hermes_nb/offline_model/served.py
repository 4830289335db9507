"""The endpoint of the offline model.

It says what it is. It picks tools by matching the prompt's words with names, descriptions and parameters, fills their
arguments by schema, chains calls, asks for what is missing, and answers from results. Deterministic: the same messages
and tools give the same reply. English prompts only.

Token counts are estimates by a stated rule: one token per four characters, rounded up, of the JSON that was sent and of
the text and arguments that came back.
"""

from __future__ import annotations

import datetime as dt
import json
import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from hermes_nb.offline_model.answer import answer, no_match, question
from hermes_nb.offline_model.endpoint import ChatRequest, ChatServer, Finish, Part, RequestedCall, Usage, Wait
from hermes_nb.offline_model.plan import decide
from hermes_nb.offline_model.profile import Profile, profile
from hermes_nb.offline_model.talk import talk

MODEL = "hermes-nb-offline"
NOT_FOR_WORDS = frozenset({"more"})  # reads on in a cut result by its id; an everyday word must not call it
CHARS_PER_TOKEN = 4
WORD_DELAY_S = 0.004  # so that a person sees the answer grow
MAX_STREAM_S = 0.4

_WORD = re.compile(r"\s*\S+\s*\Z|\s*\S+")


class OfflineEndpoint:
    """Serves the offline model.

    Args:
        word_delay_s: Pause after each streamed word; shortened so that an answer takes 0.4 s at most.
    """

    def __init__(self, *, word_delay_s: float = WORD_DELAY_S) -> None:
        self._word_delay_s = word_delay_s
        self._endpoint = ChatServer(self._respond, model=MODEL, name="hermes-nb-offline")

    def start(self) -> str:
        """Start listening; the base URL."""
        return self._endpoint.start()

    def close(self) -> None:
        """Drop all connections, end all threads."""
        self._endpoint.close()

    def __enter__(self) -> OfflineEndpoint:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        """Where clients find it."""
        return self._endpoint.base_url

    def _respond(self, request: ChatRequest) -> Iterator[Part]:
        text, calls = reply(request.messages, request.tools)
        words = _WORD.findall(text)
        delay_s = min(self._word_delay_s, MAX_STREAM_S / max(1, len(words))) if request.is_streaming else 0.0
        for word in words:
            yield word
            if delay_s:
                yield Wait(delay_s)
        yield from calls
        yield Finish("tool_calls" if calls else "stop")
        yield Usage(_usage(request.body, text, calls))


def reply(messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> tuple[str, list[RequestedCall]]:
    """What the offline model says to a conversation: (text, calls), one of them empty.

    Args:
        messages: As in a chat request.
        tools: The functions offered, `{"name", "description", "parameters"}` each.
    """
    spoken = talk(messages)
    asked = spoken.prompt
    offered = [t for t in tools if t.get("name") and (t["name"] not in NOT_FOR_WORDS or f"{t['name']}(" in asked)]
    profiles = [_profile(json.dumps(t)) for t in offered]
    today = spoken.day or dt.date.today().isoformat()
    decision = decide(spoken, profiles, today)
    if decision.calls:
        return "", [
            RequestedCall(f"call_{spoken.n_calls + i}", name, json.dumps(arguments, ensure_ascii=False))
            for i, (name, arguments) in enumerate(decision.calls, 1)
        ]
    if decision.ask is not None:
        return question(decision.ask, spoken), []
    if spoken.done:
        return answer(spoken), []
    return no_match(spoken.prompt, profiles), []


_profiles: dict[str, Profile] = {}
_lock = threading.Lock()


def _profile(source: str) -> Profile:
    """Profiles are kept: a session sends the same tools with every request."""
    with _lock:
        found = _profiles.get(source)
    if found is None:
        found = profile(json.loads(source))
        with _lock:
            if len(_profiles) > 500:
                _profiles.clear()
            _profiles[source] = found
    return found


def _usage(body: Mapping[str, Any], text: str, calls: Sequence[RequestedCall]) -> dict[str, Any]:
    asked = json.dumps({"messages": body.get("messages"), "tools": body.get("tools")}, ensure_ascii=False)
    n_in = -(-len(asked) // CHARS_PER_TOKEN)
    n_out = -(-(len(text) + sum(len(c.name) + len(c.arguments) for c in calls)) // CHARS_PER_TOKEN)
    return {"prompt_tokens": n_in, "completion_tokens": n_out, "total_tokens": n_in + n_out}
