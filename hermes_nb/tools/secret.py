"""What must not reach a model or a log: the secrets of the environment, and variables that are named like one."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

from hermes_nb import _settings
from hermes_nb.model.mask import MASK, Masker

_NAME = re.compile(r"(?:^|_)(?:api_?key|key|token|secret|password|passwd|pwd|credentials?)$", re.IGNORECASE)


SHORTEST_DECLARED = 4  # characters; a shorter one would be found in innocent words


def environment_masker() -> Masker:
    """A mask for the values of environment variables that look like secrets or are declared as such, as they are now."""
    declared = _settings.declared_secrets().values()
    return _masker(tuple(sorted({*_settings.secrets().values(), *declared})), tuple(sorted(set(declared))))


def declare(masker: Masker, values: Iterable[str]) -> None:
    """Let a mask know secrets that their user declared: short ones too, as they are no guess."""
    told = [value for value in values if len(value) >= SHORTEST_DECLARED]
    masker.add(*told)
    masker.replace({value: MASK for value in told if value not in masker.values})


@functools.lru_cache(maxsize=4)
def _masker(secrets: tuple[str, ...], declared: tuple[str, ...]) -> Masker:
    masker = Masker(secrets)
    declare(masker, declared)
    return masker


def is_secret(name: str, value: object) -> bool:
    """Whether a variable is one that is not shown: a text of 8 characters or more, in one word, under a name such as
    `api_key` or `password`."""
    if not isinstance(value, (str, bytes)) or len(value) < 8 or len(value.split()) != 1:
        return False
    return _NAME.search(name) is not None
