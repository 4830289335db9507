"""The evaluation as a page in a cell: scores by variant with intervals, the worst cases first, each opens its steps."""

from __future__ import annotations

import math
from html import escape
from typing import TYPE_CHECKING, Any

from hermes_nb.api.evaluation.trial import Trial
from hermes_nb.model.format import format_usd
from hermes_nb.views import html as html_view
from hermes_nb.views._input import folder_of
from hermes_nb.views._listing import listing
from hermes_nb.views._total import totals

if TYPE_CHECKING:
    from hermes_nb.api.evaluation.comparison import Comparison
    from hermes_nb.api.evaluation.evaluation import Evaluation

N_WORST = 20
_CUT_CHARS = 160
_STYLE = """
.hnb-eval table{border-collapse:collapse;margin:4px 0 10px}
.hnb-eval th,.hnb-eval td{padding:3px 10px;text-align:right;\
border-bottom:1px solid var(--jp-border-color2,rgba(128,128,128,.25))}
.hnb-eval th:first-child,.hnb-eval td:first-child,.hnb-eval .hnb-left{text-align:left}
.hnb-eval .hnb-bar{display:inline-block;position:relative;width:140px;height:.8em;\
background:var(--jp-layout-color2,rgba(128,128,128,.15));vertical-align:middle}
.hnb-eval .hnb-bar i{position:absolute;top:0;bottom:0;background:var(--jp-brand-color2,#64b5f6);opacity:.55}
.hnb-eval .hnb-bar b{position:absolute;top:-2px;bottom:-2px;width:2px;background:var(--jp-content-font-color1,#333)}
.hnb-eval details{border-bottom:1px solid var(--jp-border-color2,rgba(128,128,128,.25));padding:3px 0}
.hnb-eval summary{cursor:pointer}
.hnb-eval details>div{padding-left:1.4em}
""".strip()


def html(evaluation: Evaluation) -> str:
    """Return the page; everything that comes from a case, an answer or a scorer is escaped."""
    rows = evaluation.summary()
    parts = [f"<style>{html_view.STYLE}\n{_STYLE}</style>", '<div class="hnb hnb-eval tex2jax_ignore mathjax_ignore">']
    parts.append(f'<div class="hnb-total">{escape(_totals(evaluation))}</div>')
    if rows:
        low = min((r["low"] for r in rows if not math.isnan(r["low"])), default=0.0)
        high = max((r["high"] for r in rows if not math.isnan(r["high"])), default=1.0)
        low, high = min(0.0, low), max(1.0, high)
        parts.append("<table><thead><tr><th>variant</th><th class='hnb-left'>score</th><th>mean</th><th>95 % interval</th>")
        parts.append("<th></th><th>cases</th><th>failed</th></tr></thead><tbody>")
        for row in rows:
            parts.append(
                f"<tr><td>{escape(row['variant'])}</td><td class='hnb-left'>{escape(row['score'])}</td>"
                f"<td><b>{_number(row['mean'])}</b></td><td>{_number(row['low'])} to {_number(row['high'])}</td>"
                f"<td>{_bar(row, low, high)}</td><td>{row['n']} of {row['n_cases']}</td>"
                f"<td{' class=hnb-error' if row['n_failed'] else ''}>{row['n_failed']}</td></tr>"
            )
        parts.append("</tbody></table>")
    worst = evaluation.worst(N_WORST)
    if worst:
        left = len(evaluation.trials) - len(worst)
        more = f"; {left:,} more in .frame" if left else ""
        parts.append(f'<h4 class="hnb-heading">The worst first{more}</h4>')
        parts += [_trial(t) for t in worst]
    parts.append("</div>")
    return "\n".join(parts)


def text(evaluation: Evaluation) -> str:
    """Return the scores as lines, for a terminal."""
    lines = [_totals(evaluation)]
    for row in evaluation.summary():
        lines.append(
            f"{row['variant']} · {row['score']}: {_number(row['mean'])} ({_number(row['low'])} to {_number(row['high'])}),"
            f" {row['n']} of {row['n_cases']} cases" + (f", {row['n_failed']} failed" if row["n_failed"] else "")
        )
    return "\n".join(lines)


