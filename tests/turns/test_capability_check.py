"""A turn that needs what its engine can't do is refused by name, before anything is sent."""

from __future__ import annotations

import pytest

from hermes_nb.errors import UsageError
from hermes_nb.model.capability import CAPABILITIES, in_words, lacking
from hermes_nb.turns import capability_check


def test_what_is_lacking_is_named_with_what_to_do() -> None:
    missing = lacking([name for name in CAPABILITIES if name not in ("journal", "images", "steer")])
    with pytest.raises(UsageError, match=r"runtime 'acp' can't do this: resuming .*new turn\. images .*in words") as caught:
        capability_check.refuse(missing, {"journal": True, "images": True, "tools": True}, runtime="acp")
    assert "functions of the notebook" not in str(caught.value)
    capability_check.refuse(missing, {"journal": False, "images": False, "tools": True}, runtime="acp")


def test_an_engine_that_tells_nothing_lacks_nothing() -> None:
    assert lacking(None) == frozenset()
    assert lacking([]) == set(CAPABILITIES)


def test_what_is_lacking_is_said_in_the_order_of_the_table() -> None:
    assert in_words({"steer", "tools"}) == f"{CAPABILITIES['tools']}, {CAPABILITIES['steer']}"
    assert in_words(()) == ""
