"""What an instance's folder says of it: whose it is, how it was made, which agents it had. A later kernel opens it by that.

No key, no value of a worker's environment and no function is kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from hermes_nb.errors import StoreError
from hermes_nb.store.json_lines import write_whole

FILE = "instance.json"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceRecord:
    """An instance as its folder keeps it.

    Attributes:
        id: Its id.
        name: Its name; the folder's may have a number behind it.
        owner: Whose it is.
        is_shared: Whether it is one that `Hermes.bind` made.
        options: What `create_instance` was given besides: `working_dir`.
        runtime: The runtime as plain data, and the names of what it does not keep (`unkept`).
        agents: A dict for each agent: profile_id, declaration (the fields of an Agent), tools (names), unkept (names).
    """

    id: str
    name: str
    owner: Mapping[str, str]
    is_shared: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)
    runtime: Mapping[str, Any] = field(default_factory=dict)
    agents: tuple[Mapping[str, Any], ...] = ()

    def write(self, folder: Path) -> None:
        """Keep it in a folder.

        Raises:
            StoreError: It can't be written.
        """
        write_whole(folder / FILE, json.dumps({"v": VERSION, **asdict(self)}, indent=1) + "\n")

    @classmethod
    def read(cls, folder: Path) -> InstanceRecord | None:
        """That of a folder; None where there is none.

        Raises:
            StoreError: It can't be read, or is of a newer version.
        """
        path = folder / FILE
        try:
            told = json.loads(path.read_text(encoding="utf-8"))
            if told["v"] > VERSION:
                raise StoreError(
                    f"{path} was written by a newer hermes_nb. Install that one, or take another instance name."
                )
            return cls(
                id=str(told["id"]),
                name=str(told["name"]),
                owner={str(key): str(value) for key, value in told["owner"].items()},
                is_shared=bool(told["is_shared"]),
                options=dict(told["options"]),
                runtime=dict(told["runtime"]),
                agents=tuple(dict(agent) for agent in told["agents"]),
            )
        except (FileNotFoundError, NotADirectoryError):
            return None
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as exc:
            if isinstance(exc, StoreError):
                raise
            raise StoreError(
                f"{path}, which says whose the instance is, can't be read: {exc!r}. Take another instance name, or remove"
                " that folder if nobody needs it."
            ) from exc
