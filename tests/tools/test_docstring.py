"""Where sections are placed, how they are spelled and spaced; the conformance table has the ordinary cases."""

# ruff: noqa: E501 - one case a line

import subprocess
import sys

import pytest

from hermes_nb.tools.schema.docstring import Docstring, parse

NAMES = ["n", "region", "k"]

CASES = {
    "nothing": (None, "", {}),
    "blank": ("  \n ", "", {}),
    "a summary": ("Sums up.", "Sums up.", {}),
    "paragraphs": ("Sums up.\n\n    More.\n\n\n    And more.\n", "Sums up.\n\nMore.\n\nAnd more.", {}),
    "types and optional": (
        "S.\n\n    Args:\n        n (int, optional): Count. Defaults to 3.\n        region (dict[str, int]): Where.\n",
        "S.",
        {"n": "Count. Defaults to 3.", "region": "Where."},
    ),
    "paragraphs in an item": (
        "S.\n\n    Args:\n        n: Count.\n\n            Second.\n        region: Where:\n            - a: one\n            - b: two\n",
        "S.",
        {"n": "Count. Second.", "region": "Where: - a: one - b: two"},
    ),
    "lower case": ("S.\n\n    args:\n        n: Count.\n    returns:\n        X.\n", "S.", {"n": "Count."}),
    "dashes for colons": (
        "S.\n\n    Args:\n        n - Count.\n        region -- Where.\n",
        "S.",
        {"n": "Count.", "region": "Where."},
    ),
    "bullets and backticks": (
        "S.\n\n    Args:\n        - n: Count.\n        * `region` (str): Where.\n        **k**: Which.\n",
        "S.",
        {"n": "Count.", "region": "Where.", "k": "Which."},
    ),
    "tabs": ("S.\n\tArgs:\n\t\tn: Count.\n\tReturns:\n\t\tX.", "S.", {"n": "Count."}),
    "Windows lines": ("S.\r\n\r\nArgs:\r\n    n: Count.\r\n", "S.", {"n": "Count."}),
    "blank lines between items": (
        "S.\n\n    Args:\n\n        n: Count.\n\n        region: Where.\n\n    Returns:\n\n        X.\n",
        "S.",
        {"n": "Count.", "region": "Where."},
    ),
    "sections without blank lines": (
        "S.\n    Args:\n        n: Count.\n    Keyword Arguments:\n        k: Which.\n    Other Parameters:\n        region: Where.\n    Raises:\n        KeyError: X.\n    Yields:\n        X.\n",
        "S.",
        {"n": "Count.", "k": "Which.", "region": "Where."},
    ),
    "an item without text": ("S.\n\n    Args:\n        n\n        region: Where.\n", "S.", {"region": "Where."}),
    "a name again in a continuation": (
        "S.\n\n    Args:\n        n: As in\n            region: see there.\n        region: Where.\n",
        "S.",
        {"n": "As in region: see there.", "region": "Where."},
    ),
    "continuation that is not indented": (
        "S.\n\n    Args:\n        n: Count that\n        goes on.\n        region: Where.\n",
        "S.",
        {"n": "Count that goes on.", "region": "Where."},
    ),
    "first item deeper": (
        "S.\n\n    Args:\n            n: Count.\n        region: Where.\n",
        "S.",
        {"n": "Count.", "region": "Where."},
    ),
    "stars": ("S.\n\n    Args:\n        n: Count.\n        **k: Rest.\n", "S.", {"n": "Count.", "k": "Rest."}),
    "an empty section": ("S.\n\n    Args:\n", "S.", {}),
    "None as the section": ("S.\n\n    Args:\n        None\n\n    Returns:\n        None\n", "S.", {}),
    "notes stay": (
        "S.\n\n    Note:\n        In euro.\n\n    Args:\n        n: Count.\n",
        "S.\n\nNote:\n    In euro.",
        {"n": "Count."},
    ),
    "examples go": (
        "S.\n\n    Args:\n        n: Count.\n\n    Examples:\n        >>> f(1)\n        2\n",
        "S.",
        {"n": "Count."},
    ),
    "fenced code is text": ("S.\n\n    ```\n    Args:\n        n: No.\n    ```\n", "S.\n\n```\nArgs:\n    n: No.\n```", {}),
    "Returns on its own line": ("S.\n\n    Returns: the count,\n    and more.\n\n    Tail.\n", "S.\n\nTail.", {}),
    "NumPy with spaces forgotten": (
        "S.\n    Parameters\n    ---\n    n: int\n      Count.\n    region :\n        Where.\n\n        More.\n    **k : dict\n        Rest.\n    Returns\n    -------\n    x : int\n",
        "S.",
        {"n": "Count.", "region": "Where. More.", "k": "Rest."},
    ),
    "NumPy with the text in place of the type": (
        "S.\n\n    Parameters\n    ----------\n    n : the count\n",
        "S.",
        {"n": "the count"},
    ),
    "NumPy notes stay": (
        "S.\n\n    Notes\n    -----\n    Slow.\n\n    See Also\n    --------\n    other : X.\n",
        "S.\n\nNotes:\nSlow.",
        {},
    ),
    "Sphinx fields and text after them": (
        "S.\n\n    :param int n: Count,\n        more.\n\n        Second.\n    :type region: str\n    :param region: Where.\n    :keyword k: Which.\n    :rtype: int\n\n    Tail.\n",
        "S.\n\nTail.",
        {"n": "Count, more. Second.", "region": "Where.", "k": "Which."},
    ),
    "Sphinx without a blank line": ("S.\n    :param n: Count.\n    :return: X.", "S.", {"n": "Count."}),
    "epydoc": ("S.\n\n    @param n: Count.\n    @return: X.\n", "S.", {"n": "Count."}),
    "two dialects": (
        "S.\n\n    Args:\n        n: Count.\n\n    :param region: Where.\n",
        "S.",
        {"n": "Count.", "region": "Where."},
    ),
    "the first of two": ("S.\n\n    Args:\n        n: First.\n\n    :param n: Second.\n", "S.", {"n": "First."}),
    "the parameters win over attributes": (
        "S.\n\n    Attributes:\n        n: Of the class.\n        k: Kept.\n\n    Args:\n        n: Count.\n",
        "S.",
        {"n": "Count.", "k": "Kept."},
    ),
    "Markdown headings": (
        "S.\n\n    ## Parameters\n    - `n` (int): Count.\n    - **region**: Where,\n      more.\n\n    ## Example\n    ```python\n    # Parameters\n    f(1)\n    ```\n\n    ## Details\n    Slow.\n",
        "S.\n\n## Details\nSlow.",
        {"n": "Count.", "region": "Where, more."},
    ),
    "Markdown in bold": (
        "S.\n\n    **Args**:\n\n    - n: Count.\n    - region: Where.\n\n    More.\n\n    **Returns:**\n    X.\n\n    End.\n",
        "S.\n\nMore.\n\nEnd.",
        {"n": "Count.", "region": "Where."},
    ),
    "bold prose": (
        "S.\n\n    **Parameters** matter.\n\n    # Notes\n    Slow.\n",
        "S.\n\n**Parameters** matter.\n\n# Notes\nSlow.",
        {},
    ),
    "a short underline": ("S.\n\n    Parameters\n    --\n    n : int\n        Count.\n", "S.", {"n": "Count."}),
    "nothing but what is returned": ("Returns: the sum of n.", "Returns: the sum of n.", {}),
    "nothing but a section of what is returned": (
        "\n    Returns:\n        The sum\n        of n.\n",
        "Returns: The sum of n.",
        {},
    ),
    "prose with colons": (
        "See https://example.org/a: good.\n\n    Mind: slow. Example: f(3).\n",
        "See https://example.org/a: good.\n\nMind: slow. Example: f(3).",
        {},
    ),
    "prose that ends like a section": ("Use it so. Example:\n\n    f(3)\n", "Use it so. Example:\n\nf(3)", {}),
}


@pytest.mark.parametrize(("text", "description", "parameters"), CASES.values(), ids=CASES)
def test_docstring(text, description, parameters):
    assert parse(text, NAMES) == Docstring(description, parameters)


def test_a_docstring_without_sections_does_not_import_griffe():
    code = "import sys; from hermes_nb.tools.schema.docstring import parse; parse('Sums up: all.\\n\\nMore.'); print('griffe' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.strip() == "False"


def test_parsing_says_nothing(capfd, caplog):
    parse("S.\n\nArgs:\n    n (no type here: broken\n    : nothing\n", NAMES)
    assert not caplog.records
    assert capfd.readouterr() == ("", "")
