"""See that installing hermes-nb changes nothing in a kernel's environment: the newest stack, frozen before and after.

    .venv/bin/python scripts/kernel_stack.py                 the newest stack
    .venv/bin/python scripts/kernel_stack.py --python 3.12   with that interpreter
    .venv/bin/python scripts/kernel_stack.py --pin 'openai==1.99.9' --pin 'pydantic<2.12'   a user's own pins
    .venv/bin/python scripts/kernel_stack.py --turn          also run a turn there, whose engine environment is made new

Status 1: a package was changed or removed, more than 12 were added, or the turn failed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
STACK = (
    "jupyterlab",
    "ipywidgets",
    "openai",
    "pydantic",
    "fastapi",
    "mcp",
    "rich",
    "cryptography",
    "pandas",
    "requests",
    "pillow",
)
N_ADDED_MAX = 12
TURN = """
import asyncio, time
from hermes_nb import Agent, Hermes, tool

@tool
def double(n: int) -> int:
    "Double a number."
    return 2 * n

async def main():
    async with Hermes.local() as hermes:
        began_s = time.perf_counter()
        instance = await hermes.create_instance("demo", agents=[Agent("helper", model="offline", tools=[double])])
        result = await instance.agent("helper").run("Double 21", show=False)
        assert "42" in result.text, result
        print(f"turn: {result.text!r} after {time.perf_counter() - began_s:.1f} s")

asyncio.run(main())
"""


def freeze(python: Path) -> dict[str, str]:
    """Return the installed packages, name to version."""
    import uv

    said = subprocess.run(
        [uv.find_uv_bin(), "pip", "freeze", "--python", str(python)], capture_output=True, text=True, check=True
    )
    pairs = (line.replace(" @ ", "==").partition("==") for line in said.stdout.splitlines())
    return {name: version for name, _, version in pairs}


def main() -> int:
    """Make the stack, install, compare."""
    import uv

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--pin", action="append", default=[], help="a requirement of the user's own")
    parser.add_argument("--turn", action="store_true", help="run a turn with a notebook tool on the offline model")
    parser.add_argument("--what", default=str(ROOT), help="what is installed (default: this checkout)")
    options = parser.parse_args()
    from hermes_nb.environments import package_index

    environment = {**os.environ, **package_index.uv_environment(package_index.pip_settings(), os.environ)}
    environment.pop("VIRTUAL_ENV", None)
    with tempfile.TemporaryDirectory(prefix="hermes-nb-stack-") as scratch:
        folder, program = Path(scratch), uv.find_uv_bin()
        python = folder / "kernel" / "bin" / "python"

        def run(*command: str) -> None:
            subprocess.run([program, *command], env=environment, check=True)

        run("venv", "--quiet", "--no-project", "--no-managed-python", "--python", options.python, str(folder / "kernel"))
        run("pip", "install", "--quiet", "--python", str(python), *STACK, *options.pin)
        before = freeze(python)
        run("pip", "install", "--quiet", "--python", str(python), options.what)
        after = freeze(python)
        changed = {name: (version, after.get(name)) for name, version in before.items() if after.get(name) != version}
        added = sorted(after.keys() - before.keys())
        for name, (old, new) in sorted(changed.items()):
            print(f"changed: {name} {old} -> {new}")
        print(f"{len(before)} packages before, {len(changed)} changed, {len(added)} added: {', '.join(added)}")
        ok = not changed and len(added) <= N_ADDED_MAX
        if options.turn:
            (folder / "work").mkdir()
            engines = {**environment, "HERMES_NB_ENGINES": str(folder / "engines")}
            for when in ("engine made", "engine there"):
                began_s = time.monotonic()
                ran = subprocess.run([str(python), "-P", "-c", TURN], env=engines, cwd=folder / "work", check=False)
                print(f"{when}: {time.monotonic() - began_s:.1f} s, status {ran.returncode}")
                ok = ok and ran.returncode == 0
            still = freeze(python)
            ok = ok and still == after
            print("the kernel's packages after the turns: " + ("as before" if still == after else "CHANGED"))
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
