"""Certificates, read once: Hermes reads its bundle for each agent and thrice for each request."""

from __future__ import annotations

import contextlib
import os
import ssl
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hermes_nb import _settings

_CA_VARIABLES = ("HERMES_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")


def share_context(ssl_verify: Any) -> None:
    """One TLS context for each set of certificates, as Hermes chooses them, instead of one for each request."""
    original: Callable[..., Any] = ssl_verify.resolve_httpx_verify
    lock = threading.Lock()
    contexts: dict[tuple[Any, ...], ssl.SSLContext] = {}

    def resolve(*, ca_bundle: str | None = None, ssl_verify: Any = None, base_url: str = "") -> Any:
        named = [ca_bundle or "", *(_settings.variable(name) or "" for name in (*_CA_VARIABLES, "SSL_CERT_DIR"))]
        key = (*named, *(_file_mark(path) for path in named), repr(ssl_verify))
        with lock:
            if key not in contexts:
                verify = original(ca_bundle=ca_bundle, ssl_verify=ssl_verify, base_url=base_url)
                if verify is True:
                    import certifi

                    verify = ssl.create_default_context(cafile=certifi.where())
                    if folder := _settings.variable("SSL_CERT_DIR"):
                        with contextlib.suppress(OSError):
                            verify.load_verify_locations(capath=folder)
                if not isinstance(verify, ssl.SSLContext):
                    return verify
                contexts[key] = verify
            return contexts[key]

    ssl_verify.resolve_httpx_verify = resolve


def _file_mark(path: str) -> tuple[int, int] | None:
    """What tells that a file was replaced."""
    try:
        found = os.stat(Path(path.strip()).expanduser()) if path.strip() else None  # noqa: PTH116
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size)


def check_once(ssl_guard: Any) -> None:
    """Check a bundle again only when its file was replaced; one that does not pass is checked each time."""
    original: Callable[..., None] = ssl_guard._validate_bundle_path
    passed: set[tuple[Any, ...]] = set()

    def validate(label: str, value: str, *, require_substantial: bool = False) -> None:
        key = (value, _file_mark(value), require_substantial)
        if key not in passed:
            original(label, value, require_substantial=require_substantial)
            passed.add(key)

    ssl_guard._validate_bundle_path = validate
