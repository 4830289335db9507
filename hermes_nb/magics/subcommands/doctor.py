"""`%hermes doctor`: what is installed, where things are, what was odd."""

from __future__ import annotations

import argparse
import asyncio
import datetime
import platform
import sys
from importlib import metadata
from pathlib import Path

from hermes_nb import _settings
from hermes_nb._version import __version__
from hermes_nb.magics import _connection
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._table import show
from hermes_nb.model.capability import in_words
from hermes_nb.model.place import shown_path
from hermes_nb.workers.client import WorkerClient

SUMMARY = "show versions, the model found, workers, warnings and traps; write a report for a bug"
EXAMPLES = ("%hermes doctor", "%hermes doctor --report", "%hermes doctor --report bug.zip")
NOTES = """\
--report writes a zip to attach to a bug report: this table, installed packages, the course of the newest turns (kinds,
times, states) and the ends of the logs. Prompts, answers, arguments and results are not in it; keys, and what looks like
one, are masked. Read it before you send it: a log may hold what a library printed."""

REPORT = "hermes-nb-report.zip"
_PACKAGES = ("ipython", "ipykernel", "pydantic", "pandas", "plotly", "aiosqlite")
_EXTRAS = {
    "jupyterlab": "lab",
    "ipywidgets": "widgets",
    "anywidget": "widgets",
    "flyte": "flyte",
    "flyteplugins-agents-hermes": "flyte",
    "opentelemetry-sdk": "otel",
}
_NETWORK_DISKS = ("nfs", "cifs", "smb", "sshfs", "9p", "afs", "ceph", "gluster", "lustre")


