"""The tasks of a promotion: one that runs the turn, one for each tool.

Their functions are made inside functions and use nothing but their own closure, which holds bytes and text: so they are
pickled by value, and can be unpickled where hermes_nb is not installed. The first thing they do is to put the shipped code
on the path.
"""

from __future__ import annotations

import zlib
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from hermes_nb._settings import DECLARED
from hermes_nb.errors import UsageError
from hermes_nb.flyte import _sdk
from hermes_nb.flyte.promotion.bundle import Bundle, digest, has_data
from hermes_nb.flyte.promotion.spec import Spec, slug
from hermes_nb.flyte.task.held import Held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.flyte.config import FlyteConfig
    from hermes_nb.tools.decorator import Tool

ENVIRONMENT = {"PYTHONHASHSEED": "0"}  # a pickled child is known again on a retry only when sets pickle alike
TURN = "turn"
_OPTIONS = ("retries", "cache", "timeout", "resources", "image", "env")


def build(
    spec: Spec, bundle: Bundle, tools: Mapping[str, Tool], config: FlyteConfig, held: Mapping[str, Held] | None = None
) -> Any:
    """The task that runs a turn of the agent; the tools' tasks are in its closure.

    Args:
        spec: The agent as data.
        bundle: What travels.
        tools: Its tools by name.
        config: Where and how it will run.
        held: Pickles that were uploaded before, by tool; "" for those of the tools that run inside the turn.

    Raises:
        UsageError: A tool's `remote` is none of: "inline", a task, a mapping of task options.
    """
    flyte = _sdk.sdk()
    image = config.image if config.image is not None else default_image(spec)
    secrets = [flyte.Secret(key=key, as_env_var=variable) for variable, key in spec.secrets.items()]
    held = held or {}
    environments: list[Any] = []
    declared = {DECLARED: ",".join(spec.secrets)} if spec.secrets else {}

    def environment(name: str, **over: Any) -> Any:
        made = flyte.TaskEnvironment(
            name,
            image=over.pop("image", None) or image,
            secrets=secrets or None,
            env_vars={**ENVIRONMENT, **declared, **config.env_vars},
            **over,
        )
        environments.append(made)
        return made

    children: dict[str, Any] = {}
    for shipped in spec.tools:
        name = str(shipped["name"])
        if shipped["how"] == "task":
            children[name] = tools[name].remote
        elif shipped["how"] == "child":
            options = _options(name, tools[name].remote)
            own = environment(
                f"{spec.environment_name}-{slug(name) or 'tool'}",
                **{k: options.pop(k) for k in ("resources", "image") if k in options},
            )
            options = {"retries": 0, "cache": config.cache, **options}
            n_retries = _n_retries(options["retries"])
            function = tool_function(bundle.code, digest(bundle.code), name, held.get(name) or bundle.tools[name], n_retries)
            children[name] = own.task(short_name=name, **options)(function)
    main = environment(spec.environment_name, resources=config.resources, depends_on=_depends_on(environments, children))
    code = bundle.turn_code
    function = turn_function(code, digest(code), spec.to_json(), held.get("") or bundle.inline, children)
    return main.task(report=True, retries=config.retries, short_name=spec.agent)(function)


def _options(name: str, remote: Any) -> dict[str, Any]:
    if remote is None:
        return {}
    if not isinstance(remote, Mapping) or set(remote) - set(_OPTIONS):
        raise UsageError(
            f"Tool {name!r} has remote={remote!r}. Use 'inline', a Flyte task, or a mapping with some of"
            f" {', '.join(_OPTIONS)}."
        )
    return dict(remote)


def _n_retries(retries: Any) -> int:
    return int(getattr(retries, "count", retries))


def _depends_on(environments: list[Any], children: Mapping[str, Any]) -> list[Any]:
    found = list(environments)
    for child in children.values():
        parent = child.parent_env() if callable(getattr(child, "parent_env", None)) else None
        if parent is not None and parent not in found:
            found.append(parent)
    return found


