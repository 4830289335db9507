"""The scripted endpoint of the benchmarks, in a process of its own so that neither side pays for it.

Answers by the words of the last message: `tool` calls `add`, `deltas` streams 20,000 pieces, `slow` waits 1 s; else a
greeting.
Prints its base URL and serves until its standard input closes.
"""

from __future__ import annotations

import sys
from typing import Any

from hermes_nb.testing import Call, Say, ScriptedModel

N_DELTAS = 20_000
PIECE = "lorem "


def answer(request: Any) -> Any:
    """The step for a request."""
    message = request.body["messages"][-1]
    text = str(message.get("content"))
    if message["role"] == "tool":
        return Say("The sum is 3.")
    if "deltas" in text:
        return Say(PIECE * N_DELTAS, deltas=[PIECE] * N_DELTAS)
    if "slow" in text:
        return Say("Late hello.", first_byte_delay_s=1.0)
    if "tool" in text:
        return Call("add", {"a": 1, "b": 2})
    return Say("Hello.")


if __name__ == "__main__":
    with ScriptedModel(answer) as model:
        print(model.base_url, flush=True)
        sys.stdin.read()
