"""A Hermes of papers only: modules that have the private names of a line, but for those that are left out."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from hermes_nb.engine.hermes.line.private_name import Line

# What is more than something that can be called.
_VALUES = {
    "agent.redact._CFG_VALUE": "'x'",
    "agent.redact._SECRET_CFG_NAMES": "'x'",
    "hermes_cli.auth.PROVIDER_REGISTRY": "{}",
}
_ANY = """
class Any:
    def __init__(self, *a, **k): pass
    def __getattr__(self, name):
        if name.startswith("__") or (self.names is not None and name not in self.names): raise AttributeError(name)
        return Any()
    def __call__(self, *a, **k): return Any()
    names = None
"""


def make(folder: Path, line: Line, version: str, without: Collection[str] = ()) -> Path:
    """Write the modules below `folder`, which is to stand on the path of an interpreter; returns it."""
    modules: dict[str, list[str]] = {}
    objects: dict[tuple[str, str], list[str]] = {}
    for path in (name.path for name in line.names if name.path not in without):
        module, names = _split(path)
        if len(names) == 1:
            modules.setdefault(module, []).append(f"{names[0]} = {_VALUES.get(path, 'Any()')}")
        else:
            objects.setdefault((module, names[0]), []).append(names[1])
    for (module, name), members in objects.items():
        lines = [f"class {name}(Any):", *(f"    def {member}(self, *a, **k): pass" for member in members)]
        modules.setdefault(module, []).extend(
            lines if name[0].isupper() else [f"{name} = Any()", f"{name}.names = {members}"]
        )
    folder.mkdir(parents=True)
    for module, lines in modules.items():
        place = folder / Path(*module.split("."))
        for package in place.parents:
            if package != folder and package.is_relative_to(folder):
                package.mkdir(parents=True, exist_ok=True)
                (package / "__init__.py").touch()
        place.with_suffix(".py").write_text("\n".join([_ANY, *lines]) + "\n")
    papers = folder / f"{line.distribution.replace('-', '_')}-{version}.dist-info"
    papers.mkdir(parents=True)
    (papers / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {line.distribution}\nVersion: {version}\n")
    return folder


def _split(path: str) -> tuple[str, list[str]]:
    """Module and attributes: the module ends before the first name that no module has."""
    parts = path.split(".")
    n = 2 if parts[0] in ("agent", "tools", "hermes_cli", "gateway") else 1
    return ".".join(parts[:n]), parts[n:]
