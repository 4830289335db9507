"""Where and how a promoted agent runs: names, numbers and references, no live objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, Self

from hermes_nb.errors import UsageError
from hermes_nb.flyte.promotion.spec import secret_names

Mode = Literal["remote", "local"]


@dataclass
class FlyteConfig:
    """The configuration of `Flyte`.

    Args:
        mode: `remote` for a cluster, `local` for a child process of this machine (not durable beyond this machine).
        project: Flyte's project; None takes that of `flyte.init` or the configuration.
        domain: Its domain; None likewise.
        endpoint: The control plane; None takes that of the user's `flyte.init`, else `~/.flyte/config.yaml`.
        org: The organisation; None likewise. Only used with `endpoint`.
        image: A `flyte.Image` or the name of one; None builds one with the notebook's versions.
        resources: `flyte.Resources` of the turn's task.
        secrets: Secrets of Flyte by the variable they are put in, or a list where both have one name.
        retries: How often a turn that was lost or failed is tried again; replayed as far as it got.
        cache: Cache policy of the tools' tasks, as `env.task(cache=...)` takes it.
        env_vars: More environment variables for the tasks.
        memory_key: Keeps the conversation in Flyte's memory store under that name.
        allow: Codes of findings of the preflight that shall not stop a run.
        yes: Run tools that would ask for approval.
        key: Idempotency key: the same key is the same run.
    """

    mode: Mode = "remote"
    project: str | None = None
    domain: str | None = None
    endpoint: str | None = None
    org: str | None = None
    image: Any = None
    resources: Any = None
    secrets: Mapping[str, str] | Sequence[str] = ()
    retries: int = 3
    cache: Any = "disable"
    env_vars: Mapping[str, str] = field(default_factory=dict)
    memory_key: str | None = None
    allow: Sequence[str] = ()
    yes: bool = False
    key: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in ("remote", "local"):
            raise UsageError(f"Flyte has no mode {self.mode!r}. Use 'remote' or 'local'.")
        if not isinstance(self.retries, int) or self.retries < 0:
            raise UsageError(f"retries is a whole number, 0 or more, not {self.retries!r}.")
        if self.key is not None and not (isinstance(self.key, str) and self.key.strip()):
            raise UsageError(f"key is a text that names one question, not {self.key!r}.")
        for name in ("secrets", "allow"):
            if isinstance(getattr(self, name), str):
                raise UsageError(f"{name} is a list or a mapping, not the text {getattr(self, name)!r}.")

    def label(self) -> dict[str, Any]:
        """What a turn's log keeps of it, to go on in the same place: names and numbers, no values of variables."""
        more = {"org": self.org, "retries": self.retries, "memory_key": self.memory_key}
        named = {"secrets": secret_names(self.secrets), "allow": list(self.allow)}
        unkept = [n for n in ("image", "resources", "env_vars") if getattr(self, n)]
        return {**self.to_dict(), **more, **named, **({"unkept": unkept} if unkept else {})}

    @classmethod
    def from_label(cls, label: Mapping[str, Any]) -> Self:
        """The runtime that `label` tells of, in another kernel."""
        names = {f.name for f in fields(cls) if f.init and not f.name.startswith("_")}
        mode = "local" if label.get("type") == "flyte:local" else "remote"
        return cls(**{"mode": mode, **{k: v for k, v in label.items() if k in names and v is not None}})

    def to_dict(self) -> dict[str, Any]:
        """`{"type": "flyte", "mode": ..., "project": ..., "domain": ..., "endpoint": ...}`."""
        return {
            "type": "flyte" if self.mode == "remote" else "flyte:local",
            "mode": self.mode,
            "project": self.project,
            "domain": self.domain,
            "endpoint": self.endpoint,
        }
