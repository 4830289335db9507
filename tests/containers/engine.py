"""The container engine of the tests: installed where it may be, with an image that has nothing, and Python by mounts."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
DOCKER = HERE / "docker"
IMAGE = "hermes-nb-test/empty:1"
_CONTAINERFILE = "FROM scratch\nCOPY there /there\n"


def lack() -> str:
    """Why there is no engine, after it was tried to install it; "" when there is one."""
    if not sys.platform.startswith("linux") or os.getuid():
        return "the container engine of the tests needs Linux and root"
    if shutil.which("podman") and shutil.which("crun"):
        return ""
    if not shutil.which("apt-get"):
        return "podman and crun are not installed"
    for command in (["apt-get", "-qq", "update"], ["apt-get", "-qq", "install", "-y", "podman", "crun"]):
        done = subprocess.run(
            command, env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"}, capture_output=True, text=True, check=False
        )
    return "" if shutil.which("podman") else f"podman can't be installed: {done.stderr[-300:]}"


def build(folder: Path) -> str:
    """Make the image, of a single file; returns why this machine runs no containers, "" when it does."""
    (folder / "there").write_text("yes", encoding="utf-8")
    (folder / "Containerfile").write_text(_CONTAINERFILE, encoding="utf-8")
    done = subprocess.run([DOCKER, "build", "-q", "-t", IMAGE, str(folder)], check=False, capture_output=True, text=True)
    return "" if done.returncode == 0 else f"the container engine does not run on this machine: {done.stderr[-300:]}"


def mounts() -> dict[str, str]:
    """What gives a container this interpreter with its packages, read-only."""
    real = Path(sys.executable).resolve()
    places = ["/usr", "/lib", "/lib64", "/etc/ssl", str(real.parents[1]), sys.prefix]
    return {place: place for place in dict.fromkeys(places) if Path(place).exists()}
