"""Values that are sent and never shown: keys, and addresses that hold one.

Both print masked wherever they are printed, formatted, copied, pickled or written as JSON; what is sent is asked for by
name (`revealed`). A pickle does not hold them: what is loaded from one has to be given its key again.
"""

from __future__ import annotations

import base64
import functools
import hmac
import re
from typing import Any
from urllib.parse import unquote, urlsplit

from hermes_nb.model import secret_shape
from hermes_nb.model.mask import MASK, Masker

# Parts of an address: `user:password@`, and what follows `name=` in a query or behind a semicolon.
_USER = re.compile(r"(?<=//)[^/?#@\s]*(?:@[^/?#@\s]+)*(?=@)")
_VALUE = re.compile(r"(?P<name>[^=&;?/#\s]+)=(?P<value>[^&;#/\s]+)")
# Values of a query that say which, not who: `api-version=2024-06-01`.
_OPEN_NAME = re.compile(r"(?:version|ver|v|region|location|model|deployment|format|timeout|api|stream|beta)$", re.IGNORECASE)
_SHORTEST_SEGMENT = 20


class Secret:
    """A text that prints as `[masked]`; `get_secret_value()` gives it, as pydantic's SecretStr does.

    Equal to the same secret and to the same plain text. It can be copied, and is empty in a pickle.

    Args:
        value: The text.
    """

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        object.__setattr__(self, "_value", str(value))

    def get_secret_value(self) -> str:
        """The text itself, to be sent and not to be shown."""
        return str(object.__getattribute__(self, "_value"))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError("A Secret can't be changed. Make a new one.")

    def __repr__(self) -> str:
        return f"'{MASK}'" if self else "''"

    def __str__(self) -> str:
        return MASK if self else ""

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __bool__(self) -> bool:
        return bool(self.get_secret_value())

    def __len__(self) -> int:
        return len(self.get_secret_value())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Secret | str):
            return NotImplemented
        theirs = other.get_secret_value() if isinstance(other, Secret) else other
        return hmac.compare_digest(self.get_secret_value().encode("utf-8", "replace"), theirs.encode("utf-8", "replace"))

    def __hash__(self) -> int:
        return hash(self.get_secret_value())

    def __copy__(self) -> Secret:
        return self

    def __deepcopy__(self, memo: Any) -> Secret:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (Secret, ("",))


class Address(str):
    """An address that holds credentials: as a text it is the masked one; the whole is sent.

    Equal to another of the same whole, and to the whole as plain text.
    """

    __slots__ = ("_whole",)
    _whole: Secret

    def __new__(cls, whole: str) -> Address:
        """The address; its text is `shown(whole)`."""
        made = super().__new__(cls, shown(whole))
        made._whole = Secret(whole)
        return made

    def get_secret_value(self) -> str:
        """The whole address, to be called and not to be shown."""
        return self._whole.get_secret_value()

    def __eq__(self, other: object) -> bool:
        return self._whole == (other._whole if isinstance(other, Address) else other)

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._whole)

    def __copy__(self) -> Address:
        return self

    def __deepcopy__(self, memo: Any) -> Address:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return (str, (str.__str__(self),))


def address(url: str | None) -> str | None:
    """An address as a model keeps it: an `Address` where it holds credentials, the text itself else."""
    if url is None or isinstance(url, Address):
        return url
    return Address(url) if shown(url) != url else url


def revealed(value: Any) -> str | None:
    """What is sent for a key or an address: the text within; a plain text and None as they are.

    Anything else with a `get_secret_value()` of its own (pydantic's SecretStr) is asked for it.
    """
    if value is None or type(value) is str:
        return value
    inner = getattr(value, "get_secret_value", None)
    return str(inner()) if inner is not None else str(value)


def shown(url: str) -> str:
    """An address without what may be a credential: user and password, values of a query, a fragment, keys in the path."""
    for start, end in reversed(_spans(url)):
        url = url[:start] + MASK + url[end:]
    return url


def parts_of(url: str) -> list[str]:
    """The credentials in an address, as they stand there, decoded, and as a Basic header carries them."""
    found: list[str] = []
    for start, end in _spans(url):
        part = url[start:end]
        found += [part, unquote(part)]
        if url[end : end + 1] == "@":
            found += [half for half in part.split(":") if half] + [unquote(half) for half in part.split(":") if half]
            found.append(base64.b64encode(unquote(part).encode()).decode())
    return list(dict.fromkeys(found))


def hide(masker: Masker, url: Any) -> None:
    """Let a mask know an address: its credentials wherever they stand, short ones within the address alone."""
    whole = revealed(url)
    if not whole or not (spans := _spans(whole)):
        return
    masker.add(*parts_of(whole))
    instead = {whole: shown(whole)}
    for start, end in spans:
        before, behind = whole[:start], whole[end:]
        lead = re.search(r"(?:[\w.-]+=|[#/])$", before)
        tail = re.match(r"@[^/?#]*", behind)
        kept = (lead.group() if lead else "", tail.group() if tail else "")
        if kept[0].strip("/") or kept[1]:
            instead[kept[0] + whole[start:end] + kept[1]] = kept[0] + MASK + kept[1]
    masker.replace(instead)


def _spans(url: str) -> list[tuple[int, int]]:
    """Where credentials stand, in order, none within another."""
    head, mark, fragment = url.partition("#")
    found = []
    user = _USER.search(head)
    if user is not None and user.group():
        found.append(user.span())
    start = user.end() if user is not None else 0
    begin = head.find("/", head.find("//") + 2 if "//" in head else 0)
    for match in _VALUE.finditer(head, max(start, begin, 0)):
        if not _OPEN_NAME.search(match["name"]) or secret_shape.find(match["value"]):
            found.append(match.span("value"))
    if begin >= 0:
        found += [s for s in _segments(head, begin) if all(s[1] <= a or s[0] >= b for a, b in found)]
    if mark and fragment:
        found.append((len(head) + 1, len(url)))
    return sorted((a, b) for a, b in found if url[a:b] != MASK)


def _segments(head: str, begin: int) -> list[tuple[int, int]]:
    """Segments of the path that look like a key."""
    found, at = [], begin
    for segment in head[begin:].partition("?")[0].split("/"):
        name = segment.partition(";")[0]
        if secret_shape.find(name) or (len(name) >= _SHORTEST_SEGMENT and secret_shape.is_random(name)):
            found.append((at, at + len(name)))
        at += len(segment) + 1
    return found


def host_of(url: str) -> str:
    """The host name of an address; the address as it may be shown where it has none."""
    try:
        return urlsplit(revealed(url) or "").hostname or shown(url)
    except ValueError:
        return shown(url)


@functools.lru_cache(maxsize=4)
def masker_of(keys: tuple[str, ...], addresses: tuple[str, ...]) -> Masker:
    """Return a mask for keys and for the credentials of addresses; the same one as long as these are, so copy it."""
    masker = Masker(keys)
    for address in addresses:
        hide(masker, address)
    return masker