def comparison_html(comparison: Comparison) -> str:
    """Return the comparison as tables: each score, then the cases that differ, those that became worse first."""
    parts = [
        f"<style>{html_view.STYLE}\n{_STYLE}</style>",
        '<div class="hnb hnb-eval tex2jax_ignore mathjax_ignore"><table>',
    ]
    parts.append("<thead><tr><th>score</th><th>than</th><th>now</th><th>difference</th><th>95 % interval</th><th>p</th>")
    parts.append("<th>better</th><th>worse</th><th>cases</th></tr></thead><tbody>")
    for row in comparison.summary:
        parts.append(
            f"<tr><td>{escape(row['variant'])} · {escape(row['score'])}</td><td>{_number(row['mean_than'])}</td>"
            f"<td>{_number(row['mean'])}</td><td><b>{_signed(row['difference'])}</b></td>"
            f"<td>{_signed(row['low'])} to {_signed(row['high'])}</td><td>{_p(row['p'])}</td><td>{row['n_better']}</td>"
            f"<td>{row['n_worse']}</td><td>{row['n']}</td></tr>"
        )
    parts.append("</tbody></table>")
    changed = [p for p in comparison.pairs if p["difference"]]
    if changed:
        parts.append("<table><thead><tr><th>case</th><th class='hnb-left'>score</th><th>than</th><th>now</th></tr></thead>")
        for pair in changed[: 2 * N_WORST]:
            parts.append(
                f"<tr><td>{escape(_cut(pair['case']))}</td><td class='hnb-left'>{escape(pair['score'])}</td>"
                f"<td>{_number(pair['value_than'])}</td><td>{_number(pair['value'])}</td></tr>"
            )
        parts.append("</table>")
    return "\n".join([*parts, "</div>"])


def comparison_text(comparison: Comparison) -> str:
    """Return the comparison as lines."""
    return "\n".join(
        f"{r['variant']} · {r['score']}: {_number(r['mean_than'])} to {_number(r['mean'])}, {_signed(r['difference'])}"
        f" ({_signed(r['low'])} to {_signed(r['high'])}), p {_p(r['p'])}, {r['n_better']} better, {r['n_worse']} worse,"
        f" {r['n']} cases"
        for r in comparison.summary
    )


def _totals(evaluation: Evaluation) -> str:
    trials = evaluation.trials
    costs = [t.outcome.cost_usd for t in trials if t.outcome.cost_usd is not None]
    n_tokens = sum(t.outcome.n_tokens or 0 for t in trials)
    n_bad = sum(not t.outcome.is_answered for t in trials)
    n_cases, n_variants = len({t.case.name for t in trials}), len(evaluation.variants)
    parts = [f"{n_cases:,} cases", f"{n_variants} variant{'s' if n_variants != 1 else ''}", f"{len(trials):,} turns"]
    parts += [f"{n_bad:,} without an answer"] if n_bad else []
    parts.append(f"{n_tokens:,} tokens")
    return " · ".join([*parts, *([format_usd(sum(costs))] if costs else [])])


def _trial(trial: Trial) -> str:
    scores = " · ".join(
        f"{escape(s.name)} {'⚠' if s.error else escape(s.label) if s.value is None else _number(s.value)}"
        for s in trial.scores
    )
    state = scores if trial.outcome.is_answered else f"⚠ {escape(trial.outcome.status)}"
    repeat = f" · repeat {trial.repeat}" if trial.repeat > 1 else ""
    whose = f"<span class='hnb-dim'>{escape(trial.variant)}{repeat}</span>"
    head = f"<b>{state or 'no score'}</b> — {escape(_cut(trial.case.name))} {whose}"
    lines = []
    if trial.case.expected is not None:
        lines.append(f"<p><b>expected</b> {escape(_cut(str(trial.case.expected), 1_000))}</p>")
    lines += [
        f"<p><b>{escape(s.name)}</b> {escape(_cut(s.error or s.reason, 1_000))}</p>"
        for s in trial.scores
        if s.error or s.reason
    ]
    if trial.events:
        folder = folder_of(trial.events)
        lines.append(html_view.fragment(listing(folder), totals(folder)))
    elif trial.outcome.text or trial.outcome.error:
        lines.append(f"<pre>{escape(_cut(trial.outcome.text or trial.outcome.error or '', 4_000))}</pre>")
    return f"<details><summary>{head}</summary><div>{''.join(lines)}</div></details>"


def _bar(row: dict[str, Any], low: float, high: float) -> str:
    if math.isnan(row["low"]):
        return ""
    span = high - low or 1.0
    left, width = 100 * (row["low"] - low) / span, 100 * (row["high"] - row["low"]) / span
    mark = 100 * (row["mean"] - low) / span
    return (
        f"<span class='hnb-bar'><i style='left:{left:.1f}%;width:{width:.1f}%'></i><b style='left:{mark:.1f}%'></b></span>"
    )


def _number(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:.3g}"


def _signed(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+.3g}"


def _p(value: float) -> str:
    return "–" if math.isnan(value) else "< 0.001" if value < 0.001 else f"{value:.3f}"


def _cut(text: str, n_chars: int = _CUT_CHARS) -> str:
    line = " ".join(text.split()) if n_chars == _CUT_CHARS else text
    return line if len(line) <= n_chars else line[: n_chars - 1] + "…"
