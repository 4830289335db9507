"""uv hears what pip was told, and no credentials are in a command or an error."""

from __future__ import annotations

import pytest

from hermes_nb.environments import creation
from hermes_nb.environments.package_index import parsed, uv_environment


def test_the_environment_wins_over_files() -> None:
    listing = "global.index-url='a'\ninstall.index-url='b'\n:env:.index-url='c'\nglobal.cert='x.pem'\n"
    assert parsed(listing) == {"index-url": "c", "cert": "x.pem"}


@pytest.mark.parametrize("listing", ["", "nonsense", "freeze.timeout='10'\n", "global=1"])
def test_what_says_nothing_of_installing_is_passed_over(listing: str) -> None:
    assert parsed(listing) == {}


def test_each_setting_has_uvs_name() -> None:
    settings = {
        "index-url": "https://user:pw@mirror.example/simple",
        "extra-index-url": "file:///a\nfile:///b",
        "find-links": "/w /v",
        "trusted-host": "mirror.example",
        "no-index": "true",
        "cert": "/ca.pem",
        "proxy": "http://proxy:3128",
    }
    assert uv_environment(settings, {}) == {
        "UV_DEFAULT_INDEX": "https://user:pw@mirror.example/simple",
        "UV_INDEX": "file:///a file:///b",
        "UV_FIND_LINKS": "/w,/v",
        "UV_INSECURE_HOST": "mirror.example",
        "UV_NO_INDEX": "1",
        "SSL_CERT_FILE": "/ca.pem",
        "ALL_PROXY": "http://proxy:3128",
        "UV_INDEX_STRATEGY": "unsafe-best-match",
        "UV_SYSTEM_CERTS": "1",
    }


def test_what_is_set_for_uv_stays() -> None:
    there = {"UV_DEFAULT_INDEX": "mine", "UV_SYSTEM_CERTS": "0", "UV_INDEX_STRATEGY": "first-index"}
    assert uv_environment({"index-url": "pip's", "extra-index-url": "more"}, there) == {"UV_INDEX": "more"}


def test_constraints_of_the_kernel_are_no_matter_of_an_engines() -> None:
    assert "UV_CONSTRAINT" not in uv_environment({"constraint": "/etc/constraints.txt"}, {})


def test_no_index_may_be_off() -> None:
    assert "UV_NO_INDEX" not in uv_environment({"no-index": "false"}, {})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("failed: https://user:secret@host/simple/x", "failed: https://***@host/simple/x"),
        ("https://token@host and ftp://a:b@c", "https://***@host and ftp://***@c"),
        ("nothing here: a@b", "nothing here: a@b"),
    ],
)
def test_credentials_of_an_address_are_in_no_error(text: str, shown: str) -> None:
    assert creation.masked(text) == shown
