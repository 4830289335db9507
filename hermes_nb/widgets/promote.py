"""Promoting an agent by clicks: what stands in the way, the target, the run, its report. Also the button in an agent's card.

    promotion(bound).show()        # in a cell; `%hermes promote --ui` does so
    promotion(bound).show_in(place)    # in an output of another cell: below a turn that has ended

What stands in the way, and the run, are `hermes_nb.flyte`'s; here is what is shown of them.
"""

from __future__ import annotations

import html
import importlib.util
import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import HermesNbError, MissingPackageError, UsageError
from hermes_nb.model.format import format_usd
from hermes_nb.views import _card
from hermes_nb.widgets._form_widget import FormWidget
from hermes_nb.widgets._target import EMPTY, config_of, targets

if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.flyte.promotion.plan import Plan
    from hermes_nb.flyte.promotion.submission import Progress, Submission
    from hermes_nb.widgets._output_slot import OutputSlot

WAITING = (
    "Promotion: nothing was submitted from here yet. Run the cell in a notebook to do so, or write"
    " %hermes promote AGENT --dry-run."
)
INSTALL = "%pip install 'hermes-nb[flyte]'"
_ELSEWHERE = re.compile(r"<link\b[^>]*\bhref\s*=\s*[\"']?(?:https?:)?//[^>]*>|@import\s[^;]*//[^;]*;", re.IGNORECASE)
_PLAN_FIELDS = ("target", "project", "domain", "endpoint", "yes", "loopback")


