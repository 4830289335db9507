"""Parts of a prompt: text and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

from hermes_nb._near import suggesting
from hermes_nb.errors import UsageError


@suggesting
@dataclass(frozen=True, slots=True)
class ContentPart:
    """One part of a prompt: `type="text"` with `text`, or `type="image"` with `data` (base64) and `mime_type`."""

    type: Literal["text", "image"]
    text: str = ""
    data: str = ""
    mime_type: str = ""


def prompt_text(prompt: str | list[ContentPart]) -> str:
    """The text of a prompt, as valid Unicode; an image is named as `[image/png, 12 kB]`.

    Raises:
        UsageError: It is neither a text nor a list of parts; names what it is, and what to write.
    """
    if isinstance(prompt, str):
        return valid(prompt)
    parts: object = prompt  # what people pass
    if not isinstance(parts, Sequence):
        raise UsageError(f"A prompt is a text or a list of ContentPart, not {_kind(parts)}.")
    for number, part in enumerate(parts, 1):
        if not isinstance(part, ContentPart):
            raise UsageError(
                f"Part {number} of the prompt is {_kind(part)}, not a ContentPart. Write ContentPart('text', text='...') or"
                " ContentPart('image', data=BASE64, mime_type='image/png'); %hermes run --image NAME takes figures too."
            )
    texts = (p.text if p.type == "text" else f"[{p.mime_type or 'image'}, {len(p.data) * 3 // 4000} kB]" for p in prompt)
    return valid("\n\n".join(texts))


def _kind(value: object) -> str:
    name = type(value).__name__
    return "None" if value is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"


def valid(text: str) -> str:
    """The text as valid Unicode: surrogate pairs are joined, a lone surrogate becomes U+FFFD."""
    if text.isascii():
        return text
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def wire_parts(prompt: str | list[ContentPart], *, sees: bool) -> str | list[dict[str, str]]:
    """The prompt as it crosses the wire: text, or the parts as plain data when there are images and the model sees.

    Args:
        prompt: What was asked.
        sees: Whether the model takes images; when it does not, each is named in words.
    """
    if isinstance(prompt, str) or not sees or all(p.type == "text" for p in prompt):
        return prompt_text(prompt)
    return [{**asdict(p), "text": valid(p.text)} for p in prompt]
