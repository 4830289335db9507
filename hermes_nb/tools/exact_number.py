"""JSON numbers with more digits than a float holds, for a `Decimal`: pydantic reads every JSON number as a float first."""

from __future__ import annotations

import contextlib
import decimal
import json
from collections.abc import Mapping
from typing import Any


def validated(validator: Any, text: str, *, context: Mapping[str, Any] | None = None) -> Any:
    """What a validator makes of JSON, with all digits of a number where it has a Decimal.

    Args:
        validator: The validator of pydantic-core.
        text: The JSON.
        context: What validators of the type are told.

    Raises:
        ValidationError: It does not fit.
    """
    from pydantic_core import ValidationError

    data = _exact(text, validator)
    if data is not None:
        with contextlib.suppress(ValidationError):  # of JSON it takes more
            return validator.validate_python(data, context=context)
    return validator.validate_json(text, context=context)


def _exact(text: str, validator: Any) -> Any:
    """The JSON with each number that no float holds as a Decimal; None where no digit is at stake."""
    n_exact = 0

    def number(literal: str) -> float | decimal.Decimal:
        nonlocal n_exact
        value, exact = float(literal), decimal.Decimal(literal)
        if decimal.Decimal(repr(value)) == exact:
            return value
        n_exact += 1
        return exact

    try:
        data = json.loads(text, parse_float=number)
    except (ValueError, ArithmeticError, RecursionError):  # an exponent that no Decimal has, as in 12e34567890123456789
        return None
    return data if n_exact and "Decimal(" in repr(validator) else None
