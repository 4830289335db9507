"""Shells of this process for what needs no kernel; real kernels are in `kernel.py`."""

from __future__ import annotations

import atexit
import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import hermes_nb.magics
from hermes_nb.offline_model.endpoint import ChatRequest
from hermes_nb.testing import Call, Say, ScriptedModel, Step
from tests.magics.kernel import Kernel


@pytest.fixture(scope="module")
def module_shell() -> Iterator[InteractiveShell]:
    made = bare_shell()
    yield made
    close(made)


@pytest.fixture
def shell(module_shell: InteractiveShell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """The module's shell, `%hermes` freshly loaded, in a working directory of its own; new variables are removed."""
    monkeypatch.chdir(tmp_path)
    before = set(module_shell.user_ns)
    hermes_nb.magics.load(module_shell)
    yield module_shell
    hermes_nb.magics.unload(module_shell)
    for name in set(module_shell.user_ns) - before:
        del module_shell.user_ns[name]


@pytest.fixture
def run(shell: InteractiveShell, capsys: pytest.CaptureFixture[str]) -> Callable[[str], str]:
    """Run a cell; returns what it printed, errors included."""

    def run_cell(source: str) -> str:
        shell.run_cell(source, store_history=True)
        out, err = capsys.readouterr()
        return out + err

    return run_cell


def bare_shell() -> InteractiveShell:
    """A shell without history file and colours."""
    config = Config()
    config.HistoryManager.hist_file = ":memory:"
    config.InteractiveShell.colors = "nocolor"
    return InteractiveShell(config=config)


def close(shell: InteractiveShell) -> None:
    """End what a shell holds."""
    atexit.unregister(shell.atexit_operations)
    shell.atexit_operations()


class Asked:
    """A scripted model for a module's kernel; `answer` decides what it says, until the test is over.

    Attributes:
        scripted: The endpoint.
        answer: Called with each request; returns its step. None repeats the prompt.
    """

    def __init__(self, scripted_answer: Callable[[Callable[[ChatRequest], Step]], ScriptedModel]) -> None:
        self.answer: Callable[[ChatRequest], Step] | None = None
        self.scripted = scripted_answer(self._step)

    def _step(self, request: ChatRequest) -> Step:
        return Say(f"You said: {prompt(request)}") if self.answer is None else self.answer(request)

    @property
    def prompts(self) -> list[str]:
        """The last user message of each request, oldest first."""
        return [prompt(request) for request in self.scripted.requests]


def prompt(request: ChatRequest) -> str:
    """The last user message of a request."""
    return next(str(m["content"]) for m in reversed(request.messages) if m["role"] == "user")


def called(request: ChatRequest) -> Step:
    """The model's step: the tool that the question names, then what it gave."""
    last = request.messages[-1]
    return Say(f"Got: {last['content']}") if last["role"] == "tool" else Call(prompt(request), {})


SETUP = """
%load_ext hermes_nb
from hermes_nb import Agent, Model, tool
model = Model("scripted", "custom", base_url={url!r}, api_key="sk-scripted-0123456789abcdef")

@tool
def add(a: int, b: int) -> int:
    "Add two numbers."
    print("adding", a, b)
    return a + b

@tool
def sleepy(seconds: float) -> str:
    "Sleep."
    import time
    time.sleep(seconds)
    return "slept"

analyst = Agent("analyst", model=model, tools=[add, sleepy])
"""


@pytest.fixture(scope="module")
def module_model() -> Iterator[Asked]:
    with contextlib.ExitStack() as opened:
        yield Asked(lambda step: opened.enter_context(ScriptedModel(step)))


@pytest.fixture(scope="module")
def module_kernel(tmp_path_factory: pytest.TempPathFactory, module_model: Asked) -> Iterator[Kernel]:
    kernel = Kernel(tmp_path_factory.mktemp("notebook"))
    try:
        kernel.ok(SETUP.format(url=module_model.scripted.base_url))
        kernel.ok("%hermes agent analyst --default")
        yield kernel
    finally:
        kernel.close()


@pytest.fixture
def model(module_model: Asked) -> Iterator[Asked]:
    """The module's model, with a clean record."""
    module_model.scripted.requests.clear()
    yield module_model
    module_model.answer = None
    module_model.scripted.release()


@pytest.fixture
def kernel(module_kernel: Kernel, model: Asked) -> Kernel:
    """The module's kernel: `analyst` is bound, with tools `add` and `sleepy`."""
    return module_kernel
