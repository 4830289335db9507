from __future__ import annotations

import importlib.util
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

NEEDED = ("flyte", "flyteplugins.agents.hermes", "uvicorn")
HERE = Path(__file__).parent
# Warnings of Flyte's SDK and what it imports; ours stay errors.
FOREIGN = (
    "ignore::ResourceWarning",
    "ignore::pytest.PytestUnraisableExceptionWarning",
    "ignore::pydantic.warnings.PydanticDeprecatedSince20",
)


def missing() -> str | None:
    """What keeps the Flyte tests from running; None when nothing does."""
    for module in NEEDED:
        try:
            found = importlib.util.find_spec(module)
        except ModuleNotFoundError:
            found = None
        if found is None:
            return f"{module} is not installed: pip install '.[flyte]' (and uvicorn)"
    return None


collect_ignore = ["loopback_tasks.py", "loopback_agent.py", "adapter_tasks.py", "trap_script.py", "reach_script.py"]
if missing():
    collect_ignore_glob = ["test_*.py"]
else:
    with warnings.catch_warnings():  # at its import, which no marker of a test reaches
        warnings.simplefilter("ignore")
        importlib.import_module("flyte.io")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.flyte)
            for category in FOREIGN:
                item.add_marker(pytest.mark.filterwarnings(category))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reason = missing()
    if reason:
        n_files = len(list(HERE.glob("test_*.py")))
        terminalreporter.section("NOT TESTED ON FLYTE", sep="!", red=True, bold=True)
        terminalreporter.line(f"{n_files} files of tests were left out: {reason}", red=True, bold=True)


@pytest.fixture(scope="session", autouse=True)
def flyte_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A HOME for what flyte keeps in `~/.flyte`; no metrics leave the machine."""
    home = tmp_path_factory.mktemp("home")
    before = {name: os.environ.get(name) for name in ("HOME", "DO_NOT_TRACK", "PATH")}
    os.environ |= {"HOME": str(home), "DO_NOT_TRACK": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    logging.getLogger("flyte").setLevel(logging.ERROR)
    yield home
    for name, value in before.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


@pytest.fixture(scope="session")
def plane() -> Iterator[Any]:
    """A control plane for a module, and the SDK pointed at it."""
    import flyte

    from tests.flyte.loopback import LoopbackPlane

    secrets = {"api-key": "s3cret", "model-key": "sk-scripted-0123456789abcdef"}
    with LoopbackPlane(env={"OPENAI_API_KEY": "sk-test"}, secrets=secrets) as plane:
        flyte.init(**plane.init_kwargs(root_dir=HERE.parents[1]))
        yield plane
