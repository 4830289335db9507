"""`%hermes engine`: which Hermes hosts the agents, where it was found, and the environments made for it."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from hermes_nb.errors import UsageError
from hermes_nb.magics._context import Context
from hermes_nb.magics._parser import Parser
from hermes_nb.magics._table import show

SUMMARY = "show, install, choose or remove the Hermes that hosts agents; the kernel's packages stay as they are"
EXAMPLES = (
    "%hermes engine",
    "%hermes engine install",
    "%hermes engine use ~/hermes-agent/venv/bin/python",
    "%hermes engine use --none",
    "%hermes engine remove hermes-agent-0.19.0-py3.11",
)
NOTES = """\
Hermes runs in an interpreter of its own. It is searched in this order: Process(executable=...), HERMES_NB_ENGINE, what
`use` chose, the kernel's own environment, an environment of hermes_nb in your data folder, the `hermes` on the PATH. Where
there is none, an environment is made at the first need (140 MB; HERMES_NB_ENGINE_INSTALL=0 forbids it, HERMES_NB_ENGINES is
the folder). `use` takes an interpreter, a `hermes` script or a version, and holds for all your kernels."""
ACTIONS = ("list", "install", "use", "remove")


def parser() -> Parser:
    """Return the options."""
    parser = Parser("engine")
    parser.add_argument("action", nargs="?", default="list", metavar="ACTION", help="list (default), install, use or remove")
    parser.add_argument("what", nargs="?", metavar="WHAT", help="a version, an interpreter, or an environment's name")
    parser.add_argument("--none", action="store_true", help="with use: forget the choice")
    return parser


def run(context: Context, options: argparse.Namespace, cell: str | None) -> None:
    """Show the engines, or change them."""
    if options.action not in ACTIONS:
        import difflib

        near = difflib.get_close_matches(options.action, ACTIONS, 1)
        more = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"%hermes engine has no action {options.action!r}.{more} Known: {', '.join(ACTIONS)}.")
    if options.none and options.action != "use":
        raise UsageError("--none goes with use: %hermes engine use --none.")
    _ACTIONS[options.action](context, options)


def _list(context: Context, options: argparse.Namespace) -> None:
    from hermes_nb.environments import discovery

    rows = discovery.survey()
    hermes = context.opened_hermes
    for name, instance in hermes.instances.items() if hermes is not None else ():
        engine = instance.worker.engine
        if engine:
            rows.append((f"worker {name}", str(engine["hermes"])))
    show(("where", "Hermes"), rows)


def _install(context: Context, options: argparse.Namespace) -> None:
    from hermes_nb.environments import discovery, lockfile

    engine = discovery.install(lockfile.locked(options.what), lambda text: print(f"Engine: {text}", flush=True))
    print(f"{engine.interpreter.hermes} ({engine.interpreter.python_text}) is ready: {engine.why}.")


def _use(context: Context, options: argparse.Namespace) -> None:
    from hermes_nb.environments import discovery

    if options.none == (options.what is not None):
        raise UsageError(
            "%hermes engine use needs an interpreter, a `hermes` script or a version; --none forgets the choice."
        )
    engine = discovery.choose(options.what)
    if options.what is None:
        print("Nothing is chosen any more: the first Hermes that is found is taken.")
    elif engine is None:
        print(f"Chosen: {options.what}. Its environment is made when it is first needed, or now: %hermes engine install.")
    else:
        print(f"Chosen: {engine.interpreter.hermes} ({engine.interpreter.python_text}).")
    hermes = context.opened_hermes
    if hermes is not None and hermes.instances:
        for instance in hermes.instances.values():
            hermes.io.soon(instance.worker.replace)
        print("Running turns end as they began; the next one starts with it.")


def _remove(context: Context, options: argparse.Namespace) -> None:
    from hermes_nb.environments import catalog

    if options.what is None:
        raise UsageError("%hermes engine remove needs the name of an environment; %hermes engine lists them.")
    removed = catalog.remove(options.what)
    print(f"Removed {removed.name} ({removed.size_bytes / 1e6:.0f} MB).")


_ACTIONS: dict[str, Callable[[Context, argparse.Namespace], None]] = {
    "list": _list,
    "install": _install,
    "use": _use,
    "remove": _remove,
}
