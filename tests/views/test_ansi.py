from __future__ import annotations

from hermes_nb.views._ansi import plain, runs


def test_colours_are_kinds_that_a_theme_can_colour() -> None:
    told = {
        "\x1b[31mred": [("bad", "red")],
        "\x1b[0;32mgreen\x1b[0m rest": [("good", "green"), ("", " rest")],
        "\x1b[38;5;28;01mkeyword\x1b[39;00m": [("good", "keyword")],
        "\x1b[38;5;241mgrey": [("", "grey")],
        "\x1b[38;5;130mbrown\x1b[38;2;1;2;3mtrue": [("meta", "browntrue")],
        "\x1b[30;43mhere\x1b[39;49m not": [("mark", "here"), ("", " not")],
        "\x1b[34;1mblue\x1b[36m, cyan": [("link", "blue, cyan")],
        "\x1b[mplain\x1b[2J\x1b]8;;https://x.example\x07": [("", "plain")],
    }
    assert {text: runs(text) for text in told} == told


def test_the_plain_text_is_the_same_without_sequences() -> None:
    assert plain("\x1b[31ma\x1b[39m\n\x1b[1;32mb\x1b[K") == "a\nb"
