from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from hermes_nb.engine.endpoint import ChatRequest, Endpoint
from tests.engine.rig import Worker


class Script:
    """An endpoint whose answers a test sets: `script.answer = lambda request: [parts]`."""

    def __init__(self) -> None:
        self.requests: list[ChatRequest] = []
        self.answer: Callable[[ChatRequest], Any] = lambda request: ["Hello."]
        self.endpoint = Endpoint(self._respond, model="scripted")
        self.url = self.endpoint.start()

    def _respond(self, request: ChatRequest) -> Any:
        self.requests.append(request)
        yield from self.answer(request)

    def in_turn(self, *answers: Any) -> None:
        """The next requests get these, one after another; the last one for good."""
        left = list(answers)
        self.answer = lambda request: left.pop(0) if len(left) > 1 else left[0]
        self.requests.clear()


@pytest.fixture(scope="session")
def _endpoint() -> Iterator[Script]:
    script = Script()
    yield script
    script.endpoint.close()


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
