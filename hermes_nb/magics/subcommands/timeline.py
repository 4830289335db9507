"""`%hermes timeline`: what took time, in one session or several: a widget, a figure, a table, rows or a page."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from types import ModuleType
from typing import Any

from hermes_nb import _registry
from hermes_nb.errors import UnknownNameError, UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser, variable_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.widgets.timeline import Timeline

SUMMARY = "show what took time in a session: widget, figure, frame, text or page"
EXAMPLES = (
    "%hermes timeline",
    "%hermes timeline --live",
    "%hermes timeline s-3f2a s-91bc --as figure",
    "%hermes timeline --save session.html",
    "%hermes timeline --as frame -o spans",
)
NOTES = """\
Without SESSION: the session of the only or the default agent, else the newest one. Several are shown on one time line.
--live follows what comes: start it in its own cell, then ask in the next one. A turn that runs is followed in any case.
The widget needs the extra `widgets`; figure, frame, text and html do not. What is saved with the notebook is its static
version, answer and rows as HTML. With -o the variable holds what is shown: frame, figure, text, else the Timeline, which has
them all; with --as page it holds the page, and nothing is shown.
In Python: from hermes_nb import timeline; timeline(answer)."""

FORMS = ("widget", "figure", "frame", "text", "html")


def parser() -> Parser:
    """The options."""
    parser = Parser("timeline")
    parser.add_argument("sessions", nargs="*", metavar="SESSION", help="an id, the start of one, or a title")
    form = parser.add_argument(
        "--as", dest="form", metavar="FORM", help=f"{', '.join(FORMS)}, or a view's name; widget where nothing is said"
    )
    form.suggestions = FORMS  # type: ignore[attr-defined]  # for completion: a view of an entry point is no mistake
    parser.add_argument("--live", action="store_true", help="follow the session as it grows")
    parser.add_argument("-o", "--out", metavar="NAME", type=variable_name, help="put what is shown into this variable")
    parser.add_argument("--save", metavar="FILE.html", help="write it as one page that needs no network and no kernel")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show it, or write it."""
    form = options.form or "widget"
    view = None if form in FORMS else _view(form)
    made = _timeline(context, options.sessions, live=options.live)
    if options.save is not None:
        print(f"Wrote {made.save(options.save)}.")
        if options.form is None:
            _keep(context, options.out, lambda: made)
            made.close()
            return
    if view is not None:
        rendered = view.render(made.events)
        _keep(context, options.out, lambda: rendered)
        if options.form != "page" or options.out is None:  # a page is shown, or taken
            _show_any(view.bundle(rendered) if hasattr(view, "bundle") else rendered)
        made.close()
        return
    _keep(context, options.out, lambda: _value(made, form))
    if form == "widget":
        made.show()
        return
    _show(made, form)
    made.close()


def _keep(context: Context, name: str | None, value: Callable[[], Any]) -> None:
    """Put a value into a variable; made only where one is asked for."""
    if name is not None:
        context.user_ns[name] = value()


def _value(made: Timeline, form: str) -> Any:
    """What a variable gets of a form: the widget's Timeline has all the others."""
    match form:
        case "frame":
            return made.frame()
        case "figure":
            return made.figure()
        case "text":
            return made.text
        case "html":
            return made.html
    return made


def _timeline(context: Context, sessions: list[str], *, live: bool) -> Timeline:
    from hermes_nb.widgets.follow import timeline

    return timeline(*(sessions or [_default(context, live=live)]), hermes=context.hermes, live=live)


def _default(context: Context, *, live: bool) -> Any:
    """The session of who would be asked, else the newest one."""
    agents = context.agents
    name = context.default_agent if context.default_agent in agents else None
    bound = agents[name] if name is not None else next(iter(agents.values())) if len(agents) == 1 else None
    if bound is not None and (live or bound.session_id is not None):
        return bound
    if context.last_result is not None:
        return context.last_result.session_id
    newest = context.hermes.sessions(limit=1)
    if not newest:
        raise UsageError("There is no session yet. The first %hermes run starts one.")
    return newest[0].session_id


def _view(name: str) -> ModuleType:
    """A view by name: a file of `views/`, or an entry point of the group `hermes_nb.views`."""
    try:
        return _registry.load("views", name)
    except UnknownNameError as exc:
        raise UsageError(f"--as takes {', '.join(FORMS)}, or a view. {exc}") from None


def _show_any(made: Any) -> None:
    """Show what a view rendered: text is printed, a MIME bundle and everything else displayed."""
    from IPython.display import display

    if isinstance(made, str):
        print(made)
    else:
        display(made, raw=isinstance(made, dict) and all("/" in str(key) for key in made))  # type: ignore[no-untyped-call]


def _show(made: Timeline, form: str) -> None:
    from IPython.display import display

    if form == "text":
        print(made.text)
    elif form == "frame":
        display(made.frame())  # type: ignore[no-untyped-call]
    else:
        bundle = made.figure_bundle() if form == "figure" else made.bundle()
        display(bundle, raw=True)  # type: ignore[no-untyped-call]
