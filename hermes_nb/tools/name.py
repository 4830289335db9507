"""What a tool may be called: well formed, not Hermes's own, once per agent."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeVar

from hermes_nb.errors import ToolNameError


class NamedTool(Protocol):
    """A function under a name, as `Tool` is."""

    @property
    def name(self) -> str:
        """What the model calls it by."""

    @property
    def function(self) -> Callable[..., Any]:
        """What runs."""


_Named = TypeVar("_Named", bound=NamedTool)

# OpenAI allows 64 of [A-Za-z0-9_-]; Gemini wants a letter or underscore first. Both together:
_WELL_FORMED = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")

# Names in the registry of hermes-agent 0.19.0 (`tools.registry`, after `import model_tools`), and the three bridge
# tools of its tool search. A registration under one of them is refused there with a log line only, and the built-in
# runs instead. tests/tools/test_name.py compares the list with the installed release.
HERMES_NAMES = frozenset(
    """
    browser_back browser_cdp browser_click browser_console browser_dialog browser_get_images browser_navigate
    browser_press browser_scroll browser_snapshot browser_type browser_vision clarify close_terminal computer_use
    cronjob delegate_task discord discord_admin execute_code feishu_doc_read feishu_drive_add_comment
    feishu_drive_list_comment_replies feishu_drive_list_comments feishu_drive_reply_comment ha_call_service
    ha_get_state ha_list_entities ha_list_services image_generate kanban_attach kanban_attach_url kanban_attachments
    kanban_block kanban_comment kanban_complete kanban_create kanban_heartbeat kanban_link kanban_list kanban_show
    kanban_unblock memory patch process project_create project_list project_switch read_file read_terminal
    search_files session_search skill_manage skill_view skills_list spotify_albums spotify_devices spotify_library
    spotify_playback spotify_playlists spotify_queue spotify_search terminal text_to_speech todo tool_call
    tool_describe tool_search video_analyze video_generate vision_analyze web_extract web_search write_file x_search
    xai_video_edit xai_video_extend yb_query_group_info yb_query_group_members yb_search_sticker yb_send_dm
    yb_send_sticker
    """.split()
)


# The package's own tools (`hermes_nb.tools.builtin`), which every agent with tools has besides, and what they do.
OUR_NAMES = {"more": "reads on in a cut result", "list_variables": "names the notebook's variables"}
OURS = "hermes_nb.tools.builtin"


def check(name: str, *, module: str = "") -> str:
    """The name, if a tool may bear it.

    Args:
        name: The name.
        module: Where the tool's function was defined: the package's own may bear the package's names.

    Raises:
        ToolNameError: It is malformed (then a well-formed one is suggested), or Hermes or the package owns it.
    """
    if name == "<lambda>":
        raise ToolNameError("A lambda has no name a model could call. Give it one: tool(function, name='my_tool').")
    if not isinstance(name, str) or not _WELL_FORMED.fullmatch(name):
        raise ToolNameError(
            f"Tool name {name!r} can't be used: models accept letters, digits, '_' and '-' only, starting with a letter"
            f" or '_', 64 characters at most. Use name={_well_formed(str(name))!r}, for example."
        )
    if name in HERMES_NAMES:
        raise ToolNameError(
            f"Tool name {name!r} belongs to Hermes's own tool of that name, which would run instead."
            f" Rename the function or use @tool(name={_free(name)!r})."
        )
    if name in OUR_NAMES and module != OURS:
        raise ToolNameError(
            f"Tool name {name!r} belongs to the tool of hermes_nb that {OUR_NAMES[name]}: the model would meet two of that"
            f" name. Rename the function or use @tool(name={_free(name)!r})."
        )
    return name


def unique(tools: Iterable[_Named]) -> list[_Named]:
    """The tools in order, each once; the same tool given twice is kept once.

    Raises:
        ToolNameError: Two different functions bear one name; the message says where each is defined.
    """
    taken: dict[str, _Named] = {}
    for tool in tools:
        other = taken.setdefault(tool.name, tool)
        if other is not tool and other.function != tool.function:
            raise ToolNameError(
                f"Two functions are named {tool.name!r} in one agent: {_place(other)} and {_place(tool)}."
                f" Give one another name: @tool(name={_free(tool.name)!r})."
            )
    return list(taken.values())


def _well_formed(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name.replace("ß", "ss")).encode("ascii", "ignore").decode()
    plain = re.sub(r"[^A-Za-z0-9_-]+", "_", plain).strip("_-")[:64]
    if not plain:
        return "my_tool"
    return plain if _WELL_FORMED.fullmatch(plain) and plain not in HERMES_NAMES.union(OUR_NAMES) else f"my_{plain}"[:64]


def _free(name: str) -> str:
    return f"my_{name}"[:64]


def _place(tool: NamedTool) -> str:
    code = getattr(tool.function, "__code__", None) or getattr(getattr(tool.function, "__func__", None), "__code__", None)
    qualname = getattr(tool.function, "__qualname__", type(tool.function).__qualname__)
    return f"{qualname} (line {code.co_firstlineno} of {code.co_filename})" if code is not None else qualname
