"""Whether a model's address can be reached at all, found out while the first request is under way.

A connection that is refused fails by itself; one to an address that swallows packets waits 30 s in Hermes's client (0.19).
So the first request to an address is accompanied by a bare TCP connection with less patience.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import urllib.request
from collections.abc import Callable
from urllib.parse import urlsplit

PATIENCE_S = 6.0


class Reachability:
    """Addresses that were reached once, in this process. Thread-safe.

    Args:
        patience_s: How long name resolution and connecting may take.
    """

    def __init__(self, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        self._known: set[tuple[str, int]] = set()
        self._lock = threading.Lock()

    def watch(self, base_url: str, on_silence: Callable[[str], None]) -> Callable[[], None]:
        """Try the address in the background unless it is known, or behind a proxy.

        Args:
            base_url: The endpoint.
            on_silence: Called once, with what was tried, when nothing answered in time.

        Returns:
            What ends the watch: call it when the model answered, or failed by itself.
        """
        parts = urlsplit(base_url)
        if not parts.hostname or _is_proxied(parts.scheme, parts.hostname):
            return _nothing
        address = (parts.hostname, parts.port or (443 if parts.scheme == "https" else 80))
        with self._lock:
            if address in self._known:
                return _nothing
        is_over = threading.Event()
        threading.Thread(target=self._try, args=(address, is_over), name="hermes-nb-reach", daemon=True).start()
        threading.Thread(
            target=self._judge, args=(address, is_over, on_silence), name="hermes-nb-silence", daemon=True
        ).start()
        return is_over.set

    def _try(self, address: tuple[str, int], is_over: threading.Event) -> None:
        with contextlib.suppress(OSError):  # refused or unknown: the request itself says so
            socket.create_connection(address, self._patience_s).close()
            with self._lock:
                self._known.add(address)
            is_over.set()

    def _judge(self, address: tuple[str, int], is_over: threading.Event, on_silence: Callable[[str], None]) -> None:
        if not is_over.wait(self._patience_s):
            on_silence(f"nothing answered within {self._patience_s:.0f} s")

    def forget(self) -> None:
        """A connection failed: look again next time."""
        with self._lock:
            self._known.clear()


def _nothing() -> None:
    return None


def _is_proxied(scheme: str, host: str) -> bool:
    proxies = urllib.request.getproxies()
    return bool((scheme in proxies or "all" in proxies) and not urllib.request.proxy_bypass(host))
