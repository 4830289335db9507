"""Where a promotion goes: what can be chosen, and a form as a `Flyte(...)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import UsageError
from hermes_nb.widgets._choices import is_runtime

if TYPE_CHECKING:
    from hermes_nb.flyte.run.runtime import Flyte

LOCAL, REMOTE = "flyte:local", "flyte"
EMPTY: dict[str, Any] = {
    "target": LOCAL,
    "project": "",
    "domain": "",
    "endpoint": "",
    "prompt": "",
    "yes": False,
    "loopback": False,
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


def targets(namespace: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What can be chosen, those in variables of the notebook first: [{value, label, note, is_named}]."""
    found: list[dict[str, Any]] = []
    for name, value in list(namespace.items()):
        if not name.startswith("_") and is_flyte(value):
            known = value.to_dict()
            where = " / ".join(str(known[k]) for k in ("project", "domain") if known.get(k))
            kind = "on this machine" if known["mode"] == "local" else known.get("endpoint") or "as flyte.init says"
            note = f"The Flyte(...) in variable {name}: {kind}" + (f", {where}." if where else ".")
            found.append({"value": name, "label": f"{name} (variable)", "note": note, "is_named": False})
    note = "A run of Flyte's local mode in a process of its own: nothing leaves this machine."
    found.append({"value": LOCAL, "label": "Flyte on this machine", "note": note, "is_named": False})
    note = "The cluster of your flyte.init or ~/.flyte/config.yaml, or the endpoint below."
    found.append({"value": REMOTE, "label": "Flyte cluster", "note": note, "is_named": True})
    return found


def is_flyte(value: Any) -> bool:
    """Whether a variable's value is a `Flyte(...)`."""
    return is_runtime(value) and str(value.to_dict().get("type", "")).partition(":")[0] == "flyte"


def config_of(form: Mapping[str, Any], namespace: Mapping[str, Any]) -> Flyte:
    """The runtime a form means.

    Raises:
        UsageError: A field is malformed, or the variable holds no `Flyte(...)` any longer.
    """
    from hermes_nb.flyte.run.runtime import Flyte

    target = str(form.get("target") or LOCAL)
    config: Flyte
    if target == LOCAL:
        config = Flyte(mode="local")
    elif target == REMOTE:
        named = _named(form)
        config = Flyte(project=named.get("project"), domain=named.get("domain"), endpoint=named.get("endpoint"))
    else:
        held: Any = namespace.get(target)
        if not is_flyte(held):
            raise UsageError(f"Variable {target!r} holds no Flyte(...) any longer. Choose another target.")
        config = held
    allow = [*config.allow, "loopback-model"] if form.get("loopback") else list(config.allow)
    return replace(config, yes=bool(form.get("yes")) or config.yes, allow=allow)


def _named(form: Mapping[str, Any]) -> dict[str, str]:
    named: dict[str, str] = {}
    for field in ("project", "domain", "endpoint"):
        text = str(form.get(field) or "").strip()
        if not text:
            continue
        if field != "endpoint" and not _NAME.fullmatch(text):
            raise UsageError(f"{field.title()} {text!r} is no name Flyte takes: letters, digits, '-', '_' and '.'.")
        if field == "endpoint" and not re.fullmatch(r"(https?://|dns:///)?[A-Za-z0-9.\[\]:_-]+(:\d+)?/?", text):
            raise UsageError(f"Endpoint {text!r} is no address. Write one such as flyte.example.com or 127.0.0.1:8090.")
        named[field] = text
    return named
