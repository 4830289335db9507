"""Preflight: everything that would go wrong remotely, found here, at once, before anything is uploaded."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hermes_nb.flyte import _sdk
from hermes_nb.flyte.promotion import bundle as bundles
from hermes_nb.flyte.promotion import package_file
from hermes_nb.flyte.promotion.dependency_scan import site_of
from hermes_nb.flyte.promotion.finding import Finding, Site
from hermes_nb.flyte.promotion.load_check import LoadCheck
from hermes_nb.flyte.promotion.plan import Plan, plan_of
from hermes_nb.flyte.promotion.secret_scan import leaks
from hermes_nb.flyte.promotion.spec import CUSTOM_KEY_VARIABLE, how, slug
from hermes_nb.flyte.promotion.submit import config_file, connect, known_endpoint
from hermes_nb.flyte.promotion.surroundings import surroundings
from hermes_nb.model.agent import OFFLINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.flyte.config import FlyteConfig
    from hermes_nb.tools.decorator import Tool

LARGE_BYTES, HUGE_BYTES = 10_000_000, 100_000_000
NOTED_BYTES = 100_000  # a variable smaller than this is not worth a line
REACH_S = 1.5
_LOOPBACK = re.compile(r"^(localhost|127\.\d+\.\d+\.\d+|::1|0\.0\.0\.0)$")
_PYTHON = re.compile(r"(?:py|python)[:-]?(3\.\d+)")


async def preflight(bound: BoundAgent, config: FlyteConfig | None = None) -> Plan:
    """The plan of a promotion with all findings; nothing is uploaded.

    Args:
        bound: The agent.
        config: Where it shall run; None means `Flyte()`.

    Returns: the plan; `plan.fatal` is empty when it may be submitted.

    Raises:
        MissingPackageError: Flyte or its adapter is not installed.
    """
    from hermes_nb.flyte.config import FlyteConfig

    config = config or FlyteConfig()
    with LoadCheck() as check:
        await asyncio.to_thread(_imported, config)
        plan = await asyncio.to_thread(checked, bound, config)
        reading = asyncio.to_thread(lambda: list(check.findings(plan)))
        unreadable, unreachable = await asyncio.gather(reading, reachable(config) if config.mode == "remote" else _nothing())
    plan.findings += [*unreadable, *unreachable]
    return plan


async def _nothing() -> list[Finding]:
    return []


def _imported(config: FlyteConfig) -> None:
    """Import what the checks need, which takes a second or two the first time and is nobody's silence."""
    _sdk.adapter()
    if config.mode == "remote":
        _sdk.sdk("flyte.remote")


def checked(bound: BoundAgent, config: FlyteConfig) -> Plan:
    """The plan with every finding that needs no network."""
    plan = plan_of(bound, config)
    # What is small as a whole has no variable worth a line, and is not pickled once more to see how much each takes.
    small = {name for name, data in plan.pickles.items() if len(data) < NOTED_BYTES}
    sizes = {name: {} if name in small else _sizes(taken.variables) for name, taken in plan.taken.items()}
    plan.findings += [*_tools(plan), *_variables(plan, sizes), *_written(plan), *leaks(plan)]
    plan.findings += [*_files_left(plan), *_size(plan, sizes), *surroundings(plan)]
    if config.mode == "remote":
        plan.findings += [*_model(plan), *_image(plan)]
    return plan


def _tools(plan: Plan) -> Iterator[Finding]:
    environments: dict[str, str] = {}
    for name, tool in plan.tools.items():
        site = site_of(tool.function, name)
        if tool.approval and not plan.config.yes:
            yield Finding(
                "approval",
                "It asks before each call, and nobody is there to answer.",
                "Promote with --yes (Flyte(yes=True)) to run it unasked, or give the agent a tool without approval.",
                site,
            )
        for parameter in tool.variable_parameters:
            yield Finding(
                "kernel-variable",
                f"Parameter {parameter!r} takes the name of a notebook variable, and there is no notebook.",
                "Give it a type that JSON carries, or read the data inside the function.",
                site,
                parameter,
            )
        short = slug(name) or "tool"
        if short in environments:
            yield Finding(
                "name-collision",
                f"Its environment would be named {short!r}, as that of tool {environments[short]!r}.",
                "Give one of them another name: @tool(name=...).",
                site,
            )
        environments[short] = name
    if plan.spec.toolsets and not plan.config.yes:
        yield Finding(
            "toolsets",
            f"Nobody answers when Hermes's own tools ask ({', '.join(plan.spec.toolsets)}); they are refused then.",
            "Promote with --yes to let them.",
            is_fatal=False,
        )


