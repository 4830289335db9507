from __future__ import annotations

import threading
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
        self._arrived = threading.Condition()
        self.answer: Callable[[ChatRequest], Any] = lambda request: ["Hello."]
        self.endpoint = Endpoint(self._respond, model="scripted")
        self.url = self.endpoint.start()

    def wait_requests(self, n: int, timeout_s: float = 10) -> ChatRequest:
        """The `n`th request since the answers were set, once it is there."""
        with self._arrived:
            assert self._arrived.wait_for(lambda: len(self.requests) >= n, timeout_s), f"{len(self.requests)} requests"
            return self.requests[n - 1]

    def _respond(self, request: ChatRequest) -> Any:
        with self._arrived:
            self.requests.append(request)
            self._arrived.notify_all()
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
