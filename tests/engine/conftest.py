from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.offline_model.endpoint import ChatRequest
from hermes_nb.testing import ScriptedModel
from tests.engine.rig import Worker


@dataclass(frozen=True)
class Parts:
    """A step of the scripted model, given part by part."""

    given: Iterable[Any]

    def parts(self, request: ChatRequest) -> Iterator[Any]:
        yield from self.given


class Script:
    """The scripted model, its answers set by each test: `script.answer = lambda request: [parts]`."""

    def __init__(self) -> None:
        self.answer: Callable[[ChatRequest], Iterable[Any]] = lambda request: ["Hello."]
        self.model = ScriptedModel(lambda request: Parts(self.answer(request)))
        self.url = self.model.start()

    @property
    def requests(self) -> list[ChatRequest]:
        """Those since the answers were set."""
        return self.model.requests

    def wait_requests(self, n: int, timeout_s: float = 10) -> ChatRequest:
        """The `n`th request since the answers were set, once it is there."""
        return self.model.wait_for_requests(n, timeout_s)[n - 1]

    def in_turn(self, *answers: Any) -> None:
        """The next requests get these, one after another; the last one for good."""
        left = list(answers)
        self.answer = lambda request: left.pop(0) if len(left) > 1 else left[0]
        self.model.requests.clear()


@pytest.fixture(scope="session")
def _endpoint() -> Iterator[Script]:
    script = Script()
    yield script
    script.model.close()


@pytest.fixture
def script(_endpoint: Script) -> Script:
    _endpoint.in_turn(["Hello."])
    return _endpoint


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """One worker for the tests that leave it as it was; each binds agents of its own."""
    worker = Worker(tmp_path_factory.mktemp("worker"))
    yield worker
    worker.close()


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Callable[..., Worker]]:
    """Makes workers of the test's own."""
    workers: list[Worker] = []

    def make(folder: str = "w", **options: Any) -> Worker:
        workers.append(Worker(tmp_path / folder, **options))
        return workers[-1]

    yield make
    for worker in workers:
        worker.close()
