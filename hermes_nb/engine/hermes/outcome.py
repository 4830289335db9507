"""How a turn ended, in the words of its user: status, error, kind of error, cure.

Hermes reports an end in many shapes (0.19: `completed` and `interrupted` both true, an error's text as the answer, results
with four keys only); this is where they become one.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from hermes_nb._provider import key_variables
from hermes_nb.engine import connection_fault
from hermes_nb.engine.accounting.budget import BudgetSpent
from hermes_nb.engine.durability.journal import JournalError
from hermes_nb.engine.durability.recorder import Recorder, short_error
from hermes_nb.engine.durability.recording import NotRecorded
from hermes_nb.engine.hermes import verdict
from hermes_nb.engine.hermes.event_stream import UNREADABLE
from hermes_nb.model.credential import shown

if TYPE_CHECKING:
    from hermes_nb.model.status import TurnStatus


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """The model of a turn, as bound."""

    id: str
    provider: str
    base_url: str

    @property
    def host(self) -> str:
        """Where requests go, for people."""
        if self.provider == "offline":
            return "this machine"
        return urlsplit(self.base_url).hostname or self.provider

    @property
    def address(self) -> str:
        """host:port."""
        parts = urlsplit(self.base_url)
        port = parts.port or (443 if parts.scheme == "https" else 80)
        return f"{parts.hostname}:{port}" if parts.hostname else self.provider


@dataclass(frozen=True, slots=True)
class Outcome:
    """A turn's end. `status`: completed, stopped, failed, timed_out or max_turns."""

    status: TurnStatus
    text: str = ""
    error: str = ""
    error_type: str = ""
    code: str = ""
    hint: str = ""
    reason: str = ""
    exit_reason: str = ""


class Unreachable(BaseException):
    """Nobody answers at the model's address; ends a turn that Hermes would retry for 22 s. `fault` says why, if known."""

    def __init__(self, text: str, fault: connection_fault.Fault | None = None) -> None:
        super().__init__(text)
        self.fault = fault


class Hopeless(BaseException):
    """Asking again won't help, and Hermes would (8 s after a 404); the cause says why."""


class LongWait(BaseException):
    """The provider wants to be asked again so late that nobody would still be waiting; the cause is its error."""

    def __init__(self, wait_s: float) -> None:
        super().__init__(f"To be asked again in {wait_s:.0f} s.")
        self.wait_s = wait_s


# A longer wait before a retry ends the turn, unless its time limit is longer still. The limits of providers that are
# worth waiting for are per minute, and those of the first tier of Anthropic come back within 171 s.
MOST_WAIT_S = 180.0
_DAY_S = 86_400.0
_MOST_TIMEOUT_S = _DAY_S  # a longer time limit is no advice
# Hermes's words, with the error of its client, where the summary at the limit failed: no answer of the model.
_NO_SUMMARY = re.compile(
    r"I reached the (maximum iterations \(|iteration limit and) ?.*couldn't (summarize|generate a summary)"
)


def of_result(result: Mapping[str, Any], recorder: Recorder, model: ModelIdentity, *, stop_reason: str | None) -> Outcome:
    """The outcome of a turn that Hermes ended."""
    exit_reason = str(result.get("turn_exit_reason") or result.get("failure_reason") or "")
    if stop_reason is not None and (result.get("interrupted") or not result.get("completed")):
        return stopped(recorder, stop_reason, exit_reason)
    text = result.get("final_response")
    text = text.strip() if isinstance(text, str) else ""
    written = verdict.answer(recorder.replies)
    if exit_reason.startswith("max_iterations_reached"):
        text = "" if _NO_SUMMARY.match(text) else text
        return Outcome("max_turns", written or text, exit_reason=exit_reason, reason="max_turns")
    error = recorder.last_failure if recorder.calls and recorder.calls[-1].failure is not None else None
    if result.get("failed") or result.get("partial") or result.get("error") or not result.get("completed"):
        said = str(result.get("error") or text)
        why = None if error else verdict.of_replies(recorder.replies) or verdict.unknown_tool(recorder.replies, said)
        return failed(verdict.GivenUp(why) if why else error or said, recorder, model, exit_reason=exit_reason)
    if exit_reason.startswith("empty_response") or not (written or exit_reason.startswith("text_response")):
        why = verdict.of_replies(recorder.replies) or verdict.EMPTY
        return failed(verdict.GivenUp(why), recorder, model, exit_reason=exit_reason)
    return Outcome("completed", written or text, exit_reason=exit_reason)


