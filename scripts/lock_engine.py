"""Write the locked list that engine environments of one Hermes are made from: every package pinned, with its hashes.

    .venv/bin/python scripts/lock_engine.py 'hermes-agent[mcp]==0.19.0'

With the extra `mcp` the servers of an agent (`Agent(mcp=[...])`) need no installation of their own. The list holds for every
platform and for Python 3.11 and newer; it names no index.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[1] / "hermes_nb" / "environments" / "locks"


def main(requirement: str) -> None:
    """Resolve a requirement such as `hermes-agent[mcp]==0.19.0` and write its list."""
    import uv

    from hermes_nb.environments import package_index

    environment = {**os.environ, **package_index.uv_environment(package_index.pip_settings(), os.environ)}
    environment.pop("UV_FIND_LINKS", None)  # of a folder of wheels only its own hashes would be taken, of one Python
    command = [uv.find_uv_bin(), "pip", "compile", "--quiet", "--universal", "--generate-hashes", "--python-version", "3.11"]
    command += ["--no-header", "--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "-"]
    made = subprocess.run(command, input=requirement, env=environment, capture_output=True, text=True, check=True).stdout
    plain = re.sub(r"\[.*?\]", "", requirement)
    path = FOLDER / f"{plain.replace('==', '-')}.txt"
    path.write_text(made, encoding="utf-8")
    print(f"Wrote {path.name}: {made.count('==')} packages.")


if __name__ == "__main__":
    main(sys.argv[1])
