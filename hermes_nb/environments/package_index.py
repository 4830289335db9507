"""Where packages come from: what pip was told, said to uv, which does not read pip's settings.

Constraints are left out: an environment is made from a locked list, and constraints are about the kernel's own packages.

Source: pip's configuration (`pip config list`: files and `PIP_*`), uv's environment variables (docs: reference/environment).
`UV_*` that are set win; an index's credentials stay in the environment and are in no command line.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping

# pip's setting -> uv's variable. A value of several words is a list of its own form there: uv takes spaces for indexes.
_AS_IN_UV = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "no-index": "UV_NO_INDEX",
    "cert": "SSL_CERT_FILE",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "proxy": "ALL_PROXY",
}
_LISTS = {"UV_FIND_LINKS": ",", "UV_INDEX": " ", "UV_INSECURE_HOST": " "}
_TRUE = ("1", "true", "yes", "on")


def pip_settings(python: str = sys.executable) -> dict[str, str]:
    """Return pip's settings by name, e.g. `index-url`; those of the environment win. {} where there is no pip."""
    try:
        command = [python, "-m", "pip", "config", "list"]
        said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True, stdin=subprocess.DEVNULL)
    except (OSError, subprocess.SubprocessError):
        return {}
    return parsed(said.stdout)


def parsed(listing: str) -> dict[str, str]:
    """Return the settings of a `pip config list`: of several files, the environment before `install` before `global`."""
    import ast

    ranks = {"global": 0, "install": 1, ":env:": 2}
    found: dict[str, tuple[int, str]] = {}
    for line in listing.splitlines():
        name, equals, value = line.partition("=")
        section, dot, key = name.strip().rpartition(".")
        if not (equals and dot) or section not in ranks:
            continue
        try:
            text = str(ast.literal_eval(value.strip()))
        except (ValueError, SyntaxError):
            text = value.strip()
        if ranks[section] >= found.get(key, (-1, ""))[0]:
            found[key] = (ranks[section], text)
    return {key: text for key, (_, text) in found.items()}


def uv_environment(settings: Mapping[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return variables that tell uv what pip was told.

    Args:
        settings: pip's settings (see `pip_settings`).
        environment: The environment that uv will have; a variable that is set there is left as it is.
    """
    made: dict[str, str] = {}
    for name, value in settings.items():
        variable = _AS_IN_UV.get(name)
        if variable is None or variable in environment:
            continue
        if variable == "UV_NO_INDEX":
            if value.lower() in _TRUE:
                made[variable] = "1"
            continue
        words = value.split()
        made[variable] = _LISTS.get(variable, " ").join(words) if variable in _LISTS else value.strip()
    if "UV_INDEX" in made and "UV_INDEX_STRATEGY" not in environment:
        made["UV_INDEX_STRATEGY"] = (
            "unsafe-best-match"  # as pip has it; each package's hash is locked, so none can be slipped in
        )
    if "UV_SYSTEM_CERTS" not in environment:  # a corporate authority is in the system's store, where pip finds it too
        made["UV_SYSTEM_CERTS"] = "1"
    return made