class Promotion:
    """An agent on its way to Flyte. As a cell's last line it shows itself.

    Args:
        bound: The agent.
        namespace: Gives the notebook's variables, among them `Flyte(...)`s.
        prompt: What is asked there; None means the conversation's last question.
        card: Rows (label, text) of the agent's card, above the button; None for no card.
        is_open: Whether it looks at once, or only when the button is clicked.
        is_aside: Whether it was opened from something else that has the button: it can be closed, and nothing of it is kept
            in the notebook until something was found or submitted.
    """

    def __init__(
        self,
        bound: BoundAgent,
        namespace: Callable[[], Mapping[str, Any]],
        *,
        prompt: str | None = None,
        card: Sequence[tuple[str, str]] | None = None,
        is_open: bool = True,
        is_aside: bool = False,
    ) -> None:
        self.bound = bound
        self.submission: Submission | None = None
        self._namespace, self._prompt, self._card = namespace, prompt, card
        self._lock = threading.RLock()
        self._plan: Plan | None = None
        self._looks = 0
        self._is_submitting = False
        data = {
            "agent": bound.name,
            "is_aside": is_aside,
            "sought_unix_s": 0.0,
            "card": None if card is None else [list(row) for row in card],
            "is_open": False,
            "is_looking": False,
            "form": dict(EMPTY),
            "targets": [],
            "plan": None,
            "looked": "",
            "error": "",
            "missing": "",
            "is_submitting": False,
            "progress": None,
            "result": "",
            "has_report": False,
            "n": 0,
            "began_unix_s": 0.0,
            "ended_unix_s": None,
        }
        self.sheet = FormWidget("promote", data, still=self.bundle, hear=self._heard)
        if is_open:
            self._open()

    def __repr__(self) -> str:
        now = None if self.submission is None else self.submission.progress
        return f"<Promotion of {self.bound.name!r}: {'not submitted' if now is None else now.phase or now.status}>"

    @property
    def widget(self) -> Any:
        """The widget, to be put beside others.

        Raises:
            MissingPackageError: The extra `widgets` is not installed.
        """
        return self.sheet.widget

    def show(self) -> None:
        """Show it in the running cell."""
        self.sheet.show(soon=self._card is not None)

    def show_in(self, here: OutputSlot) -> None:
        """Show it in an output of any cell."""
        self.sheet.show_in(here)

    def seek(self) -> None:
        """Open it if it was closed, and bring it into sight where it is shown."""
        self._open()
        self.sheet.tell(sought_unix_s=time.time())

    def _ipython_display_(self) -> None:
        self.show()

    # -- the static form ---------------------------------------------------------------------------------------------
    def bundle(self) -> dict[str, str]:
        """The static form by MIME type: card, what was found, run, answer and rows."""
        data = self.sheet.data
        rows = self._rows(data)
        if data["is_aside"] and (not rows or (data["progress"] is None and not data["is_open"])):
            return {"text/html": "<div></div>", "text/plain": ""}
        if self._card is None and not rows:
            return {"text/html": f"<div>{html.escape(WAITING)}</div>", "text/plain": WAITING}
        title = f"Agent {self.bound.name}" + ("" if self._card is not None else " on Flyte")
        result = self._result()
        return {
            "text/html": _card.as_html(title, rows) + result.get("text/html", ""),
            "text/plain": "\n\n".join(filter(None, (_card.as_text(title, rows), result.get("text/plain", "")))),
        }

    def _rows(self, data: Mapping[str, Any]) -> list[tuple[str, str]]:
        rows = list(self._card or ())
        progress = data["progress"]
        if progress is not None:
            rows.append(("Flyte", " ".join(filter(None, (progress["phase"] or progress["status"], progress["run"])))))
            rows += [("link", progress["url"]), ("error", progress["error"])]
        elif data["plan"] is not None:
            for found in data["plan"]["findings"]:
                place = f" ({found['place']})" if found["place"] else ""
                rows.append(("stops" if found["severity"] == "stops" else "note", f"{found['text']} {found['cure']}{place}"))
        rows.append(("error", data["error"]))
        return [(label, text) for label, text in rows if text]

    def _result(self) -> dict[str, str]:
        if self.submission is None or not self.submission.turn.is_done:
            return {}
        from hermes_nb.views._bundle import bundle

        return dict(bundle(self.submission.turn.events))

    # -- what browsers say: on the main thread, or on a subshell's while a cell runs -----------------------------------
    def _heard(self, message: Mapping[str, Any], send: Callable[[Mapping[str, Any]], None]) -> None:
        kind, form = message.get("t"), message.get("form")
        form = form if isinstance(form, Mapping) else {}
        if kind == "open":
            self._open()
        elif kind == "close":
            self.sheet.tell(is_open=False)
            self.sheet.settle()
        elif kind == "look":
            self._look(form)
        elif kind == "submit":
            self._submit(form, message.get("n"))
        elif kind == "stop" and self.submission is not None:
            self.submission.stop()
        elif kind == "report" and self.submission is not None:
            self._send_report(self.submission, message.get("by"), send)
        elif kind == "again":
            self._again()

    def _open(self) -> None:
        with self._lock:
            if self.sheet.data["is_open"]:
                return
            self.sheet.unsettle()
            found = targets(self._namespace())
            form = {**EMPTY, "target": found[0]["value"], "prompt": self._asked()}
            self.sheet.tell(is_open=True, targets=found, form=form)
            self._look(form)

    def _asked(self) -> str:
        if self._prompt is not None:
            return self._prompt
        turns = reversed(self.bound.hermes.turns)
        mine = (t.prompt for t in turns if t.session_id == self.bound.session_id and t.agent_name == self.bound.name)
        return next(mine, "")

    def _again(self) -> None:
        with self._lock:
            if self.submission is not None and not self.submission.turn.is_done:
                return
            self.submission = None
            self.sheet.unsettle()
            self.sheet.tell(progress=None, result="", has_report=False, error="", targets=targets(self._namespace()))
            self._look(self.sheet.data["form"])

    # -- looking -----------------------------------------------------------------------------------------------------
    def _look(self, form: Mapping[str, Any]) -> None:
        """Look for what stands in the way, on the IO loop; an older look that ends later is forgotten."""
        with self._lock:
            self._looks += 1
            number, key = self._looks, _key(form)
            self._plan = None
            self.bound.definitions.renew()  # what was mended since is looked at as it is now
            self.sheet.tell(is_looking=True, error="", missing="")
            if importlib.util.find_spec("flyte") is None:
                self._looked(number, key, error=MissingPackageError("Flyte is not installed; it is needed to run there."))
                return
        self.bound.hermes.io.submit(self._preflight(form, number, key))

    async def _preflight(self, form: Mapping[str, Any], number: int, key: str) -> None:
        from hermes_nb.flyte.promotion.preflight import preflight

        try:
            plan = await preflight(self.bound, config_of(form, self._namespace()))
        except Exception as exc:  # noqa: BLE001 - whatever it is, the person who clicked must hear of it
            self._looked(number, key, error=exc)
        else:
            self._looked(number, key, plan)

    def _looked(self, number: int, key: str, plan: Plan | None = None, error: Exception | None = None) -> None:
        with self._lock:
            if number != self._looks:
                return
            self._plan = plan
            said = "" if error is None else self.bound.hermes.masker().text(str(error) or type(error).__name__)
            missing = INSTALL if isinstance(error, MissingPackageError) else ""
            found = None if plan is None else _plain(plan)
            self.sheet.tell(is_looking=False, plan=found, looked=key, error=said, missing=missing)

    # -- the run -----------------------------------------------------------------------------------------------------
    def _submit(self, form: Mapping[str, Any], n: Any) -> None:
        """Submit once for each state that was seen: two tabs that click at once make one run."""
        with self._lock:
            data, plan = self.sheet.data, self._plan
            if n != data["n"] or self._is_submitting or self.submission is not None:
                return
            if plan is None or data["looked"] != _key(form):
                self._look(form)
                return
            self._is_submitting = True
            self.sheet.tell(is_submitting=True, error="")  # so that the same error again is told again
        # Without the lock: the IO loop, which this waits for, may be about to take it.
        try:
            handle, error = self._submitted(plan, form), ""
        except HermesNbError as exc:
            handle, error = None, self.bound.hermes.masker().text(str(exc))
        with self._lock:
            self._is_submitting, self.submission = False, handle
            if handle is None:
                self.sheet.tell(is_submitting=False, error=error)
                return
            kept = {name: form.get(name, value) for name, value in EMPTY.items()}
            told = _told(handle.progress)
            self.sheet.tell(
                n=n + 1, form=kept, is_submitting=False, progress=told, began_unix_s=time.time(), ended_unix_s=None
            )
        self.bound.hermes.io.submit(self._follow(handle))

    def _submitted(self, plan: Plan, form: Mapping[str, Any]) -> Submission:
        from hermes_nb.flyte.promotion.submission import submit_plan

        prompt = str(form.get("prompt") or "").strip()
        if not prompt:
            raise UsageError("Write what the agent is asked there.")
        return submit_plan(plan, prompt)

    async def _follow(self, handle: Submission) -> None:
        async for now in handle.changes():
            if not now.is_done:
                self.sheet.tell(progress=_told(now))
        result, ended = await handle, time.time()
        try:
            report = await handle.report_html()
        except HermesNbError as exc:
            self.bound.hermes.warn("report", f"The report of {handle.progress.run} can't be read: {exc}")
            report = ""
        told = {**_told(handle.progress), "status": result.status}
        shown = self._result().get("text/html", "")
        self.sheet.tell(progress=told, result=shown, has_report=bool(report), ended_unix_s=ended)
        self.sheet.settle()

    def _send_report(self, handle: Submission, by: Any, send: Callable[[Mapping[str, Any]], None]) -> None:
        def told(future: Any) -> None:
            error = future.exception()
            # Flyte 2.12's page asks for fonts of another host; the frame would refuse that, loudly.
            text = "" if error is not None else _ELSEWHERE.sub("", future.result())
            send({"t": "report", "by": by, "html": text, "error": "" if error is None else str(error)})

        self.bound.hermes.io.submit(handle.report_html()).add_done_callback(told)


def promotion(bound: BoundAgent, *, prompt: str | None = None, is_open: bool = False, is_aside: bool = False) -> Promotion:
    """The button "Promote to Flyte" of an agent, for whoever shows it: `.show()` in a cell, `.widget` beside others.

    Args:
        bound: The agent.
        prompt: What is asked there; None means the conversation's last question.
        is_open: Look at once, without a click.
        is_aside: Another widget has the button (see `Promotion`).
    """
    from hermes_nb.turns.tool_definitions import namespace

    return Promotion(bound, namespace, prompt=prompt, is_open=is_open, is_aside=is_aside)


def _key(form: Mapping[str, Any]) -> str:
    return json.dumps([form.get(name, EMPTY[name]) for name in _PLAN_FIELDS])


def _plain(plan: Plan) -> dict[str, Any]:
    masked: dict[str, Any] = plan.bound.hermes.masker().data(plan.to_dict())
    return masked


def _told(now: Progress) -> dict[str, Any]:
    return {**asdict(now), "log": list(now.log), "cost": "" if now.cost_usd is None else format_usd(now.cost_usd)}


__all__ = ["Promotion", "promotion"]
