"""What is done when the state folder, or a part of it, was deleted while it is used.

A deleted file that is open can still be written; what is written is gone with the kernel, and nobody is told. So the
files are looked for before they are used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hermes_nb.errors import StoreError
from hermes_nb.model.place import shown_path
from hermes_nb.workers.state_dir import StateDir, claim_instance

if TYPE_CHECKING:
    from hermes_nb.api.hermes import Hermes
    from hermes_nb.store.sqlite import Store


def begin_anew(hermes: Hermes, state: StateDir, store: Store | None) -> bool:
    """Make again what was deleted; on the IO loop. True when the store was: it has to be closed and opened again.

    Journals that are still there fill the new store. Where they are gone too, earlier sessions are forgotten, and the
    agents' next turns say so.

    Raises:
        StoreError: It can't be made again.
    """
    is_store_lost = store is not None and not store.is_there
    lost = [i for i in hermes.instances.values() if not i.worker.folder.is_there]
    if not lost and not is_store_lost:
        return False
    try:
        state.prepare()
    except OSError as exc:
        raise StoreError(f"The state folder {str(state.path)!r} was deleted and can't be made again: {exc}.") from exc
    for instance in lost:
        instance.worker.move(claim_instance(state, instance.name))
        instance.keep()
    if lost and is_store_lost:
        hermes.conversations.forget_sessions()
        shown = shown_path(state.path, base=hermes.working_dir)
        text = f"The state folder {shown!r} was deleted: earlier sessions are forgotten, a new one begins."
        hermes.warn("state-dir", text)
        for bound in hermes.agents.values():
            bound.notices.add("state-dir", text)
    return is_store_lost
