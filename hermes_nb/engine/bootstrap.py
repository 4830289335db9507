"""Making a process fit to hold Hermes: its home, its environment, its config.yaml, and the import itself.

Runs in a worker process (or a container), never in a kernel that did not ask for it: it writes `os.environ` and replaces
a few names of hermes-agent, all listed in `quirk.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hermes_nb.engine import quirk
from hermes_nb.model.mask import Masker

# What Hermes must not do by itself in a worker. The agent's own config is merged over this ...
_DEFAULTS: dict[str, Any] = {
    "model": {"context_length": 200_000, "ollama_num_ctx": 0},
    # coding_context puts the working directory's git status and last commits into the prompt: they would be sent
    # unasked, and a commit between two attempts would make every recorded step another request.
    "agent": {"environment_probe": False, "coding_context": "off", "api_max_retries": 3},
    "tools": {"tool_search": {"enabled": "off"}},
    "memory": {"nudge_interval": 0},  # these two start model calls of their own after a turn
    "skills": {"creation_nudge_interval": 0},
    "display": {"turn_completion_explainer": False},
    "sessions": {"write_json_snapshots": False},
    "security": {"tirith_enabled": False},  # downloads a program at the first command
}
# ... and this over the agent's: what is never left to a model (Hermes's own default asks another model to approve).
_FORCED: dict[str, Any] = {
    "approvals": {"mode": "manual", "cron_mode": "deny"},
    "security": {"allow_lazy_installs": False},
    "delegation": {"subagent_auto_approve": False},
}
_MARK = "# Written by hermes_nb for this worker; changes are lost.\n"
# Variables that make Hermes less careful, or point it elsewhere.
_DROPPED = (
    "HERMES_YOLO_MODE", "HERMES_DUMP_REQUESTS", "HERMES_DUMP_REQUEST_STDOUT", "HERMES_CRON_SESSION", "HERMES_EXEC_ASK",
    "HERMES_GATEWAY_SESSION", "HERMES_SESSION_SOURCE", "HERMES_ENVIRONMENT_HINT", "HERMES_MANAGED_DIR",
)  # fmt: skip

NEWEST_PYTHON = (3, 13)  # that hermes-agent 0.19 declares


class Bootstrap:
    """One process's Hermes: prepared at once, imported when asked, once.

    Args:
        home: HERMES_HOME of this process; nothing is written outside it.
        masker: Takes secrets out of what Hermes logs.
    """

    def __init__(self, home: Path, masker: Masker) -> None:
        self.home = home
        self._masker = masker
        self._lock = threading.Lock()
        self._hermes: SimpleNamespace | None = None
        self._config_lock = threading.Lock()

    def prepare(self) -> None:
        """Environment and config.yaml; quick, imports nothing of Hermes."""
        temporary = self.home / "tmp"
        for folder in (self.home, temporary):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        for name in _DROPPED:
            os.environ.pop(name, None)
        os.environ |= {
            "HERMES_HOME": str(self.home),
            "TMPDIR": str(temporary),
            "DO_NOT_TRACK": "1",
        }
        tempfile.tempdir = str(temporary)
        self._write_config({})

    @contextlib.contextmanager
    def configured(self, config: Mapping[str, Any]) -> Iterator[None]:
        """An agent's config is in force within the block, and until another's is. What is forced is the same for all."""
        with self._config_lock:
            self._write_config(config)
            yield

    def _write_config(self, config: Mapping[str, Any]) -> None:
        text = _MARK + json.dumps(merged(merged(_DEFAULTS, config), _FORCED), indent=1) + "\n"  # JSON is YAML
        path = self.home / "config.yaml"
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            fresh = path.with_suffix(".new")
            fresh.write_text(text, encoding="utf-8")
            fresh.replace(path)

    def hermes(self) -> SimpleNamespace:
        """The names of Hermes that the engine uses, imported and disarmed at the first call (1.6-2.2 s).

        Raises:
            ImportError: hermes-agent is not installed here, or is the asynchronous distribution.
        """
        with self._lock:
            if self._hermes is None:
                before = dict(os.environ)
                try:
                    self._hermes = quirk.load(self._masker)
                except ModuleNotFoundError as exc:
                    raise ImportError(f"hermes-agent can't be imported by {sys.executable}: {exc}. {_cure()}") from exc
                # HERMES_HOME/.env is loaded over the environment at import: undo, the parent decided what is here.
                for name in set(os.environ) - set(before):
                    del os.environ[name]
                os.environ.update({k: v for k, v in before.items() if os.environ.get(k) != v})
            return self._hermes


def _cure() -> str:
    """What to do about a missing hermes-agent; pip installs none for a Python that it does not support."""
    if sys.version_info[:2] > NEWEST_PYTHON:
        return (
            f"hermes-agent {quirk.UPSTREAM} supports Python 3.11 to {'.'.join(map(str, NEWEST_PYTHON))}, and this is"
            f" {sys.version.partition(' ')[0]}. Start the notebook with a kernel of one of those."
        )
    return "Run %pip install 'hermes-agent>=0.19,<0.20' and bind the agent again."


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` on top of `base`, mapping by mapping; neither is changed."""
    result = dict(base)
    for key, value in over.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, Mapping) and isinstance(value, Mapping) else value
    return result


def secrets_in(data: Any, *, marks: tuple[str, ...] = ("key", "token", "secret", "password", "credential")) -> list[str]:
    """Values in a config that stand under a name like `api_key` or `token`."""
    found: list[str] = []
    if isinstance(data, Mapping):
        for name, value in data.items():
            if isinstance(value, str) and any(mark in str(name).lower() for mark in marks):
                found.append(value)
            else:
                found += secrets_in(value, marks=marks)
    elif isinstance(data, list):
        for value in data:
            found += secrets_in(value, marks=marks)
    return found


def environment_secrets() -> list[str]:
    """Values in this process's environment that look like secrets by their variable's name."""
    marks = ("KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
    return [value for name, value in os.environ.items() if any(mark in name.upper() for mark in marks)]
