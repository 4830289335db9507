"""An interpreter tells its Python and its Hermes; what is none is refused with what to name instead."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_nb.environments.interpreter import inspect, interpreter_of, own
from hermes_nb.errors import WorkerStartError


def test_the_kernels_own_is_known_without_starting_anything(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.run", lambda *a, **k: pytest.fail("a process was started"))
    here = own()
    assert here.path == Path(sys.executable)
    assert here.python == sys.version_info[:3]
    assert here.hermes.startswith("hermes-agent 0.19")


def test_another_one_is_asked(make_interpreter: Callable[..., Path]) -> None:
    found = inspect(make_interpreter(version="0.23.1"))
    assert (found.distribution, found.version, found.python) == ("hermes-agent", "0.23.1", sys.version_info[:3])


def test_one_without_a_hermes_says_so(make_interpreter: Callable[..., Path]) -> None:
    found = inspect(make_interpreter(version=None))
    assert (found.distribution, found.hermes) == ("", "")


@pytest.mark.parametrize(
    "first_lines",
    [
        "#!{python}\n",
        "#! {python} -E\n",
        "#!/usr/bin/env -S {python}\n",
        "#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n",
        '#!/usr/bin/env bash\nunset PYTHONPATH\nunset PYTHONHOME\nexec "{python}" "/opt/hermes-agent/hermes" "$@"\n',
    ],
    ids=["plain", "with an option", "by env", "by sh, as pip writes long paths", "by bash, as Hermes's installer does"],
)
def test_a_hermes_script_leads_to_its_interpreter(
    tmp_path: Path, make_interpreter: Callable[..., Path], first_lines: str
) -> None:
    python = make_interpreter()
    script = tmp_path / "hermes"
    script.write_text(first_lines.format(python=python) + "from hermes_cli.main import main\nmain()\n")
    assert interpreter_of(script) == python
    assert inspect(script).hermes == "hermes-agent 0.19.0"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("#!/bin/bash\necho hello\n", "not of Python"),
        ("#!/bin/bash\nexec /bin/true\n", "no interpreter that can host Hermes"),
        ("#!/usr/bin/env node\n", "not of Python"),
        ("not a program", "can't be started"),
    ],
)
def test_what_is_no_interpreter_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "thing"
    path.write_text(text)
    path.chmod(0o755)
    with pytest.raises(WorkerStartError, match=said) as caught:
        inspect(path)
    assert "thing" in str(caught.value)


def test_a_program_that_is_no_python_is_refused() -> None:
    with pytest.raises(WorkerStartError, match="no interpreter that can host Hermes"):
        inspect(Path("/bin/true"))


def test_a_missing_one_says_what_to_name(tmp_path: Path) -> None:
    with pytest.raises(WorkerStartError, match="Name a Python interpreter, or a `hermes` script"):
        inspect(tmp_path / "nowhere")


def test_variables_of_python_do_not_reach_it(
    make_interpreter: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong json')")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    assert inspect(make_interpreter()).version == "0.19.0"