def _variables(plan: Plan, sizes: Mapping[str, Mapping[str, int]]) -> Iterator[Finding]:
    """What is shipped by value, with its size."""
    for name, taken in plan.taken.items():
        for variable, size in sizes[name].items():
            if size >= NOTED_BYTES:
                yield Finding(
                    "by-value",
                    f"Variable {variable!r} is shipped as it is now, {_size_text(size)}; later changes stay here.",
                    site=site_of(taken.users[variable], name),
                    variable=variable,
                    is_fatal=False,
                )


def _written(plan: Plan) -> Iterator[Finding]:
    """Variables that a tool means to change, and would change in a copy."""
    for name, taken in plan.taken.items():
        for variable, function in taken.written.items():
            yield Finding(
                "written",
                f"Variable {variable!r} is changed by the function (global); there it changes a copy, not the one here, and"
                " the next call may not see it.",
                "Return what the agent or you need, or keep it in a file or a bucket.",
                site=site_of(function, name),
                variable=variable,
                is_fatal=False,
            )


def _files_left(plan: Plan) -> Iterator[Finding]:
    for module in plan.spec.local_modules:
        files = bundles.data_files(module)
        if not files.left:
            continue
        left = [f"{place} ({why})" if why else place for place, why in files.left.items()]
        over = files.size_bytes > package_file.MAX_BYTES
        size, most = _size_text(files.size_bytes), _size_text(package_file.MAX_BYTES)
        reason = f"Its data files are {size}, and {most} would travel: " if over else ""
        yield Finding(
            "files-left",
            f"{reason}{', '.join(left[:3])}{f' and {len(left) - 3} more' if len(left) > 3 else ''}"
            f" of package {module!r} stay{'s' if len(left) == 1 else ''} here.",
            "Read them from a bucket there, or in the notebook, and give the function what it needs of them.",
            Site(text=f"Package {module}"),
            is_fatal=False,
        )


def _sizes(variables: dict[str, Any]) -> dict[str, int]:
    return {name: len(bundles.pickled(value) or b"") for name, value in variables.items()}


def _size(plan: Plan, sizes: Mapping[str, Mapping[str, int]]) -> Iterator[Finding]:
    size = plan.bundle.size_bytes
    if size < LARGE_BYTES:
        return
    biggest = sorted({k: v for of_tool in sizes.values() for k, v in of_tool.items()}.items(), key=lambda item: -item[1])[:3]
    names = ", ".join(f"{name} ({_size_text(n)})" for name, n in biggest) or "the functions themselves"
    is_huge = size >= HUGE_BYTES
    yield Finding(
        "size",
        f"{_size_text(size)} would be uploaded; the biggest variables: {names}.",
        "Read large data inside the function, from a file or a bucket."
        + ("" if is_huge else " It is sent with each run and loaded for each call."),
        variable=biggest[0][0] if biggest else "",
        is_fatal=is_huge,
    )


def _size_text(n_bytes: int) -> str:
    return f"{n_bytes / 1e6:.1f} MB" if n_bytes >= 1e6 else f"{n_bytes / 1e3:.0f} kB"


def _model(plan: Plan) -> Iterator[Finding]:
    model, spec = plan.bound.model, plan.spec
    if plan.bound.config.model is None and model.provider != OFFLINE:
        yield Finding(
            "no-model",
            f"The agent names no model; here {model.id} was chosen from the environment.",
            f"Name it: model={f'{model.provider}:{model.id}'!r}.",
        )
    elif plan.bound.config.model is None:
        yield Finding("no-model", "The agent names no model.", "Name one: model='provider:name', or model='offline'.")
    if model.base_url and _LOOPBACK.match(model.host):
        yield Finding(
            "loopback-model",
            f"The model's address {model.base_url} is this machine's own; a container finds nothing there.",
            "Give it an address the cluster can reach, or Flyte(allow=['loopback-model']) if the cluster is this machine.",
        )
    variable = spec.key_variable
    if variable and variable not in spec.secrets:
        who = f"Provider {model.provider!r}" if variable != CUSTOM_KEY_VARIABLE else "The model's endpoint"
        yield Finding(
            "no-secret",
            f"{who} needs its key in {variable}, and no secret of Flyte is named for it.",
            f"Store it once with `flyte create secret`, then Flyte(secrets={{{variable!r}: 'its-name'}}).",
        )


