"""The `%hermes` magic: registration, dispatch to a sub-command, and undoing all of it."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Coroutine
from typing import Any

from hermes_nb.errors import UsageError
from hermes_nb.magics import _subcommand
from hermes_nb.magics._context import Context
from hermes_nb.magics._outcome import translated
from hermes_nb.magics._panel_comm import PanelComms
from hermes_nb.magics._subcommand import SubCommand
from hermes_nb.magics._transform import AWAITED, AWAITED_VALUE, NAME, Transformer, misread

TYPE_CHECKING = False
if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell

    from hermes_nb.api.hermes import Hermes

FOREIGN = "hermes_foreign"  # where a %hermes of another package stays reachable
_KINDS = ("line", "cell")


class HermesMagic:
    """The magic of one shell.

    Args:
        shell: The shell.
        open_hermes: Makes the kernel's Hermes; None opens a local one.

    Attributes:
        context: What the sub-commands share.
    """

    def __init__(self, shell: InteractiveShell, open_hermes: Callable[[], Hermes] | None = None) -> None:
        self.context = Context(shell, open_hermes)
        self._shell = shell
        self._panels = PanelComms(shell, self.context)
        self._transformer = Transformer(shell, self._is_ours, _subcommand.waits)
        self._replaced: dict[tuple[str, str], Any] = {}
        self._has_said_lost = False

    # -- registration --------------------------------------------------------------------------------------------
    def install(self) -> None:
        """Register the magic, its completion and its transformers; a `%hermes` that is there already is named."""
        from hermes_nb.magics._completion import install

        manager = self._shell.magics_manager
        for kind in _KINDS:
            for name in (NAME, AWAITED, AWAITED_VALUE, FOREIGN):
                self._replaced[kind, name] = manager.magics[kind].get(name)
        owner = self._foreign_owner()
        if owner is not None:
            for kind in _KINDS:
                foreign = self._replaced[kind, NAME]
                if foreign is not None:
                    manager.register_function(foreign, kind, FOREIGN)
        manager.register_function(self.hermes, "line_cell", NAME)
        manager.register_function(self.hermes_awaited, "line_cell", AWAITED)
        manager.register_function(self.hermes_value, "line_cell", AWAITED_VALUE)
        self._transformer.install()
        self._shell.events.register("pre_run_cell", self._before_cell)
        self._shell.events.register("post_run_cell", self._after_cell)
        install(self._shell, self.context, self._is_ours)
        self._panels.install()
        self._say_misread()
        if owner is not None:
            print(
                f"%{NAME} was registered by {owner}; from now on it is hermes_nb's. The other one is %{FOREIGN};"
                f" %unload_ext hermes_nb gives it its name back."
            )

    def _say_misread(self) -> None:
        """Name the questions of the cell that loads the extension which IPython reads as a wish for help."""
        parent: dict[str, Any] = getattr(self._shell, "get_parent", dict)() or {}
        typed = [] if self._shell.history_manager is None else self._shell.history_manager.input_hist_raw
        source = parent.get("content", {}).get("code") or (typed[-1] if typed else "")
        for line in misread(str(source)):
            print(
                f"IPython read this cell before {NAME} was known, and takes {line!r} for a wish to see help."
                " Put it into the next cell."
            )

    def remove(self) -> None:
        """Undo `install` and end the Hermes; a magic that another package registered since then stays."""
        from hermes_nb.magics._completion import remove

        is_ours = self._is_ours()
        manager = self._shell.magics_manager
        for (kind, name), before in self._replaced.items():
            if name == NAME and not is_ours:
                continue
            if before is not None:
                manager.magics[kind][name] = before
            else:
                manager.magics[kind].pop(name, None)
        self._transformer.remove()
        self._shell.events.unregister("pre_run_cell", self._before_cell)
        # IPython walks the list of callbacks while this may be one of its cells: unregistering is safe, it copies.
        self._shell.events.unregister("post_run_cell", self._after_cell)
        remove(self._shell)
        self._panels.remove()
        self.context.close()

    def hello(self) -> bool:
        """What the Lab extension asks an idle kernel first, by an expression: True. Brings what is stored to the panel."""
        self.context.open_stored()
        return True

    def _is_ours(self) -> bool:
        return getattr(self._shell.magics_manager.magics["line"].get(NAME), "__self__", None) is self

    def _foreign_owner(self) -> str | None:
        """Module of the `%hermes` that is registered and not ours; None when there is none."""
        for kind in _KINDS:
            function = self._shell.magics_manager.magics[kind].get(NAME)
            if function is not None and not isinstance(getattr(function, "__self__", None), HermesMagic):
                return str(getattr(function, "__module__", None) or type(function).__module__)
        return None

    def _before_cell(self, info: Any) -> None:
        self.context.cells.enter(info)
        self.context.settle()
        owner = self._foreign_owner()
        if owner is not None and not self._has_said_lost:
            self._has_said_lost = True
            print(f"%{NAME} is {owner}'s now. %reload_ext hermes_nb takes it back.")

    def _after_cell(self, result: Any) -> None:
        self._transformer.restore_inputs()
        self.context.cells.leave(result)

    # -- the magics ----------------------------------------------------------------------------------------------
    def hermes(self, line: str, cell: str | None = None) -> None:
        """Run Hermes agents from this notebook.

        %hermes                      what there is, with examples
        %hermes help run             one sub-command in full
        %hermes agent analyst        bind the agent in variable `analyst`
        %hermes run Your question    ask it; %%hermes run for a question of several lines
        """
        with translated():
            call = self._call(line, cell)
            if call is not None:
                subcommand, options, body = call
                subcommand.run(self.context, options, body)

    def hermes_awaited(self, line: str, cell: str | None = None) -> Coroutine[Any, Any, None]:
        """`%hermes` where a cell can await it; cells are rewritten to call it (`hermes_nb.magics._transform`)."""
        self._transformer.restore_inputs()
        return self._awaited(line, cell)

    def hermes_value(self, line: str, cell: str | None = None) -> Coroutine[Any, Any, Any]:
        """The same as the value of an assignment: `answer = %hermes run ...` gets what -o would."""
        self._transformer.restore_inputs()
        return self._valued(line, cell)

    async def _valued(self, line: str, cell: str | None) -> Any:
        self.context.given = None
        await self._awaited(line, cell)
        return self.context.given

    async def _awaited(self, line: str, cell: str | None) -> None:
        with translated():
            call = self._call(line, cell)
            if call is None:
                return
            subcommand, options, body = call
            run_awaiting = _subcommand.awaiting(subcommand)
            if run_awaiting is None:
                subcommand.run(self.context, options, body)
            else:
                await run_awaiting(self.context, options, body)

    # IPython would else expand `$x` and `{x}` in the line.
    hermes._ipython_magic_no_var_expand = True  # type: ignore[attr-defined]
    hermes_awaited._ipython_magic_no_var_expand = True  # type: ignore[attr-defined]
    hermes_value._ipython_magic_no_var_expand = True  # type: ignore[attr-defined]

    def _call(self, line: str, cell: str | None) -> tuple[SubCommand, argparse.Namespace, str | None] | None:
        """The sub-command, its options and the cell's body; None when help was shown instead."""
        from hermes_nb.magics.subcommands import help as helping

        name, rest = _subcommand.split(line)
        name = "" if name.startswith("#") else name  # a comment alone
        if not name and cell is not None and cell.strip():
            raise UsageError("%%hermes names no sub-command: nothing was sent. To ask what the cell holds: %%hermes run")
        if not name or name in ("-h", "--help"):
            print(helping.overview())
            return None
        if name.endswith("?") and not rest:
            name, rest = name.rstrip("?"), "-h"
        subcommand = _subcommand.load(name)
        options = subcommand.parser().read(rest)
        if cell is not None and getattr(options, "text", "").startswith("#"):
            options.text = ""  # the question is the cell: this is a comment
        if options.help:
            print(helping.details(name))
            return None
        body = None if cell is None else self.context.cells.typed_body(cell)
        if body is not None and not _subcommand.takes_cell(subcommand):
            if body.strip():
                raise UsageError(f"%hermes {name} takes no cell. Write it as a line: %hermes {name} ...")
            body = None
        return subcommand, options, body
