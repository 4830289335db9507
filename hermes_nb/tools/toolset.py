"""Hermes's own toolsets that make sense in a notebook, with what each may touch. Others can be named all the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from hermes_nb._near import near


@dataclass(frozen=True, slots=True)
class Toolset:
    """A toolset of Hermes.

    Attributes:
        name: As `Agent(toolsets=...)` takes it.
        touches: What it may read, change or call, for people.
        is_strong: Whether it can change things outside the agent's own folder.
    """

    name: str
    touches: str
    is_strong: bool = False


# tests/tools/test_toolset.py compares the names with hermes-agent's own list.
TOOLSETS = (
    Toolset("web", "Searches the web and reads pages: what it looks for goes to a search service."),
    Toolset("file", "Reads, writes and changes files that you can.", True),
    Toolset("terminal", "Runs shell commands as you: files, programs, network.", True),
    Toolset("code_execution", "Runs Python scripts as you, in a process of their own.", True),
    Toolset("browser", "Opens pages in a browser, clicks and types there.", True),
    Toolset("vision", "Sends pictures it is given to a model that sees."),
    Toolset("image_gen", "Makes pictures with an outside service, which needs a key."),
    Toolset("todo", "Keeps a list of steps; touches nothing else."),
    Toolset("memory", "Keeps notes between sessions, in the agent's own folder."),
    Toolset("skills", "Reads and writes instructions in the agent's own folder."),
    Toolset("clarify", "Asks you questions while it works."),
    Toolset("delegation", "Starts further agents for parts of the job; their model calls cost, too."),
)

# Further toolsets of hermes-agent 0.19 that work here, most once a key, an account or a program is there.
OTHERS = frozenset(
    "computer_use debugging discord discord_admin feishu_doc feishu_drive homeassistant safe search spotify tts"
    " video video_gen x_search".split()
)

_GATEWAY = (
    "is Hermes's choice of tools for a messaging gateway or editor, none of which runs here; name the toolsets you need"
)
# Toolset of hermes-agent 0.19 -> why an agent here can't have it, as the end of a sentence.
REFUSED = {
    "all": "names every toolset there is; name those you need",
    "coding": "holds tools that can't work here; name its parts: file, terminal, code_execution, browser, skills, todo",
    "context_engine": "holds no tool without a plug-in of Hermes, and none is loaded",
    "cronjob": "needs Hermes's scheduler, which does not run here; use the scheduler of your system, or Flyte",
    "kanban": "needs Hermes's board and dispatcher, which do not run here; use delegation",
    "project": "belongs to Hermes's desktop application",
    "session_search": "searches a database of Hermes that hermes_nb does not fill; %hermes sessions searches ours",
    "yuanbao": "needs Hermes's messaging gateway, which does not run here",
    **{
        f"hermes-{name}": _GATEWAY
        for name in (
            "acp api-server bluebubbles cli cron dingtalk discord email feishu gateway homeassistant matrix mattermost qqbot"
            " signal slack sms telegram webhook wecom wecom-callback weixin whatsapp yuanbao"
        ).split()
    },
}

_CALLED = {
    "shell": "terminal",
    "bash": "terminal",
    "command": "terminal",
    "python": "code_execution",
    "code": "code_execution",
    "image": "image_gen",
    "images": "image_gen",
    "notes": "memory",
    "agents": "delegation",
    "internet": "web",
}


def unknown(names: Iterable[str]) -> str | None:
    """Return which of these toolsets an agent can't have, and why, in a sentence; None when it can have all."""
    own = [t.name for t in TOOLSETS]
    for name in names:
        if name in own or name in OTHERS:
            continue
        if (why := REFUSED.get("all" if name == "*" else name)) is not None:
            return f"The toolset {name!r} can't be had here: it {why}."
        called = _CALLED.get(name.strip().lower())
        meant = f" Did you mean {called!r}?" if called else near(name, [*own, *OTHERS])
        return f"Hermes has no toolset {name!r}.{meant} Known: {', '.join(own)}."
    return None
