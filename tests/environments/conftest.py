from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes_nb.environments import creation


@pytest.fixture
def engines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder of environments, and nothing that names an engine."""
    folder = tmp_path / "engines"
    monkeypatch.setenv("HERMES_NB_ENGINES", str(folder))
    for name in ("HERMES_NB_ENGINE", "HERMES_NB_ENGINE_INSTALL"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def make_interpreter(tmp_path: Path) -> Callable[..., Path]:
    """`make(name, version)`: an environment in which only the papers of a hermes-agent lie; its interpreter."""

    def make(name: str = "other", version: str | None = "0.19.0", *, folder: Path | None = None) -> Path:
        place = folder or tmp_path / name
        uv = creation.uv_program()
        assert uv is not None
        subprocess.run([uv, "venv", "--quiet", "--no-project", "--python", sys.executable, str(place)], check=True)
        if version is not None:
            (packages,) = place.glob("lib/python*/site-packages")
            papers = packages / f"hermes_agent-{version}.dist-info"
            papers.mkdir()
            (papers / "METADATA").write_text(f"Metadata-Version: 2.1\nName: hermes-agent\nVersion: {version}\n")
        return place / "bin" / "python"

    return make