def parser() -> Parser:
    """The options."""
    parser = Parser("doctor")
    parser.add_argument(
        "--report", nargs="?", const=REPORT, metavar="FILE.zip", help=f"write a masked bundle for a bug report ({REPORT})"
    )
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show the table, or write it with what a bug report needs; starts nothing."""
    table = [*_installed(), *_engine(), *_environment(), *_running(context), *_traps(context)]
    if options.report is None:
        show(("what", "found"), table)
        return
    from hermes_nb.magics import _report
    from hermes_nb.model.mask import Masker

    hermes = context.opened_hermes
    masker = Masker(_settings.secrets().values()) if hermes is None else hermes.masker()
    path = Path(options.report).expanduser()
    names = _report.write(path, table, hermes, masker)
    print(f"Wrote {path}: {', '.join(names)}. Keys are masked; read it before you attach it to a bug report.")


def _installed() -> list[tuple[str, str]]:
    return [
        ("hermes-nb", __version__),
        ("python", f"{platform.python_version()} at {shown_path(sys.executable)}"),
        ("system", f"{platform.system()} {platform.release()}, {platform.machine()}"),
        *((name, _version(name)) for name in _PACKAGES),
        *((name, _version(name, extra=extra)) for name, extra in _EXTRAS.items()),
    ]


def _version(package: str, *, extra: str = "") -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        wanted = f"'hermes-nb[{extra}]'" if extra else package
        return f"not installed: %pip install {wanted}"


def _engine() -> list[tuple[str, str]]:
    """Which Hermes is taken, and what was found in each place that is searched."""
    from hermes_nb.environments import discovery, template

    rows = [(f"engine: {place}", found) for place, found in discovery.survey()]
    running = template.survey()
    told = f"{len(running)} running: workers start from it in a tenth of a second" if running else "none running"
    return [*rows, ("engine: template", told if _settings.may_use_template() else "off (HERMES_NB_TEMPLATE)")]


def _environment() -> list[tuple[str, str]]:
    return [
        ("HERMES_NB_MODEL", _settings.model() or "not set"),
        ("HERMES_NB_HOME", _settings.home() or "not set"),
        ("HERMES_NB_REPLAY", _settings.replay() or "not set"),
        ("model keys", _connection.keys()),
        ("model", _model()),
        *_connection.ways(),
    ]


def _model() -> str:
    """Who answers an agent that names no model."""
    from hermes_nb.errors import HermesNbError
    from hermes_nb.model.agent import Agent
    from hermes_nb.turns.model_choice import choose

    try:
        model = choose(Agent("nobody")).model
    except HermesNbError as exc:
        return str(exc)
    return f"{model.id} ({model.provider}) answers agents that name none"


def _running(context: Context) -> list[tuple[str, str]]:
    hermes = context.opened_hermes
    if hermes is None:
        return [("Hermes", "not started; the first %hermes agent or %hermes run does")]
    rows = [("state", shown_path(hermes.state_dir))]
    for name, instance in hermes.instances.items():
        worker = instance.worker
        how = "ready" if worker.is_ready else "starting"
        state = "not running" if worker.pid is None else f"process {worker.pid}, {how}"
        agents, log = ", ".join(instance.agents) or "none", shown_path(worker.folder.log)
        rows.append((f"worker {name}", f"{state}; agents: {agents}; log: {log}"))
        rows += [(f"worker {name}", text) for text in _engine_of(worker)]
    rows.append(("running turns", ", ".join(f"{t.id} of {t.agent_name}" for t in context.running) or "none"))
    for at_unix_s, code, text in hermes.warnings[-10:]:
        rows.append((f"warning {datetime.datetime.fromtimestamp(at_unix_s):%H:%M:%S}", f"{code}: {text}"))
    return rows


def _engine_of(worker: WorkerClient) -> list[str]:
    """The Hermes of a worker that has told: which, and what of it is missing."""
    told = worker.versions
    if told is None or not told.get("hermes_agent"):
        return [told["problem"]] if told is not None and told.get("problem") else []
    text = f"{told.get('distribution') or 'hermes-agent'} {told['hermes_agent']}, Python {told.get('python')}"
    missing = ", ".join(told.get("missing") or ()) or "none"
    return [f"{text}; private names missing: {missing}; can't: {in_words(worker.lacks) or 'nothing'}"]


def _traps(context: Context) -> list[tuple[str, str]]:
    """What is here that has led people astray."""
    found = []
    if getattr(asyncio, "_nest_patched", False) or "nest_asyncio" in sys.modules or "nest_asyncio2" in sys.modules:
        found.append("nest_asyncio is loaded; cells await by themselves, so it is not needed")
    found += [*_outside(), *_connection.problems(context)]
    if _is_there("async-hermes-agent"):
        found.append(
            "async-hermes-agent overwrites files of hermes-agent: %pip uninstall async-hermes-agent, then"
            " %pip install --force-reinstall 'hermes-agent>=0.19,<0.20'"
        )
    if _settings.variable("HERMES_HOME"):
        found.append("HERMES_HOME is set; workers have homes of their own and do not read it")
    hermes = context.opened_hermes
    disk = _disk(hermes.state_dir if hermes is not None else Path(_settings.home() or ".").expanduser())
    if any(name in disk for name in _NETWORK_DISKS):
        found.append(f"the state folder is on a network disk ({disk}), where SQLite may lose writes: set HERMES_NB_HOME")
    return [("trap", text) for text in found] or [("traps", "none found")]


def _outside() -> list[str]:
    """Installed packages of a version that this one does not allow, as after a `pip install` of something else."""
    from packaging.requirements import Requirement

    found = []
    for line in metadata.requires("hermes-nb") or ():
        wanted = Requirement(line)
        applies = wanted.marker is None or any(wanted.marker.evaluate({"extra": name}) for name in ("", *_EXTRAS.values()))
        if applies and _is_there(wanted.name):
            version = metadata.version(wanted.name)
            if wanted.specifier.contains(version, prereleases=True):
                continue
            said = f"{wanted.name} {version} is not what hermes-nb needs"
            if wanted.name == "ipywidgets" and "google.colab" in sys.modules:
                found.append(f"{said} for widgets; Colab has no other, so turns and timelines are shown without")
            else:
                found.append(f"{said}: %pip install '{wanted.name}{wanted.specifier}'")
    return found


def _is_there(package: str) -> bool:
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def _disk(folder: Path) -> str:
    """The type of the file system that holds a folder, e.g. `ext4`; "" where the system does not tell."""
    best, kind = -1, ""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    for line in lines:
        _, place, name, *_ = line.split(" ")
        if len(place) >= best and folder.resolve().is_relative_to(place.replace("\\040", " ")):
            best, kind = len(place), name
    return kind
