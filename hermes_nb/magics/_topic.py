"""What `%hermes help NAME` and `hermes_nb.help(NAME)` explain: a sub-command, a public name or an error."""

from __future__ import annotations

import contextlib
import inspect

from hermes_nb import errors
from hermes_nb._near import near
from hermes_nb._version import REPOSITORY
from hermes_nb._window import EXPORTS
from hermes_nb.errors import UsageError
from hermes_nb.magics import _subcommand

PAGES = f"https://github.com/{REPOSITORY}/blob/main/docs"


def error_names() -> list[str]:
    """Names of the exceptions of this package, sorted."""
    return sorted(name for name, value in vars(errors).items() if inspect.isclass(value) and issubclass(value, Exception))


def public_names() -> list[str]:
    """Names that `hermes_nb` exports, sorted."""
    return sorted(name for names in EXPORTS.values() for name in names)


def explain(topic: str) -> str:
    """The text of a topic, with the page that has more.

    Args:
        topic: A sub-command (`run`), a public name (`Agent`) or an error (`ToolRetry`); `%hermes ` before it is left out.

    Raises:
        UsageError: There is none of that name; the message names the nearest.
    """
    from hermes_nb.magics.subcommands.help import details

    name = topic.strip().removeprefix("%").removeprefix("%").removeprefix("hermes ").strip()
    with contextlib.suppress(UsageError):
        return details(name)
    if name in error_names():
        return f"{name}: {inspect.getdoc(getattr(errors, name))}\n\nRead on: {PAGES}/reference/errors.md#{name.lower()}"
    if name in public_names():
        import hermes_nb

        text = inspect.getdoc(getattr(hermes_nb, name)) or ""
        return f"{name}\n\n{text}\n\nRead on: {PAGES}/reference/python.md"
    known = [*_subcommand.names(), *public_names(), *error_names()]
    raise UsageError(f"There is no help on {topic!r}.{near(name, known)} %hermes help lists what there is.")
