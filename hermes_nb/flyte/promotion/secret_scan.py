"""What must not travel, and where it would: keys by value, by the look of their issuer, and by the name they have."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hermes_nb import _settings
from hermes_nb.flyte.promotion import bundle as bundles
from hermes_nb.flyte.promotion.dependency_scan import held, is_of_notebook, site_of
from hermes_nb.flyte.promotion.finding import Finding, Site
from hermes_nb.model import secret_shape
from hermes_nb.model.credential import Address, revealed
from hermes_nb.tools.secret import is_secret

TYPE_CHECKING = False
if TYPE_CHECKING:
    from hermes_nb.api.bound_agent import BoundAgent
    from hermes_nb.flyte.promotion.plan import Plan

# As numpy, Arrow's neighbours and other languages keep text; the first is what nearly everything does.
_ENCODINGS = ("utf-8", "utf-32-le", "utf-16-le", "latin-1")
_DEPTH, _N_LOOKED_AT = 6, 20_000
_CURE = (
    "Read it inside the function from an environment variable, and name the secret: Flyte(secrets={'VARIABLE': 'secret'})."
)


def leaks(plan: Plan) -> Iterator[Finding]:
    """Keys that would travel, one finding for each tool and place."""
    known = secrets_known(plan.bound)
    if isinstance(plan.bound.model.base_url, Address):
        yield Finding(
            "secret",
            f"The model's address {plan.bound.model.base_url} holds credentials, which would travel.",
            "Give the address without them, and the key as a secret: Flyte(secrets={'HERMES_NB_MODEL_KEY': 'its-name'}).",
        )
    for name, data, site in _travelling(plan):
        found = found_in(data, known)
        if found:
            variable = _holder(plan, name, known) if name else ""
            yield Finding(
                "secret",
                f"{found[0].upper()}{found[1:]} would travel" + (f" in variable {variable!r}." if variable else "."),
                _CURE,
                site,
                variable,
            )
        elif name:
            yield from _named(plan, name)


def secrets_known(bound: BoundAgent) -> dict[bytes, str]:
    """Values that must not travel, in each encoding, and what they are in words."""
    values = {value: f"the value of {name}" for name, value in _settings.secrets().items()}
    key = revealed(bound.model.api_key)
    if key and len(key) >= 16:
        values[key] = "the model's key"
    return {value.encode(e, "replace"): what for e in reversed(_ENCODINGS) for value, what in values.items()}


def found_in(data: bytes, known: Mapping[bytes, str]) -> str:
    """What kind of key is in some bytes, in words; "" for none."""
    found = next((what for value, what in known.items() if value in data), "")
    return found or secret_shape.find(data)


def _travelling(plan: Plan) -> Iterator[tuple[str, bytes, Site]]:
    """All bytes that travel, by tool: its name, or "" where it is nobody's, and where they come from."""
    for name, data in plan.pickles.items():
        yield name, data, site_of(plan.tools[name].function, name)
    for name in plan.taken.keys() - plan.pickles.keys():  # what can't travel yet may hold a key all the same
        data = b"".join(bundles.pickled(value) or b"" for value in plan.taken[name].variables.values())
        yield name, data, site_of(plan.tools[name].function, name)
    yield "", "\0".join(_texts(dataclasses.asdict(plan.spec))).encode("utf-8", "replace"), _OF_AGENT
    for variable, value in plan.config.env_vars.items():
        yield "", str(value).encode(), Site(text=f"Flyte(env_vars={{{variable!r}: ...}})")
    for module in plan.spec.local_modules:
        for file, data in bundles.module_files(module).items():
            yield "", data, Site(text=f"Module {file}")


_OF_AGENT = Site(text="The agent's instructions or config")


def _texts(value: Any) -> Iterator[str]:
    """Every text in plain data, keys too, as it is: JSON would write some characters of a key otherwise."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield str(key)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    else:
        yield str(value)


def _holder(plan: Plan, name: str, known: Mapping[bytes, str]) -> str:
    for variable, value in plan.taken[name].variables.items():
        if found_in(bundles.pickled(value) or b"", known):
            return variable
    return ""


def _named(plan: Plan, name: str) -> Iterator[Finding]:
    """Texts that a tool takes along under a name such as `password`; a bare `key` is only told, it is mostly another."""
    taken = plan.taken[name]
    for variable, value in taken.variables.items():
        path = next(_secret_paths(variable, variable.rpartition(".")[2], value), "")
        if path:
            yield Finding(
                "secret-name",
                f"{path} is named as a secret is, and its value would travel.",
                f"{_CURE} Where it is none: Flyte(allow=['secret-name']).",
                site_of(taken.users[variable], name),
                variable,
                is_fatal=re.search(r"(?<![a-z])key\W*$", path, re.IGNORECASE) is None or "api" in path.lower(),
            )


def _secret_paths(path: str, name: str, value: Any) -> Iterator[str]:
    """Where within a value a text stands under such a name: `CONFIG['db']['password']`."""
    seen: set[int] = set()
    todo = [(path, name, value, 0)]
    while todo and len(seen) < _N_LOOKED_AT:
        path, name, value, depth = todo.pop()
        if is_secret(name, value):
            yield path
        if id(value) in seen or depth > _DEPTH or isinstance(value, str | bytes):
            continue
        seen.add(id(value))
        if isinstance(value, dict):
            todo += [(f"{path}[{k!r}]", str(k), v, depth + 1) for k, v in list(value.items())[:_N_LOOKED_AT]]
        elif isinstance(value, list | tuple | set | frozenset):
            todo += [(f"{path}[...]", "", v, depth + 1) for v in list(value)[:_N_LOOKED_AT]]
        elif not isinstance(value, type) and (dataclasses.is_dataclass(value) or is_of_notebook(type(value))):
            todo += [(f"{path}.{k}", k, v, depth + 1) for k, v in dict(held(value, "__dict__") or {}).items()]
