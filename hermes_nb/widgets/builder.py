"""The agent builder: a form that makes a live agent, and its code for a cell."""

from __future__ import annotations

import html
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from hermes_nb.api._card import card_of
from hermes_nb.errors import HermesNbError
from hermes_nb.model.agent import Agent
from hermes_nb.tools.secret import environment_masker
from hermes_nb.views import _card
from hermes_nb.widgets._choices import choices
from hermes_nb.widgets._form import EMPTY, Draft, form_of, read
from hermes_nb.widgets._form_widget import FormWidget

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent

WAITING = (
    "Agent builder: no agent was made with this form yet. Run the cell in a notebook for the form, or write"
    " %hermes agent NAME --model ID --tools F,... --instructions '...'."
)
Bind = Callable[[Agent, str, str], "BoundAgent"]


class AgentBuilder:
    """A form in a cell. As a cell's last line it shows itself.

    Args:
        namespace: Gives the notebook's variables.
        bind: Binds an agent; called with it, the variable it belongs in, and where its turns run.
        agent: The agent that is changed; None makes a new one.
        runtime: Where its turns run so far.
    """

    def __init__(
        self,
        namespace: Callable[[], Mapping[str, Any]],
        bind: Bind,
        *,
        agent: Agent | None = None,
        runtime: str = "process",
    ) -> None:
        self._namespace, self._bind, self._base = namespace, bind, agent
        self._lock = threading.Lock()
        self.bound: BoundAgent | None = None
        offered = choices(namespace())
        form = dict(EMPTY) if agent is None else form_of(agent, namespace(), runtime=runtime)
        if agent is None:  # what was declared a tool is meant for an agent
            form["tools"] = [t["variable"] for t in offered["tools"] if t["is_declared"] and not t["problem"]]
        data = {"form": form, "choices": offered, "created": None, "n": 0}
        self.sheet = FormWidget("builder", data, still=self.bundle, hear=self._heard)

    def __repr__(self) -> str:
        made = self.sheet.data["created"]
        return f"<AgentBuilder: {'agent ' + made['agent'] if made else 'no agent yet'}>"

    def show(self) -> None:
        """Show the form in the running cell; where there are no widgets, what was made with it."""
        self.sheet.show()

    def _ipython_display_(self) -> None:
        self.show()

    def bundle(self) -> dict[str, str]:
        """The static form by MIME type: text/html and text/plain, without script."""
        made = self.sheet.data["created"]
        if made is None:
            return {"text/html": f"<div>{html.escape(WAITING)}</div>", "text/plain": WAITING}
        code = f'<pre style="margin:6px 0 0;white-space:pre-wrap">{html.escape(made["code"])}</pre>'
        head, lines = f"Agent {made['agent']}", made["lines"]
        return {
            "text/html": _card.as_html(head, lines, more=code),
            "text/plain": f"{_card.as_text(head, lines)}\n\n{made['code']}",
        }

    # -- what browsers say: on the main thread, or on a subshell's while a cell runs -----------------------------------
    def _heard(self, message: Mapping[str, Any], send: Callable[[Mapping[str, Any]], None]) -> None:
        kind, form = message.get("t"), message.get("form")
        if not isinstance(form, Mapping):
            return
        if kind == "check":
            send({"t": "checked", "id": message.get("id"), **_told(self._read(form))})
        elif kind == "refresh":
            self.sheet.tell(choices=choices(self._namespace()))
        elif kind == "create":
            answer = self._create(form, message.get("n"))
            send({**answer, "by": message.get("by")})

    def _read(self, form: Mapping[str, Any]) -> Draft:
        return read(form, self._namespace(), base=self._base)

    def _create(self, form: Mapping[str, Any], n: Any) -> dict[str, Any]:
        """Make the agent, once for each state of the form that was seen: two tabs that click at once make one."""
        with self._lock:
            seen = self.sheet.data["n"]
            if n != seen:
                text = "Another view of this form has just made the agent. Look at it, then change it if you like."
                return {"t": "refused", "text": text, "errors": {}, "code": ""}
            draft = self._read(form)
            if draft.agent is None:
                return {"t": "refused", **_told(draft)}
            try:
                bound = self._bind(draft.agent, draft.variable, draft.runtime)
            except HermesNbError as exc:
                return {"t": "refused", "text": environment_masker().text(str(exc)), "errors": {}, "code": draft.code}
            self.bound, self._base = bound, draft.agent
            created = {
                "agent": bound.name,
                "variable": draft.variable,
                "code": draft.code,
                "problem": "",
                "lines": _lines(bound, draft.runtime),
            }
            self.sheet.tell(created=created, n=seen + 1)
        self._watch(bound)
        self.sheet.settle()
        return {"t": "created", "code": draft.code}

    def _watch(self, bound: BoundAgent) -> None:
        """Tell when the worker refuses what was bound, such as a toolset it has not."""

        def told(future: Any) -> None:
            error = None if future.cancelled() else future.exception()
            made = self.sheet.data["created"]
            if error is not None and made and self.bound is bound:
                self.sheet.tell(created={**made, "problem": environment_masker().text(str(error))})

        bound.hermes.io.submit(bound.instance.worker.bound(bound.agent_id)).add_done_callback(told)


def _told(draft: Draft) -> dict[str, Any]:
    return {"errors": draft.errors, "code": draft.code, "forget": draft.forget}


def _lines(bound: BoundAgent, runtime: str) -> Sequence[tuple[str, str]]:
    card = card_of(bound)
    return _card.lines({**card, "runtime": card["runtime"] if runtime == "process" else runtime}, None)
