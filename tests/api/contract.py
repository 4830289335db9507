"""The published contract of agents and runtimes, as stubs, and how each of its statements is looked up in what is here."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import hermes_nb

STUBS = """
class Agent:
    name: str
    instructions: str = ""
    model: str | Model | None = None
    provider: str | None = None
    tools: Sequence[Tool | Callable[..., Any]] = ()
    profile_options: dict[str, Any] = {}
    session_options: dict[str, Any] = {}
    config: dict[str, Any] = field(default={}, kw_only=True)
    max_turns: int | None = field(default=None, kw_only=True)
    toolsets: Sequence[str] | None = field(default=None, kw_only=True)
    def profile(self) -> dict[str, Any]: ...

class BoundAgent(ProfileResource):
    def __init__(self, instance: Instance, config: Agent, profile_id: str): ...
    session_id: str | None = None
    @property
    def session(self) -> SessionResource: ...
    async def rpc(self, method: str, **params: Any) -> Any: ...
    async def new_session(self, *, title: str | None = None) -> str: ...
    async def open_session(self, session_id: str) -> SessionResource: ...
    async def add_tools(self, tools: Sequence[Tool | Callable[..., Any]]) -> BindingResource: ...
    async def remove_tools(self, binding_id: str) -> None: ...
    async def start(self, prompt: str | list[ContentPart], *, mode: Any = UNSET, tool_binding_ids: Any = UNSET,
        metadata: Any = UNSET, idempotency_key: Any = UNSET) -> TurnResource: ...
    async def run(self, prompt: str | list[ContentPart], *, timeout: float = 300, tool_binding_ids: Any = UNSET,
        metadata: Any = UNSET, idempotency_key: Any = UNSET) -> RunResult: ...

class Docker:
    image: str = "nousresearch/hermes-agent:latest"
    cpu: str = "1"
    memory: str = "2Gi"
    environment: dict[str, str] = field(default={}, repr=False)
    options: dict[str, Any] = {}
    def to_dict(self) -> dict[str, Any]: ...

class External:
    endpoint: str
    authorization: dict[str, str] = field(default={"scheme": "none"}, repr=False)
    options: dict[str, Any] = {}
    def to_dict(self) -> dict[str, Any]: ...

class Hermes(RootResource):
    def __init__(self, sdk: AsyncEdithHermes, *, runtime: Runtime | None = None, owner: dict[str, str] | None = None,
        tool_host: ToolHost | None = None): ...
    sdk: AsyncEdithHermes
    owner: dict[str, str] = {"tenantId": "local", "subjectId": "local-user"}
    @property
    def cloud(self) -> Any: ...
    @classmethod
    def remote(cls, base_url: str, *, token: str | None = None, runtime: Runtime | None = None,
        owner: dict[str, str] | None = None, tool_host: ToolHost | None = None, timeout: float = 30,
        max_retries: int = 2) -> Hermes: ...
    async def aclose(self) -> None: ...
    @classmethod
    def local(cls, *, runtime: Runtime | None = None, state: str = ".edith-hermes/state.db", cleanup: bool = True,
        tools_host: str | None = None, settings: Any = None) -> AsyncIterator[Hermes]: ...
    async def open_instance(self, instance_id: str) -> Instance: ...
    async def create_instance(self, name: str, *, agents: Sequence[Agent] = (), timeout: float = 300,
        runtime: Runtime | None = None, owner: dict[str, str] | None = None,
        options: dict[str, Any] | None = None) -> Instance: ...

class Instance(InstanceResource):
    def __init__(self, hermes: Hermes, instance_id: str): ...
    agents: dict[str, BoundAgent] = {}
    def agent(self, name: str) -> BoundAgent: ...
    async def add_agent(self, config: Agent, *, profile_id: str | None = None) -> BoundAgent: ...
    async def delete(self, *, retain_data: bool = UNSET) -> InstanceOperation: ...
    async def restart(self) -> None: ...

class Kubernetes:
    image: str
    namespace: str = "hermes-runtimes"
    cpu: str = "1"
    memory: str = "2Gi"
    options: dict[str, Any] = {}
    def to_dict(self) -> dict[str, Any]: ...

class Model:
    id: str
    provider: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)

class Process:
    executable: str = "hermes"
    options: dict[str, Any] = {}
    def to_dict(self) -> dict[str, Any]: ...

class RunResult:
    text: str
    status: str
    session_id: str
    turn_id: str
    raw: dict[str, Any] = field(repr=False)

class Runtime(Protocol):
    def to_dict(self) -> dict[str, Any]: ...

class Tool:
    function: Callable[..., Any] = field(repr=False)
    name: str
    description: str
    arguments: type[BaseModel] = field(repr=False)
    @classmethod
    def from_function(cls, function: Callable[..., Any]) -> Tool: ...
    def definition(self) -> dict[str, Any]: ...
    async def invoke(self, arguments: dict[str, Any]) -> Any: ...

class ToolHost:
    def __init__(self, base_url: str): ...
    base_url: str
    tools: dict[str, dict[str, Tool]] = {}
    app: FastAPI
    def register(self, tools: Sequence[Tool]) -> str: ...
    def unregister(self, callback_url: str) -> None: ...

