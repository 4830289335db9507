"""What the environment says; the only reader of `os.environ` in the package.

Read at each call, never at import: a notebook may set a variable in a cell. Which environment the worker gets is
decided here too, as an allow-list.
"""

from __future__ import annotations

import os

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
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LANGUAGE", "TERM",
        "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
        "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
        "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "VIRTUAL_ENV", "CONDA_PREFIX",
    }
)  # fmt: skip


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


def found_key() -> str | None:
    """The first variable of `KEY_VARIABLES` that holds a key; None when there is none."""
    return next((name for name in KEY_VARIABLES if variable(name)), None)


def key_variable(provider: str) -> str | None:
    """The variable that holds a provider's key; None for a provider we know no variable of."""
    return next((name for name, (known, _, _) in KEY_VARIABLES.items() if known == provider), None)


def secrets() -> dict[str, str]:
    """Values in the environment that look like secrets, by variable name; used only to mask them."""
    marks = ("KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIAL")
    return {k: v for k, v in os.environ.items() if any(m in k.upper() for m in marks) and len(v) >= 8}


def worker_environment(extra: Mapping[str, str] = {}) -> dict[str, str]:
    """The environment of a worker: the allow-list, the locale variables (LC_*), and `extra` over them."""
    kept = {k: v for k, v in os.environ.items() if k in WORKER_VARIABLES or k.startswith("LC_")}
    return {**kept, **extra}
