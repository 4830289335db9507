"""How a turn ended, in the words of its user: status, error, kind of error, cure.

Hermes reports an end in many shapes (0.19: `completed` and `interrupted` both true, an error's text as the answer, results
with four keys only); this is where they become one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from hermes_nb.engine.budget import BudgetSpent
from hermes_nb.engine.journal import JournalError
from hermes_nb.engine.recorder import Recorder, short_error
from hermes_nb.engine.recording import NotRecorded

# Provider of Hermes -> the variable its key is usually in. For hints only.
KEY_VARIABLES = {
    "anthropic": "ANTHROPIC_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "openai-api": "OPENAI_API_KEY",
    "openai": "OPENAI_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
}


@dataclass(frozen=True, slots=True)
class Model:
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

    status: str
    text: str = ""
    error: str = ""
    error_type: str = ""
    code: str = ""
    hint: str = ""
    reason: str = ""
    exit_reason: str = ""


class Unreachable(BaseException):
    """Nobody answers at the model's address; ends a turn that Hermes would retry for 22 s."""


class Hopeless(BaseException):
    """Asking again won't help, and Hermes would (8 s after a 404); the cause says why."""


def of_result(result: Mapping[str, Any], recorder: Recorder, model: Model, *, stop_reason: str | None) -> Outcome:
    """The outcome of a turn that Hermes ended."""
    exit_reason = str(result.get("turn_exit_reason") or result.get("failure_reason") or "")
    if stop_reason is not None and (result.get("interrupted") or not result.get("completed")):
        return stopped(recorder, stop_reason, exit_reason)
    text = result.get("final_response")
    text = text.strip() if isinstance(text, str) else ""
    if exit_reason.startswith("max_iterations_reached"):
        return Outcome("max_turns", text, exit_reason=exit_reason, reason="max_turns")
    if result.get("failed") or result.get("partial") or result.get("error") or not result.get("completed"):
        error = recorder.last_failure if recorder.calls and recorder.calls[-1].failure is not None else None
        return failed(error or str(result.get("error") or text), recorder, model, exit_reason=exit_reason)
    if not exit_reason.startswith("text_response") and not (recorder.replies and recorder.replies[-1].text.strip()):
        return failed("The model gave no answer.", recorder, model, exit_reason=exit_reason)
    return Outcome("completed", text, exit_reason=exit_reason)


def stopped(recorder: Recorder, reason: str, exit_reason: str = "") -> Outcome:
    """Somebody, or the clock, ended the turn."""
    status = "timed_out" if reason == "timeout" else "stopped"
    return Outcome(status, recorder.partial_text(), reason=reason, exit_reason=exit_reason or "stopped")


def failed(error: BaseException | str, recorder: Recorder, model: Model, *, exit_reason: str = "") -> Outcome:
    """The turn failed: which thing, and what to do."""
    if isinstance(error, Hopeless) and error.__cause__ is not None:
        error = error.__cause__
    text = short_error(error) if isinstance(error, BaseException) else " ".join(error.split())[:1000]
    kind, code, message, hint = _explain(error, text, model)
    return Outcome("failed", recorder.partial_text(), message, kind, code, hint, exit_reason=exit_reason or "error")


def _explain(error: BaseException | str, text: str, model: Model) -> tuple[str, str, str, str]:
    """(error_type, code, error, hint)."""
    if isinstance(error, JournalError):
        return "StoreError", "journal", text, "Nothing was run unrecorded. Free space or fix the folder, then run again."
    if isinstance(error, BudgetSpent):
        return "TurnBudgetError", "budget", text, error.hint
    if isinstance(error, NotRecorded):
        return "TurnReplayError", "replay", str(error), error.hint
    status = getattr(error, "status_code", None) or _status_in(text)
    name = type(error).__name__ if isinstance(error, BaseException) else ""
    where = f"{model.provider} ({model.address})" if model.base_url else model.provider
    variable = KEY_VARIABLES.get(model.provider)
    if isinstance(error, Unreachable) or name in _UNREACHABLE or "Connection error" in text:
        return (
            "ModelUnreachableError", "unreachable", f"No model answers at {model.address}: {text}",
            f"Start the server or correct base_url ({model.base_url}); check proxy and network.",
        )  # fmt: skip
    if status in (401, 403):
        give = f"Set {variable}, or pass" if variable else "Pass"
        return (
            "ModelAuthError", str(status), f"{where} refused the key (HTTP {status}): {text}",
            f"{give} Model({model.id!r}, {model.provider!r}, api_key=...) with a key that is allowed to use this model.",
        )  # fmt: skip
    if status == 404:
        return (
            "ModelError", "404", f"{where} knows no model {model.id!r} (HTTP 404): {text}",
            "Correct the model's id, or base_url if its path is wrong (most end in /v1).",
        )  # fmt: skip
    if status == 429:
        return (
            "ModelError", "429", f"{where} limits requests (HTTP 429), also after retries: {text}",
            "Wait and run again, or use another model or key; what was committed is not asked for again.",
        )  # fmt: skip
    if status == 402 or "billing" in text.lower()[:200]:
        return "ModelError", "402", f"{where}: {text}", "Add credit at the provider, or use another model."
    if isinstance(status, int) and status >= 500:
        return "ModelError", str(status), f"{where} failed (HTTP {status}): {text}", "Run again; the fault is there."
    if isinstance(status, int) and status >= 400:
        return "ModelError", str(status), f"{where} refused the request (HTTP {status}): {text}", ""
    if name in _MALFORMED or "malformed" in text.lower() or "Invalid API response" in text or "empty stream" in text:
        return (
            "ModelError", "malformed", f"{where} sent a reply that can't be read: {text}",
            "Run again; if it stays, base_url may not be an OpenAI-compatible endpoint.",
        )  # fmt: skip
    if text == "The model gave no answer.":
        return "ModelError", "empty", text, "Ask again, or ask otherwise."
    return name if name and name not in _FOREIGN else "ModelError", "", text, ""


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
_MALFORMED = frozenset({"JSONDecodeError", "EmptyStreamError", "APIResponseValidationError"})
_FOREIGN = frozenset({"APIError", "APIStatusError", "BadRequestError", "RuntimeError"})
_STATUS = re.compile(r"\bHTTP (\d{3})\b|Error code: (\d{3})\b")


def _status_in(text: str) -> int | None:
    found = _STATUS.search(text)
    return int(found[1] or found[2]) if found else None
