"""What a promotion consists of, made in one go and looked at before anything is sent: spec, bundle, findings."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

from hermes_nb.errors import MissingPackageError
from hermes_nb.flyte.promotion import bundle as bundles
from hermes_nb.flyte.promotion.bundle import Bundle
from hermes_nb.flyte.promotion.dependency_scan import Taken, held, is_of_notebook, site_of, taken_by
from hermes_nb.flyte.promotion.finding import Finding, Site
from hermes_nb.flyte.promotion.spec import INLINE, Spec, how, secret_names, spec_of
from hermes_nb.model.agent import OFFLINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.flyte.config import FlyteConfig
    from hermes_nb.flyte.task.held import Held
    from hermes_nb.tools.decorator import Tool

_IN_IMAGE = frozenset({"hermes-agent", "flyte", "flyteplugins-agents-hermes", "pydantic", "hermes-nb", "cloudpickle"})

_IMPOSSIBLE = frozenset({"unpicklable", "package"})  # allowed or not, it would fail

_DEPTH, _N_PARTS = 6, 200  # how far the part of a value is looked for that can't be pickled


@dataclass
class Plan:
    """A promotion, ready to be looked at and submitted.

    Attributes:
        bound: The agent.
        config: Where and how it will run.
        spec: The agent as data.
        bundle: What travels.
        tools: Its tools by name, as they are now.
        taken: What each takes along.
        pickles: The pickle of each tool by name, as far as there is one.
        findings: What is known to stand in the way.
    """

    bound: BoundAgent
    config: FlyteConfig
    spec: Spec
    bundle: Bundle
    tools: dict[str, Tool]
    taken: dict[str, Taken]
    pickles: dict[str, bytes]
    findings: list[Finding] = field(default_factory=list)

    @property
    def fatal(self) -> list[Finding]:
        """The findings that stop it, those the user allowed left out."""
        return [f for f in self.findings if f.is_fatal and (f.code in _IMPOSSIBLE or f.code not in self.config.allow)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data for a widget.

        Returns: agent, mode, model (id, provider, base_url), retries, versions, secrets (variable to name), size_bytes,
            packages, local_modules, tools ([{name, how}]), findings (`Finding.to_dict`; one the user allowed is a `note`),
            may_submit.
        """
        spec, fatal = self.spec, self.fatal
        return {
            "agent": spec.agent,
            "mode": self.config.mode,
            "model": dict(spec.model),
            "retries": self.config.retries,
            "versions": dict(spec.versions),
            "secrets": dict(spec.secrets),
            "size_bytes": self.bundle.size_bytes,
            "packages": list(spec.packages),
            "local_modules": list(spec.local_modules),
            "tools": [{"name": t["name"], "how": t["how"]} for t in spec.tools],
            "findings": [f.to_dict() | {"severity": "stops" if f in fatal else "note"} for f in self.findings],
            "may_submit": not fatal,
        }

    def task(self, held: Mapping[str, Held] | None = None) -> Any:
        """The task that runs a turn; `held` are the large pickles that were uploaded before (see `upload`)."""
        from hermes_nb.flyte.task.definition import build

        return build(self.spec, self.bundle, self.tools, self.config, held)

    async def upload(self, place: tuple[str, ...]) -> dict[str, Held]:
        """Upload each large pickle that this process has not sent to that place yet; by tool, "" for those in the turn."""
        from hermes_nb.flyte.task.held import LEAST_BYTES, uploaded

        pickles = {**self.bundle.tools, "": self.bundle.inline}
        return {name: await uploaded(data, place) for name, data in pickles.items() if len(data) >= LEAST_BYTES}


def plan_of(bound: BoundAgent, config: FlyteConfig) -> Plan:
    """The plan of a bound agent, without the checks that need the network (see `preflight`)."""
    tools = {t.name: t for t in bound.tools}
    taken = {name: taken_by(tool) for name, tool in tools.items()}
    findings: list[Finding] = []
    pickles: dict[str, bytes] = {}
    shared: list[Tool] = []
    for name, tool in tools.items():
        shipped = _shipped(tool)
        try:
            pickles[name] = bundles.dumps(shipped)
        except MissingPackageError:
            raise
        except Exception as exc:  # noqa: BLE001 - whatever an object raises when it is pickled, it is a finding
            findings += _unpicklable(tool, taken[name], exc)
            continue
        if how(tool) != "child":
            shared.append(shipped)
    modules = set().union(*(bundles.named_modules(p) for p in pickles.values()), *(t.imports for t in taken.values()))
    needed = bundles.with_imports(modules - {"hermes_nb"})
    modules = needed.keys() - {"hermes_nb"}
    inline = bundles.dumps(shared) if shared else b""
    children = {name: data for name, data in pickles.items() if how(tools[name]) == "child"}
    bundle = bundles.pack(children, inline, modules, with_offline=bound.model.provider == OFFLINE)
    packages, missing = _packages(bundle.modules)
    findings += [_missing(name, tools, taken, needed.get(name, "")) for name in missing]
    spec = spec_of(
        bound,
        secrets=secret_names(config.secrets),
        packages=packages,
        local_modules=bundle.local_modules,
        memory_key=config.memory_key or "",
    )
    return Plan(bound, config, spec, bundle, tools, taken, pickles, findings)


