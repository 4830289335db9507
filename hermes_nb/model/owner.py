"""Whose instances and conversations are: names that a host gives, kept with them and compared when they are opened."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hermes_nb.errors import UsageError

DEFAULT_OWNER: Mapping[str, str] = {"tenantId": "local", "subjectId": "local-user"}


def checked_owner(given: Any) -> dict[str, str]:
    """An owner as it is kept; None stands for the user of this machine.

    Raises:
        UsageError: It is no dict of texts.
    """
    if given is None:
        return dict(DEFAULT_OWNER)
    is_dict = isinstance(given, Mapping) and bool(given)
    if not is_dict or not all(isinstance(x, str) and x.strip() for pair in given.items() for x in pair):
        example = "{'tenantId': 'acme', 'subjectId': 'ann'}"
        raise UsageError(f"owner takes a dict of names, e.g. {example}, not {str(given)[:80]!r}.")
    return dict(given)


def owner_text(owner: Mapping[str, str]) -> str:
    """An owner for people to read, e.g. `tenantId=acme, subjectId=ann`."""
    return ", ".join(f"{name}={value}" for name, value in owner.items())
