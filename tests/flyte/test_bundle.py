"""What of this package travels: the rooms that run there, the offline model only where it is asked."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

from hermes_nb.flyte.bundle import source_zip


def names(code: bytes) -> set[str]:
    with zipfile.ZipFile(io.BytesIO(code)) as archive:
        return set(archive.namelist())


def test_the_offline_model_travels_only_where_it_answers() -> None:
    tool, turn, offline = (
        names(source_zip(of_turn=of_turn, with_offline=with_offline))
        for of_turn, with_offline in ((False, False), (True, False), (True, True))
    )
    assert tool < turn < offline
    assert {name.rsplit("/", 1)[0] for name in offline - turn} == {"hermes_nb/engine/offline"}


def test_the_offline_model_that_travelled_answers(tmp_path: Path) -> None:
    (tmp_path / "code.zip").write_bytes(source_zip(of_turn=True, with_offline=True))
    script = "from hermes_nb.engine.offline import reply; print(__import__('hermes_nb').__file__, reply([], [])[0])"
    ran = subprocess.run(
        [sys.executable, "-P", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(tmp_path / "code.zip")},
    )  # fmt: skip
    assert "code.zip" in ran.stdout
    assert len(ran.stdout.split()) > 3
