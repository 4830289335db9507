"""What Hermes's toolsets give an agent, and what their tools need that is not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hermes_nb.model.message_part import ToolsetSaid

# Tool of a toolset whose check fails where something is missing -> what it is; variables where Hermes names none.
_SEES = "a model that sees: config={'auxiliary': {'vision': {'provider': ..., 'model': ...}}}, or OPENROUTER_API_KEY"
_BROWSER = "the program agent-browser (npm install -g agent-browser) with Chromium, or BROWSER_CDP_URL"
_CDP = "a browser that is debugged: config={'browser': {'cdp_url': 'http://...'}}"
_DESKTOP = "Hermes's desktop application"
_HOME = "HASS_TOKEN, and HASS_URL where it is not http://homeassistant.local:8123"
_SPOTIFY = "a Spotify account that `hermes auth spotify` signed in"
_FEISHU = "the package lark-oapi, and a Feishu application"
REQUIREMENTS: dict[str, str] = {
    "browser_cdp": _CDP,
    "browser_dialog": _CDP,
    "browser_vision": _SEES,
    "close_terminal": _DESKTOP,
    "read_terminal": _DESKTOP,
    "computer_use": "the program cua-driver",
    "image_generate": "FAL_KEY and the package fal-client, or config={'image_gen': {'provider': ...}} and its key",
    "text_to_speech": "the package edge-tts, or config={'tts': {'provider': ...}} with that provider's key",
    "video_analyze": _SEES,
    "video_generate": "FAL_KEY or XAI_API_KEY",
    "vision_analyze": _SEES,
    "xai_video_edit": "XAI_API_KEY",
    "xai_video_extend": "XAI_API_KEY",
}
_REQUIREMENTS_BY_PREFIX = {"browser_": _BROWSER, "ha_": _HOME, "spotify_": _SPOTIFY, "feishu_": _FEISHU}


def requirement(tool: str, variables: Iterable[str] = ()) -> str:
    """What a tool of Hermes needs that is not there, for people.

    Args:
        tool: Its name.
        variables: The environment variables that Hermes names for it, any of which will do.
    """
    if known := REQUIREMENTS.get(tool):
        return known
    keys = [name for name in variables if name.endswith(("_KEY", "_TOKEN"))]
    if keys:
        return ("one of " if len(keys) > 1 else "") + ", ".join(keys)
    return next((said for prefix, said in _REQUIREMENTS_BY_PREFIX.items() if tool.startswith(prefix)), "")


@dataclass(frozen=True, slots=True)
class ToolsetTools:
    """What a toolset gives an agent.

    Attributes:
        tools: Names of its tools that the model is offered.
        missing: Names of those that it is not offered, with what they need.
    """

    tools: tuple[str, ...]
    missing: Mapping[str, str]

    @classmethod
    def from_wire(cls, told: ToolsetSaid) -> ToolsetTools:
        """Read what the worker says of one toolset."""
        return cls(
            tuple(map(str, told.get("tools") or ())), {str(k): str(v) for k, v in (told.get("missing") or {}).items()}
        )
