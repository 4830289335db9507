"""Making a process fit to hold Hermes: its home, its environment, its config.yaml, and the import itself.

Runs in a worker process (or a container), never in a kernel that did not ask for it: it writes `os.environ` and replaces
a few names of hermes-agent, all listed in `line` and `patch`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from hermes_nb.engine.hermes import patch, setting_cache
from hermes_nb.engine.hermes.line import lines
from hermes_nb.engine.hermes.line.private_name import Probe
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
    "HERMES_YOLO_MODE",
    "HERMES_DUMP_REQUESTS",
    "HERMES_DUMP_REQUEST_STDOUT",
    "HERMES_CRON_SESSION",
    "HERMES_EXEC_ASK",
    "HERMES_GATEWAY_SESSION",
    "HERMES_SESSION_SOURCE",
    "HERMES_ENVIRONMENT_HINT",
    "HERMES_MANAGED_DIR",
)

NEWEST_PYTHON = (3, 13)  # that hermes-agent 0.19 declares


class Bootstrap:
    """One process's Hermes: prepared at once, imported when asked, once.

    Args:
        home: HERMES_HOME of this process; nothing is written outside it.
        masker: Takes secrets out of what Hermes logs.
    """

    def __init__(self, home: Path, masker: Masker) -> None:
        self.home = home
        self.masker = masker
        self._lock = threading.Lock()
        self._hermes: SimpleNamespace | None = None
        self._found: Probe | ImportError | None = None
        self._on_decided: Callable[[Probe | ImportError], None] = lambda found: None
        self._config_lock = threading.Lock()
        self._given: frozenset[str] = frozenset()

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
        self._given = setting_cache.terminal_variables(os.environ)
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
            setting_cache.forget(os.environ, self._given)

    def hermes(self) -> SimpleNamespace:
        """The names of Hermes that the engine uses, imported and disarmed at the first call (1.6-2.2 s).

        Raises:
            ImportError: No Hermes is installed here, or one that lacks what the engine can't do without.
        """
        with self._lock:
            if self._hermes is None:
                try:
                    self._hermes = self._loaded()
                except ImportError as exc:
                    self._tell(exc)
                    raise
                self._tell(self._hermes.probe)
            return self._hermes

    def when_decided(self, tell: Callable[[Probe | ImportError], None]) -> None:
        """Call once, before anybody gets Hermes, with what the probe found or why there is none; at once where known."""
        if self._found is None:
            self._on_decided = tell
        else:
            tell(self._found)

    def take_home(self, home: Path, environment: Mapping[str, str]) -> None:
        """Continue in another home and environment, to which the modules of Hermes have been moved (see `template`)."""
        self.home = home
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        if self._hermes is not None:
            os.environ.update(self._hermes.environment)

    def _tell(self, found: Probe | ImportError) -> None:
        is_new, self._found = self._found is None, found
        if is_new:
            self._on_decided(found)

    def _loaded(self) -> SimpleNamespace:
        before = dict(os.environ)
        try:
            hermes = patch.load(self.masker)
        except ModuleNotFoundError as exc:
            raise ImportError(f"hermes-agent can't be imported by {sys.executable}: {exc}. {_cure()}") from exc
        # HERMES_HOME/.env is loaded over the environment at import: undo, the parent decided what is here.
        for name in set(os.environ) - set(before):
            del os.environ[name]
        os.environ.update({k: v for k, v in before.items() if os.environ.get(k) != v})
        os.environ.update(hermes.environment)
        return hermes


def _cure() -> str:
    """What to do about a missing hermes-agent; pip installs none for a Python that it does not support."""
    if sys.version_info[:2] > NEWEST_PYTHON:
        return (
            f"hermes-agent {lines.NEWEST} supports Python 3.11 to {'.'.join(map(str, NEWEST_PYTHON))}, and this is"
            f" {sys.version.partition(' ')[0]}. %hermes engine install makes an environment with one of those."
        )
    return "%hermes engine install makes an environment for it; %hermes engine use names another interpreter."


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
