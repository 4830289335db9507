"""Build the site into build/site, every warning an error, and check its links.

.venv/bin/python scripts/site.py

Zensical builds it (by the authors of Material for MkDocs, which ends in May 2027; it reads the same mkdocs.yml). It takes
Markdown alone: the notebooks, with the outputs they were committed with, become Markdown here, and what lies outside docs/
is copied in.
"""

from __future__ import annotations

import argparse
import html
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "build" / "site-source"
SITE = ROOT / "build" / "site"
# What stands elsewhere in the repository, and its page.
PAGES = {"CHANGELOG.md": "changelog.md", "CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md"}

# Of HTML outputs, as a notebook shows them.
OUTPUT_STYLE = (
    "<style>:host{font-size:14px;line-height:1.5}table.dataframe{border-collapse:collapse;border:0;font-size:12px}"
    "table.dataframe :is(th,td){border:0;border-bottom:1px solid rgba(128,128,128,.3);padding:4px 12px;text-align:right}"
    "a{color:inherit}details>summary{cursor:pointer}</style>"
)


def page_of(path: str) -> str | None:
    """The page that stands for a file of the repository; None when there is none."""
    if path.startswith("notebooks/") and path.endswith(".ipynb"):
        return f"tutorial/{Path(path).stem}.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else PAGES.get(path)


def relinked(text: str, path: str, page: str) -> str:
    """A text of the repository with its links as the site has them.

    Args:
        text: Markdown.
        path: Its file, from the root of the repository.
        page: Its page, from the root of the site.

    Returns: the Markdown; a link to a file that has no page leads to nothing, so only its words stay.
    """

    def link(match: re.Match[str]) -> str:
        words, target = match[1], match[2]
        if re.match(r"[a-z]+:|#", target):
            return match[0]
        name, hash_, anchor = target.partition("#")
        to = page_of(os.path.normpath(Path(path).parent / name))
        if to is None:
            return match[0] if words.startswith("!") else words.strip("[]")
        return f"{words}({os.path.relpath(to, Path(page).parent)}{hash_}{anchor})"

    parts = re.split(r"(```.*?```)", text, flags=re.DOTALL)
    return "".join(part if part.startswith("```") else re.sub(r"(!?\[[^\]]*\])\(([^)\s]+)\)", link, part) for part in parts)


def notebook_page(path: Path) -> str:
    """A notebook as Markdown: prose, code, and the outputs it was committed with."""
    parts = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
        elif cell["cell_type"] == "code" and source.strip():
            parts.append(f"```python\n{source}\n```")
            parts += [
                f'<div class="nb-output">{shown}</div>' for output in cell["outputs"] if (shown := shown_output(output))
            ]
    return "\n\n".join(parts) + "\n"


def shown_output(output: dict[str, object]) -> str:
    """One output of a cell as HTML, in the richest form that needs no script; "" for none."""
    if output["output_type"] == "stream":
        return f"<pre>{html.escape(_text(output['text']))}</pre>"
    data = output.get("data")
    if not isinstance(data, dict):
        return ""
    for kind in ("image/png", "image/jpeg"):
        if kind in data:
            return f'<img alt="output" src="data:{kind};base64,{_text(data[kind]).strip()}">'
    if "text/html" in data and "<script" not in _text(data["text/html"]):
        shown = re.sub(r"\n\s*\n", "\n", _text(data["text/html"]))  # a blank line would end the block of HTML
        return f'<template shadowrootmode="open">{OUTPUT_STYLE}{shown}</template>'  # the site's own style stays outside
    return f"<pre>{html.escape(_text(data.get('text/plain', '')))}</pre>"


def _text(value: object) -> str:
    return "".join(value) if isinstance(value, list) else str(value)


def gather() -> None:
    """Copy and make all pages into build/site-source."""
    shutil.rmtree(SOURCE, ignore_errors=True)
    shutil.copytree(ROOT / "docs", SOURCE)
    for path in sorted(SOURCE.rglob("*.md")):
        page = str(path.relative_to(SOURCE))
        path.write_text(relinked(path.read_text(encoding="utf-8"), f"docs/{page}", page), encoding="utf-8")
    for name, page in PAGES.items():
        (SOURCE / page).write_text(relinked((ROOT / name).read_text(encoding="utf-8"), name, page), encoding="utf-8")
    (SOURCE / "tutorial").mkdir()
    for notebook in sorted((ROOT / "notebooks").glob("*.ipynb")):
        page = f"tutorial/{notebook.stem}.md"
        (SOURCE / page).write_text(relinked(notebook_page(notebook), f"notebooks/{notebook.name}", page), encoding="utf-8")
    (SOURCE / "llms.txt").write_text(llms(), encoding="utf-8")


def llms() -> str:
    """What a language model reads first (https://llmstxt.org): what this is, and each page with its first sentence."""
    lines = [
        "# hermes_nb",
        "",
        "> Build, watch and ship Hermes agents from a Jupyter notebook, with functions of its cells as tools.",
        "",
        "## Pages",
        "",
    ]
    for path in sorted(SOURCE.rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        head = re.search(r"^# (.+)$", text, re.MULTILINE)
        if head is not None:
            lines.append(f"- [{head[1]}]({path.relative_to(SOURCE).with_suffix('.html')})")
    return "\n".join(lines) + "\n"


def broken_links(site: Path) -> list[str]:
    """Links of the built pages to a file or an anchor that is not there, as `page: target`."""
    pages = {path: path.read_text(encoding="utf-8") for path in sorted(site.rglob("*.html"))}
    anchors = {path: set(re.findall(r'\b(?:id|name)="?([^"\s>]+)', text)) for path, text in pages.items()}
    faults = []
    for path, text in pages.items():
        body = re.sub(r"<(script|style|pre|code)\b.*?</\1>", "", text, flags=re.DOTALL)
        for target in re.findall(r'\b(?:href|src)="([^"]+)"', body):
            if re.match(r"[a-z][a-z+.-]*:|//", target) or (path.name == "404.html" and target.startswith("/")):
                continue
            name, _, anchor = html.unescape(target).partition("#")
            to = (path.parent / unquote(name.partition("?")[0])).resolve() if name else path
            is_anchor_missing = (
                anchor and to in anchors and unquote(anchor) not in anchors[to] and not anchor.startswith("__")
            )
            if not to.exists() or is_anchor_missing:
                faults.append(f"{path.relative_to(site)}: {target}")
    return faults


def build() -> list[str]:
    """Make the site; returns what is wrong with it, line by line."""
    gather()
    shutil.rmtree(SITE, ignore_errors=True)
    ran = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--clean", "--strict"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    said = [line for line in (ran.stdout + ran.stderr).splitlines() if line.strip()]
    return said if ran.returncode else broken_links(SITE)


def main() -> int:
    """Build, and say what is wrong or where the site is."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    if faults := build():
        print("\n".join(faults), file=sys.stderr)
        return 1
    n_pages = len(list(SITE.rglob("*.html")))
    print(f"{n_pages} pages in {SITE.relative_to(ROOT)}: open {(SITE / 'index.html').relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