def tool(function: Callable[..., Any]) -> Tool: ...
"""
DATACLASSES = ("Agent", "Docker", "External", "Kubernetes", "Model", "Process", "RunResult", "Tool")
REQUIRED, ABSENT = "required", "absent"


@dataclass(frozen=True)
class Statement:
    """One statement of the contract: what of, what it says, and what is so here."""

    name: str
    contract: str
    here: str


def statements(live: Mapping[str, Any]) -> Iterator[Statement]:
    """Every statement; those of a class that is not here are its absence alone.

    Args:
        live: An object of each class that has attributes of its own, by the class's name.
    """
    for node in ast.parse(STUBS).body:
        assert isinstance(node, ast.ClassDef | ast.FunctionDef)
        found = getattr(hermes_nb, node.name, None)
        yield Statement(node.name, "public", "public" if found is not None else ABSENT)
        if found is None:
            continue
        if isinstance(node, ast.FunctionDef):
            yield from _call(node.name, node, found)
            continue
        for base in node.bases:
            bases = [b.__name__ for b in found.__mro__]
            yield Statement(f"{node.name}: {ast.unparse(base)}", "base", "base" if ast.unparse(base) in bases else ABSENT)
        if node.name in DATACLASSES:
            yield from _dataclass(node, found)
        for member in node.body:
            yield from _member(node.name, member, found, live)


def _dataclass(node: ast.ClassDef, found: Any) -> Iterator[Statement]:
    here = {f.name: f for f in dataclasses.fields(found)}
    wanted = [m for m in node.body if isinstance(m, ast.AnnAssign)]
    names = [ast.unparse(m.target) for m in wanted]
    order = ", ".join(n for n in here if n in names)
    yield Statement(f"{node.name}: order", ", ".join(names), order)
    is_own = inspect.unwrap(found.__repr__).__code__.co_filename != "<string>"
    yield Statement(f"{node.name}: repr", "of a dataclass", "its own" if is_own else "of a dataclass")
    for member, name in zip(wanted, names, strict=True):
        default, repr_, kw_only = _field(member.value)
        if name not in here:
            yield Statement(f"{node.name}.{name}", default, ABSENT)
            continue
        is_hidden = not here[name].repr or is_own
        yield Statement(
            f"{node.name}.{name}",
            _words(default, kw_only, repr_),
            _words(_default(here[name]), here[name].kw_only, repr_ if is_hidden else True),
        )


def _words(default: str, kw_only: bool, shown: bool) -> str:
    return default + (", keyword-only" if kw_only else "") + ("" if shown else ", not in repr")


def _field(value: ast.expr | None) -> tuple[str, bool, bool]:
    if value is None:
        return REQUIRED, True, False
    if not isinstance(value, ast.Call):
        return _text(value), True, False
    given = {k.arg: k.value for k in value.keywords}
    default = _text(given["default"]) if "default" in given else REQUIRED
    return default, "repr" not in given, "kw_only" in given


def _text(value: ast.expr) -> str:
    return ast.unparse(value) if isinstance(value, ast.Name) else repr(ast.literal_eval(value))


def _default(field: Any) -> str:
    if field.default_factory is not dataclasses.MISSING:
        return repr(field.default_factory())
    return REQUIRED if field.default is dataclasses.MISSING else repr(field.default)


def _member(owner: str, member: ast.stmt, found: Any, live: Mapping[str, Any]) -> Iterator[Statement]:
    if isinstance(member, ast.AnnAssign):
        name = ast.unparse(member.target)
        if owner in DATACLASSES:
            return
        contract = REQUIRED if member.value is None else _text(member.value)
        has = hasattr(live[owner], name)
        here = REQUIRED if member.value is None else repr(getattr(live[owner], name, None))
        yield Statement(f"{owner}.{name}", contract, here if has else ABSENT)
        return
    assert isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef)
    if member.name == "__init__":
        yield from _call(owner, member, found)
        return
    name = f"{owner}.{member.name}"
    held = inspect.getattr_static(found, member.name, None)
    if held is None:
        yield Statement(name, "public", ABSENT)
        return
    is_property = isinstance(held, property)
    kind = "property" if any(ast.unparse(d) == "property" for d in member.decorator_list) else "method"
    yield Statement(name, kind, "property" if is_property else "method")
    if is_property:
        yield _returns(name, member, held.fget)
    else:
        yield from _call(name, member, getattr(found, member.name))


def _call(name: str, member: ast.FunctionDef | ast.AsyncFunctionDef, found: Any) -> Iterator[Statement]:
    if not isinstance(found, type):
        is_async = inspect.iscoroutinefunction(found)
        wanted = "awaited" if isinstance(member, ast.AsyncFunctionDef) else "called"
        yield Statement(f"{name}()", wanted, "awaited" if is_async else "called")
        yield _returns(name, member, found)
    here = inspect.signature(found).parameters
    arguments = member.args
    positional = [a for a in arguments.args if a.arg not in ("self", "cls")]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    for argument, default in zip(positional, [*defaults, *arguments.defaults], strict=True):
        yield _parameter(name, argument.arg, default, here, kw_only=False)
    for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield _parameter(name, argument.arg, default, here, kw_only=True)


def _parameter(
    of: str, name: str, default: ast.expr | None, here: Mapping[str, inspect.Parameter], *, kw_only: bool
) -> Statement:
    contract = _words(REQUIRED if default is None else _text(default), kw_only, True)
    if name not in here:
        return Statement(f"{of}({name})", contract, ABSENT)
    found = here[name]
    value = REQUIRED if found.default is inspect.Parameter.empty else repr(found.default)
    value = re.sub(r"^(\d+)\.0$", r"\1", value)
    return Statement(f"{of}({name})", contract, _words(value, found.kind is inspect.Parameter.KEYWORD_ONLY, True))


def _returns(name: str, member: ast.FunctionDef | ast.AsyncFunctionDef, found: Any) -> Statement:
    assert member.returns is not None
    annotation = getattr(inspect.unwrap(getattr(found, "__func__", found)), "__annotations__", {}).get("return")
    return Statement(f"{name} ->", ast.unparse(member.returns), str(annotation))
