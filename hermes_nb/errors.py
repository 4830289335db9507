"""Every exception of hermes_nb.

Each derives from `HermesNbError` and from the builtin it resembles, so that both `except HermesNbError` and
`except LookupError` work. A message says what happened, to which named thing, and what to do next.

    HermesNbError
    ├── UsageError (ValueError)                  a call or a cell that can't be meant as written
    ├── MissingPackageError (ImportError)        an optional package is needed
    ├── UnsupportedPlatformError (OSError)       not a POSIX system
    ├── UnknownNameError (LookupError)           no agent, runtime, view, sub-command ... of that name
    │   ├── AgentNotFoundError
    │   └── SessionNotFoundError
    ├── ModelError (RuntimeError)                the model or its endpoint
    │   ├── ModelUnreachableError (ConnectionError)
    │   └── ModelAuthError (PermissionError)
    ├── ToolError (RuntimeError)
    │   ├── ToolDefinitionError (TypeError)      no schema can describe the function
    │   ├── ToolNameError (ValueError)           taken twice, or a name Hermes owns
    │   ├── ToolArgumentError (ValueError)       arguments the schema refuses
    │   ├── ToolRetry                            raised BY a tool: the model is told to try otherwise
    │   ├── LoopBlockedError                     an async tool whose loop the caller blocks
    │   └── NobodyThereError                     a tool asks a person where no cell runs to ask in
    ├── WorkerError (RuntimeError)
    │   ├── WorkerStartError
    │   ├── WorkerDiedError
    │   └── WireError (ValueError)               a message that is not of the protocol
    ├── StoreError (OSError)
    ├── ExportError (ConnectionError)            a collector did not take spans
    └── TurnError (RuntimeError)                 raised by `RunResult.raise_for_status()` alone
        ├── TurnFailedError
        │   ├── TurnBudgetError                  a budget is spent, or can't be kept
        │   └── TurnReplayError                  a recording does not hold what was asked
        ├── TurnStoppedError
        ├── TurnTimeoutError (TimeoutError)
        └── TurnUnfinishedError                  max_turns, awaiting_approval, needs_confirmation
"""


class HermesNbError(Exception):
    """Base of everything this package raises on purpose."""

    def _render_traceback_(self) -> list[str]:
        """The lines that IPython shows: without the frames of this package, which say nothing to who called it."""
        from hermes_nb._traceback import rendered

        return rendered(self)


class UsageError(HermesNbError, ValueError):
    """A call or a cell that can't be meant as written; shown without a traceback in a notebook."""


class MissingPackageError(HermesNbError, ImportError):
    """An optional package is needed; the message gives the pip line."""


class UnsupportedPlatformError(HermesNbError, OSError):
    """This operating system can't run the worker."""


class UnknownNameError(HermesNbError, LookupError):
    """Nothing of that name; the message lists the known ones."""


class AgentNotFoundError(UnknownNameError):
    """No agent of that name is bound."""


class SessionNotFoundError(UnknownNameError):
    """No session of that id or title is in the store."""


class ModelError(HermesNbError, RuntimeError):
    """The model, its name or its endpoint is at fault."""


class ModelUnreachableError(ModelError, ConnectionError):
    """The model's endpoint did not answer."""


class ModelAuthError(ModelError, PermissionError):
    """The model's endpoint refused the key, or no key was found."""


class ToolError(HermesNbError, RuntimeError):
    """Base of the errors about tools."""


class ToolDefinitionError(ToolError, TypeError):
    """No JSON schema can describe the function; names parameter, annotation and cure."""


class ToolNameError(ToolError, ValueError):
    """A tool name that is malformed, taken twice in one agent, or owned by Hermes."""


class ToolArgumentError(ToolError, ValueError):
    """The model's arguments don't fit the schema; the body did not run."""


class ToolRetry(ToolError):
    """Raise it in a tool to tell the model that it should try otherwise; the message is what the model reads."""


class LoopBlockedError(ToolError):
    """An async tool can't run because the caller blocks the event loop it belongs to."""


class NobodyThereError(ToolError):
    """A tool asked a person, by `input` or a debugger's prompt, and no cell runs in which one could answer."""


class WorkerError(HermesNbError, RuntimeError):
    """Base of the errors about the process that hosts Hermes."""


class WorkerStartError(WorkerError):
    """The worker did not come up; the message ends with the tail of its log."""


class EngineError(WorkerStartError):
    """No interpreter with a Hermes was found, and none could be made."""


class WorkerDiedError(WorkerError):
    """The worker ended while it was needed."""


class WireError(WorkerError, ValueError):
    """A message between kernel and worker that is not of the protocol."""


class StoreError(HermesNbError, OSError):
    """The store of sessions can't be read or written."""


class ExportError(HermesNbError, ConnectionError):
    """A collector of OpenTelemetry spans did not take them."""


class TurnError(HermesNbError, RuntimeError):
    """A turn did not complete. `RunResult.raise_for_status()` raises it; `result` holds what there is."""

    def __init__(self, message: str, result: object = None) -> None:
        super().__init__(message)
        self.result = result


class TurnFailedError(TurnError):
    """Status failed."""


class TurnBudgetError(TurnFailedError):
    """A budget is spent, or can't be kept because the model's price is not known."""


class TurnReplayError(TurnFailedError):
    """A recording does not hold what was asked; the message says what differs."""


class TurnStoppedError(TurnError):
    """Status stopped."""


class TurnTimeoutError(TurnError, TimeoutError):
    """Status timed_out."""


class TurnUnfinishedError(TurnError):
    """Status max_turns, awaiting_approval or needs_confirmation."""
