"""Why no connection to a model came about, and what to do: the cause that the client's "Connection error." hides.

The cause is in the chain of the exception; whose fault it is follows from where the request was to go, directly or by a
proxy. `hermes_nb.engine.hermes.outcome` makes the end of a turn of it.
"""

from __future__ import annotations

import errno
import re
import socket
import ssl
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from hermes_nb import _settings
from hermes_nb._settings import PROXY_VARIABLES
from hermes_nb.model.credential import shown

CA_VARIABLES = ("HERMES_CA_BUNDLE", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")  # the first that is set counts
_TLS_PROBE_S = 2.0
_NOT_TRUSTED = (2, 18, 19, 20, 21)  # of OpenSSL's X509_V_ERR_*: no issuer known, self-signed
_EXPIRED, _NOT_YET, _OTHER_HOST = 10, 9, (62, 64)
_NO_TLS = re.compile(r"WRONG_VERSION_NUMBER|UNKNOWN_PROTOCOL|HTTP_REQUEST|RECORD_LAYER_FAILURE|PACKET_LENGTH_TOO_LONG")
_LATER = (getattr(socket, "EAI_AGAIN", -3),)


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a request found no model.

    Attributes:
        code: A word for it, e.g. `certificate`.
        text: What happened, and to what.
        hint: What to do.
        is_lasting: Whether asking again changes nothing.
    """

    code: str
    text: str
    hint: str
    is_lasting: bool = True


def of(error: BaseException, base_url: str) -> Fault | None:
    """Return what kept a request from a model's address; None when that was something else than the connection.

    Args:
        error: What the client raised.
        base_url: The model's address.
    """
    causes = list(_chain(error))
    place = Place.of(base_url)
    for cause in causes:
        found = _of_one(cause, place)
        if found is not None:
            return found
    is_cut = any(type(c).__name__ == "RemoteProtocolError" or isinstance(c, ConnectionResetError) for c in causes)
    if is_cut and place.scheme == "http" and not place.proxy and _speaks_tls(place):  # which servers end either way
        return _wants_tls(place)
    said = next((str(c) for c in causes if type(c).__name__ == "RemoteProtocolError"), "")
    if said.startswith("illegal status line") and not place.proxy:
        return Fault(
            "no-http",
            f"What answers at {place.address} does not speak HTTP/1: {' '.join(said.split())[:120]}",
            "Correct host and port in base_url; another service may listen there.",
        )
    for cause in causes:
        if type(cause).__name__ == "DecodingError":
            return _unreadable(place, f"its Content-Encoding is not that of its bytes ({cause})")
    if said.startswith("illegal chunk header"):
        return _unreadable(place, f"a chunk of it has no length ({' '.join(said.split())[:120]})")
    return None


def _unreadable(place: Place, why: str) -> Fault:
    return Fault(
        "malformed",
        f"{place.address} sent a reply that can't be read: {why}.",
        "Correct base_url if it is not an OpenAI-compatible endpoint; else look at the server, or at a proxy before it.",
    )


def of_text(text: str) -> Fault | None:
    """Return the same for what Hermes says in words: of files of certificates and proxies that it checks beforehand."""
    found = _CA_FILE.search(text)
    if found:
        why = "is not there" if "missing" in found["what"] else "can't be used"
        return Fault(
            "certificate-file",
            f"The file of certificates that {found['name']} names {why}: {found['path']}.",
            f"Correct {found['name']}, or unset it: del os.environ[{found['name']!r}]. Then ask again.",
        )
    if "Malformed proxy environment variable" in text or "Unknown scheme for proxy URL" in text:
        name, address = proxy_variable()
        return Fault(
            "proxy",
            f"The proxy that {name} names can't be used: {shown(address)!r}.",
            f"Write {name} as http://host:port (or socks5://host:port), or unset it. Then ask again.",
        )
    if re.search(r"plain HTTP request was sent to HTTPS port|HTTP request to an HTTPS server", text):
        return Fault("needs-tls", "The endpoint speaks TLS and was asked without.", "Write https:// in base_url.")
    return None


@dataclass(frozen=True, slots=True)
class Place:
    """Where a request was to go.

    Attributes:
        scheme: `http` or `https`.
        host: Its host.
        port: Its port.
        proxy: The proxy's address as it may be shown; "" for none.
        variable: The variable that names the proxy.
    """

    scheme: str
    host: str
    port: int
    proxy: str = ""
    variable: str = ""

    @classmethod
    def of(cls, base_url: str) -> Place:
        """Return the place of an address, with the proxy that the environment puts before it."""
        parts = urlsplit(base_url)
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
        except ValueError:
            port = 0
        host = parts.hostname or base_url
        variable, proxy = proxy_variable()
        if not proxy or (parts.hostname and urllib.request.proxy_bypass(parts.hostname)):
            return cls(parts.scheme, host, port)
        return cls(parts.scheme, host, port, shown(proxy), variable)

    @property
    def address(self) -> str:
        """host:port."""
        return f"{self.host}:{self.port}"


def proxy_variable() -> tuple[str, str]:
    """Return the variable that names the proxy, and what it holds; empty texts for none."""
    return next(((name, value) for name in PROXY_VARIABLES if (value := _settings.variable(name))), ("", ""))


def ca_variable() -> tuple[str, str]:
    """Return the variable that names the file of trusted certificates, and what it holds; empty texts for none."""
    return next(((name, value) for name in CA_VARIABLES if (value := _settings.variable(name))), ("", ""))


def root_of(error: BaseException) -> str:
    """Return the first cause of an error in one line; "" when it has none."""
    *_, last = _chain(error)
    return "" if last is error else f"{type(last).__name__}: {' '.join(str(last).split())}"[:300]


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # a chain that was raised on another thread can be a ring
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _of_one(cause: BaseException, place: Place) -> Fault | None:
    """The fault that one error of a chain tells."""
    name = type(cause).__name__
    if isinstance(cause, ssl.SSLCertVerificationError):
        return _certificate(cause, place)
    if isinstance(cause, ssl.SSLError) and _NO_TLS.search(str(cause)):
        return Fault(
            "no-tls",
            f"{place.address} does not speak TLS, and base_url says https.",
            "Write http:// in base_url, or the"
            " port of the server's TLS." + (f" Requests go by the proxy {place.proxy}." if place.proxy else ""),
        )
    if name == "LocalProtocolError" and "header" in str(cause).lower():
        return Fault(
            "header",
            f"The request to {place.address} was not sent: a header holds what HTTP does not allow.",
            "Look at api_key and at headers in config for line ends and letters that are not ASCII.",
        )
    if name in ("UnsupportedProtocol", "InvalidURL"):
        return Fault("address", f"{place.host!r} is no address of an endpoint.", "Write base_url as http://host:port/v1.")
    if name == "ProxyError" or getattr(cause, "status_code", None) == 407:
        return _proxy(str(cause) if name == "ProxyError" else "407 Proxy Authentication Required", place)
    if isinstance(cause, socket.gaierror):
        if place.proxy:
            return _no_proxy(place, "its name is not known")
        return Fault(
            "name",
            f"The name {place.host!r} is not known ({cause.strerror or cause}).",
            "Correct base_url; a name of an inner network needs its VPN or DNS, and one behind a proxy HTTPS_PROXY.",
            is_lasting=cause.errno not in _LATER,
        )
    if isinstance(cause, ConnectionRefusedError):
        if place.proxy:
            return _no_proxy(place, "connection refused")
        return Fault(
            "unreachable",
            f"No model answers at {place.address}: connection refused.",
            "Start the server, or correct host and port in base_url.",
            is_lasting=False,
        )
    if isinstance(cause, OSError) and cause.errno in (errno.ENETUNREACH, errno.EHOSTUNREACH):
        return Fault(
            "no-route",
            f"No network leads to {place.address}: {cause.strerror}.",
            "Connect to the network or VPN it is in, or set HTTPS_PROXY.",
            is_lasting=False,
        )
    if name == "ConnectTimeout":
        by = f" by the proxy {place.proxy} ({place.variable})" if place.proxy else ""
        return Fault(
            "connect-timeout",
            f"No model answers at {place.address}{by}: connecting timed out.",
            "A firewall may swallow it: check host and port in base_url, VPN and proxy.",
            is_lasting=False,
        )
    return None


def _certificate(cause: ssl.SSLCertVerificationError, place: Place) -> Fault:
    code, said = cause.verify_code, cause.verify_message or str(cause)
    by = f" Requests go by the proxy {place.proxy}, which may put its own certificate there." if place.proxy else ""
    if code == _EXPIRED:
        return Fault(
            "certificate",
            f"The certificate of {place.address} has expired.",
            f"Its server needs a new one; if this machine's clock is wrong, set it.{by}",
        )
    if code == _NOT_YET:
        said = f"The certificate of {place.address} is not valid yet."
        return Fault("certificate", said, f"Set this machine's clock.{by}")
    if code in _OTHER_HOST or "mismatch" in said.lower():
        return Fault(
            "certificate",
            f"The certificate of {place.address} is of another host: {said.rstrip('.')}.",
            f"Write the host in base_url as its certificate names it.{by}",
        )
    variable, path = ca_variable()
    heeded = f" Heeded now is {variable}={path}." if variable else ""
    if code not in _NOT_TRUSTED:
        return Fault("certificate", f"The certificate of {place.address} is refused: {said}.", f"{heeded}{by}".strip())
    set_ = variable or "SSL_CERT_FILE"
    return Fault(
        "certificate",
        f"The certificate of {place.address} is not trusted ({said}).",
        f"Set {set_} to a file with your organisation's CA certificates (PEM), e.g. os.environ[{set_!r}] = '/path/ca.pem',"
        f" and ask again.{heeded}{by}",
    )


def _no_proxy(place: Place, why: str) -> Fault:
    return Fault(
        "proxy",
        f"The proxy {place.proxy} ({place.variable}) is not there: {why}.",
        f"Correct or unset {place.variable}, or add {place.host} to NO_PROXY. Then ask again.",
        is_lasting=False,
    )


def _proxy(said: str, place: Place) -> Fault:
    variable = place.variable or "HTTPS_PROXY"
    cure = (
        f"Write user and password into {variable}: http://user:password@host:port."
        if "407" in said
        else f"Ask who runs the proxy, or add {place.host} to NO_PROXY if it can be reached without."
    )
    return Fault("proxy", f"The proxy {place.proxy or variable} does not lead to {place.address}: {said}.", cure)


def _wants_tls(place: Place) -> Fault:
    return Fault("needs-tls", f"{place.address} speaks TLS, and base_url says http.", "Write https:// in base_url.")


def _speaks_tls(place: Place) -> bool:
    """Whether a TLS handshake comes about there; what the certificate says does not matter."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # nothing is sent
    try:
        with socket.create_connection((place.host, place.port), _TLS_PROBE_S) as plain:
            context.wrap_socket(plain, server_hostname=place.host).close()
    except (OSError, ValueError):
        return False
    return True


_CA_FILE = re.compile(
    rf"(?P<name>{'|'.join(CA_VARIABLES)})(?P<what> points to a missing CA bundle: | does not point to a CA bundle file: "
    r"| CA bundle at )(?P<path>\S+)"
)


def environment_problems(environment: Mapping[str, str]) -> list[str]:
    """Return what is wrong with the variables of certificates and proxies, in sentences; opens no connection.

    Args:
        environment: The variables of a worker.
    """
    found = []
    for name in CA_VARIABLES:
        path = environment.get(name, "").strip()
        if path and (why := _ca_problem(Path(path).expanduser())):
            found.append(f"{name} names a file {why}, so no model can be asked: {path}")
    for name in PROXY_VARIABLES:
        address = environment.get(name, "").strip()
        if address and not is_proxy(address):
            found.append(f"{name} is no address of a proxy: {shown(address)!r}; write http://host:port")
    return found


def _ca_problem(path: Path) -> str | None:
    if not path.is_file():
        return "of certificates that is not there"
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(path)
    except ssl.SSLError:
        return "without a certificate (PEM)"
    except OSError as exc:
        return f"that can't be read ({exc.strerror})"
    return None


def is_proxy(address: str) -> bool:
    """Whether it is an address of a proxy that requests can go by; the scheme may be missing."""
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        return (
            parts.scheme in ("http", "https", "socks4", "socks5", "socks5h", "socks")
            and bool(parts.hostname)
            and (parts.port is None or parts.port > 0)
        )
    except ValueError:
        return False
