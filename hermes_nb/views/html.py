"""Steps, answer and totals as self-contained HTML: no script, no request, colours of the front end, light and dark.

Jupyter front ends prefer text/html to text/markdown, so this is what a finished turn looks like in JupyterLab too, and
in nbconvert, VS Code and on GitHub. The structure is that of elements alone: steps are the rows of a table, what a row
opens to is in `details`, so that it reads where a front end strips the style element; JupyterLab does so in a notebook that
was not run there, and has it from our extension.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

from hermes_nb.views._input import Source, folder_of
from hermes_nb.views._listing import MAX_ROWS, Listing, Prose, listing
from hermes_nb.views._markdown_safety import to_html
from hermes_nb.views._row_text import Detail
from hermes_nb.views._steps import Step, is_shown_open
from hermes_nb.views._total import foot_line, total_line, totals
from hermes_nb.views.rows import valid

# `.hnb.hnb`: JupyterLab has rules of its own for tables and code in an output, as specific as one class and an element.
STYLE = """
.hnb{font-family:var(--jp-content-font-family,system-ui,sans-serif);font-size:var(--jp-content-font-size1,14px);\
line-height:1.5;color:var(--jp-content-font-color1,inherit);max-width:60em;overflow-wrap:anywhere}
.hnb.hnb table.hnb-steps{table-layout:fixed;width:100%;border-collapse:collapse;border:none;margin:0 0 6px;font-size:.93em}
.hnb.hnb table.hnb-steps>tbody>tr{background:none;border:none;border-bottom:1px solid \
var(--jp-border-color2,rgba(128,128,128,.25))}
.hnb.hnb table.hnb-steps>tbody>tr>td{padding:2px 4px;border:none;text-align:left;vertical-align:top;line-height:22px;\
max-width:none;overflow:hidden;white-space:nowrap}
.hnb.hnb table.hnb-steps>tbody>tr>td.hnb-icon{width:16px;text-align:center;padding:2px 0;\
color:var(--jp-content-font-color2,inherit)}
.hnb.hnb table.hnb-steps>tbody>tr>td.hnb-time{width:76px;text-align:right;font-variant-numeric:tabular-nums;\
color:var(--jp-content-font-color2,inherit)}
.hnb.hnb table.hnb-steps>tbody>tr.hnb-ok>td.hnb-icon{color:var(--jp-success-color1,#2e7d32)}
.hnb.hnb table.hnb-steps>tbody>tr.hnb-bad>td.hnb-icon,.hnb .hnb-bad .hnb-gist,.hnb .hnb-error\
{color:var(--jp-error-color1,#c2321f)}
.hnb .hnb-one,.hnb .hnb-step>td>details>summary{display:flex;gap:.6em;align-items:baseline;white-space:nowrap;\
overflow:hidden;height:22px;line-height:22px}
.hnb .hnb-step>td>details>summary{cursor:pointer;list-style:none}
.hnb .hnb-step>td>details>summary::-webkit-details-marker{display:none}
.hnb .hnb-step>td>details>summary::after{content:"▸";flex:none;opacity:.6}
.hnb .hnb-step>td>details[open]>summary::after{content:"▾"}
.hnb .hnb-call,.hnb .hnb-gist{flex:0 1 auto;min-width:0;overflow:hidden;text-overflow:ellipsis}
.hnb .hnb-call{flex:none;max-width:62%}
.hnb .hnb-call:last-child{max-width:100%;flex:0 1 auto}
.hnb.hnb code.hnb-call{font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.95em;background:none;\
color:inherit;padding:0;border:none;white-space:nowrap}
.hnb .hnb-gist,.hnb .hnb-dim,.hnb .hnb-total,.hnb .hnb-label{color:var(--jp-content-font-color2,inherit)}
.hnb .hnb-kind-heading .hnb-call,.hnb .hnb-kind-ending .hnb-call{font-weight:600}
.hnb .hnb-detail{margin:2px 0 8px;white-space:normal}
.hnb .hnb-label{font-size:.88em}
.hnb.hnb pre{white-space:pre;max-height:24em;overflow:auto;margin:2px 0;padding:6px 8px;border:none;border-radius:3px;\
font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:.93em;line-height:1.45;color:inherit;\
background:var(--jp-layout-color2,rgba(128,128,128,.12))}
.hnb.hnb .hnb-detail pre{white-space:pre-wrap}
.hnb .hnb-ink-bad{color:var(--jp-error-color1,#c2321f)}
.hnb .hnb-ink-good{color:var(--jp-success-color1,#2e7d32)}
.hnb .hnb-ink-link{color:var(--jp-content-link-color,#0072b2)}
.hnb .hnb-ink-meta{color:var(--jp-mirror-editor-string-color,#8a5a00)}
.hnb .hnb-ink-mark{background:var(--jp-warn-color2,#ffe08a);color:#000}
.hnb.hnb pre code{background:none;padding:0;border:none;color:inherit;white-space:inherit;font-size:1em}
.hnb.hnb p code,.hnb.hnb li code,.hnb.hnb .hnb-answer td code{background:var(--jp-layout-color2,rgba(128,128,128,.12));\
color:inherit;padding:1px 4px;border-radius:2px;font-size:.93em}
.hnb.hnb table.hnb-grid,.hnb.hnb .hnb-prose table{display:block;width:max-content;max-width:100%;overflow-x:auto;\
border-collapse:collapse;border:none;margin:.3em 0;font-size:.93em;line-height:1.45}
.hnb.hnb .hnb-prose table{margin:.6em 0}
.hnb.hnb table.hnb-grid tr,.hnb.hnb .hnb-prose table tr{background:none}
.hnb.hnb table.hnb-grid th,.hnb.hnb table.hnb-grid td,.hnb.hnb .hnb-prose th,.hnb.hnb .hnb-prose td{padding:3px 10px;\
border:1px solid var(--jp-border-color2,rgba(128,128,128,.35));text-align:left;vertical-align:top;overflow-wrap:normal;\
word-break:normal;max-width:28em;white-space:normal;line-height:inherit}
.hnb.hnb table.hnb-grid th,.hnb.hnb .hnb-prose th{font-weight:600;white-space:nowrap}
.hnb.hnb table.hnb-grid .hnb-number,.hnb.hnb .hnb-prose [style*="right"]{text-align:right;font-variant-numeric:tabular-nums}
.hnb.hnb .hnb-prose [style*="center"]{text-align:center}
.hnb.hnb table.hnb-pairs th,.hnb.hnb table.hnb-pairs td{border:none;padding:1px 12px 1px 0;white-space:pre-wrap}
.hnb.hnb table.hnb-pairs th{font-weight:400;color:var(--jp-content-font-color2,inherit)}
.hnb img.hnb-picture{display:block;max-width:100%;height:auto;margin:4px 0;background:#fff}
.hnb .hnb-prose{padding:6px 0 2px}
.hnb .hnb-prose>:first-child{margin-top:0}
.hnb.hnb .hnb-prose pre{max-height:none;margin:.5em 0;border:1px solid var(--jp-border-color2,rgba(128,128,128,.35))}
.hnb.hnb .hnb-prose h1{font-size:1.3em}
.hnb.hnb .hnb-prose h2{font-size:1.15em}
.hnb.hnb .hnb-prose h3,.hnb.hnb .hnb-prose h4,.hnb.hnb .hnb-prose h5,.hnb.hnb .hnb-prose h6{font-size:1.05em}
.hnb.hnb .hnb-prose blockquote{margin:.6em 0;padding:0 0 0 10px;border-left:3px solid \
var(--jp-border-color2,rgba(128,128,128,.35))}
.hnb a{color:var(--jp-content-link-color,#0072b2)}
.hnb .hnb-total{font-size:.86em;padding-top:4px}
.hnb .hnb-total>summary{cursor:pointer}
""".strip()

_BAD = frozenset({"error", "timed_out", "killed"})


def render(source: Source, *, max_rows: int | None = MAX_ROWS, now_unix_s: float | None = None) -> str:
    """The log as one HTML fragment. Everything that comes from a log is escaped.

    Args:
        source: Events, or a folder that a live display keeps.
        max_rows: Beyond this number the middle is left out, and a row says so; None for all.
        now_unix_s: The present, for the duration of what is still running.

    Returns:
        A `<style>` and a `<div>`; "" for an empty log.
    """
    folder = folder_of(source)
    return compose(listing(folder, max_rows=max_rows), totals(folder, now_unix_s=now_unix_s))


def compose(listed: Listing, total: Mapping[str, Any]) -> str:
    """`render`, of what has been listed and added up."""
    return f"<style>{STYLE}</style>\n{body}" if (body := fragment(listed, total)) else ""


def fragment(listed: Listing, total: Mapping[str, Any]) -> str:
    """The `<div>` without its style, for a page that has it already."""
    if not total["n_spans"] and not listed.entries:
        return ""
    parts = ['<div class="hnb tex2jax_ignore mathjax_ignore">']
    rows: list[Step] = []
    for entry in listed.latest:
        if not isinstance(entry, Prose):
            rows.append(entry)
            continue
        parts += [steps_html(rows)] if rows else []
        rows = []
        kind = "hnb-answer" if entry.is_answer else "hnb-said"
        parts.append(f'<div class="hnb-prose {kind}">{to_html(entry.text)}</div>')
    parts += [steps_html(rows)] if rows else []
    models = _detail({**listed.models, "label": ""}) if listed.models.get("rows") else ""
    summary = f"<summary>{_escape(foot_line(total))}</summary>"
    parts.append(f'<details class="hnb-total">{summary}{models}\n<p>{_escape(total_line(total))}</p></details></div>')
    return "\n".join(parts)


def steps_html(steps: Iterable[Step]) -> str:
    """Rows as a table: sign, step, duration; what a row opens to is in its second cell."""
    return f'<table class="hnb-steps"><tbody>\n{chr(10).join(map(step_html, steps))}\n</tbody></table>'


def step_html(step: Step) -> str:
    """One row."""
    state = " hnb-bad" if step["state"] in _BAD else " hnb-ok" if step["state"] == "ok" else ""
    tag = "code" if step["is_code"] else "span"
    shown = _escape(step["call"])
    if url := step.get("url", ""):
        shown = f'<a href="{_escape(url)}" target="_blank" rel="noopener noreferrer">{shown}</a>'
    line = f'<{tag} class="hnb-call">{shown}</{tag}>' if shown else ""
    line += f' <span class="hnb-gist">{_escape(step["summary"])}</span>' if step["summary"] else ""
    inner = "".join(map(_detail, step["details"])) + (steps_html(step["steps"]) if step.get("steps") else "")
    if inner:
        is_open = " open" if is_shown_open(step) else ""
        line = f"<details{is_open}><summary>{line}</summary>\n{inner}</details>"
    else:
        line = f'<div class="hnb-one">{line}</div>'
    for n, uri in enumerate(step.get("pictures", ()), 1):
        line += f'\n<img class="hnb-picture" src="{_escape(uri)}" alt="Plot {n} of {_escape(step["call"])}">'
    indent = f' style="padding-left:{step["depth"] * 1.6:g}em"' if step["depth"] else ""
    time = "running" if "began" in step and not step["duration"] else step["duration"]
    return (
        f'<tr class="hnb-step hnb-kind-{step["kind"]}{state}"><td class="hnb-icon">{step["icon"]}</td>'
        f'<td{indent}>{line}</td><td class="hnb-time">{_escape(time)}</td></tr>'
    )


def _detail(detail: Detail) -> str:
    label = f'<div class="hnb-label">{_escape(detail["label"])}</div>' if detail["label"] else ""
    rest = detail.get("rest", 0)
    if "pairs" in detail:
        rows = "".join(f"<tr><th>{_escape(k)}</th><td>{_escape(v)}</td></tr>" for k, v in detail["pairs"])
        body = f'<table class="hnb-grid hnb-pairs"><tbody>{rows}</tbody></table>'
    elif "columns" in detail:
        body = _grid(detail["columns"], detail.get("rows", []))
        body += f'<div class="hnb-dim">{rest:,} more rows</div>' if rest else ""
    else:
        text = "".join(map(_run, detail["runs"])) if "runs" in detail else _escape(detail.get("text", ""))
        body = f"<pre>{text}</pre>"
        body += f'<div class="hnb-dim">{rest:,} more characters</div>' if rest else ""
    return f'<div class="hnb-detail">{label}{body}</div>\n'


def _run(run: tuple[str, str]) -> str:
    kind, text = run
    return f'<span class="hnb-ink-{kind}">{_escape(text)}</span>' if kind else _escape(text)


def _grid(columns: list[str], rows: list[list[str]]) -> str:
    numbers = [all(_is_number(row[n]) for row in rows) for n in range(len(columns))]
    cells = [(' class="hnb-number" align="right"' if is_number else "") for is_number in numbers]
    head = "".join(f"<th{cell}>{_escape(name)}</th>" for cell, name in zip(cells, columns, strict=True))
    body = "\n".join(
        "<tr>" + "".join(f"<td{cell}>{_escape(text)}</td>" for cell, text in zip(cells, row, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<table class="hnb-grid"><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table>'


def _is_number(text: str) -> bool:
    return not text or text.replace(",", "").replace(".", "", 1).lstrip("-").isdigit()


def _escape(text: str) -> str:
    return html.escape(valid(text))
