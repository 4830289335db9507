"""Draw docs/*.svg: `scripts/diagrams.py` writes them, `--check` says whether they are as this file has them.

Every word stands on a filled shape, so that one picture is readable on a light and on a dark page.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
LINE, INK = "#6b7b95", "#16233a"
FILLS = {"user": "#fff1cf", "kernel": "#dbe9ff", "worker": "#dff5e3", "disk": "#ece6fb", "away": "#ffe2dc"}
FILLS |= {"word": "#f3f5f9"}
FONT = "font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif\""
ROW = 19


@dataclass(frozen=True)
class Box:
    """A thing: where its upper left corner is, its width, its kind, its title and what is below it."""

    x: int
    y: int
    width: int
    kind: str
    title: str
    lines: tuple[str, ...] = ()

    @property
    def height(self) -> int:
        return 34 + ROW * len(self.lines)

    def draw(self) -> Iterator[str]:
        yield (
            f'<rect x="{self.x}" y="{self.y}" width="{self.width}" height="{self.height}" rx="9" fill="{FILLS[self.kind]}"'
            f' stroke="{LINE}"/>'
        )
        middle = self.x + self.width // 2
        yield (
            f'<text x="{middle}" y="{self.y + 22}" text-anchor="middle" font-weight="600" font-size="15" fill="{INK}">'
            f"{escape(self.title)}</text>"
        )
        for n, line in enumerate(self.lines):
            yield (
                f'<text x="{middle}" y="{self.y + 22 + ROW * (n + 1)}" text-anchor="middle" font-size="13" fill="{INK}">'
                f"{escape(line)}</text>"
            )


@dataclass(frozen=True)
class Arrow:
    """A way from one point to another, with a word on it; `both` has a head at each end."""

    start: tuple[int, int]
    end: tuple[int, int]
    word: str = ""
    both: bool = False

    def draw(self) -> Iterator[str]:
        (x1, y1), (x2, y2) = self.start, self.end
        heads = 'marker-end="url(#head)"' + (' marker-start="url(#head)"' if self.both else "")
        yield f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{LINE}" stroke-width="2" {heads}/>'
        if self.word:
            x, y, width = (x1 + x2) // 2, (y1 + y2) // 2, 8 * len(self.word) + 16
            yield f'<rect x="{x - width // 2}" y="{y - 11}" width="{width}" height="22" rx="11" fill="{FILLS["word"]}"/>'
            yield f'<text x="{x}" y="{y + 5}" text-anchor="middle" font-size="13" fill="{INK}">{escape(self.word)}</text>'


def svg(width: int, height: int, title: str, *parts: Box | Arrow) -> str:
    """A picture with a title that screen readers say."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" role="img" {FONT}>'
    marker = (
        '<marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto-start-reverse">'
        f'<path d="M0 0L8 4L0 8z" fill="{LINE}"/></marker>'
    )
    body = "\n".join(line for part in parts for line in part.draw())
    return f"{head}\n<title>{escape(title)}</title>\n<defs>{marker}</defs>\n{body}\n</svg>\n"


PICTURES = {
    "turn-flow.svg": svg(
        900,
        285,
        "How a turn flows: from the cell to the worker that hosts Hermes, to the model, and back as events into the log",
        Box(10, 30, 180, "user", "Your cell", ("%%hermes run", "your functions, your data")),
        Box(260, 30, 200, "kernel", "Kernel", ("asks, approves, stops", "runs your functions")),
        Box(580, 30, 180, "worker", "Worker", ("hosts Hermes", "holds the model's key")),
        Box(800, 48, 92, "away", "Model"),
        Box(580, 200, 180, "disk", "Journal", ("each answer and result,", "before it is used")),
        Box(260, 200, 200, "disk", "Store", ("all sessions", "rebuilt from journals")),
        Box(10, 200, 180, "user", "What you see", ("rows, timeline, frame,", "saved page, Flyte report")),
        Arrow((190, 66), (258, 66)),
        Arrow((460, 50), (578, 50), "question"),
        Arrow((578, 84), (462, 84), "tool call"),
        Arrow((760, 65), (798, 65), both=True),
        Arrow((670, 102), (670, 198), "commits"),
        Arrow((578, 220), (462, 220), "events"),
        Arrow((258, 236), (192, 236)),
        Arrow((360, 102), (360, 198), "rows of its own"),
    ),
    "where-it-runs.svg": svg(
        900,
        300,
        "Where an agent runs: in a process beside the kernel, behind a protocol, or on a Flyte cluster",
        Box(10, 110, 200, "kernel", "Your notebook", ("agents, functions, data", "one API for every place")),
        Box(330, 20, 250, "worker", "Process, or Docker", ("an interpreter with Hermes,", "or an image that has one")),
        Box(330, 115, 250, "away", "ACP", ("a program that speaks it;", "its model is its own")),
        Box(330, 210, 250, "away", "Flyte", ("the agent travels:", "spec, functions, versions")),
        Box(650, 20, 240, "disk", "tools run in the notebook", ("main thread, your objects",)),
        Box(650, 115, 240, "disk", "functions offered by MCP", ("still in the notebook",)),
        Box(650, 210, 240, "disk", "tools are child actions", ("durable, cached, retried",)),
        Arrow((210, 130), (328, 56), "pipes"),
        Arrow((210, 146), (328, 150), "stdio"),
        Arrow((210, 165), (328, 245), "promote"),
        Arrow((580, 56), (648, 48), both=True),
        Arrow((580, 150), (648, 143), both=True),
        Arrow((580, 246), (648, 238)),
    ),
    "durability.svg": svg(
        900,
        215,
        "What is written when: answers and results go to the journal before they are used, a tool's start is noted first",
        Box(10, 20, 150, "away", "Model answers"),
        Box(240, 20, 150, "disk", "Journal"),
        Box(470, 20, 170, "worker", "Hermes uses it"),
        Box(10, 140, 150, "worker", "Tool is asked"),
        Box(200, 140, 160, "disk", "Note: it begins"),
        Box(400, 140, 150, "kernel", "Its body runs"),
        Box(590, 140, 120, "disk", "Journal"),
        Box(750, 140, 140, "away", "Model reads it"),
        Arrow((160, 37), (238, 37)),
        Arrow((390, 37), (468, 37)),
        Arrow((555, 54), (86, 138), "calls"),
        Arrow((160, 157), (198, 157)),
        Arrow((360, 157), (398, 157)),
        Arrow((550, 157), (588, 157)),
        Arrow((710, 157), (748, 157)),
    ),
}


def main() -> int:
    is_check = "--check" in sys.argv[1:]
    late = [name for name, text in PICTURES.items() if not _is(DOCS / name, text)]
    for name in late:
        if is_check:
            print(f"docs/{name} is not as scripts/diagrams.py draws it")
        else:
            (DOCS / name).write_text(PICTURES[name], encoding="utf-8")
            print(f"docs/{name}")
    return bool(late and is_check)


def _is(path: Path, text: str) -> bool:
    return path.exists() and path.read_text(encoding="utf-8") == text


if __name__ == "__main__":
    sys.exit(main())