def stopped(recorder: Recorder, reason: str, exit_reason: str = "") -> Outcome:
    """Somebody, or the clock, ended the turn."""
    status: TurnStatus = "timed_out" if reason == "timeout" else "stopped"
    return Outcome(status, recorder.partial_text(), reason=reason, exit_reason=exit_reason or "stopped")


def failed(error: BaseException | str, recorder: Recorder, model: ModelIdentity, *, exit_reason: str = "") -> Outcome:
    """The turn failed: which thing, and what to do."""
    if isinstance(error, Hopeless) and error.__cause__ is not None:
        error = error.__cause__
    text = short_error(error) if isinstance(error, BaseException) else " ".join(error.split())[:1000]
    try:
        kind, code, message, hint = _explain(error, text, model)
    except Exception:  # noqa: BLE001 - a turn that is over ends, whatever a provider put into its error
        kind, code, message, hint = "ModelError", "", text, ""
    return Outcome("failed", recorder.partial_text(), message, kind, code, hint, exit_reason=exit_reason or "error")


def _explain(error: BaseException | str, text: str, model: ModelIdentity) -> tuple[str, str, str, str]:
    """(error_type, code, error, hint)."""
    if isinstance(error, JournalError):
        return "StoreError", "journal", text, "Nothing was run unrecorded."
    if isinstance(error, verdict.GivenUp):
        said = error.verdict.error.replace("The connection to the model", f"The connection to {_where(model)}", 1)
        return "ModelError", error.verdict.code, said, error.verdict.hint
    if isinstance(error, BudgetSpent):
        return "TurnBudgetError", "budget", text, error.hint
    if isinstance(error, NotRecorded):
        return "TurnReplayError", "replay", str(error), error.hint
    wait_s = error.wait_s if isinstance(error, LongWait) else 0.0
    if isinstance(error, LongWait) and error.__cause__ is not None:
        text, error = short_error(error.__cause__), error.__cause__
    given = getattr(error, "code", None)
    status = getattr(error, "status_code", None) or _status_in(text) or _status_of(given)
    name = type(error).__name__ if isinstance(error, BaseException) else ""
    where = _where(model)
    variable = next(iter(key_variables(model.provider, model.base_url)), None)
    fault = _fault(error, text, model)
    if fault is not None:
        kind = "ModelError" if fault.code == "malformed" else "ModelUnreachableError"
        return kind, fault.code, fault.text, fault.hint
    if isinstance(error, Unreachable) or name in _UNREACHABLE or "Connection error" in text:
        return (
            "ModelUnreachableError",
            "unreachable",
            f"No model answers at {model.address}: {text}",
            f"Start the server or correct base_url ({model.base_url}); check proxy and network.",
        )
    if wait_s:
        http = f" (HTTP {status})" if status else ""
        return (
            "ModelError",
            str(status or "wait"),
            f"{where} limits requests{http} and is to be asked again in {_span(wait_s)} only: {text}",
            "Run again then, or use another model or key."
            + (f" A longer time limit waits: --timeout {round(wait_s) + 60}." if wait_s <= _MOST_TIMEOUT_S else ""),
        )
    told = f"{getattr(error, 'code', None) or ''} {text}"
    if status in (None, 400, 413, 422) and verdict.is_overflow(told):
        why = verdict.overflow(f"{model.id}, HTTP {status}" if status else model.id, text)
        return "ModelError", why.code, why.error, why.hint
    if status in (None, 400) and verdict.is_filtered(told):
        why = verdict.filtered(said=text)
        return "ModelError", why.code, why.error, why.hint
    if given == UNREADABLE:
        return (
            "ModelError",
            "malformed",
            f"{where} sent {text}",
            "Correct base_url (most end in /v1), or pass the sign-in page or proxy that stands before it; then run again.",
        )
    if isinstance(status, int) and 300 <= status < 400:
        location = getattr(getattr(error, "response", None), "headers", {}).get("location", "")
        to = shown(urljoin(model.base_url, location).removesuffix("/chat/completions")) if location else "another address"
        return (
            "ModelError",
            str(status),
            f"{where} redirects to {to} (HTTP {status}), which is not followed, since the key would be sent there.",
            f"Write {to} as base_url if you trust it." if location else "Correct base_url.",
        )
    if status in (401, 403):
        give = f"Set {variable}, or pass" if variable else "Pass"
        return (
            "ModelAuthError",
            str(status),
            f"{where} refused the key (HTTP {status}): {text}",
            f"{give} Model({model.id!r}, {model.provider!r}, api_key=...) with a key that is allowed to use this model.",
        )
    if status == 404:
        return (
            "ModelError",
            "404",
            f"{where} knows no model {model.id!r} (HTTP 404): {text}",
            "Correct the model's id, or base_url if its path is wrong (most end in /v1).",
        )
    if status == 429:
        return (
            "ModelError",
            "429",
            f"{where} limits requests (HTTP 429), also after retries: {text}",
            "Wait and run again, or use another model or key; what was committed is not asked for again.",
        )
    if status == 402 or "billing" in text.lower()[:200]:
        return "ModelError", "402", f"{where}: {text}", "Add credit at the provider, or use another model."
    if isinstance(status, int) and status >= 500:
        return "ModelError", str(status), f"{where} failed (HTTP {status}): {text}", "Run again; the fault is there."
    if isinstance(status, int) and status >= 400:
        return "ModelError", str(status), f"{where} refused the request (HTTP {status}): {text}", ""
    if (
        name in _MALFORMED
        or text.startswith(("illegal ", "An event of the stream"))
        or "malformed" in text.lower()
        or "Invalid API response" in text
        or "empty stream" in text
    ):
        return (
            "ModelError",
            "malformed",
            f"{where} sent a reply that can't be read: {text}",
            "Run again; if it stays, base_url may not be an OpenAI-compatible endpoint.",
        )
    if isinstance(error, RecursionError) or "integer string conversion" in text:
        what = "nested too deeply" if isinstance(error, RecursionError) else "a number of too many digits"
        return (
            "ModelError",
            "arguments",
            f"The model of {where} wrote arguments that can't be read: {what}.",
            "Ask again, or use a model that is better at calling tools.",
        )
    if name in _BROKEN:
        return (
            "ModelError",
            "connection",
            f"The connection to {where} broke in the middle of a reply: {text}",
            "Run again; if it stays, look at the server's log, or at a proxy that ends long replies.",
        )
    if name == "APIError":
        return "ModelError", "", f"{where} ended its reply with an error: {text}", "Run again, or use another model."
    return name if name and name not in _FOREIGN else "ModelError", "", text, ""


