"""The shop window's table: which module has which public name. A module is imported when one of its names is first used."""

EXPORTS = {
    "errors": ("HermesNbError", "ToolRetry", "TurnError", "UsageError"),
    "model.agent": ("Agent", "Model"),
    "model.content": ("ContentPart",),
    "model.event": ("Event",),
    "model.span": ("Span",),
    "runtimes.process": ("Process",),
    "sessions.agent": ("BoundAgent",),
    "sessions.hermes": ("Hermes",),
    "sessions.instance": ("Instance",),
    "sessions.result": ("RunResult",),
    "sessions.turn": ("Turn",),
    "tools.decorator": ("Tool", "tool"),
    "views.page": ("read_report",),
    "widgets.follow": ("Timeline", "timeline"),
}
