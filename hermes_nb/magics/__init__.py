"""The `%hermes` and `%%hermes` magics of a shell: `%load_ext hermes_nb` installs them, `%unload_ext` takes them away.

Sub-commands are the files of `magics/subcommands/` and entry points of the group `hermes_nb.magics.subcommands`; their lines
are read by `Parser`. What they do is the floors' below; here are lines, cells and names.
"""

from __future__ import annotations

from hermes_nb.errors import UsageError
from hermes_nb.magics._magic import HermesMagic
from hermes_nb.magics._parser import Parser

__all__ = ["Parser", "context", "load", "unload"]

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from hermes_nb.magics._context import Context

_ATTRIBUTE = "_hermes_nb_magic"  # on the shell, so that it outlives a reload of this package


def load(shell: InteractiveShell) -> None:
    """Register `%hermes` in the shell. Starts no thread, process or file; a second time registers it anew."""
    unload(shell)
    magic = HermesMagic(shell)
    magic.install()
    setattr(shell, _ATTRIBUTE, magic)


def unload(shell: InteractiveShell) -> None:
    """Take `%hermes` away, and end its agents' workers. Nothing happens when it is not loaded."""
    magic = getattr(shell, _ATTRIBUTE, None)
    if magic is not None:
        delattr(shell, _ATTRIBUTE)
        magic.remove()


def context(shell: InteractiveShell) -> Context:
    """What the magics of a shell hold: its Hermes, its agents, the last result.

    Raises:
        UsageError: The extension is not loaded there.
    """
    magic: HermesMagic | None = getattr(shell, _ATTRIBUTE, None)
    if magic is None:
        raise UsageError("hermes_nb is not loaded in this shell. Run %load_ext hermes_nb.")
    return magic.context
