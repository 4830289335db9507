"""`python -m tests.flyte.loopback [ROOT]`: serve a plane until interrupted, e.g. for a JupyterLab on the side."""

import contextlib
import sys
import threading

from tests.flyte.loopback import LoopbackPlane

if __name__ == "__main__":
    with LoopbackPlane(sys.argv[1] if len(sys.argv) > 1 else None) as plane:
        print(f"flyte.init(**{plane.init_kwargs()!r})", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
