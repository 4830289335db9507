"""A Flyte 2 control plane in this process, for tests: the real SDK and the real task entry point, no cluster.

`flyte.run` in remote mode talks to it over 127.0.0.1. Each action is the entry point that a container would run (`a0`, with
the arguments the SDK wrote into the task template) as a subprocess; the controller inside enqueues child actions back here.
Written against flyte 2.12.1, flyteidl2 2.0.51, flyteplugins-agents-hermes 2.12.1, hermes-agent 0.19.0. See README.md.
"""

from tests.flyte.loopback.executor import Crash
from tests.flyte.loopback.plane import LoopbackPlane

__all__ = ["Crash", "LoopbackPlane"]
