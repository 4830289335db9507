"""The tools every agent may get besides its own: `more` reads on in a cut result, `list_variables` names variables."""

from __future__ import annotations

import hashlib
import inspect
import threading
import types
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from hermes_nb.errors import ToolRetry
from hermes_nb.model.mask import Masker
from hermes_nb.tools.rendering.description import summary
from hermes_nb.tools.rendering.result import MAX_CHARS, render
from hermes_nb.tools.rendering.shape import Group, shape_of
from hermes_nb.tools.secret import environment_masker

if TYPE_CHECKING:
    from hermes_nb.tools.decorator import Tool

MAX_RESULTS = 64
MAX_VARIABLES = 100
_NOT_THE_USERS = frozenset({"In", "Out", "exit", "quit", "get_ipython", "open"})


class ResultStore:
    """Keeps the last results that were cut, whole, by id. Any thread may call.

    A result is kept as the value it is, not as a copy: what the notebook changes in it afterwards, `more` reads changed.
    Ids follow from tool, arguments and content, so that a turn that is played again has the same ones.

    Args:
        max_results: How many are kept; the one unused for longest goes first.
    """

    def __init__(self, max_results: int = MAX_RESULTS) -> None:
        self._max_results = max_results
        self._values: OrderedDict[str, Any] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._values)

    def keep(self, tool_name: str, arguments: str, content: str, value: Any) -> str:
        """Keep a result; returns its id."""
        seed = "\0".join((tool_name, arguments, content)).encode("utf-8", "replace")
        result_id = "r" + hashlib.sha256(seed).hexdigest()[:8]
        with self._lock:
            self._values[result_id] = value
            self._values.move_to_end(result_id)
            while len(self._values) > self._max_results:
                self._values.popitem(last=False)
        return result_id

    def restore(self, result_id: str, value: Any) -> None:
        """Keep a result that another process cut, under the id it gave it."""
        with self._lock:
            self._values[result_id] = value
            while len(self._values) > self._max_results:
                self._values.popitem(last=False)

    @property
    def newest(self) -> tuple[str, Any] | None:
        """Id and value of what was kept last; None when nothing was."""
        with self._lock:
            return next(reversed(self._values.items()), None)

    def get(self, result_id: str) -> Any:
        """The whole value.

        Raises:
            LookupError: No result of that id is kept (any more).
        """
        with self._lock:
            if result_id not in self._values:
                known = ", ".join(reversed(self._values)) or "none"
                raise LookupError(f"No result {result_id!r} is kept (any more). Kept: {known}. Call its tool again.")
            self._values.move_to_end(result_id)
            return self._values[result_id]

    def read(
        self, result_id: str, *, offset: int = 0, path: str = "", max_chars: int = MAX_CHARS, masker: Masker | None = None
    ) -> str:
        """The part of a result that starts at `offset`, as the model reads it.

        Args:
            result_id: Its id.
            offset: First character, element, row or key; a negative one counts from the end.
            path: Where in the result, e.g. `/rows/3/text`; "" for the whole.
            max_chars: Most characters.
            masker: Secrets to take out; None for those of the environment.

        Raises:
            LookupError: No such result, nothing at that path, or the offset lies behind the end.
        """
        value = _at(self.get(result_id), path)
        length = _length(value)
        start = offset + length if offset < 0 else offset
        if start < 0 or (start >= length and start > 0):
            raise LookupError(f"Offset {offset:,} lies outside: result {result_id!r}{path} has length {length:,}.")
        masker = masker or environment_masker()
        return render(value, max_chars=max_chars, offset=start, path=path, result_id=result_id, masker=masker).content


def _at(value: Any, path: str) -> Any:
    for step in path.split("/")[1:] if path else ():
        key, shape = step.replace("~1", "/").replace("~0", "~"), shape_of(value)
        found = None
        if isinstance(shape, Group) and shape.is_object:
            found = next((pair for pair in shape.start_at(0) if pair[0] == key), None)
        elif isinstance(shape, Group) and key.isdecimal() and int(key) < shape.length:
            found = next(iter(shape.start_at(int(key))), None)
        if found is None:
            raise LookupError(f"The result has nothing at path {path!r}: {key!r} is not there.")
        value = found[1]
    return value


def _length(value: Any) -> int:
    """What offsets count in: characters, elements, rows or keys; 1 for a scalar."""
    shape = shape_of(value)
    if isinstance(shape, Group):
        if shape.main:
            return _length(next(child for key, child in shape.start_at(0) if key == shape.main))
        return shape.length
    return len(getattr(shape, "text", "x"))


def more_tool(store: ResultStore, *, max_result_chars: int = MAX_CHARS) -> Tool:
    """The tool `more(result_id, offset, path)`, which reads on where a result was cut.

    Args:
        store: Where the results are; one per agent, so that agents do not read each other's.
        max_result_chars: Most characters of one answer.
    """
    from hermes_nb.tools.decorator import Tool

    def more(result_id: str, offset: int = 0, path: str = "") -> str:
        """Read on in a tool result that was cut, as its last sentence says.

        Args:
            result_id: The id named there.
            offset: The offset named there; a negative one counts from the end.
            path: The path named there, if any.
        """
        try:
            return store.read(result_id, offset=offset, path=path, max_chars=max_result_chars)
        except LookupError as exc:
            raise ToolRetry(str(exc)) from exc

    return Tool.from_function(more, idempotent=True, max_result_chars=max_result_chars)


def list_variables_tool(namespace: Mapping[str, Any] | Callable[[], Mapping[str, Any]]) -> Tool:
    """The tool `list_variables(type)`, which names the notebook's variables that fit.

    Args:
        namespace: The variables, or what gives them at each call.
    """
    from hermes_nb.tools.decorator import Tool

    def list_variables(type: str = "") -> dict[str, str]:
        """Names of the notebook's variables, each with what it is.

        Args:
            type: Only variables of this type or a subclass of it, e.g. `DataFrame`; empty for all data.
        """
        held = namespace() if callable(namespace) else namespace
        return variables(held, type)

    return Tool.from_function(list_variables, idempotent=True)


def variables(namespace: Mapping[str, Any], wanted: str = "") -> dict[str, str]:
    """Name -> what it is, of the user's variables: those of a class named `wanted` (any case, with or without its
    package), or, for "", all that hold data. Sorted by name, 100 at most; the key `...` then says how many more.

    Names with a leading underscore and IPython's own are left out; so are modules, functions and classes when nothing
    is `wanted`.
    """
    names = sorted(n for n, v in list(namespace.items()) if _is_users(n, v, namespace) and _is_wanted(v, wanted))
    shown = {name: summary(namespace[name], name=name) for name in names[:MAX_VARIABLES] if name in namespace}
    if len(names) > MAX_VARIABLES:
        shown["..."] = f"{len(names) - MAX_VARIABLES:,} more variables; ask for one type"
    return shown


def _is_users(name: str, value: Any, namespace: Mapping[str, Any]) -> bool:
    return isinstance(name, str) and not name.startswith("_") and not (name in _NOT_THE_USERS and "In" in namespace)


def _is_wanted(value: Any, wanted: str) -> bool:
    if not wanted:
        return not (isinstance(value, (types.ModuleType, type)) or inspect.isroutine(value))
    name = wanted.rpartition(".")[2].lower()
    return any(cls.__name__.lower() == name for cls in type(value).__mro__ if cls is not object)
