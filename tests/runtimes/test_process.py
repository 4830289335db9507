from __future__ import annotations

import pytest

from hermes_nb.errors import UsageError
from hermes_nb.runtimes.process import Process

KEY = "sk-abcdefgh12345678"


def test_no_value_of_the_environment_is_printed() -> None:
    runtime = Process(options={"environment": {"X_API_KEY": KEY, "PASSPHRASE": "open sesame"}})
    for shown in (repr(runtime), str(runtime), f"{runtime}", repr([runtime]), repr(runtime.to_dict())):
        assert KEY not in shown
        assert "sesame" not in shown
    assert "X_API_KEY" in repr(runtime)
    assert repr(Process()) == "Process(executable='hermes', options={})"


def test_an_unknown_option_is_refused_with_the_nearest() -> None:
    with pytest.raises(UsageError, match=r"no 'enviroment'. Did you mean 'environment'"):
        Process(options={"enviroment": {}})
    with pytest.raises(UsageError, match="no_such"):
        Process(options={"no_such": 1})


def test_a_key_of_the_environment_is_cleaned_or_refused() -> None:
    assert Process(options={"environment": {"X_API_KEY": f' "{KEY}"\n'}}).environment == {"X_API_KEY": KEY}
    assert Process(options={"environment": {"PRIVATE_KEY": "a\nb\n"}}).environment == {"PRIVATE_KEY": "a\nb\n"}
    with pytest.raises(UsageError, match="the key in X_API_KEY can't be sent"):
        Process(options={"environment": {"X_API_KEY": "sk-ключ"}})
