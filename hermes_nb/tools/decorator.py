"""`Tool` and `tool`: a function of the notebook that a model may call, and that still is the function.

What the schema looks like is `schema`'s business, what a name may be `name`'s, how a call runs `call`'s.
"""

from __future__ import annotations

import copy
import functools
import inspect
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any, overload

from hermes_nb._near import refuse_options, suggesting_call
from hermes_nb.errors import ToolDefinitionError
from hermes_nb.model.toolspec import ToolSpec
from hermes_nb.tools import name as names
from hermes_nb.tools.form import shape
from hermes_nb.tools.reload import reannotate
from hermes_nb.tools.schema.annotation import Signature, read_signature
from hermes_nb.tools.source import display_name, documentation, flyte_task, innermost, is_method, speaker

if TYPE_CHECKING:
    from pydantic import BaseModel

    from hermes_nb.tools.schema.definition import Compiled

_ASSIGNED = tuple(a for a in functools.WRAPPER_ASSIGNMENTS if a != "__doc__")

Approval = bool | Callable[[dict[str, Any]], bool]


@dataclass(eq=False, repr=False)
class Tool:
    """A function a model may call.

    It behaves as the function: calling, awaiting, `help()`, `inspect.signature`, pickling, access as a method.

    Args:
        function: The callable that runs.
        name: What the model calls it.
        description: What the model reads about it.
        arguments: The arguments as a pydantic model.
        approval: True asks before each call; a predicate on the arguments asks where it is true.
        parallel: Whether a synchronous function may run in a thread, beside others.
        idempotent: Whether it may run again after a crash left its result unknown.
        timeout_s: Seconds until a call is given up; None for no limit.
        max_result_chars: Most characters of a result that go to the model.
        remote: What runs in its place on Flyte; a task given as a tool is its own.
    """

    function: Callable[..., Any]
    name: str
    description: str
    arguments: type[BaseModel]
    _: KW_ONLY
    approval: Approval = False
    parallel: bool = False
    idempotent: bool = False
    timeout_s: float | None = None
    max_result_chars: int = 20_000
    remote: Any = None
    _compiled: Compiled | None = field(default=None)
    _binds: str = ""  # "instance" or "class": a function of a class body, still to be bound
    _describes: bool = False  # the description was given, and is not the docstring's
    _derived: tuple[str, ...] = ()  # the options that were given when it was made of another tool
    _shape: Any = None  # what name, description and schema were read from, by value

    def __post_init__(self) -> None:
        names.check(self.name, module=str(getattr(self.function, "__module__", "")))
        if self.timeout_s is not None and not self.timeout_s > 0:
            raise ToolDefinitionError(f"Tool {self.name!r}: timeout_s must be more than 0, not {self.timeout_s!r}.")
        if self.max_result_chars < 1:
            raise ToolDefinitionError(f"Tool {self.name!r}: max_result_chars must be 1 or more.")
        if self._compiled is None:
            from hermes_nb.tools.schema.definition import adopt

            self._compiled = adopt(self.name, self.arguments)
        self._resemble()

    def _resemble(self) -> None:
        source = speaker(self.function)
        functools.update_wrapper(self, source, assigned=_ASSIGNED, updated=())
        self.__name__ = display_name(source)
        self.__qualname__ = getattr(source, "__qualname__", self.__name__)
        object.__setattr__(self, "__doc__", documentation(source))

    @classmethod
    def from_function(cls, function: Callable[..., Any], **options: Any) -> Tool:
        """The tool of a callable; options as for `tool`.

        Raises:
            ToolDefinitionError: No schema can describe it; names parameter, annotation and cure.
            ToolNameError: Its name is malformed or Hermes's own.
            TypeError: An option is unknown.
        """
        refuse_options("Tool.from_function", options, _DEFAULTS)
        return _make(function, options, sys._getframe(1))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """What the function returns; for a coroutine function, an awaitable."""
        return self.function(*args, **kwargs)

    def __get__(self, instance: Any, owner: type | None = None) -> Tool:
        """The tool bound to an instance, if it is a method; a tool that is none stays itself."""
        subject = owner if self._binds == "class" else instance
        if not self._binds or subject is None:
            return self
        bound = copy.copy(self)
        bound.function = types.MethodType(self.function, subject)
        bound._binds = ""
        bound.__wrapped__ = bound.function
        return bound

    @property
    def __code__(self) -> types.CodeType:
        """The function's code. A line profiler replaces it to find its calls, and that has to reach the function."""
        code: types.CodeType = self.function.__code__
        return code

    @__code__.setter
    def __code__(self, code: types.CodeType) -> None:
        getattr(self.function, "__func__", self.function).__code__ = code

    def __setattr__(self, attribute: str, value: Any) -> None:
        """Set an attribute. `%autoreload` takes what has a `__code__` for a function and sets what a function has, last
        `__dict__`: that reaches the function, and the `__dict__` of a new tool makes this one that tool."""
        if attribute in ("__defaults__", "__kwdefaults__", "__doc__", "__annotations__"):
            function = getattr(self.function, "__func__", self.function)
            if isinstance(function, types.FunctionType):
                setattr(function, attribute, value)
            if not attribute.endswith("defaults__"):
                object.__setattr__(self, attribute, value)
        elif attribute != "__dict__":
            object.__setattr__(self, attribute, value)
        elif "function" in value and "_compiled" in value:
            own, kept = self.__dict__, dict(value)
            own.clear()
            own.update(kept)

    def renew(self) -> bool:
        """Read name, description and schema anew where the function was changed in place; whether it was.

        Raises:
            ToolDefinitionError: No schema can describe it now; the tool is as it was.
        """
        if self._shape is None or self._binds or shape(self.function) == self._shape:
            return False
        function: Any = self.function
        reannotate(getattr(function, "__func__", function))
        own = {f.name for f in fields(self) if f.kw_only and f.name[0] != "_"} | {"name"}
        own |= {"description"} if self._describes else set()
        made = _compile(self.function, {name: getattr(self, name) for name in own}, "", sys._getframe(1))
        self.__dict__.update(made.__dict__)
        return True

    def __getattr__(self, attribute: str) -> Any:
        function = self.__dict__.get("function")
        if function is None:  # while unpickling or copying
            raise AttributeError(attribute)
        if attribute == "arguments":  # after unpickling
            from hermes_nb.tools.schema.definition import compile_signature

            self.arguments = compile_signature(self.name, Signature(self._schema.signature, {}), {}).model  # type: ignore[assignment]
            return self.arguments
        return getattr(function, attribute)

    def __copy__(self) -> Tool:
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> Tool:
        return self  # as functions do

    def __reduce_ex__(self, protocol: Any) -> Any:
        """By name where the name finds this tool, as functions do; by value for cloudpickle in a notebook."""
        module, qualname = self.__module__, self.__qualname__
        pickler = sys._getframe(1).f_globals  # cloudpickle's `dump` calls the pickler, which calls this
        is_cloudpickle = str(pickler.get("__name__")).rpartition(".")[2] == "cloudpickle"
        is_by_value = is_cloudpickle and _is_by_value(module, pickler)
        if not is_by_value and _find(module, qualname) is self:
            return qualname
        options = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in ("arguments", "_compiled", "_shape")}
        return _rebuild, (options, self._schema.frozen(whole=is_cloudpickle))

    def __repr__(self) -> str:
        try:
            shown = str(inspect.signature(speaker(self.function)))
        except (ValueError, TypeError):
            shown = "(...)"
        return f"<Tool {self.name}{shown}>"

    @property
    def is_async(self) -> bool:
        """Whether calling gives an awaitable; also for a wrapper (`functools.wraps`) around a coroutine function."""
        source = speaker(self.function)
        return inspect.iscoroutinefunction(source) or inspect.iscoroutinefunction(innermost(source))

    @property
    def parameters(self) -> dict[str, Any]:
        """JSON schema (draft 2020-12) of the arguments; a copy."""
        return copy.deepcopy(self._schema.parameters)

    @property
    def variable_parameters(self) -> dict[str, Any]:
        """Parameters that take the name of a notebook variable, with the type (or tuple of types) it must have."""
        return dict(self._schema.variables)

    @property
    def _schema(self) -> Compiled:
        assert self._compiled is not None
        return self._compiled

    def spec(self) -> ToolSpec:
        """What the worker is told."""
        return ToolSpec(
            name=self.name,
            description=self.description,
            parameters=self.parameters,
            is_async=self.is_async,
            parallel=self.parallel,
            idempotent=self.idempotent,
            needs_approval=bool(self.approval),
            timeout_s=self.timeout_s,
            max_result_chars=self.max_result_chars,
        )

    def definition(self) -> dict[str, Any]:
        """`{"name", "description", "parameters"}`, as Hermes's registry takes it."""
        return self.spec().definition()

    def build(
        self, arguments: Mapping[str, Any] | str, namespace: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Positional and keyword arguments for the function, validated and built.

        An argument that was left out is left out here, too: the function's own default applies.

        Args:
            arguments: A JSON object as text, or a mapping.
            namespace: The notebook's variables, for parameters that name one.

        Raises:
            ToolArgumentError: Names each wrong field, what was got and what is wanted. The function did not run.
        """
        from hermes_nb.tools.argument import build

        return build(self.name, self._schema, arguments, namespace)

    async def invoke(self, arguments: Mapping[str, Any] | str, namespace: Mapping[str, Any] | None = None) -> Any:
        """What the function returns for these arguments, awaited where there is something to await."""
        args, kwargs = self.build(arguments, namespace)
        result = self.function(*args, **kwargs)
        return await result if inspect.isawaitable(result) else result


@overload
def tool(
    func: None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Approval = False,
    parallel: bool = False,
    idempotent: bool = False,
    timeout_s: float | None = None,
    max_result_chars: int = 20_000,
    remote: Any = None,
) -> Callable[[Callable[..., Any]], Tool]: ...


@overload
def tool(
    func: Callable[..., Any],
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Approval = False,
    parallel: bool = False,
    idempotent: bool = False,
    timeout_s: float | None = None,
    max_result_chars: int = 20_000,
    remote: Any = None,
) -> Tool: ...


@suggesting_call
def tool(
    func: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    approval: Approval = False,
    parallel: bool = False,
    idempotent: bool = False,
    timeout_s: float | None = None,
    max_result_chars: int = 20_000,
    remote: Any = None,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A `Tool` of a function: as `@tool`, `@tool(approval=True)` or `tool(function)`.

    The schema comes from annotations and docstring. Where both describe a parameter, `Annotated[int, "text"]` and
    pydantic's `Field(description=...)` win over the docstring. What `functools.partial` bound is hidden from the model,
    and so is `**kwargs` without a type; `**kwargs: T` is one object, `*args` is refused. Bytes come in base64. A
    parameter of a type JSON can't carry (a DataFrame, an array, a class of the notebook) takes the name of a variable.

    Args:
        func: Any callable: function, method, partial, object with `__call__`, class, Flyte task. Also a `Tool`: a new
            one then, with the options that are given.
        name: What the model calls it; None for the function's own name.
        description: What the model reads; None for the docstring without its sections.
        approval: True asks before each call; a predicate on the arguments (a dict, as the function gets them, defaults
            included) asks where it is true or raises.
        parallel: Whether a synchronous function may run in a thread, beside others.
        idempotent: Whether it may run again after a crash left its result unknown.
        timeout_s: Seconds until a call is given up; None for no limit.
        max_result_chars: Most characters of a result that go to the model.
        remote: What runs in its place on Flyte; None for the function itself, or for the task that was given.

    Raises:
        ToolDefinitionError: No schema can describe a parameter; names it, its annotation and the cure.
        ToolNameError: The name is malformed or Hermes's own.
    """
    options = {
        "name": name,
        "description": description,
        "approval": approval,
        "parallel": parallel,
        "idempotent": idempotent,
        "timeout_s": timeout_s,
        "max_result_chars": max_result_chars,
        "remote": remote,
    }
    given = {option: value for option, value in options.items() if value is not _DEFAULTS[option]}
    if func is not None:
        return _make(func, given, sys._getframe(2))  # past `suggesting_call`
    return lambda function: _make(function, given, sys._getframe(1))


_DEFAULTS: dict[str, Any] = {
    "name": None,
    "description": None,
    **{f.name: f.default for f in fields(Tool) if f.kw_only and not f.name.startswith("_")},
}


def as_tool(function: Callable[..., Any] | Tool) -> Tool:
    """The tool itself, or the tool of a function.

    Raises:
        ToolDefinitionError: No schema can describe it, or it is a method that is not bound.
        ToolNameError: Its name is malformed or Hermes's own.
    """
    made = _make(function, {}, sys._getframe(1))
    if made._binds:
        owner = made.__qualname__.rpartition(".")[0]
        raise ToolDefinitionError(
            f"Tool {made.name!r} is a method without its object. Give the bound one: {owner}(...).{made.__name__}."
        )
    return made


def _make(function: Any, options: dict[str, Any], frame: types.FrameType) -> Tool:
    if isinstance(function, Tool):
        if not options:
            return function
        describes = function._describes or "description" in options
        return replace(function, **options, _describes=describes, _derived=(*function._derived, *options))
    if inspect.ismethod(function) and isinstance(inner := function.__func__, Tool):  # @classmethod over @tool
        bound = replace(inner, _binds="instance").__get__(function.__self__)
        return _make(bound, options, frame)
    binds = "class" if isinstance(function, classmethod) else ""
    if isinstance(function, (classmethod, staticmethod)):
        function = function.__func__
    elif is_method(function):
        binds = "instance"
    task = flyte_task(function)
    if task is not None:
        options = {"remote": task, **options}
        function = task
    if not callable(function):
        raise ToolDefinitionError(f"A tool is made of something callable; {type(function).__name__} is not.")
    return _compile(function, options, binds, frame)


def _compile(function: Any, options: dict[str, Any], binds: str, frame: types.FrameType) -> Tool:
    from hermes_nb.tools.schema.definition import compile_signature
    from hermes_nb.tools.schema.docstring import parse

    options = dict(options)
    source = speaker(function)
    name = options.pop("name", None)
    module = str(getattr(function, "__module__", ""))
    name = names.check(display_name(source) if name is None else name, module=module)
    if inspect.isasyncgenfunction(innermost(source)):
        raise ToolDefinitionError(f"Tool {name!r} is an async generator. Collect what it yields and return a list.")
    signature = read_signature(source, name=name, frame=frame, skip_first=bool(binds))
    parsed = parse(documentation(source), [p.name for p in signature.parameters])
    compiled = compile_signature(name, signature, parsed.parameters)
    description = options.pop("description", None)
    return Tool(
        function,
        name,
        parsed.description if description is None else description,
        compiled.model,  # type: ignore[arg-type]
        _compiled=compiled,
        _binds=binds,
        _describes=description is not None,
        _shape=shape(function),
        **options,
    )


def _find(module: str, qualname: str) -> Any:
    found: Any = sys.modules.get(module)
    for part in qualname.split("."):
        found = getattr(found, part, None)
    return found


def _is_by_value(module: str, pickler: Mapping[str, Any]) -> bool:
    """Whether cloudpickle would take a function of that module by value."""
    registry = pickler.get("list_registry_pickle_by_value")
    by_value = {"__main__", *(registry() if registry else ())}
    parts = module.split(".")
    return any(".".join(parts[: n + 1]) in by_value for n in range(len(parts)))


def _rebuild(options: dict[str, Any], state: dict[str, Any]) -> Tool:
    from hermes_nb.tools.schema.definition import thawed

    compiled = thawed(options["name"], state)
    made = object.__new__(Tool)
    made.__dict__ |= options | {"_compiled": compiled}
    if compiled.model is not None:
        made.arguments = compiled.model
    made._resemble()
    return made
