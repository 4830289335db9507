"""Secrets are in no result that a model reads, whole or in part."""

from __future__ import annotations

import json

import pytest

from hermes_nb.model.mask import Masker
from hermes_nb.tools.rendering.result import render

SECRET = "sk-proj-abcdefghijklmnopqrstuvwxyz"


def test_a_secret_is_masked_in_text_members_and_keys():
    masker = Masker([SECRET])
    content = render({"a": f"key={SECRET}", SECRET: [SECRET]}, masker=masker).content
    assert json.loads(content) == {"a": "key=[masked]", "[masked]": ["[masked]"]}
    assert render(f"key={SECRET}.", masker=masker).content == "key=[masked]."


@pytest.mark.parametrize("before", range(60))
def test_a_cut_never_leaves_the_beginning_of_a_secret(before):
    text = "." * before + SECRET + "x" * 1_000
    content = render(text, max_chars=100, masker=Masker([SECRET])).content
    assert "sk-" not in content
    assert len(content) <= 100
