"""What Binder does with binder/, done here: its steps in a clean environment, and the memory that 01_hello takes there.

    .venv/bin/python scripts/binder.py           validate, install, open and run 01_hello in JupyterLab, print the peak
    .venv/bin/python scripts/binder.py --pin     write binder/requirements.txt anew (needs uv)

Validation is `jupyter-repo2docker --no-build`, in an environment of its own: it reads binder/ as Binder does and prints the
Dockerfile. The memory is the sum of the resident sizes of JupyterLab, kernel and worker, sampled twenty times a second; what
they share is counted for each, so it is an upper bound.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

import psutil
from release import ROOT, environment

REQUIREMENTS = ROOT / "binder" / "requirements.txt"
NOTEBOOK = "notebooks/01_hello.ipynb"
MOST_BYTES = 1_000_000_000
WANTED = (".[lab,hermes]", "matplotlib>=3.8")
HEAD = """\
# What Binder installs, pinned: no Node, no key. The last line is this package; notebooks draw with matplotlib and Plotly.
# Made by: scripts/binder.py --pin
"""


def pin() -> None:
    """Pin everything that the package with its extras `lab` and `hermes` needs on Binder's Python."""
    version = (ROOT / "binder" / "runtime.txt").read_text(encoding="utf-8").strip().removeprefix("python-")
    command = ["uv", "pip", "compile", "--quiet", "--no-header", "--no-annotate", "--python-version", version, "-"]
    ran = subprocess.run(command, cwd=ROOT, input="\n".join(WANTED), capture_output=True, text=True, check=True)
    pins = [line for line in ran.stdout.splitlines() if "==" in line]
    REQUIREMENTS.write_text(HEAD + "\n".join([*pins, "--editable ."]) + "\n", encoding="utf-8")


def dockerfile(folder: Path) -> str:
    """The Dockerfile that repo2docker would build from a copy of this repository."""
    python = environment(folder / "repo2docker", "jupyter-repo2docker")
    ran = subprocess.run(
        [str(python.parent / "jupyter-repo2docker"), "--no-build", "--debug", str(copy(folder))],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
    )
    return ran.stdout + ran.stderr


def copy(folder: Path) -> Path:
    """The repository as Binder clones it: what git knows, and nothing else."""
    target = folder / "repository"
    if not target.exists():
        for name in subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout.splitlines():
            if (ROOT / name).is_file():
                (target / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / name, target / name)
        shutil.copytree(ROOT / "binder", target / "binder", dirs_exist_ok=True)
    return target


def install(folder: Path) -> Path:
    """Binder's one step of ours, `pip install -r binder/requirements.txt` in the clone; the environment's Python."""
    python = folder / "env" / "bin" / "python"
    place = copy(folder)
    if shutil.which("uv"):
        subprocess.run(
            ["uv", "venv", "--quiet", "--no-project", "--python", sys.executable, str(folder / "env")], check=True
        )
        install = ["uv", "pip", "install", "--quiet", "--python", str(python)]
    else:
        subprocess.run([sys.executable, "-m", "venv", str(folder / "env")], check=True)
        install = [str(python), "-m", "pip", "install", "-qq"]
    subprocess.run([*install, "-r", "binder/requirements.txt"], cwd=place, check=True)
    return python


