"""What must not reach a model or a log: the secrets of the environment, and variables that are named like one."""

from __future__ import annotations

import functools
import re

from hermes_nb import _settings
from hermes_nb.model.mask import Masker

_NAME = re.compile(r"(?:^|_)(?:api_?key|key|token|secret|password|passwd|pwd|credentials?)$", re.IGNORECASE)


def environment_masker() -> Masker:
    """A mask for the values of environment variables that look like secrets, as they are now."""
    return _masker(tuple(sorted(set(_settings.secrets().values()))))


@functools.lru_cache(maxsize=4)
def _masker(secrets: tuple[str, ...]) -> Masker:
    return Masker(secrets)


def is_secret(name: str, value: object) -> bool:
    """Whether a variable is one that is not shown: a text of 8 characters or more, in one word, under a name such as
    `api_key` or `password`."""
    if not isinstance(value, (str, bytes)) or len(value) < 8 or len(value.split()) != 1:
        return False
    return _NAME.search(name) is not None
