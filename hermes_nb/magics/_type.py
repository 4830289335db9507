"""Types by name, for `--returns`."""

from __future__ import annotations

import builtins
from typing import Any

from hermes_nb.magics._context import Context


def named_type(context: Context, name: str) -> Any:
    """Return a type by its name in the notebook, or a builtin one.

    Raises:
        UsageError: Neither has it.
    """
    return getattr(builtins, name) if name not in context.user_ns and hasattr(builtins, name) else context.value(name)
