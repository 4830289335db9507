"""Money stays money and a formula is a formula, in HTML and in Markdown, as in extensions/widgets/test/formula.test.js."""

from __future__ import annotations

import html
import json
import re
import time

import pytest

from hermes_nb.views._markdown_safety import to_html, to_markdown
from tests.golden.logs import HERE

CASES = json.loads((HERE / "formulas.json").read_text(encoding="utf-8"))
FOUND = re.compile(r'<(?:span|div) class="hnb-formula tex2jax_process mathjax_process">(.*?)</(?:span|div)>', re.DOTALL)


@pytest.mark.parametrize(("text", "formulas"), CASES["formulas"])
def test_a_formula_is_an_element_that_front_ends_set(text: str, formulas: list[str]) -> None:
    assert [html.unescape(found) for found in FOUND.findall(to_html(text))] == formulas


@pytest.mark.parametrize("text", CASES["none"])
def test_what_is_no_formula_stays_text(text: str) -> None:
    shown = to_html(text)
    assert FOUND.findall(shown) == []
    words = html.unescape(re.sub(r"<[^>]*>", "", shown))
    assert words.count("$") == text.count("$")


@pytest.mark.parametrize("text", CASES["none"])
def test_money_in_markdown_can_t_pair_to_a_formula(text: str) -> None:
    """Text that JupyterLab looks for pairs in is outside of code, and within one element."""
    shown = re.sub(r"`[^`]+`|```.*?```", "", to_markdown(text), flags=re.DOTALL)
    assert all(shown[m.start() : m.start() + 2] == "$$" or shown[m.start() - 1] == "$" for m in re.finditer(r"\$", shown))


@pytest.mark.parametrize(
    ("text", "marked"),
    [
        ("so $x$, and \\(y\\)", "so $x$, and $y$"),
        ("\\[\na\n\\]", "$$\na\n$$"),
        ("\\[a\\]", "$$a$$"),
        ("$5 and then $7", "<span>&#36;</span>5 and then <span>&#36;</span>7"),
        ("`$5` $5", "`$5` <span>&#36;</span>5"),
        ("    echo $HOME $USER", "    echo $HOME $USER"),
        ("    - $5 and $7", "    - <span>&#36;</span>5 and <span>&#36;</span>7"),
        ("$5 and ![x](y) 7$", "<span>&#36;</span>5 and &#33;[x](y) 7<span>&#36;</span>"),
        ("$[a](javascript:b)$", "$[a]&#40;javascript:b)$"),
    ],
)
def test_markdown_has_formulas_between_dollars_alone(text: str, marked: str) -> None:
    assert to_markdown(text) == marked


@pytest.mark.serial
def test_no_answer_takes_long() -> None:
    for answer in ("\\[" * 50_000, "\\(a" * 50_000, "$a" * 50_000, "$$ a" * 30_000, "$5 a " * 30_000):
        began = time.perf_counter()
        to_html(answer)
        to_markdown(answer)
        took_s = time.perf_counter() - began
        assert took_s < 3.0, f"{took_s:.1f} s for {answer[:20]}"
