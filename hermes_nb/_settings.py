"""What the environment says; the only reader of `os.environ` in the package.

Read at each call, never at import: a notebook may set a variable in a cell. Which environment the worker gets is
decided here too, as an allow-list.
"""

from __future__ import annotations

import os
import re

from hermes_nb import _api_key, _provider
from hermes_nb.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

# Variable that holds a key -> (Hermes's provider id, host the requests go to, the model used when none is named).
# First found wins. Model ids: each provider's mid-priced entry in hermes-agent 0.19's own list (hermes_cli/models.py).
KEY_VARIABLES: dict[str, tuple[str, str, str]] = {
    "OPENROUTER_API_KEY": ("openrouter", "openrouter.ai", "anthropic/claude-sonnet-5"),
    "ANTHROPIC_API_KEY": ("anthropic", "api.anthropic.com", "claude-sonnet-5"),
    "OPENAI_API_KEY": ("openai-api", "api.openai.com", "gpt-5.6-terra"),
    "GEMINI_API_KEY": ("gemini", "generativelanguage.googleapis.com", "gemini-3.5-flash"),
    "DEEPSEEK_API_KEY": ("deepseek", "api.deepseek.com", "deepseek-v4-flash"),
}

# What a worker may inherit. Everything else of the kernel's environment stays with the kernel.
WORKER_VARIABLES = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "TMPDIR",
        "TZ",
        "LANG",
        "LANGUAGE",
        "TERM",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "ALL_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "no_proxy",
        "HERMES_CA_BUNDLE",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        "CURL_CA_BUNDLE",
        "LD_LIBRARY_PATH",
        "DYLD_LIBRARY_PATH",
        "VIRTUAL_ENV",
        "CONDA_PREFIX",
    }
)


# What an installer of packages may inherit besides: the settings of pip and uv, and where their caches are.
CONTAINER_PREFIXES = ("DOCKER_", "CONTAINER_", "CONTAINERS_", "XDG_", "REGISTRY_")
INSTALLER_PREFIXES = ("PIP_", "UV_", "XDG_")

# In the order in which Hermes 0.19 looks for a proxy, for http and https alike.
PROXY_VARIABLES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "https_proxy", "http_proxy", "all_proxy")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def variable(name: str) -> str | None:
    """The value of an environment variable, None when it is unset or blank."""
    value = os.environ.get(name, "").strip()
    return value or None


def home() -> str | None:
    """The state folder the user chose (HERMES_NB_HOME); None means `.hermes-nb` in the working directory."""
    return variable("HERMES_NB_HOME")


def model() -> str | None:
    """The model the user chose (HERMES_NB_MODEL), e.g. `offline` or `anthropic:claude-sonnet-4-5`; None when unset."""
    return variable("HERMES_NB_MODEL")


def replay() -> str | None:
    """The recording that answers instead of models (HERMES_NB_REPLAY); None for none."""
    return variable("HERMES_NB_REPLAY")


def replay_goes_live() -> bool:
    """Whether what a recording does not hold goes to the model (HERMES_NB_REPLAY_MISS=live)."""
    return (variable("HERMES_NB_REPLAY_MISS") or "").lower() == "live"


def wants_widgets() -> bool:
    """Whether turns and timelines may show as widgets: HERMES_NB_WIDGETS=0 says no."""
    return (variable("HERMES_NB_WIDGETS") or "").lower() not in ("0", "no", "off", "false")


def engine() -> str | None:
    """What hosts Hermes (HERMES_NB_ENGINE): an interpreter, a `hermes` script, or a version; None when unset."""
    return variable("HERMES_NB_ENGINE")


def engines_folder() -> str | None:
    """The folder of engine environments (HERMES_NB_ENGINES); None means the user's data folder."""
    return variable("HERMES_NB_ENGINES")


def may_install_engine() -> bool:
    """Whether an engine environment may be made where one is needed: HERMES_NB_ENGINE_INSTALL=0 says no."""
    return (variable("HERMES_NB_ENGINE_INSTALL") or "").lower() not in ("0", "no", "off", "false", "never")


def may_use_template() -> bool:
    """Whether a worker may be forked from a process that has imported Hermes: HERMES_NB_TEMPLATE=0 says no."""
    return (variable("HERMES_NB_TEMPLATE") or "").lower() not in ("0", "no", "off", "false", "never")


def found_key() -> str | None:
    """The first variable of `KEY_VARIABLES` that holds a key; None when there is none."""
    return next((name for name in KEY_VARIABLES if _api_key.clean(os.environ.get(name, ""))), None)


def key(name: str) -> str | None:
    """The key that a variable holds, without what clings to it; None when it is unset or blank.

    Raises:
        UsageError: It holds a character that can't be sent.
    """
    value = _api_key.clean(os.environ.get(name, ""))
    if said := _api_key.problem(value, f"The key in {name}"):
        raise UsageError(said)
    return value or None


def key_variable(provider: str, base_url: str | None = None) -> str | None:
    """The variable that holds a provider's key: the first that is set, else the usual one; None where none is known.

    Args:
        provider: Its name, in any of its spellings.
        base_url: The endpoint, which tells a provider that is reached as `custom`.
    """
    names = _provider.key_variables(provider, base_url)
    return next((name for name in names if variable(name)), next(iter(names), None))


_SECRET_NAME = re.compile("KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)


def secrets() -> dict[str, str]:
    """Values in the environment that look like secrets, by variable name; used only to mask them."""
    found = {k: _api_key.clean(v) for k, v in os.environ.items() if _SECRET_NAME.search(k)}
    return {k: v for k, v in found.items() if len(v) >= 8}


DECLARED = "HERMES_NB_SECRETS"  # names of variables, by commas: what `Flyte(secrets=)` declares, for its tasks


def declared_secrets() -> dict[str, str]:
    """Values of the variables that somebody declared as secrets, whatever they are named."""
    names = (variable(DECLARED) or "").split(",")
    return {name: value for name in names if name and (value := variable(name))}


def worker_environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of a worker: the allow-list, the locale variables (LC_*), and `extra` over them.

    Behind a proxy, this machine's own addresses are added to NO_PROXY: no proxy leads back to a local server.
    """
    kept = {k: v for k, v in os.environ.items() if k in WORKER_VARIABLES or k.startswith("LC_")} | dict(extra)
    if any(kept.get(name, "").strip() for name in PROXY_VARIABLES):
        names = (kept.get("no_proxy") or kept.get("NO_PROXY") or "").split(",")
        names = list(dict.fromkeys([*(n.strip() for n in names if n.strip()), *_LOOPBACK]))
        kept["NO_PROXY"] = kept["no_proxy"] = "*" if "*" in names else ",".join(names)  # urllib knows `*` alone
    return kept


def container_environment() -> dict[str, str]:
    """The environment of docker or podman: the worker's allow-list, and their own settings."""
    return worker_environment({k: v for k, v in os.environ.items() if k.startswith(CONTAINER_PREFIXES)})


def installer_environment() -> dict[str, str]:
    """The environment of an installer of packages: the worker's allow-list, and the settings of pip and uv."""
    kept = {k: v for k, v in os.environ.items() if k.startswith(INSTALLER_PREFIXES) or k == "NETRC"}
    environment = {**worker_environment(), **kept}
    environment.pop("VIRTUAL_ENV", None)  # an active one is not where packages go
    environment.pop("CONDA_PREFIX", None)
    return environment
