"""The file that `%hermes doctor --report` writes: what a bug report needs, and nothing that is yours alone.

In it: the doctor's table, the installed packages, the course of the newest turns (kinds, times, states; no prompt, answer,
argument or result), and the ends of the logs. Out of it: known keys and whatever looks like one, passwords in addresses, the
names of your home folder and of your user.
"""

from __future__ import annotations

import getpass
import json
import os
import re
import zipfile
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from hermes_nb.errors import UsageError
from hermes_nb.magics._table import as_text
from hermes_nb.model import secret_shape
from hermes_nb.model.mask import MASK, Masker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.model.event import Event

LOG_BYTES = 64_000
MOST_TURNS = 20
ERROR_CHARS = 500
_PRIVATE_MODE = 0o600
# What may be said of an event beside its kind: nothing that a user, a model or a tool wrote.
_SAID = frozenset(
    "status duration_ms usage cost_usd n_messages api_call replayed provider host model runtime code status_code error_type"
    " wait_s n_retry result_chars finish_reason builtin phase".split()
)
_FAILURES = frozenset({"turn.failed", "model.failed"})  # their message is the provider's or ours
# Keys nobody told us of. A false hit costs a word, a miss costs a key: so this guesses; the store's mask does not.
_LOOSE = re.compile(  # beside the table of shapes: beginnings, and what stands where a key would
    r"""(?x)
      \b(?:sk|pk|rk|gsk|hf|gh[pousr])[-_][A-Za-z0-9_-]{8,}
    | (?i:(?<=bearer\s)|(?<=basic\s))[A-Za-z0-9._~+/=-]{8,}
    | (?<=://)[^\s/@:]*:[^\s/@]+(?=@)
    | (?i:(?<=key=)|(?<=token=)|(?<=secret=)|(?<=password=))[^\s&"',;]{4,}
    """
)


def write(path: Path, table: Sequence[tuple[str, str]], hermes: Hermes | None, masker: Masker) -> list[str]:
    """Write the bundle, readable by its owner alone.

    Args:
        path: A `.zip` that is replaced.
        table: The doctor's rows.
        hermes: Where turns and logs are; None when it was not started.
        masker: Knows the keys.

    Returns:
        The names of the files in it.

    Raises:
        UsageError: It can't be written there.
    """
    files = {"doctor.txt": as_text(("what", "found"), table), "packages.txt": _packages()}
    if hermes is not None:
        files["turns.jsonl"] = "\n".join(_lines(hermes))
        logs = {"kernel": hermes.state_dir / "kernel.log"}
        logs |= {f"worker-{name}": instance.worker.folder.log for name, instance in hermes.instances.items()}
        files |= {f"{name}.log": _end(log) for name, log in logs.items()}
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _PRIVATE_MODE)
        with os.fdopen(descriptor, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as bundle:
            for name, text in files.items():
                bundle.writestr(name, clean(text, masker))
    except OSError as exc:
        raise UsageError(
            f"The report can't be written to {path}: {exc.strerror}. Name another file: --report FILE.zip"
        ) from exc
    return sorted(files)


def clean(text: str, masker: Masker) -> str:
    """The text without known keys, what looks like one, and the names of the home folder and the user."""
    text = _LOOSE.sub(MASK, secret_shape.mask(masker.text(text), MASK)).replace(str(Path.home()), "~")
    user = _user()
    return re.sub(rf"\b{re.escape(user)}\b", "user", text) if len(user) > 3 else text


def _user() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a number without a name, as in some containers
        return ""


def _packages() -> str:
    found = {(d.metadata["Name"] or "?", d.version) for d in metadata.distributions()}
    return "\n".join(f"{name}=={version}" for name, version in sorted(found, key=lambda pair: pair[0].lower()))


def _lines(hermes: Hermes) -> list[str]:
    turns = hermes.turns[-MOST_TURNS:]
    return [json.dumps(_course(event)) for turn in turns for event in turn.events if not event.kind.endswith("delta")]


def _course(event: Event) -> dict[str, object]:
    kept = {name: value for name, value in event.data.items() if name in _SAID}
    if event.kind in _FAILURES:
        kept["error"] = str(event.data.get("error"))[:ERROR_CHARS]
    return {"at": round(event.at_unix_s, 3), "turn": event.turn_id, "span": event.span_id, "kind": event.kind, **kept}


def _end(path: Path) -> str:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - LOG_BYTES))
            return file.read().decode(errors="replace")
    except OSError as exc:
        return f"(not readable: {exc.strerror})"
