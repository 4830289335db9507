"""The scripted model: an endpoint whose answers are written down beforehand."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from hermes_nb._near import suggesting
from hermes_nb.model.agent import Model
from hermes_nb.offline_model.endpoint import ChatRequest, ChatServer, Finish, Part, Refusal, RequestedCall, Usage, Wait
from hermes_nb.offline_model.endpoint_form import error_body
from hermes_nb.testing.step import Call, Hang, Say, Script, Step


@suggesting
class ScriptedModel:
    """A model that follows a script, one step per request. A context manager; thread-safe.

    Args:
        script: A list of steps, or a callable that gets the request and returns its step (it may be called from several
            threads). In a list a callable stands for the step it returns, a string for `Say`. `extend` adds steps.
        model: The model's name.
        api_key: The key `.model` carries; the endpoint itself takes any.

    Attributes:
        requests: Every chat request, in order of arrival; `.body`, `.headers`, `.at_monotonic_s`, `.outcome`.
        unexpected: The requests that came after the script's end; they get a 400 that says so.

    Example:
        >>> from hermes_nb.testing import Call, Say, ScriptedModel
        >>> with ScriptedModel([Call("add", {"a": 1, "b": 2}), Say("3")]) as scripted:
        ...     model = scripted.model    # give it to an Agent
        >>> scripted.requests
        []
    """

    def __init__(
        self, script: Script | str = (), *, model: str = "scripted", api_key: str = "sk-scripted-0123456789abcdef"
    ) -> None:
        self._script = script if callable(script) else [script] if isinstance(script, str) else list(script)
        self._model = model
        self._api_key = api_key
        self._changed = threading.Condition()
        self._call_ids = itertools.count(1)
        self._n_taken = 0
        self._hangs: list[Hang] = []
        self.requests: list[ChatRequest] = []
        self.unexpected: list[ChatRequest] = []
        self._endpoint = ChatServer(self._respond, model=model, name="hermes-nb-scripted")

    def start(self) -> str:
        """Start listening; the base URL."""
        return self._endpoint.start()

    def close(self) -> None:
        """Drop all connections, end all threads."""
        self._endpoint.close()

    def __enter__(self) -> ScriptedModel:
        self.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()

    @property
    def base_url(self) -> str:
        """Where clients find it, e.g. `http://127.0.0.1:43210/v1`."""
        return self._endpoint.base_url

    @property
    def model(self) -> Model:
        """The model to give to an `Agent`."""
        return Model(self._model, "custom", base_url=self.base_url, api_key=self._api_key)

    @property
    def probes(self) -> list[str]:
        """Requests other than chat, as `GET /v1/models`."""
        return self._endpoint.probes

    @property
    def n_left(self) -> int:
        """Steps not taken yet; 0 where the script is a callable."""
        return 0 if callable(self._script) else len(self._script) - self._n_taken

    def extend(self, steps: Iterable[Any]) -> None:
        """Add steps at the end of a list script.

        Raises:
            TypeError: The script is a callable.
        """
        if callable(self._script):
            raise TypeError("This scripted model is driven by a callable; it has no list to extend.")
        with self._changed:
            self._script.extend(steps)

    def release(self) -> None:
        """Release every `Hang` that was met so far."""
        with self._changed:
            hangs = list(self._hangs)
        for hang in hangs:
            hang.release()

    def wait_for_requests(self, n: int, timeout_s: float = 30.0) -> list[ChatRequest]:
        """Block until `n` requests have arrived; all there are.

        Raises:
            TimeoutError: Fewer came in time.
        """
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.requests) >= n, timeout_s):
                raise TimeoutError(f"The scripted model got {len(self.requests)} of {n} requests in {timeout_s:g} s.")
            return list(self.requests)

    def assert_followed(self) -> None:
        """Check that every step was taken and nothing else was asked.

        Raises:
            AssertionError: Steps are left, or a request came after the end.
        """
        assert not self.unexpected, f"{len(self.unexpected)} requests came after the script's end."
        assert not self.n_left, f"{self.n_left} steps of the script were not asked for."

    def _respond(self, request: ChatRequest) -> Iterator[Part]:
        step = self._next(request)
        if step is None:
            message = f"The script ended after {self._n_taken} steps, and one more request came."
            yield Refusal(400, error_body(message, "script_ended"))
        elif isinstance(step, Call) or (isinstance(step, Sequence) and not isinstance(step, str)):
            yield from self._calls([step] if isinstance(step, Call) else list(step))
        else:
            yield from (Say(step) if isinstance(step, str) else step).parts(request)

    def _next(self, request: ChatRequest) -> Step | None:
        script = self._script
        step: Step | Callable[[ChatRequest], Step] | None = script if callable(script) else None
        with self._changed:
            self.requests.append(request)
            if not callable(script) and self._n_taken < len(script):
                step = script[self._n_taken]
                self._n_taken += 1
            if step is None:
                self.unexpected.append(request)
            self._changed.notify_all()
        taken = step(request) if callable(step) else step
        if isinstance(taken, Hang):
            with self._changed:
                self._hangs.append(taken)
        return taken

    def _calls(self, calls: Sequence[Call]) -> Iterator[Part]:
        delay_s = max(call.first_byte_delay_s for call in calls)
        if delay_s:
            yield Wait(delay_s)
        for call in calls:
            if call.text:
                yield call.text
        for call in calls:
            yield RequestedCall(call.id or f"call_{next(self._call_ids)}", call.name, call.raw_arguments)
        yield Finish("tool_calls")
        if calls[0].usage is not None:
            yield Usage(calls[0].usage)