def _shipped(tool: Tool) -> Tool:
    """The tool as it travels: without what only a notebook or Flyte itself needs."""
    function = tool.remote.func if how(tool) == "task" else tool.function
    return dataclasses.replace(tool, function=function, remote=None, approval=False)


def _unpicklable(tool: Tool, taken: Taken, error: Exception) -> Iterator[Finding]:
    found = False
    for name, value in taken.variables.items():
        if bundles.pickled(value) is not None:
            continue
        found = True
        if name == "get_ipython":
            yield Finding(
                "unpicklable",
                "It uses the notebook's shell (a line with ! or %, or get_ipython()), which stays here.",
                "Write it in Python: subprocess.run(...) for a command.",
                site_of(taken.users[name], tool.name),
                name,
            )
            continue
        path, culprit = _culprit(name, value)
        kind = f"{type(culprit).__module__}.{type(culprit).__qualname__}".removeprefix("builtins.")
        what = f"is a {kind}" if path == name else f"holds a {kind} ({path})"
        if kind.startswith("hermes_nb."):  # an agent, a session, a turn ...
            yield Finding(
                "unpicklable",
                f"Variable {name!r} {what.replace(kind, type(culprit).__name__)}, and agents of this notebook stay here:"
                " a tool that asks one can't be promoted.",
                "Promote the other agent by itself, and hand its answer over in the prompt of this one.",
                site_of(taken.users[name], tool.name),
                name,
            )
            continue
        yield Finding(
            "unpicklable",
            f"Variable {name!r} {what}, which can't leave this process.",
            "Make it inside the function, or keep what it is made of (a path, an address) in the variable.",
            site_of(taken.users[name], tool.name),
            name,
        )
    if not found:
        yield Finding(
            "unpicklable",
            f"It can't be pickled: {error}.",
            "Make what it holds inside the function.",
            site_of(tool.function, tool.name),
        )


def _culprit(name: str, value: Any) -> tuple[str, Any]:
    """What within a value can't be pickled, and where it is: `shop.db['main']`; the value itself where nothing within is."""
    path = name
    for _ in range(_DEPTH):
        if isinstance(value, dict):
            parts = [(f"{path}[{key!r}]", part) for key, part in list(value.items())[:_N_PARTS]]
        elif isinstance(value, list | tuple | set | frozenset):
            parts = [(f"{path}[{number}]", part) for number, part in enumerate(list(value)[:_N_PARTS])]
        elif not isinstance(value, type) and is_of_notebook(type(value)):
            parts = [(f"{path}.{key}", part) for key, part in dict(held(value, "__dict__") or {}).items()]
        else:
            break
        inner = next((part for part in parts if bundles.pickled(part[1]) is None), None)
        if inner is None:
            break
        path, value = inner
    return path, value


def _packages(modules: Sequence[str]) -> tuple[list[str], list[str]]:
    """(pinned distributions, modules that no distribution brings)."""
    pinned: set[str] = set()
    missing: list[str] = []
    for module in modules:
        names = _distributions(module)
        if not names:
            missing.append(module)
        names = [name for name in names if name.lower().replace("_", "-") not in _IN_IMAGE]
        pinned.update(f"{name}=={version(name)}" for name in names[:1])
    return sorted(pinned), missing


def _distributions(module: str) -> list[str]:
    """The distributions that bring a module; asked by its own name first, because looking through all takes a second."""
    with contextlib.suppress(PackageNotFoundError):
        version(module)
        return [module]
    return _by_module().get(module, [])


@functools.cache
def _by_module() -> dict[str, list[str]]:
    return {module: list(names) for module, names in packages_distributions().items()}


def _missing(module: str, tools: dict[str, Tool], taken: dict[str, Taken], file: str) -> Finding:
    name = next((n for n, t in taken.items() if module in t.imports), "")
    site = site_of(tools[name].function, name) if name else Site(text=f"Module {file}" if file else "")
    return Finding(
        "missing-module",
        f"Module {module!r} is neither a file of yours nor of an installed package.",
        "Install it here, or put it into an image of your own: Flyte(image=...).",
        site,
    )


__all__ = ["INLINE", "Finding", "Plan", "Site", "plan_of"]
