from __future__ import annotations

from importlib import import_module

import pytest

from hermes_nb.errors import UsageError
from hermes_nb.magics._parser import Parser, name_list, positive_count, positive_number, variable_name, words


@pytest.fixture
def parser() -> Parser:
    made = Parser("run", takes_text=True)
    made.add_argument("-a", "--agent", metavar="NAME")
    made.add_argument("-o", "--out", type=variable_name)
    made.add_argument("--with", dest="variables", type=name_list)
    made.add_argument("--timeout", type=positive_number)
    made.add_argument("--background", action="store_true")
    return made


@pytest.mark.parametrize(
    "line",
    [
        "What's the best customer?",
        'He said "no" and left',
        "costs $5 {x} {{y}} \\n C:\\temp",
        "explain `ls -a`",
        "is 3 -2 = 1?",
        "a 'quoted' start -- and a dash",
        "  leading and trailing  ",
        "'a' and 'b' differ",
    ],
)
def test_a_question_on_the_line_is_taken_as_it_stands(parser: Parser, line: str) -> None:
    assert parser.read(line).text == line.lstrip()


def test_options_come_before_the_question(parser: Parser) -> None:
    options = parser.read("-a analyst --background -o answer What's up? {a}")
    assert (options.agent, options.background, options.out) == ("analyst", True, "answer")
    assert options.text == "What's up? {a}"


@pytest.mark.parametrize("line", ["-a 'my agent' hi", '-a "my agent" hi', '--agent="my agent" hi', "-a'my agent' hi"])
def test_a_quoted_value_is_one_value(parser: Parser, line: str) -> None:
    options = parser.read(line)
    assert (options.agent, options.text) == ("my agent", "hi")


def test_quotes_inside_double_quotes_can_be_escaped() -> None:
    assert words(r'say "a \"b\" c" \d') == ["say", 'a "b" c', r"\d"]


def test_a_quoted_question_may_be_followed_by_options(parser: Parser) -> None:
    options = parser.read('"Which -a customers?" -o answer --background')
    assert (options.text, options.out, options.background) == ("Which -a customers?", "answer", True)


def test_dashes_end_the_options(parser: Parser) -> None:
    options = parser.read("-a x -- -o is an option of what?")
    assert (options.agent, options.out, options.text) == ("x", None, "-o is an option of what?")


@pytest.mark.parametrize(
    "line",
    ["Which customers? -o answer", "Which customers? --background", "hi --timeout 3"],
)
def test_an_option_after_an_unquoted_question_is_an_error_not_part_of_it(parser: Parser, line: str) -> None:
    with pytest.raises(UsageError, match=r"stands after the question.*Put options first"):
        parser.read(line)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("--agnet x hi", r"Unknown option --agnet\. Did you mean '--agent'\?"),
        ("-x hi", r"Unknown option -x\."),
        ("-a", r"Argument -a/--agent: expected one argument\. See %hermes help run\."),
        ("-o 1x hi", "'1x' is not a name that a variable can have"),
        ("-o class hi", "'class' is not a name"),
        ("--timeout -3 hi", "expected one argument|not a number of seconds"),
        ("--timeout soon hi", "'soon' is not a number of seconds above 0"),
        ("--timeout inf hi", "'inf' is not a number of seconds above 0"),
        ("--with , hi", "A list of names is empty"),
        ("-a 'open hi", r"A quote is not closed in \"'open hi\""),
        ("--background=yes hi", "ignored explicit argument"),
    ],
)
def test_a_mistake_names_the_thing_and_the_cure(parser: Parser, line: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        parser.read(line)


@pytest.mark.parametrize("line", ["-h", "--help", "-a x -h"])
def test_help_wins_over_everything_else(parser: Parser, line: str) -> None:
    assert parser.read(line).help


def test_help_in_the_question_is_part_of_it(parser: Parser) -> None:
    options = parser.read("what does grep -h do")
    assert (options.help, options.text) == (False, "what does grep -h do")


def test_an_abbreviated_option_is_not_guessed(parser: Parser) -> None:
    with pytest.raises(UsageError, match="Unknown option --back"):
        parser.read("--back hi")


def test_a_parser_without_text_refuses_more_words() -> None:
    with pytest.raises(UsageError, match="%hermes last: Unrecognized arguments: x"):
        Parser("last").read("x")


def test_names_of_a_list_lose_their_spaces() -> None:
    assert name_list("a, b ,c,") == ["a", "b", "c"]


def test_a_count_is_a_whole_number() -> None:
    assert positive_count("3") == 3


@pytest.mark.parametrize(
    ("name", "line", "hint"),
    [
        ("timeline", "--session s-3f2a", r"Unknown option --session\. SESSION is written without it: %hermes timeline S"),
        ("timeline", "-s s-3f2a", r"Unknown option -s\. SESSION is written without it: %hermes timeline SESSION\."),
        ("fork", "--session=s-3f2a", r"SESSION is written without it: %hermes fork SESSION\."),
        ("stop", "--turn t-1", r"turn is written without it: %hermes stop turn\."),
        ("agent", "--name analyst", r"NAME is written without it: %hermes agent NAME\."),
        ("timeline", "--model gpt", r"Unknown option --model\. See"),
        ("timeline", "--sav x.html", r"Did you mean '--save'\?"),
    ],
)
def test_an_argument_written_as_an_option_is_recognized(name: str, line: str, hint: str) -> None:
    with pytest.raises(UsageError, match=hint):
        import_module(f"hermes_nb.magics.subcommands.{name}").parser().read(line)


@pytest.mark.parametrize("comment", ["# c", "#", "  # -o x 'a", "# it's fine"])
def test_a_comment_ends_a_line_of_options(parser: Parser, comment: str) -> None:
    options = parser.read(f"-a analyst -o answer {comment}")
    assert (options.agent, options.out, options.text) == ("analyst", "answer", "")
    assert parser.read(f'"Which one?" -o answer {comment}').text == "Which one?"
    assert parser.read(f'"Which one?" {comment}').text == "Which one?"


@pytest.mark.parametrize(
    "question",
    ["What is issue #5?", "Is C # a note?", "#5 is which one?", "x = 1 # why", "A heading in Markdown is # and a word"],
)
def test_a_number_sign_within_a_question_is_part_of_it(parser: Parser, question: str) -> None:
    assert parser.read(f"-a analyst {question}").text == question
    assert parser.read(f'"{question}" -o answer # c').text == question
    assert parser.read("-- # Title").text == "# Title"
    assert parser.read('"# Title"').text == "# Title"


def test_options_alone_take_comments_of_either_spelling_and_values_with_a_number_sign() -> None:
    made = Parser("fork")
    made.add_argument("session", nargs="?")
    made.add_argument("--title")
    for line in ("s-1 # c", "s-1 #c", "s-1 # it's", "s-1 #"):
        assert made.read(line).session == "s-1"
    assert made.read("s-1 --title #5 # c").title == "#5"
    assert made.read("s-1 --title 'a # b'").title == "a # b"
    with pytest.raises(UsageError, match="expected one argument"):
        made.read("s-1 --title # c")
