"""What a release must hold: wheel and sdist are built, looked at, and tried in clean environments.

    .venv/bin/python scripts/release.py                  all of it
    .venv/bin/python scripts/release.py --keep dist      and keep wheel and sdist there

Environments are made by uv where it is installed (seconds), else by pip, in a temporary folder. The wheel is installed as a
user would install it: with no extras, each extra alone, and all.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_BYTES = 3_000_000
EXTRAS = ("", "widgets", "lab", "otel", "hermes", "flyte", "flyte-adapter", "all")

# Runs in the clean environment, in an empty folder: a turn with a tool, and what the extra is for.
SMOKE = """
import asyncio, importlib.util, sys
import hermes_nb
from hermes_nb import Agent, Hermes, tool

@tool
def top_customers(n: int = 3) -> list[str]:
    "Customers with the highest revenue."
    return ["Ada", "Barbara", "Grace"][:n]

async def ask():
    async with Hermes.local() as hermes:
        bound = hermes.bind(Agent("analyst", tools=[top_customers], model="offline"))
        return await bound.run("Which 2 customers have the highest revenue?")

def main(extra):
    assert "site-packages" in hermes_nb.__file__, hermes_nb.__file__
    has = {"widgets": ("ipywidgets", "anywidget"), "lab": ("jupyterlab", "anywidget"), "otel": ("opentelemetry.sdk",),
        "hermes": ("run_agent",), "flyte": ("flyte",), "flyte-adapter": ("flyte", "flyteplugins.agents.hermes", "run_agent")}
    wanted = {"widgets", "lab", "otel", "flyte"} if extra == "all" else {extra} & set(has)
    if extra not in ("hermes", "flyte-adapter"):  # its pins stay out of the kernel: it has an environment of its own
        assert importlib.util.find_spec("run_agent") is None, "hermes-agent is installed though nothing asks for it"
    for name in wanted:
        for package in has[name]:
            assert importlib.util.find_spec(package), f"{extra} has no {package}"
    if not extra:
        for package in ("ipywidgets", "anywidget", "jupyterlab", "flyte"):
            assert importlib.util.find_spec(package) is None, f"{package} is installed though nothing asks for it"
    from IPython.core.interactiveshell import InteractiveShell
    shell = InteractiveShell.instance()
    shell.run_line_magic("load_ext", "hermes_nb")
    shell.run_line_magic("hermes", "help")
    result = asyncio.run(ask())
    assert result.status == "completed" and "Barbara" in result.text and "Grace" not in result.text, result.text
    assert list(result.frame().kind) == ["turn", "model", "tool", "model"]
    assert result.figure().data
    made = hermes_nb.timeline(result)
    if {"widgets", "lab"} & wanted:
        assert made.widget is not None
    else:
        try:
            made.widget
        except hermes_nb.HermesNbError as exc:
            assert "hermes-nb[widgets]" in str(exc), exc
        else:
            assert importlib.util.find_spec("anywidget"), "a widget without its package"
    if "flyte" in wanted:
        from hermes_nb.flyte import Flyte
        Flyte(project="p", domain="d")
    print("ok")

if __name__ == "__main__":
    main(sys.argv[1])
