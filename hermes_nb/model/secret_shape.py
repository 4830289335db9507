"""What a secret looks like when nobody named it one: the one table of shapes, by issuer and by where a secret stands.

For what is about to leave this machine or to be saved (captures and data files of a promotion, forms, report bundles). The
mask of events (`mask.Masker`) does not guess. A library would not do here: detect-secrets 1.5.0, the usual one, is made for
lines of source under global settings, and takes 215 of the 222 innocent values for a secret with which this table is
measured (`tests/model/test_secret_shape.py`), for the sake of its entropy and keyword plugins.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

KEY = "what looks like a key"
PEM = "a private key"
ADDRESS = "an address with its password"
HEADER = "an Authorization header"
PASSWORD = "a password"

# A fixed text that each match holds (looked for first: it is much faster than an expression), and the expression; the
# secret is its group `s`, or all of it.
_ISSUERS: tuple[tuple[str, str], ...] = (
    ("sk-", r"sk-(?:[a-z]+\d{0,2}-)*[A-Za-z0-9_-]{16,}"),  # OpenAI, Anthropic, OpenRouter, DeepSeek, Langfuse
    ("gsk_", r"gsk_[A-Za-z0-9]{20,}"),  # Groq
    ("xai-", r"xai-[A-Za-z0-9]{20,}"),
    ("pplx-", r"pplx-[A-Za-z0-9]{20,}"),
    ("nvapi-", r"nvapi-[A-Za-z0-9_-]{20,}"),
    ("tvly-", r"tvly-[A-Za-z0-9_-]{16,}"),
    ("r8_", r"r8_[A-Za-z0-9]{30,}"),  # Replicate
    ("hf_", r"hf_[A-Za-z0-9]{20,}"),
    ("lsv2_", r"lsv2_(?:pt|sk)_[A-Za-z0-9_]{20,}"),  # LangSmith
    ("AIza", r"AIza[A-Za-z0-9_-]{20,}"),  # Google
    ("GOCSPX-", r"GOCSPX-[A-Za-z0-9_-]{20,}"),
    ("ya29.", r"ya29\.[A-Za-z0-9_-]{20,}"),
    ("gh", r"gh[pousr]_[A-Za-z0-9]{20,}"),  # GitHub
    ("github_pat_", r"github_pat_[A-Za-z0-9_]{20,}"),
    ("glpat-", r"glpat-[A-Za-z0-9_-]{16,}"),
    ("KIA", r"AKIA[0-9A-Z]{16}(?![A-Za-z0-9])"),
    ("SIA", r"ASIA[0-9A-Z]{16}(?![A-Za-z0-9])"),
    ("xox", r"xox[abeprs]-[A-Za-z0-9-]{16,}"),  # Slack
    ("xapp-", r"xapp-\d-[A-Za-z0-9-]{16,}"),
    ("hooks.slack.com", r"hooks\.slack\.com/(?:services|workflows)/(?P<s>T[A-Z0-9]{6,}/[A-Z0-9]{6,}/[A-Za-z0-9]{16,})"),
    ("/api/webhooks/", r"discord(?:app)?\.com/api/webhooks/(?P<s>\d{16,}/[A-Za-z0-9_-]{40,})"),
    ("_live_", r"[srp]k_live_[A-Za-z0-9]{16,}"),  # Stripe
    ("_test_", r"[sr]k_test_[A-Za-z0-9]{16,}"),
    ("whsec_", r"whsec_[A-Za-z0-9+/]{20,}"),
    ("SG.", r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}"),  # SendGrid
    ("SK", r"SK[0-9a-f]{32}(?![A-Za-z0-9])"),  # Twilio
    ("-us", r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9])"),  # Mailchimp
    (":AA", r"\d{8,10}:AA[A-Za-z0-9_-]{33}"),  # Telegram
    ("npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-", r"pypi-AgE[A-Za-z0-9_-]{40,}"),
    ("dapi", r"dapi[0-9a-f]{32}(?![A-Za-z0-9])"),  # Databricks
    ("dop_v1_", r"dop_v1_[0-9a-f]{40,}"),
    ("hvs.", r"hvs\.[A-Za-z0-9_-]{20,}"),  # Vault
    ("shpat_", r"shpat_[0-9a-f]{32}"),
    ("glsa_", r"glsa_[A-Za-z0-9_]{30,}"),
    ("dckr_pat_", r"dckr_pat_[A-Za-z0-9_-]{20,}"),
    ("ATATT3", r"ATATT3[A-Za-z0-9_=-]{30,}"),  # Atlassian
    ("ntn_", r"ntn_[A-Za-z0-9]{30,}"),
    ("lin_api_", r"lin_api_[A-Za-z0-9]{30,}"),
    ("AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{50,}"),
    ("AccountKey=", r"AccountKey=(?P<s>[A-Za-z0-9+/]{40,}={0,2})"),  # Azure storage
    ("sig=", r"[?&]sig=(?P<s>[A-Za-z0-9%+/_-]{20,})"),  # signed addresses of Azure
    ("X-Amz-Signature=", r"X-Amz-Signature=(?P<s>[0-9a-f]{64})"),
    ("eyJ", r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{6,}\.[A-Za-z0-9_-]{8,}"),  # JWT
)
_PLACES: tuple[tuple[str, str, str], ...] = (
    (PEM, "PRIVATE KEY", r"-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----(?P<s>[\sA-Za-z0-9+/=\\:,.-]{40,})"),
    (ADDRESS, "://", r"[a-z][a-z0-9+.-]{1,30}://[^\s/@:\"'<>?#\0]*:(?P<s>[^\s/@\"'<>\0]{3,})@[\w.\[-]"),
    (ADDRESS, "wd=", r"(?i:;\s*(?:pwd|passwd)=(?P<s>[^;\s\"']{4,}))"),
    (ADDRESS, "assword=", r"(?i:[;?&]\s*password=(?P<s>[^;&\s\"']{4,}))"),
    (HEADER, "earer ", r"(?i:bearer) +(?P<s>(?=[A-Za-z_.~+/-]*\d)[A-Za-z0-9._~+/-]{16,}=*)"),
    (HEADER, "asic ", r"(?i:basic) +(?P<s>[A-Za-z0-9+/]{10,}={0,2})(?![A-Za-z0-9+/=])"),
)
_NAMES = (
    r"(?:[A-Za-z0-9]+[_.-])*(?:passw(?:or)?d|passphrase|pwd|secret(?:[_-]?key)?|token|(?:api|access|private|auth)[_-]?key"
    r"|client[_-]?secret)"
)
# name = 'value', "name": "value": in source, JSON, TOML ... and NAME=value in a line of its own.
_QUOTED = rf"(?i:(?<![A-Za-z0-9]){_NAMES})[\"']?\s{{0,8}}(?::|=(?!=)|=>)\s{{0,8}}[\"'](?P<s>[^\s\"'\0]{{6,200}})[\"']"
_BARE = (
    rf"(?im:^[ \t]*(?:export[ \t]+|-[ \t]+)?{_NAMES}[ \t]*[=:][ \t]*)"
    r"(?P<s>(?=[^\s#]*\d)[A-Za-z0-9_+/=.!@#%^&*~$-]{8,200})[ \t]*(?:#.*)?(?m:$)"
)
_HINTS = ("passw", "passphrase", "pwd", "secret", "token", "key")
# What stands where a secret would: a name of one, a reference, a word that says it is none.
_NONE = re.compile(
    r"(?i)^[<\[{(%*.]|^x+$|^-+$|\$\{|\$\(|\{\{|\[masked\]|^(?:your|my|the|some|an?)[-_ ]|example|placeholder|change-?me"
    r"|redacted"
    # words for "none": api_key="not-needed", as servers of one's own are given
    r"|^(?:not|no|none|any|dummy|fake|test|empty|unused|local|ollama|lm-studio)(?:[-_ ][a-z]+)*$|"
    r"^(?:pass(?:word)?|pwd|secret|token|key|none|null|true|false|dummy|test|admin|root|postgres|user|guest|string"
    r"|required)\d?$"
    r"|^(?:os\.|self\.|env[.:]|[a-z_]+\("
    r"|(?-i:\$?[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$)|[a-z]+(?:_[a-z]+)+$|https?://)"
)
_NO_KEY = re.compile(r"(?i)x{6,}|your[-_]|-{6,}|_{6,}")
_LOW = {c: c + 32 for c in range(65, 91)}
_BEFORE, _BEHIND = 100, 4_000  # characters around a hint that are looked at
_LENGTH = re.compile(rb"\x8c[\s\S]")
_MARKS = bytes.maketrans(b"\0\x94", b"\n\n")
_WIDE = (re.compile(rb"(?:[\x20-\x7e]\0\0\0){8,}"), re.compile(rb"(?:[\x20-\x7e]\0){8,}"))

# Each byte by its kind: a for what can be printed, 0 for a zero, x for any other.
_KINDS = bytes(ord("a") if 32 <= c <= 126 else 0 if c == 0 else ord("x") for c in range(256))
_WIDE_HINTS = (b"a\0\0\0" * 8, b"a\0" * 8)
_WORD = re.compile(rb"aaaaaaaaa*")
_LARGE, _AROUND = 100_000, 128

_TEXT = [(KEY, hint, re.compile(shape)) for hint, shape in _ISSUERS]
_TEXT += [(what, hint, re.compile(shape)) for what, hint, shape in _PLACES]
_ASSIGNED = (re.compile(_QUOTED), re.compile(_BARE))


def find(data: str | bytes) -> str:
    """What kind of secret a text holds, in words; "" for none.

    Args:
        data: A text, or bytes that hold texts (a pickle, a file); those in UTF-16 and UTF-32 are looked at, too.
    """
    return next((what for text in _texts(data) for what, _, _ in _found(text)), "")


def mask(text: str, instead: str) -> str:
    """A text with `instead` for each secret in it."""
    for _, start, end in sorted(_found(text), key=lambda f: -f[1]):
        text = text[:start] + instead + text[end:]
    return text


def is_random(text: str) -> bool:
    """Whether a word looks as if no person had chosen it: 20 letters and digits in a row, well mixed."""
    run = max(re.findall(r"[A-Za-z0-9]+", text), key=len, default="")
    n_digits = sum(c.isdigit() for c in run)
    return len(run) >= 20 and n_digits >= 3 and len(run) - n_digits >= 3 and len(set(run)) >= 9


def _texts(data: str | bytes) -> Iterator[str]:
    if isinstance(data, str):
        yield data
        return
    kinds = data.translate(_KINDS)
    # In a pickle a text stands behind its length, a byte that may look like a letter, and before a mark.
    yield _LENGTH.sub(b"\n", _with_words(data, kinds).translate(_MARKS)).decode("latin-1")
    shapes = [shape for shape, hint in zip(_WIDE, _WIDE_HINTS, strict=True) if hint in kinds]  # a search is much faster
    wide = [run.replace(b"\0", b"") for shape in shapes for run in shape.findall(data)]  # as numpy and others keep texts
    if wide:
        yield b"\n".join(wide).decode("latin-1")


def _with_words(data: bytes, kinds: bytes) -> bytes:
    """The parts of large data that hold words: runs of eight printable characters and what is around them.

    Every secret has such a run in it or beside it; of an array of numbers a twentieth is left.
    """
    if len(data) < _LARGE:
        return data
    parts: list[tuple[int, int]] = []
    for run in _WORD.finditer(kinds):
        start, end = max(run.start() - _AROUND, 0), min(run.end() + _AROUND, len(data))
        if parts and start <= parts[-1][1]:
            parts[-1] = (parts[-1][0], end)
        else:
            parts.append((start, end))
    return b"\n\0\n".join(data[start:end] for start, end in parts)


def _found(text: str) -> Iterator[tuple[str, int, int]]:
    """(what, start, end) of the secrets in a text; none within another."""
    ends: list[tuple[int, int]] = []
    for what, start, end in _candidates(text):
        none = _NO_KEY if what == KEY else _NONE
        if all(end <= a or start >= b for a, b in ends) and not none.search(text[start:end]):
            ends.append((start, end))
            yield what, start, end


def _candidates(text: str) -> Iterator[tuple[str, int, int]]:
    for what, hint, shape in _TEXT:
        for match in _near(shape, text, text, hint):
            if what == KEY and not _is_beginning(text, match.start()):
                continue
            if what != HEADER or not match[0].lower().startswith("basic") or _is_basic(match["s"]):
                yield what, *match.span("s" if "s" in shape.groupindex else 0)
    low = text.lower()
    if len(low) != len(text):  # a few letters have two in lower case
        low = text.translate(_LOW)
    for shape in _ASSIGNED:
        for hint in _HINTS:
            for match in _near(shape, text, low, hint):
                yield PASSWORD, *match.span("s")


def _near(shape: re.Pattern[str], text: str, hinted: str, hint: str) -> Iterator[re.Match[str]]:
    """Matches around the places of a fixed text, which are found fast."""
    at, end = hinted.find(hint), 0
    while at >= 0:
        match = shape.search(text, max(end, at - _BEFORE), at + _BEHIND)
        if match is not None:
            yield match
            end = match.end()
        at = hinted.find(hint, max(at + len(hint), end))


def _is_beginning(text: str, at: int) -> bool:
    """Whether no word goes on here; short bytes in a pickle stand behind a C and their length, which may be a letter."""
    if at == 0 or not (text[at].isalnum() and text[at - 1].isalnum()):
        return True
    return at > 1 and text[at - 2] == "C" and not text[at - 3 : at - 2].isalnum()


def _is_basic(text: str) -> bool:
    """Whether a text is `user:password` as a Basic header has it."""
    try:
        return b":" in base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        return False
