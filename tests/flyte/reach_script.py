"""Run as a script: `python reach_script.py '{"endpoint": ...}'`. What the preflight of a fresh process finds, as JSON."""

import asyncio
import json
import sys
import tempfile
import time
from pathlib import Path

from hermes_nb import Agent, Hermes, Model
from hermes_nb.flyte.promotion.preflight import preflight
from hermes_nb.flyte.run.runtime import Flyte

with tempfile.TemporaryDirectory() as folder:
    hermes = Hermes.open_local(state=Path(folder))
    bound = hermes.bind(Agent("pre", model=Model("m", "custom", "https://models.example/v1")))
    config = Flyte(**json.loads(sys.argv[1]))
    asyncio.run(asyncio.wait_for(preflight(bound, Flyte(mode="local")), 60))  # the imports are done
    hook, path = sys.excepthook, list(sys.path)
    began_s = time.monotonic()
    plan = asyncio.run(preflight(bound, config))
    took_s = time.monotonic() - began_s
    is_undisturbed = (sys.excepthook, sys.path) == (hook, path)
    hermes.close()
print(json.dumps({"findings": [f.to_dict() for f in plan.findings], "took_s": took_s, "undisturbed": is_undisturbed}))
