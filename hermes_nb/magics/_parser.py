"""The line after `%hermes`: cut into words, then read by argparse, whose errors become usage errors.

A question typed on the line is not shell text: `What's the best customer?` holds a lone quote. So a parser with
`takes_text` reads options up to the first word that is none, and hands on the rest of the line as it stands.

A comment ends a line of options: `#` after a space, with a space or nothing behind it, or any word with `#` in front where a
name could stand. In quotes it is text, and so it is within a question on the line.
"""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from hermes_nb._near import near
from hermes_nb.errors import UsageError

_WORD = re.compile(r"""(?:[^\s"']|"(?:\\.|[^"\\])*"|'[^']*')+""")
_QUOTED = re.compile(r""""((?:\\.|[^"\\])*)"|'([^']*)'""")
_HELP = ("-h", "--help")


def words(line: str) -> list[str]:
    """The words of a line; quotes hold words together and are taken off, backslashes count inside `"` only.

    Raises:
        UsageError: A quote is opened and not closed.
    """
    found = []
    position = _next_word(line, 0)
    while position < len(line) and not _is_comment(line, position):
        word, position = _word_at(line, position)
        found.append(word)
    return found


def _is_comment(line: str, position: int) -> bool:
    """Whether a comment begins where a word does."""
    return re.match(r"#(\s|$)", line[position:]) is not None


def _word_at(line: str, position: int) -> tuple[str, int]:
    """The word that starts at `position`, and where the next one starts."""
    match = _WORD.match(line, position)
    if match is None or (match.end() < len(line) and not line[match.end()].isspace()):
        raise UsageError(f"A quote is not closed in {line[position:].strip()!r}. Close it, or leave both away.")
    return _unquoted(match.group()), _next_word(line, match.end())


def _next_word(line: str, position: int) -> int:
    while position < len(line) and line[position].isspace():
        position += 1
    return position


def _unquoted(word: str) -> str:
    def inner(match: re.Match[str]) -> str:
        if match.group(1) is not None:
            return re.sub(r'\\(["\\])', r"\1", match.group(1))
        return match.group(2)

    return _QUOTED.sub(inner, word)


