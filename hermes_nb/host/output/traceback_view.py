"""The traceback of a tool's error as its cell would show it, for the row of the call."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_nb._traceback import rendered
from hermes_nb.views._ansi import plain

if TYPE_CHECKING:
    from hermes_nb.model.mask import Masker

TRACEBACK = "application/vnd.hermes-nb.traceback"  # the type under which `LiveSink.on_display` is given it
MAX_CHARS = 20_000


def coloured(error: BaseException, masker: Masker) -> str:
    """What IPython shows for an error, with its colours and without secrets; "" where no IPython runs.

    Args:
        error: What a tool raised; frames of the user's code are shown, not this package's nor those of libraries.
        masker: What takes secrets out.
    """
    try:
        text = "\n".join(rendered(error)[1:])  # without the rule above
    except Exception:  # noqa: BLE001 - no shell, or a source that can't be read: the row has the error's words
        return ""
    masked, safe = masker.text(text), masker.text(plain(text))
    shown = masked if plain(masked) == safe else safe  # a secret with colours within is none to the mask
    return shown if len(shown) <= MAX_CHARS else "…" + plain(shown)[-MAX_CHARS:]