"""


def build(folder: Path) -> tuple[Path, Path]:
    """Wheel and sdist, built from a copy of what git knows, so that nothing lying about gets in."""
    source = folder / "source"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, source / name)
    dist = folder / "dist"
    if shutil.which("uv"):
        subprocess.run(["uv", "build", "--quiet", "--out-dir", str(dist), str(source)], check=True)
    else:
        python = environment(folder / "build", "build")
        subprocess.run([str(python), "-m", "build", "--outdir", str(dist), str(source)], check=True, capture_output=True)
    return next(dist.glob("*.whl")), next(dist.glob("*.tar.gz"))


def environment(folder: Path, *requirements: str) -> Path:
    """A clean environment with these requirements; its Python."""
    python = folder / "bin" / "python"
    if shutil.which("uv"):
        subprocess.run(["uv", "venv", "--quiet", "--no-project", "--python", sys.executable, str(folder)], check=True)
        subprocess.run(["uv", "pip", "install", "--quiet", "--python", str(python), *requirements], check=True)
    else:
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-qq", *requirements], check=True)
    return python


def faults(wheel: Path, sdist: Path) -> list[str]:
    """What is wrong with the two files, without installing them."""
    found = []
    version = re.search(r'__version__ = "(.+)"', (ROOT / "hermes_nb" / "_version.py").read_text(encoding="utf-8"))
    assert version is not None
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
        metadata = file.read(next(name for name in names if name.endswith(".dist-info/METADATA"))).decode()
    with tarfile.open(sdist) as file:
        sources = {name.partition("/")[2] for name in file.getnames()}
    if wheel.stat().st_size >= MOST_BYTES:
        found.append(f"the wheel has {wheel.stat().st_size:,} bytes, {MOST_BYTES:,} or more")
    if (
        f"\nVersion: {version[1]}\n" not in metadata
        or f"-{version[1]}-" not in wheel.name
        or f"-{version[1]}." not in sdist.name
    ):
        found.append(f"the version is not {version[1]} everywhere")
    if "version" in tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]:
        found.append("pyproject.toml has a version of its own")
    shared = f"hermes_nb-{version[1]}.data/data/share/jupyter/labextensions/hermes-nb/"
    homes = ("hermes_nb/", f"hermes_nb-{version[1]}.dist-info/", shared)
    strange = [name for name in names if not name.startswith(homes)]
    strange += [
        n
        for n in names | sources
        if re.search(r"\.py[co]$|(^|/)(__pycache__|\.hermes-nb|node_modules)/|\.ipynb_checkpoints", n)
    ]
    found += [f"{name} has no place there" for name in strange]
    package = {
        str(p.relative_to(ROOT)) for p in (ROOT / "hermes_nb").rglob("*") if p.is_file() and "__pycache__" not in p.parts
    }
    in_wheel = {name.replace("hermes_nb/labextension/", shared) for name in package}
    found += [f"{name} is not in the wheel" for name in sorted(in_wheel - names)]
    wanted = package | {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "notebooks/01_hello.ipynb",
        "scripts/demo.py",
        "docs/hello.gif",
        "Makefile",
    }
    found += [f"{name} is not in the sdist" for name in sorted(wanted - sources)]
    return found


def smoke(wheel: Path, extra: str, folder: Path) -> str:
    """Install the wheel with one extra and run a turn; what it said, ending in `ok`."""
    python = environment(
        folder / f"env-{extra or 'none'}", f"hermes-nb[{extra}] @ {wheel.as_uri()}" if extra else str(wheel)
    )
    place = folder / f"work-{extra or 'none'}"
    place.mkdir()
    (place / "smoke.py").write_text(SMOKE, encoding="utf-8")
    wanted = ("PATH", "HOME", "LANG", "SSL_CERT_FILE", "TMPDIR")
    kept = {k: v for k, v in os.environ.items() if k in wanted or k.startswith(("PIP_", "UV_", "XDG_"))}
    kept["HERMES_NB_ENGINES"] = str(folder / "engines")
    ran = subprocess.run(
        [str(python), "-W", "ignore", "smoke.py", extra],
        cwd=place,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return ran.stdout.strip().splitlines()[-1] if ran.returncode == 0 else ran.stdout + ran.stderr


def twine_check(folder: Path, *files: Path) -> str:
    """What `twine check --strict` said: "" when all is well."""
    python = environment(folder / "twine", "twine")
    ran = subprocess.run(
        [str(python), "-m", "twine", "check", "--strict", *map(str, files)], capture_output=True, text=True, check=False
    )
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def main() -> int:
    """Do it all and print it; 1 when something is wrong."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="copy wheel and sdist here when all is well")
    options = parser.parse_args()
    began_s, n_bad = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="hermes-nb-release-") as name:
        folder = Path(name)
        wheel, sdist = build(folder)
        with zipfile.ZipFile(wheel) as file:
            rooms: dict[str, int] = {}
            for info in file.infolist():
                room = "/".join(info.filename.split("/")[:2])
                rooms[room] = rooms.get(room, 0) + info.compress_size
        for room, size in sorted(rooms.items(), key=lambda pair: -pair[1])[:12]:
            print(f"  {size:>9,} bytes  {room}")
        print(f"{wheel.name}: {wheel.stat().st_size:,} bytes; {sdist.name}: {sdist.stat().st_size:,} bytes")
        wrong = faults(wheel, sdist)
        wrong += [said] if (said := twine_check(folder, wheel, sdist)) else []
        print("\n".join(wrong) or "contents, version and twine check: ok")
        n_bad += len(wrong)
        for extra in EXTRAS:
            said = smoke(wheel, extra, folder)
            print(f"{'[' + extra + ']' if extra else 'no extras':<10} {said}", flush=True)
            n_bad += said != "ok"
        if options.keep and not n_bad:
            options.keep.mkdir(parents=True, exist_ok=True)
            for path in (wheel, sdist):
                shutil.copy2(path, options.keep)
    print(f"{'All is well' if not n_bad else f'{n_bad} things are wrong'}; {time.monotonic() - began_s:.0f} s.")
    return int(n_bad > 0)


if __name__ == "__main__":
    sys.exit(main())
