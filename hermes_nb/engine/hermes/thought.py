"""Thoughts that a model writes into its answer: told from the answer where a tag leads the reply, and nowhere else.

A tag in the middle of a reply, quoted or in an example, is part of the answer. Pure; the same rules for a whole reply and
for one that streams in.
"""

from __future__ import annotations

_NAMES = ("think", "thinking", "thought", "reasoning", "reasoning_scratchpad", "seed:think")
# What opens a thought, in small letters, and what closes it.
_TAGS = {
    **{f"<{name}>": f"</{name}>" for name in _NAMES},
    "[think]": "[/think]",
    "◁think▷": "◁/think▷",
    "<|channel>thought": "<channel|>",
}


class ThoughtStream:
    """Tells thoughts from answer while a reply streams in, however its tags are cut into pieces."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin with another reply."""
        self._held = ""
        self._close = ""
        self._is_answering = self._has_thought = False

    def feed(self, text: str) -> tuple[str, str]:
        """One more piece of the reply; what is sure by now: (thought, answer)."""
        if self._is_answering:
            return "", text
        self._held += text
        thought = ""
        while self._held and not self._is_answering:
            more, is_waiting = self._in_thought() if self._close else self._at_start()
            thought += more
            if is_waiting:
                return thought, ""
        answer, self._held = self._held, ""
        return thought, answer

    def end(self) -> tuple[str, str]:
        """The reply is over: what was held back, (thought, answer)."""
        held, self._held = self._held, ""
        if self._close:
            return held, ""
        return "", "" if self._has_thought and not held.strip() else held

    def _at_start(self) -> tuple[str, bool]:
        text = self._held.lstrip()
        small = text[:_LONGEST].lower()
        tag = next((tag for tag in _TAGS if small.startswith(tag)), None)
        if tag is not None:
            self._close, self._held, self._has_thought = _TAGS[tag], text[len(tag) :], True
            return "", not self._held
        if any(tag.startswith(small) for tag in _TAGS):
            return "", True
        self._is_answering = True
        if self._has_thought:
            self._held = text
        return "", False

    def _in_thought(self) -> tuple[str, bool]:
        small = _small(self._held)
        at = small.find(self._close)
        if at >= 0:
            thought = self._held[:at]
            self._held, self._close = self._held[at + len(self._close) :], ""
            return thought, not self._held
        n_kept = next((n for n in range(len(self._close) - 1, 0, -1) if small.endswith(self._close[:n])), 0)
        thought = self._held[: len(self._held) - n_kept]
        self._held = self._held[len(thought) :]
        return thought, True


_LONGEST = max(map(len, _TAGS))


def _small(text: str) -> str:
    """The text in small letters, of the same length."""
    small = text.lower()
    return small if len(small) == len(text) else "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def split(text: str) -> tuple[str, str]:
    """A whole reply as (thought, answer); the text itself is the answer when no thought leads it."""
    stream = ThoughtStream()
    parts = [stream.feed(text), stream.end()]
    thought = "".join(part[0] for part in parts).strip()
    answer = "".join(part[1] for part in parts)
    return thought, answer
