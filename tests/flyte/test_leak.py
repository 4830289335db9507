"""Keys and passwords that would travel: found by value, by shape and by name, wherever they are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hermes_nb.api.hermes import Hermes
from hermes_nb.flyte.promotion.preflight import checked
from hermes_nb.flyte.run.runtime import Flyte
from hermes_nb.model.agent import Model
from hermes_nb.tools.decorator import tool
from tests.flyte.test_preflight import bound, codes, hermes, in_notebook

__all__ = ["hermes"]  # the fixture


def test_a_key_is_found_wherever_it_travels(hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "ghp_" + "a1B2" * 9
    (tmp_path / "my_keys.py").write_text(f"KEY = {key!r}\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = in_notebook("import my_keys\ndef f() -> int:\n    'F.'\n    return len(my_keys.KEY)\n")
    plan = checked(bound(hermes, tool(names["f"]), instructions=f"Use {key}."), Flyte(env_vars={"GITHUB_TOKEN": key}))
    assert [f.code for f in plan.fatal] == ["secret"] * 3
    assert [f.where for f in plan.fatal] == [
        "The agent's instructions or config",
        "Flyte(env_vars={'GITHUB_TOKEN': ...})",
        "Module my_keys.py",
    ]
    assert key not in str(plan.fatal)


@pytest.mark.parametrize(
    "value",
    [
        "postgresql://app:s3cr3tPassw0rd@db/shop",
        {"headers": {"Authorization": "Bearer 9fK2hunter2hunter81xQ"}},
        "-----BEGIN PRIVATE KEY-----\n" + "MIIEvQIBADANBgkqhkiG9w0B" * 4,
        ["AIza" + "SyA1234567890abcdefghijk"],
    ],
    ids=["dsn", "headers", "pem", "google"],
)
def test_shapes_that_nobody_named_a_secret_do_not_travel(hermes: Hermes, value: Any) -> None:
    names = in_notebook("def f() -> int:\n    'F.'\n    return len(THING)\n", THING=value)
    plan = checked(bound(hermes, tool(names["f"])), Flyte())

    assert [(f.code, f.variable) for f in plan.fatal] == [("secret", "THING")]
    assert checked(bound(hermes, tool(names["f"])), Flyte(allow=["secret"])).fatal == []


def test_a_password_in_a_data_file_does_not_travel(hermes: Hermes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "shop_conf").mkdir()
    (tmp_path / "shop_conf" / "__init__.py").write_text("RATE = 1\n")
    (tmp_path / "shop_conf" / "conf.toml").write_text("[db]\npassword='s3cr3tPassw0rd'\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    names = in_notebook("import shop_conf\ndef f() -> int:\n    'F.'\n    return shop_conf.RATE\n")
    plan = checked(bound(hermes, tool(names["f"])), Flyte())

    assert [(f.code, f.where) for f in plan.fatal] == [("secret", "Module shop_conf/conf.toml")]


def test_credentials_in_the_models_address_do_not_travel(hermes: Hermes) -> None:
    plan = checked(bound(hermes, model=Model("m", "custom", "https://ada:s3cr3tPassw0rd@models.example/v1")), Flyte())

    assert [f.code for f in plan.fatal] == ["secret"]
    assert "s3cr3tPassw0rd" not in str(plan.to_dict()) + str(plan.fatal)


def test_a_key_is_found_in_whatever_encoding_it_travels(hermes: Hermes, monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np

    key = 'pä"ss\\wörd/1234'
    monkeypatch.setenv("SHOP_PASSWORD", key)
    for value in (np.array([key]), key.encode("latin-1"), key.encode("utf-16-le"), bytearray(key.encode())):
        names = in_notebook("def f() -> int:\n    'F.'\n    return len(DATA)\n", DATA=value)
        assert [f.variable for f in checked(bound(hermes, tool(names["f"])), Flyte()).fatal] == ["DATA"]
    assert codes(hermes, instructions=f"The word is {key}.") == ["secret"]


def test_what_is_named_as_a_secret_is_does_not_travel_unseen(hermes: Hermes) -> None:
    word = "correct-horse-battery"
    names = in_notebook(
        "def a() -> str:\n    'A.'\n    return password\n"
        "def b() -> str:\n    'B.'\n    return CONFIG['db']\n"
        f"def c(x: int, api_key: str = {word!r}) -> str:\n    'C.'\n    return api_key\n"
        "def d() -> str:\n    'D.'\n    return ME.token\n"
        "def e() -> str:\n    'E.'\n    return sort_key\n",
        password=word,
        CONFIG={"db": [{"password": word}]},
        sort_key="created_at",
    )
    exec("class Me:\n    def __init__(self, token):\n        self.token = token\n", names)
    names["ME"] = names["Me"](word)
    plan = checked(bound(hermes, *(tool(names[n]) for n in "abcde")), Flyte())
    assert [(f.code, f.variable) for f in plan.fatal] == [
        ("secret-name", "password"),
        ("secret-name", "CONFIG"),
        ("secret-name", "api_key"),
        ("secret-name", "ME"),
    ]
    assert "CONFIG['db'][...]['password']" in plan.fatal[1].text
    assert [f.variable for f in plan.findings if not f.is_fatal] == ["sort_key"]
    assert word not in str(plan.findings)
    assert codes(hermes, tool(names["a"]), config=Flyte(allow=["secret-name"])) == ["secret-name"]
    assert checked(bound(hermes, tool(names["a"])), Flyte(allow=["secret-name"])).fatal == []
