"""Which host this process is: a Jupyter kernel or a plain process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_nb.host.plain import PlainHost, _ipython_shell

if TYPE_CHECKING:
    from hermes_nb.host.base import Host


def current() -> Host:
    """A host for this process: `KernelHost` in a Jupyter kernel, else `PlainHost`. Starts nothing; close it in the end."""
    shell = _ipython_shell()
    if getattr(shell, "kernel", None) is None or not hasattr(getattr(shell, "display_pub", None), "publish"):
        return PlainHost()
    from hermes_nb.host.kernel import KernelHost

    return KernelHost(shell)
