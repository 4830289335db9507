"""Hermes's own toolsets that make sense in a notebook, with what each may touch. Others can be named all the same."""

from __future__ import annotations

from dataclasses import dataclass


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
    Toolset("session_search", "Searches earlier conversations in the agent's own folder."),
    Toolset("skills", "Reads and writes instructions in the agent's own folder."),
    Toolset("clarify", "Asks you questions while it works."),
    Toolset("delegation", "Starts further agents for parts of the job; their model calls cost, too."),
)
