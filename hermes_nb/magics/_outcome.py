"""How an error ends a cell: a user's mistake as a usage error, everything else of ours as one line.

Both end the cell as an error for Run All and nbconvert. What is not a HermesNbError is a defect and keeps its traceback.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from hermes_nb.errors import HermesNbError, UnknownNameError, UsageError
from hermes_nb.model.place import shortened


def in_one_line(error: BaseException) -> BaseException:
    """The error, which IPython then shows as `Name: message` instead of a traceback."""
    text = shortened(str(error))  # it is saved with the notebook
    if error.args[:1] == (str(error),) and text != str(error):
        error.args = (text, *error.args[1:])
    lines = [f"{type(error).__name__}: {text}"]
    # IPython asks a raised object for this, ipykernel publishes what it returns.
    error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]
    error.__cause__ = error.__context__ = error.__traceback__ = None
    return error


def interrupted(message: str) -> BaseException:
    """A KeyboardInterrupt shown in one line."""
    return in_one_line(KeyboardInterrupt(message))


@contextmanager
def translated() -> Iterator[None]:
    """Errors of this package leave as IPython's UsageError (a mistake) or in one line (a failure)."""
    error: BaseException | None = None
    try:
        yield
    except (UsageError, UnknownNameError) as exc:
        from IPython.core.error import UsageError as ShellUsageError

        error = ShellUsageError(shortened(str(exc)))
    except HermesNbError as exc:
        error = in_one_line(exc)
    if error is not None:
        # Raised outside the handler: a context that holds an exception group makes IPython print a traceback.
        raise error
