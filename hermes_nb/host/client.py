"""What an execute request tells of the client that sent it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def cell_named(parent: Mapping[str, Any]) -> str:
    """Id of the notebook's cell, as JupyterLab, Notebook 7, VS Code and Colab name it; "" where the client names none."""
    metadata = parent.get("metadata") or {}
    return str(metadata.get("cellId") or (metadata.get("colab") or {}).get("cell_id") or "")


def is_headless(parent: Mapping[str, Any]) -> bool:
    """True when the client that sent this execute request lets nobody type: nbclient, papermill."""
    return (parent.get("content") or {}).get("allow_stdin") is False


def replaces_outputs(parent: Mapping[str, Any]) -> bool:
    """True when the client that sent this execute request is known to act on `update_display_data`.

    Notebooks name the cell in the request's metadata; headless clients (nbclient, papermill) allow no input. A console does
    neither, and shows what is displayed but not what is updated.
    """
    return bool(cell_named(parent)) or is_headless(parent)