def _where(model: ModelIdentity) -> str:
    return f"{model.provider} ({model.address})" if model.base_url else model.provider


def _fault(error: BaseException | str, text: str, model: ModelIdentity) -> connection_fault.Fault | None:
    """What kept the request from the model, where that was the connection."""
    if isinstance(error, Unreachable):
        return error.fault
    found = connection_fault.of(error, model.base_url) if isinstance(error, BaseException) else None
    return found or connection_fault.of_text(text)


def retry_after_s(error: BaseException | None) -> float | None:
    """How long a provider asks to wait (`Retry-After`: seconds or a date); None when it does not say."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    given = str(headers.get("retry-after") or "") if headers is not None else ""
    try:
        wait_s = float(given)
    except ValueError:
        try:
            wait_s = parsedate_to_datetime(given).timestamp() - time.time()
        except (ValueError, TypeError, OverflowError):
            return None
    return max(wait_s, 0.0) if math.isfinite(wait_s) else None


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    if seconds < 2 * _DAY_S:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / _DAY_S:.0f} days" if seconds < 365 * _DAY_S else "more than a year"


def is_refused(error: BaseException | None) -> bool:
    """Whether no connection came about (and not: one broke)."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:  # a chain that was raised on another thread can be a ring
        seen.add(id(error))
        if type(error).__name__ in ("ConnectError", "ConnectTimeout", "ConnectionRefusedError"):
            return True
        error = error.__cause__ or error.__context__
    return False


_UNREACHABLE = frozenset({"APIConnectionError", "ConnectError", "ConnectTimeout", "APITimeoutError", "Unreachable"})
_MALFORMED = frozenset({"JSONDecodeError", "EmptyStreamError", "APIResponseValidationError", "DecodingError"})
_BROKEN = frozenset({"RemoteProtocolError", "ReadError", "WriteError"})
_FOREIGN = frozenset({"APIError", "APIStatusError", "BadRequestError", "RuntimeError"})
_STATUS = re.compile(r"\bHTTP (\d{3})\b|Error code: (\d{3})\b")


def _status_of(code: object) -> int | None:
    """The HTTP status that an error within a reply gives as its code."""
    text = str(code)
    return int(text) if len(text) == 3 and text.isdecimal() and text[0] in "45" else None


def _status_in(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1] or found[2]) if found else None