def _image(plan: Plan) -> Iterator[Finding]:
    here = plan.spec.versions["python"]
    images = [(plan.config.image, Site()), *((_own_image(t), site_of(t.function, n)) for n, t in plan.tools.items())]
    for image, site in images:
        if image is None:
            continue
        # The SDK fills `python_version` of an image that it does not make itself with the kernel's own.
        named = image if isinstance(image, str) else getattr(image, "base_image", None)
        match = _PYTHON.search(named) if isinstance(named, str) else None
        told = getattr(image, "python_version", None)
        there = ".".join(map(str, told[:2])) if isinstance(told, tuple) else here
        found = match[1] if match else there if there != here else None
        if found is None:
            yield Finding(
                "unknown-image",
                f"Which Python image {_image_name(image)} has can't be told from its name.",
                f"Make sure that it is {here}: another minor version crashes on what was pickled here.",
                site,
                is_fatal=False,
            )
        if found is not None and found != here:
            yield Finding(
                "python",
                f"The image has Python {found}, this kernel {here}: functions pickled by one crash the other.",
                f"Use an image with Python {here}, or a kernel with {found}.",
                site,
            )
    missing = [name for name in _sdk.PACKAGES if not plan.spec.versions[name]]
    for name in missing:
        yield Finding("package", f"{name} is not installed here.", "Run %pip install 'hermes-nb[flyte]'.")


def _image_name(image: Any) -> str:
    """What an image is made of, for people."""
    parts = [getattr(image, part, None) for part in ("base_image", "_ref_name", "dockerfile", "name")]
    return repr(image if isinstance(image, str) else next((str(part) for part in parts if part), "of your own"))


def _own_image(tool: Tool) -> Any:
    """The image that a tool's own options or environment name; None when it has the agent's."""
    if isinstance(tool.remote, Mapping):
        return tool.remote.get("image") or getattr(tool.remote.get("env"), "image", None)
    parent = tool.remote.parent_env() if how(tool) == "task" and callable(getattr(tool.remote, "parent_env", None)) else None
    image = getattr(parent, "image", None)
    return None if image == "auto" else image


async def reachable(config: FlyteConfig) -> list[Finding]:
    """What is wrong with the way to the control plane; [] when it answers."""
    try:
        await asyncio.wait_for(connect(config), REACH_S * 4)
    except TimeoutError:
        return [_silence(str(config.endpoint or config_file() or "the endpoint of flyte.init"), REACH_S * 4)]
    except ValueError as exc:
        return [Finding("endpoint", str(exc))]
    flyte, remote = _sdk.sdk(), _sdk.sdk("flyte.remote")
    try:
        project, domain = config.project or flyte.current_project(), config.domain or flyte.current_domain()
    except flyte.errors.InitializationError as exc:
        cure = "Pass Flyte(project=..., domain=...), or name them in flyte.init."
        return [Finding("project", str(exc).splitlines()[0], cure)]
    try:
        async with asyncio.timeout(REACH_S):
            domains = [d.id for d in (await remote.Project.get.aio(project)).pb2.domains]
    except TimeoutError:
        return [_silence(str(known_endpoint()), REACH_S)]
    except Exception as exc:  # noqa: BLE001 - whatever the client raises, the promotion can't start
        return _refusal(exc, str(project))
    if domains and domain not in domains:
        text = f"Project {project!r} has no domain {domain!r}."
        return [Finding("project", text, f"It has: {', '.join(domains)}.")]
    return []


def _silence(place: str, waited_s: float) -> Finding:
    return Finding("endpoint", f"Flyte at {place} did not answer within {waited_s:g} s.", "Check the endpoint and sign in.")


def _refusal(error: Exception, project: str) -> list[Finding]:
    code = str(getattr(getattr(error, "code", None), "value", ""))
    if code == "unimplemented":  # an older control plane does not tell of its projects; the submission will
        return []
    if code == "not_found":
        return [Finding("project", f"Project {project!r} was not found at {known_endpoint()}.", "Choose one that is there.")]
    text = f"Flyte at {known_endpoint()} can't be used: {code} {' '.join(str(error).split())[:300]}"
    if code in ("unauthenticated", "permission_denied"):
        return [Finding("credentials", text, "Check who you are signed in as, and sign in again.")]
    return [Finding("endpoint", text, "Check the endpoint.")]
