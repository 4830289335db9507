"""Make the README's animated picture, docs/hello.gif, from a real run in JupyterLab.

.venv/bin/python scripts/film.py

A notebook is opened in a headless Chromium, its question is asked, and the page is photographed while the answer comes. The
embedded offline model answers; two tools take a moment, so that a person can follow. Needs the extra `test` and a Chromium.
"""

from __future__ import annotations

import io
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "hello.gif"
WIDTH, HEIGHT = 900, 500
EVERY_S = 0.1
LONGEST_S = 30.0
LAST_FRAME_MS = 3500
STYLE = ".jp-Cell-outputCollapser, .jp-Cell-inputCollapser, .jp-cell-toolbar { visibility: hidden }"

CELLS = [
    """import time

import pandas as pd

from hermes_nb import Agent, tool

df = pd.DataFrame(
    {
        "customer": ["Ada", "Alan", "Grace", "Kurt"],
        "region": ["north", "south", "north", "west"],
        "revenue": [1200, 310, 950, 80],
    }
)
""",
    '''@tool
def top_customers(n: int = 3) -> list[dict]:
    """Customers with the highest revenue."""
    time.sleep(0.9)
    return df.nlargest(n, "revenue").to_dict("records")


@tool
def revenue_by_region() -> dict[str, int]:
    """Total revenue of each region."""
    time.sleep(0.7)
    return df.groupby("region")["revenue"].sum().to_dict()
''',
    """analyst = Agent("analyst", "Answer from the data.", model="offline", tools=[top_customers, revenue_by_region])
%hermes agent analyst
""",
    """%%hermes run -a analyst -o answer
Which 3 customers have the highest revenue? And what is the total revenue of each region?
""",
]


def main() -> int:
    """Run the notebook, keep the frames that differ, and write the picture."""
    sys.path.insert(0, str(ROOT))
    from tests.browser.lab import LabServer
    from tests.browser.nbcheck import Browser

    with tempfile.TemporaryDirectory() as folder:
        notebook_file = Path(folder, "hello.ipynb")
        notebook_file.write_text(json.dumps(_notebook()), encoding="utf-8")
        with (
            LabServer(Path(folder), env={"HERMES_NB_MODEL": "offline"}, lab_extension=True) as lab,
            Browser(lab, width=WIDTH, height=1400) as browser,
        ):
            notebook = browser.open(notebook_file.name)
            notebook.page.add_style_tag(content=STYLE)
            notebook.command("application:toggle-left-area")
            for cell in range(len(CELLS) - 1):
                notebook.run_cell(cell)
                notebook.wait_idle()
            frames = _film(notebook, asked=len(CELLS) - 1)
    _write(frames)
    print(f"{PICTURE.relative_to(ROOT)}: {len(frames)} frames, {PICTURE.stat().st_size / 1000:.0f} kB")
    return 0


def _film(notebook: Any, asked: int) -> list[tuple[bytes, float]]:
    """Ask, and photograph until the answer is there; each frame with its time in seconds."""
    cell = notebook.page.locator(".jp-Notebook .jp-Cell").nth(asked)
    time.sleep(1.0)  # the card above has its full height
    cell.scroll_into_view_if_needed()
    box = cell.bounding_box()
    clip = {"x": box["x"], "y": max(box["y"] - 8, 0), "width": box["width"], "height": HEIGHT}
    started_s, frames = time.monotonic(), []
    notebook.run_cell(asked)
    while time.monotonic() - started_s < LONGEST_S:
        frames.append((notebook.page.screenshot(clip=clip), time.monotonic() - started_s))
        if frames[-1][1] > 1 and not notebook.is_running(asked):
            break
        time.sleep(EVERY_S)
    time.sleep(0.5)
    return [*frames, (notebook.page.screenshot(clip=clip), time.monotonic() - started_s)]


def _write(frames: list[tuple[bytes, float]]) -> None:
    """Put the frames that differ into one GIF, each as long as it was seen."""
    from PIL import Image

    images, durations_ms, last = [], [], b""
    for (data, at_s), (_, next_s) in zip(frames, [*frames[1:], (b"", frames[-1][1])], strict=True):
        image = Image.open(io.BytesIO(data)).convert("RGB")
        shown_ms = round((next_s - at_s) * 1000)
        if images and image.tobytes() == last:
            durations_ms[-1] += shown_ms
            continue
        last = image.tobytes()
        images.append(image.quantize(64, dither=Image.Dither.NONE))
        durations_ms.append(max(shown_ms, 60))
    durations_ms[-1] = LAST_FRAME_MS
    images[0].save(PICTURE, save_all=True, append_images=images[1:], duration=durations_ms, loop=0, optimize=True)


def _notebook() -> dict[str, Any]:
    sources = ["%load_ext hermes_nb\n" + CELLS[0], *CELLS[1:]]
    cells = [
        {
            "cell_type": "code",
            "id": f"c{i}",
            "execution_count": None,
            "metadata": {},
            "outputs": [],
            "source": source.rstrip(),
        }
        for i, source in enumerate(sources)
    ]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}


if __name__ == "__main__":
    sys.exit(main())
