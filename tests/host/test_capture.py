from __future__ import annotations

import contextlib
import contextvars
import io
import subprocess
import sys

import pytest

from hermes_nb.host.output.capture import MAX_CHARS, MAX_PLACED_CHARS, Capture, Hearing, Tee, streams


@pytest.fixture
def heard():
    return []


@pytest.fixture
def capture(heard):
    return Capture(lambda stream, text, mime_types: heard.append((stream, text, mime_types)), {})


def in_a_context(hearing: Hearing, body) -> None:
    def run() -> None:
        hearing.open()
        try:
            body()
        finally:
            hearing.close()

    contextvars.copy_context().run(run)


def test_prints_pass_through_and_are_heard(capture, heard, capsys):
    in_a_context(Hearing(capture), lambda: print("one", "two"))
    assert capsys.readouterr().out == "one two\n"
    assert heard == [("stdout", "one two\n", ())]


def test_prints_of_another_context_are_not_heard(capture, heard, capsys):
    hearing = Hearing(capture)
    contextvars.copy_context().run(hearing.open)
    print("another")
    hearing.close()
    assert capsys.readouterr().out == "another\n"
    assert heard == []


def test_streams_are_what_they_were(capture):
    before = sys.stdout, sys.stderr
    in_a_context(Hearing(capture), lambda: None)
    assert (sys.stdout, sys.stderr) == before


def test_streams_come_back_when_the_last_of_overlapping_calls_ends(capture):
    before = sys.stdout
    first, second = Hearing(capture), Hearing(capture)
    contextvars.copy_context().run(first.open)
    contextvars.copy_context().run(second.open)
    first.close()
    assert isinstance(sys.stdout, Tee)
    second.close()
    second.close()
    assert sys.stdout is before


def test_prints_go_where_the_turn_was_asked_for(heard, capsys):
    asked_in = io.StringIO()
    capture = Capture(lambda *a: heard.append(a), {"stdout": asked_in})
    in_a_context(Hearing(capture), lambda: print("there"))
    assert asked_in.getvalue() == "there\n"
    assert capsys.readouterr().out == ""


def test_a_closed_stream_is_passed_over(heard, capsys):
    asked_in = io.StringIO()
    asked_in.close()
    in_a_context(Hearing(Capture(lambda *a: heard.append(a), {"stdout": asked_in})), lambda: print("here"))
    assert capsys.readouterr().out == "here\n"


def test_a_redirection_inside_a_tool_is_the_tools_own(capture, heard):
    def body() -> None:
        with contextlib.redirect_stdout(io.StringIO()) as own:
            print("mine")
        assert own.getvalue() == "mine\n"

    in_a_context(Hearing(capture), body)
    assert heard == []


def test_a_redirection_that_outlives_the_call_gets_its_stream_back(capture, capsys):
    before = sys.stdout
    hearing, redirection = Hearing(capture), contextlib.redirect_stdout(io.StringIO())
    contextvars.copy_context().run(hearing.open)
    redirection.__enter__()
    hearing.close()
    redirection.__exit__(None, None, None)
    print("passes")
    assert capsys.readouterr().out == "passes\n"
    in_a_context(Hearing(capture), lambda: None)
    assert sys.stdout is before


def test_what_is_heard_is_bounded_and_says_so(capture, heard, capsys):
    in_a_context(Hearing(capture), lambda: [print("x" * 1000) for _ in range(100)])
    text = "".join(t for _, t, _ in heard)
    assert len(text) < MAX_CHARS + 100
    assert text.endswith("more was printed)\n")
    assert len(capsys.readouterr().out) == 100 * 1001


def test_what_shows_with_its_call_is_not_printed_again(heard, capsys):
    capture = Capture(lambda *a: heard.append(a), {}, lambda: True)
    in_a_context(Hearing(capture), lambda: print("looked at 2"))
    assert capsys.readouterr().out == ""
    assert [text for _, text, _ in heard] == ["looked at 2\n"]


@pytest.mark.parametrize("shown", ["x" * (MAX_PLACED_CHARS + 1), "5 %\r", "\x1b[1mbold"])
def test_what_is_much_or_draws_over_itself_is_printed_and_what_follows_it(heard, capsys, shown):
    capture = Capture(lambda *a: heard.append(a), {}, lambda: True)
    in_a_context(Hearing(capture), lambda: [print("a"), print(shown), print("b")])
    assert capsys.readouterr().out == f"{shown}\nb\n"
    assert "".join(text for _, text, _ in heard) == f"a\n{shown}\nb\n"


def test_order_of_streams_and_displays_is_kept(capture, heard, capsys):
    def body() -> None:
        print("a", end="")
        print("b", file=sys.stderr, end="")
        capture.hear_display("Figure", ("text/plain", "image/png"))
        print("c", end="")

    in_a_context(Hearing(capture), body)
    assert [(s, t) for s, t, _ in heard] == [("stdout", "a"), ("stderr", "b"), ("display", "Figure"), ("stdout", "c")]
    assert heard[2][2] == ("text/plain", "image/png")
    capsys.readouterr()


def test_lines_printed_together_are_told_together(capture, heard, capsys):
    in_a_context(Hearing(capture), lambda: [print(n) for n in range(1000)])
    assert len(heard) < 100
    capsys.readouterr()


def test_a_tee_is_the_stream_but_for_printing(capsys):
    stream = streams()["stdout"]
    tee = Tee("stdout", stream)
    assert (tee.encoding, tee.isatty(), tee.errors) == (stream.encoding, stream.isatty(), stream.errors)
    tee.writelines(["a", "b"])
    tee.flush()
    assert capsys.readouterr().out == "ab"


def test_print_survives_a_tool_that_ends_in_another_thread_meanwhile() -> None:
    code = """
import sys, threading
from hermes_nb.host.output.capture import Capture, Hearing
stop = threading.Event()
def tools():
    while not stop.is_set():
        heard = Hearing(Capture(lambda *_: None, {}))
        heard.open()
        heard.close()
thread = threading.Thread(target=tools)
thread.start()
for _ in range(5000):
    print("a", "b", [1, 2], "c")
stop.set()
thread.join()
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=False, timeout=60)
    assert done.returncode == 0  # it was -11, a segmentation fault