def peak_bytes(folder: Path, python: Path) -> int:
    """Run 01_hello in a JupyterLab of that environment; the most memory that it, the kernel and the worker had together."""
    place, runtime = copy(folder), folder / "runtime"
    kept = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "LANG", "TMPDIR")}
    env = {
        **kept,
        "PATH": f"{python.parent}{os.pathsep}{kept['PATH']}",
        "JUPYTER_RUNTIME_DIR": str(runtime),
        "JUPYTER_CONFIG_DIR": str(folder / "config"),
        "IPYTHONDIR": str(folder / "ipython"),
    }
    command = [
        str(python),
        "-m",
        "jupyterlab",
        "--no-browser",
        "--allow-root",
        "--ip=127.0.0.1",
        "--IdentityProvider.token=t",
    ]
    with (
        (folder / "lab.log").open("wb") as log,
        subprocess.Popen(command, cwd=place, env=env, stdout=log, stderr=log) as server,
    ):
        meter = Meter(server.pid)
        try:
            url = _server(runtime, server)
            kernel = _post(
                f"{url}api/sessions", {"path": NOTEBOOK, "name": "", "type": "notebook", "kernel": {"name": "python3"}}
            )
            for page in ("lab/tree/" + NOTEBOOK, "api/contents/" + NOTEBOOK):  # as a browser that opens it
                urllib.request.urlopen(f"{url}{page}?token=t", timeout=60).read()
            _run(place / NOTEBOOK, runtime / f"kernel-{kernel['kernel']['id']}.json")
        finally:
            meter.close()
            for process in [*psutil.Process(server.pid).children(recursive=True), psutil.Process(server.pid)]:
                process.terminate()
    return meter.peak_bytes


def _server(runtime: Path, process: subprocess.Popen[bytes]) -> str:
    for _ in range(600):
        for told in runtime.glob("jpserver-*.json"):
            return str(json.loads(told.read_text(encoding="utf-8"))["url"])
        if process.poll() is not None:
            break
        time.sleep(0.1)
    raise RuntimeError("JupyterLab did not start.")


def _post(url: str, body: object) -> dict[str, dict[str, str]]:
    request = urllib.request.Request(f"{url}?token=t", json.dumps(body).encode(), {"Content-Type": "application/json"})
    answer: dict[str, dict[str, str]] = json.load(urllib.request.urlopen(request, timeout=60))
    return answer


def _run(notebook: Path, connection: Path) -> None:
    from jupyter_client import BlockingKernelClient

    client = BlockingKernelClient(connection_file=str(connection))
    client.load_connection_file()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=60)
        for cell in json.loads(notebook.read_text(encoding="utf-8"))["cells"]:
            if cell["cell_type"] == "code":
                reply = client.execute_interactive("".join(cell["source"]), output_hook=lambda message: None, timeout=60)
                if reply["content"]["status"] != "ok":
                    raise RuntimeError(f"{cell['id']}: {reply['content']}")
    finally:
        client.stop_channels()


class Meter:
    """Samples the resident memory of a process and all below it."""

    def __init__(self, pid: int) -> None:
        self.peak_bytes = 0
        self._root, self._is_over = psutil.Process(pid), threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self._thread.start()

    def _sample(self) -> None:
        while not self._is_over.wait(0.05):
            total = 0
            try:
                for process in [self._root, *self._root.children(recursive=True)]:
                    total += process.memory_info().rss
            except psutil.NoSuchProcess:
                continue
            self.peak_bytes = max(self.peak_bytes, total)

    def close(self) -> None:
        """Sample no longer."""
        self._is_over.set()
        self._thread.join()


def main() -> int:
    """Validate, install, run and measure; 1 when something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pin", action="store_true", help="write binder/requirements.txt anew")
    options = parser.parse_args()
    if options.pin:
        pin()
        return 0
    with tempfile.TemporaryDirectory(prefix="hermes-nb-binder-") as name:
        folder = Path(name)
        told = dockerfile(folder)
        steps = re.findall(r"^RUN (.*pip install.*)$", told, re.MULTILINE)
        print("repo2docker reads it; its step of ours: " + "; ".join(steps))
        began_s = time.monotonic()
        python = install(folder)
        print(f"installed in {time.monotonic() - began_s:.0f} s")
        peak = peak_bytes(folder, python)
        print(f"peak memory of JupyterLab, kernel and worker while 01_hello runs: {peak / 1e6:.0f} MB")
    return int(not steps or peak >= MOST_BYTES)


if __name__ == "__main__":
    sys.exit(main())