def default_image(spec: Spec) -> Any:
    """An image with what the notebook has: Python's minor version, hermes-agent, the adapter, and the tools' packages."""
    flyte = _sdk.sdk()
    major, minor = spec.versions["python"].split(".")
    pinned = [f"{name}=={spec.versions[name]}" for name in _sdk.PACKAGES if name != "flyte" and spec.versions[name]]
    image = flyte.Image.from_debian_base(python_version=(int(major), int(minor)), flyte_version=spec.versions["flyte"])
    return image.with_pip_packages(*pinned, *spec.packages)


def turn_function(
    code: bytes, name: str, spec: str, inline: bytes | Held, children: Mapping[str, Any]
) -> Callable[..., Any]:
    """The function of the turn's task; `name` names the code."""
    enter = _enter_function(code, name)
    children, data = dict(children), _data_function(inline)

    async def turn(prompt: str, request: str) -> str:
        import importlib

        enter()
        inside = importlib.import_module("hermes_nb.flyte.task.task_body")
        answer: str = await inside.run_turn(spec, await data(), children, prompt, request)
        return answer

    return turn


def tool_function(code: bytes, code_name: str, name: str, pickled: bytes | Held, n_retries: int) -> Callable[..., Any]:
    """The function of a tool's task: arguments and outcome are JSON, checked and built as in the notebook."""
    enter, data = _enter_function(code, code_name), _data_function(pickled)

    async def call(arguments: str) -> str:
        import importlib

        enter()
        call = importlib.import_module("hermes_nb.flyte.task.call")
        outcome: str = await call.run_tool(await data(), arguments, n_retries)
        return outcome

    call.__name__ = call.__qualname__ = name
    return call


def _data_function(data: bytes | Held) -> Callable[[], Awaitable[bytes]]:
    """What gives a task its pickle: from its closure, or from the object store; called once the code is on the path."""
    uri, sha256 = (data.uri, data.sha256) if isinstance(data, Held) else ("", "")
    packed = b"" if isinstance(data, Held) else _packed(data)

    async def held() -> bytes:
        import importlib
        import zlib

        if not uri:
            return zlib.decompress(packed)
        read: bytes = await importlib.import_module("hermes_nb.flyte.task.held").read(uri, sha256)
        return read

    return held


def _packed(data: bytes) -> bytes:
    """The data as a task's closure holds it.

    The SDK compresses a task as hard as it can, in the turn's pickle and again in the child's. What is compressed already
    costs it a twentieth of the time, and takes as much room.
    """
    return zlib.compress(data, 1)


def _enter_function(code: bytes, name: str) -> Callable[[], None]:
    """What puts the code on the path: as a zip, or as a folder where data files are to be read from it.

    Its place in the temporary folder can be guessed, and a local run may share that with other users: what another one has
    put there is not taken.
    """
    is_folder = has_data(code)

    def enter() -> None:
        import io
        import os
        import pathlib
        import shutil
        import sys
        import tempfile
        import zipfile

        def is_mine(there: pathlib.Path) -> bool:
            try:
                return there.lstat().st_uid == os.getuid() and not there.is_symlink()
            except OSError:
                return False

        stem = "hermes-nb-" + name
        if any(pathlib.Path(entry).name.startswith(stem) for entry in sys.path):
            return
        path = pathlib.Path(tempfile.gettempdir(), stem + ("" if is_folder else ".zip"))
        if not is_mine(path):
            draft = pathlib.Path(tempfile.mkdtemp(prefix=stem + "-"))
            if is_folder:
                zipfile.ZipFile(io.BytesIO(code)).extractall(draft)
                made = draft
            else:
                made = draft / (stem + ".zip")
                made.write_bytes(code)
            try:
                made.rename(path)
            except OSError:  # another process was quicker, or the name is another user's
                if not is_mine(path):
                    path = made
            if path != made:
                shutil.rmtree(draft, ignore_errors=True)
        if "hermes_nb" in sys.modules:  # a process of ours: only the local modules are needed
            sys.path.append(str(path))
        else:
            sys.path.insert(0, str(path))

    return enter
