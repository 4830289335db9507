"""Functions of the notebook for a program that speaks MCP: a call goes to the kernel as a worker's does, and is a row of its
turn. So it is asked about, masked and run on the main thread as every call.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from hermes_nb._require import lack
from hermes_nb.tool_host import Listener
from hermes_nb.tool_host.binding import Binding, CallResult, Client, Definition, Image

if TYPE_CHECKING:
    from hermes_nb.model.message_sender import SendToKernel


class CallingTurn(Protocol):
    """A turn to which calls belong.

    Attributes:
        turn_id, session_id: Its ids.
    """

    turn_id: str
    session_id: str

    def begin_call(self, name: str, arguments: str, **more: Any) -> str:
        """A function is called; returns the call's span."""

    def end_call(self, span_id: str, result: Mapping[str, Any]) -> None:
        """The call is over: the wire's `tool.result`."""


@dataclass(slots=True)
class Offer:
    """What one program is offered.

    Attributes:
        turn: Gives the turn that its calls belong to; None while there is none.
        admit: Says whether a client may call; awaited before each of its calls.
        tools: The wire's specs of the functions.
        server: The name that the program knows the server by.
        is_listed: Whether the program has asked for them.
        binding: Its binding, once it is served.
    """

    turn: Callable[[], CallingTurn | None]
    admit: Callable[[Client], Any] | None = None
    tools: Sequence[Mapping[str, Any]] = ()
    server: str = ""
    is_listed: bool = False
    binding: Binding | None = field(default=None, repr=False)

    @property
    def names(self) -> frozenset[str]:
        """Names of the functions."""
        return frozenset(str(tool["name"]) for tool in self.tools)


class NotebookCalls:
    """All that is offered by one connection; lives on the IO loop.

    Args:
        tell: Says something to the kernel.
        port: On which loopback port it listens; 0 for a free one.
    """

    def __init__(self, tell: SendToKernel, *, port: int = 0) -> None:
        self._tell, self._port = tell, port
        self._listener: Listener | None = None
        self._starting = asyncio.Lock()
        self._waiting: dict[str, tuple[CallingTurn, asyncio.Future[Mapping[str, Any]]]] = {}

    async def serve(self, offer: Offer) -> str:
        """Serve an offer and return the address; what it is opened with is `offer.binding.capability`.

        Raises:
            MissingPackageError: The extra `tool-host` is not installed.
            UsageError: The port is taken.
        """
        async with self._starting:
            if self._listener is None:
                self._listener = await asyncio.to_thread(Listener, self._port)
        loop = asyncio.get_running_loop()

        def definitions() -> list[Definition]:
            offer.is_listed = True
            return [{key: tool[key] for key in Definition.__annotations__} for tool in offer.tools]  # type: ignore[misc]

        async def call(name: str, arguments: Mapping[str, Any], client: Client) -> CallResult:
            run = self._called(offer, name, arguments, client)
            return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(run, loop))

        offer.binding = self._listener.host.bind(Binding(definitions, call))
        return f"{self._listener.host.base_url}/mcp"

    def release(self, offer: Offer) -> None:
        """Serve an offer no more; its capability is worth nothing from now on."""
        if self._listener is not None and offer.binding is not None:
            self._listener.host.release(offer.binding)

    async def _called(self, offer: Offer, name: str, arguments: Mapping[str, Any], client: Client) -> CallResult:
        turn = offer.turn()
        if turn is None:
            return CallResult("No turn of the notebook runs to which this call could belong.", is_error=True)
        if offer.admit is not None and not await offer.admit(client):
            return CallResult("The user of the notebook did not allow this program to call its functions.", is_error=True)
        if offer.turn() is not turn:
            return CallResult("The turn that this call belonged to has ended.", is_error=True)
        given = json.dumps(dict(arguments), ensure_ascii=False)
        span_id = turn.begin_call(name, given, **({} if offer.admit is None else {"client": client.name}))
        answered: asyncio.Future[Mapping[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[span_id] = turn, answered
        self._tell(
            "tool.call",
            turn_id=turn.turn_id,
            call_id=span_id,
            name=name,
            arguments=given,
            session_id=turn.session_id,
            span_id=span_id,
        )
        try:
            result = await answered
        except asyncio.CancelledError:
            turn.end_call(span_id, {"status": "stopped", "result": "The program did not wait for it."})
            raise
        finally:
            self._waiting.pop(span_id, None)
        turn.end_call(span_id, result)
        images = [
            Image(str(i.get("data") or ""), str(i.get("mime_type") or "image/png")) for i in result.get("images") or ()
        ]
        return CallResult(str(result.get("result") or ""), result.get("status") != "ok", images)

    def answer(self, result: Mapping[str, Any]) -> None:
        """The kernel's `tool.result`."""
        waiting = self._waiting.get(str(result.get("call_id")))
        if waiting is not None and not waiting[1].done():
            waiting[1].set_result(result)

    def end(self, turn: CallingTurn) -> None:
        """A turn is over: whoever still waits for a call of it hears that it was stopped."""
        for span_id, (whose, answered) in list(self._waiting.items()):
            if whose is turn and not answered.done():
                stopped = {"call_id": span_id, "status": "stopped", "result": "The turn was stopped."}
                turn.end_call(span_id, stopped)
                answered.set_result(stopped)

    def close(self) -> None:
        """Listen no more."""
        if self._listener is not None:
            self._listener.close()


def lack_of_host() -> str:
    """Why nothing can be served, as a sentence's beginning; "" when it can."""
    return lack("fastapi", "uvicorn", "mcp")