class Parser(argparse.ArgumentParser):
    """The options of one sub-command. It never exits: a mistake is a UsageError, `-h` sets `help`.

    Args:
        name: The sub-command.
        takes_text: The line goes on as free text after the options; it is given as `text`.
    """

    def __init__(self, name: str, *, takes_text: bool = False) -> None:
        super().__init__(prog=f"%hermes {name}", add_help=False, allow_abbrev=False)
        self.name = name
        self.takes_text = takes_text
        self.color = False  # Python 3.14 colours help; ours is also read outside a terminal
        self.options: dict[str, argparse.Action] = {}
        self.positionals: list[argparse.Action] = []
        self.add_argument(*_HELP, action="store_true", help="show this help")

    def add_argument(self, *names: Any, **settings: Any) -> argparse.Action:
        """As argparse's, remembering the options for completion and hints."""
        action = super().add_argument(*names, **settings)
        self.options.update(dict.fromkeys(action.option_strings, action))
        if not action.option_strings:
            self.positionals.append(action)
        return action

    def takes_value(self, option: str) -> bool:
        """Whether the word after `option` is its value."""
        action = self.options.get(option)
        return action is not None and action.nargs != 0

    def read(self, line: str) -> argparse.Namespace:
        """The options of a line; `text` holds the free text of a parser that `takes_text`.

        Raises:
            UsageError: The line can't be meant as written; the message says how to go on.
        """
        head, text = self._cut(line) if self.takes_text else (self._uncommented(words(line)), "")
        before_dashes = head[: head.index("--")] if "--" in head else head
        if any(option in before_dashes for option in _HELP):
            return argparse.Namespace(help=True, text="")
        self._refuse_unknown(before_dashes)
        options = self.parse_args(head)
        if self.takes_text:
            options.text = text
        return options

    def _uncommented(self, head: list[str]) -> list[str]:
        """The words before one that begins with `#` where no value is due."""
        is_value = False
        for n, word in enumerate(head):
            if word.startswith("#") and not is_value:
                return head[:n]
            is_value = not is_value and self.takes_value(word)
        return head

    def _cut(self, line: str) -> tuple[list[str], str]:
        """Options (also after a quoted text), and the text without its quotes."""
        head, position, has_dashes = self._options_of(line, 0)
        rest = line[position:]
        if has_dashes:
            return head, rest
        if _is_comment(rest, 0):
            return head, ""
        quoted = re.match(r"""("(?:\\.|[^"\\])*"|'[^']*')(?=\s|$)""", rest)
        if quoted:
            after, end, _ = self._options_of(rest, quoted.end())
            if end >= len(rest) or _is_comment(rest, end):
                return head + after, _unquoted(quoted.group())
        self._refuse_late_options(rest)
        return head, rest

    def _options_of(self, line: str, position: int) -> tuple[list[str], int, bool]:
        """The words of options and their values, where the text after them starts, and whether `--` ended them."""
        head: list[str] = []
        position = _next_word(line, position)
        is_value = False
        while position < len(line) and (is_value or line[position] == "-") and not _is_comment(line, position):
            word, position = _word_at(line, position)
            if word == "--" and not is_value:
                return head, position, True
            head.append(word)
            is_value = not is_value and self.takes_value(word)
        return head, position, False

    def _refuse_late_options(self, text: str) -> None:
        """A question that ends in one of our options was hardly meant for the model."""
        *before, last = text.split() or [""]
        flag = last if last in self.options and not self.takes_value(last) else None
        late = flag or (before[-1] if before and self.takes_value(before[-1]) else None)
        if late and before:
            raise UsageError(
                f"{late} stands after the question and would be sent as part of it. Put options first"
                f" (%hermes {self.name} {late} ... question), or put the question in quotes."
            )

    def _refuse_unknown(self, texts: list[str]) -> None:
        is_value = False
        for text in texts:
            name = text.partition("=")[0]
            if is_value:
                is_value = False
            elif name.startswith("-") and len(name) > 1 and " " not in name:
                if name in self.options:
                    is_value = "=" not in text and self.takes_value(name)
                elif not (text[:2] in self.options and text[1] != "-"):  # -oNAME
                    self.error(f"unknown option {name}.{self._meant(name)}")

    def _meant(self, option: str) -> str:
        """What an unknown option was meant for: the argument of that name or initial, else the option nearest to it."""
        for action in self.positionals:
            value = str(action.metavar or action.dest)
            if option.lower() in (f"--{value}".lower(), f"-{value[0]}".lower()):
                return f" {value} is written without it: %hermes {self.name} {value}"
        return near(option, list(self.options))

    def error(self, message: str) -> NoReturn:
        """Raise a UsageError that names the sub-command and where its help is."""
        message = message[0].upper() + message[1:]
        end = "" if message.endswith((".", "?", "!")) else "."
        raise UsageError(f"%hermes {self.name}: {message}{end} See %hermes help {self.name}.")

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        """Never leaves the process: a UsageError instead."""
        self.error(message or f"argparse ended with status {status}")


def name_list(text: str) -> list[str]:
    """The names of `a,b, c`, for use as an option's `type`.

    Raises:
        argparse.ArgumentTypeError: No name is there.
    """
    names = [name.strip() for name in text.split(",") if name.strip()]
    if not names:
        raise argparse.ArgumentTypeError("A list of names is empty. Write them as a,b.")
    return names


def variable_name(text: str) -> str:
    """A name that a variable can bear, for use as an option's `type`.

    Raises:
        argparse.ArgumentTypeError: It is not one.
    """
    import keyword

    if not text.isidentifier() or keyword.iskeyword(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a name that a variable can have.")
    return text


def positive_number(text: str) -> float:
    """Seconds, for use as an option's `type`.

    Raises:
        argparse.ArgumentTypeError: Not a finite number above 0.
    """
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0.")
    return number


def amount(text: str) -> float:
    """A number of 0 or more, for use as an option's `type`.

    Raises:
        argparse.ArgumentTypeError: Not a finite number of 0 or more.
    """
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of 0 or more.")
    return number


def positive_count(text: str) -> int:
    """A whole number, for use as an option's `type`.

    Raises:
        argparse.ArgumentTypeError: Not a whole number above 0.
    """
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0.")
    return int(text)
