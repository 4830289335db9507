"""Redraws: how often, how much, and what is there in the end. The clock is driven by hand."""

from __future__ import annotations

import io
import itertools
from pathlib import Path

import pytest

from hermes_nb.host.client import cell_named, replaces_outputs
from hermes_nb.host.output.bandwidth import Bandwidth, NullSink
from hermes_nb.host.output.display_sink import WAITING, DisplaySink
from hermes_nb.host.output.live_area import last_lines
from hermes_nb.host.output.stream_sink import StreamSink
from hermes_nb.model.event import Event
from hermes_nb.views._bundle import bundle

GOLDEN = Path(__file__).parent.parent / "golden"
LOGS = sorted(p.stem for p in GOLDEN.glob("*.jsonl"))


def log(name: str) -> list[Event]:
    return [Event.from_json(line) for line in (GOLDEN / f"{name}.jsonl").read_text("utf-8").splitlines() if line]


def event(seq: int, kind: str, span_id: str = "t", **data: object) -> Event:
    return Event(1, "p", seq, 100.0 + seq / 1000, "s", "t", span_id, None if span_id == "t" else "t", 1, kind, data)


class HandTimer:
    """Runs callbacks when told that time passes."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.waiting: list[tuple[float, object]] = []

    def clock(self) -> float:
        return self.now_s

    def call_later(self, delay_s: float, callback) -> None:
        self.waiting.append((self.now_s + max(0.0, delay_s), callback))

    def advance(self, seconds: float) -> None:
        end_s = self.now_s + seconds
        while due := sorted((w for w in self.waiting if w[0] <= end_s), key=lambda w: w[0]):
            self.waiting.remove(due[0])
            self.now_s = max(self.now_s, due[0][0])
            due[0][1]()
        self.now_s = end_s


class Outlet:
    """Keeps what is sent, and when."""

    def __init__(self, timer: HandTimer, *, can_update: bool = True, keeps_place: bool = True) -> None:
        self.timer, self.can_update, self.keeps_place = timer, can_update, keeps_place
        self.sent: list[tuple[float, dict[str, str], str, bool]] = []

    def send(self, data, *, display_id: str, update: bool) -> None:
        self.sent.append((self.timer.now_s, dict(data), display_id, update))


@pytest.fixture
def timer() -> HandTimer:
    return HandTimer()


FINAL = {"text/markdown": "**4**", "text/html": "<b>4</b>", "text/plain": "4"}


def display(timer: HandTimer, **options) -> tuple[DisplaySink, Outlet]:
    outlet = Outlet(timer, **options)
    return DisplaySink(outlet, timer, Bandwidth(), timer.clock), outlet


def test_something_shows_before_the_first_event(timer):
    _, outlet = display(timer)
    assert [(s[1], s[3]) for s in outlet.sent] == [({"text/markdown": WAITING}, False)]


def test_text_grows_in_one_mime_type_and_ends_in_all(timer):
    sink, outlet = display(timer)
    sink.feed(event(1, "turn.started", prompt="2+2?", agent="a", model="m", provider="p"))
    sink.feed(event(2, "model.started", "m1", api_call=1, model="m"))
    for n in range(10):
        sink.feed(event(3 + n, "model.delta", "m1", text=f"word{n} "))
        timer.advance(0.2)
    assert all(list(s[1]) == ["text/markdown"] for s in outlet.sent)
    assert "word0 word1" in outlet.sent[-1][1]["text/markdown"]
    sink.finish(FINAL)
    assert outlet.sent[-1][1:] == (FINAL, outlet.sent[0][2], True)


def test_what_a_tool_cleared_is_shown_again_and_goes_on_there(timer):
    sink, outlet = display(timer)
    sink.feed(event(1, "turn.started", prompt="2+2?", agent="a", model="m", provider="p"))
    sink.feed(event(2, "model.delta", "m1", text="word "))
    timer.advance(0.2)
    shown = outlet.sent[-1][1]
    sink.show_again()
    _, data, display_id, update = outlet.sent[-1]
    assert (data, update) == (shown, False)
    assert display_id != outlet.sent[0][2]
    sink.finish(FINAL)
    assert outlet.sent[-1][1:] == (FINAL, display_id, True)
    sink.show_again()
    assert outlet.sent[-1][1] == FINAL


def test_at_most_ten_redraws_a_second(timer):
    sink, outlet = display(timer)
    sink.feed(event(1, "turn.started", prompt="x", agent="a", model="m"))
    for n in range(2000):
        sink.feed(event(2 + n, "model.delta", "m1", text="x "))
        timer.advance(0.001)
    times = [s[0] for s in outlet.sent]
    assert len(times) <= 2 * 10 + 2
    assert all(later - earlier > 0.099 for earlier, later in itertools.pairwise(times[1:]))


def test_twenty_thousand_deltas_stay_under_a_megabyte_a_second(timer):
    sink, outlet = display(timer)
    sink.feed(event(1, "turn.started", prompt="x", agent="a", model="m"))
    for n in range(20_000):
        sink.feed(event(2 + n, "model.delta", "m1", text="12345678"))
        timer.advance(0.0005)
    sizes = [(s[0], len(s[1]["text/markdown"])) for s in outlet.sent]
    for start in range(10):
        assert sum(n for t, n in sizes if start <= t < start + 1) < 1_000_000
    assert sizes[-1][1] > 100_000


def test_a_quiet_turn_shows_that_time_passes(timer):
    sink, outlet = display(timer)
    sink.feed(event(1, "turn.started", prompt="x", agent="a", model="m"))
    timer.advance(0.2)
    n = len(outlet.sent)
    timer.advance(10)
    assert n <= len(outlet.sent) <= n + 10
    sink.finish(FINAL)
    n = len(outlet.sent)
    timer.advance(100)
    assert len(outlet.sent) == n


@pytest.mark.parametrize("name", LOGS)
def test_notes_retries_and_warnings_show_while_the_turn_runs(timer, name):
    """Every prefix of every golden log can be drawn."""
    sink, outlet = display(timer)
    for one in log(name):
        sink.feed(one)
        timer.advance(0.5)
    sink.finish(bundle(log(name)))
    assert outlet.sent[-1][1] == bundle(log(name))


def test_a_warning_is_drawn(timer):
    sink, outlet = display(timer)
    sink.feed(event(1, "turn.started", prompt="x", agent="a", model="m"))
    sink.feed(event(2, "warning", code="tool-deaf", message="Waiting for slow, which ignores the interrupt."))
    sink.feed(event(3, "model.retried", "m1", reason="429", wait_s=2, n_retry=1))
    sink.feed(event(4, "steer.received", text="be brief", applied=True))
    timer.advance(1)
    text = outlet.sent[-1][1]["text/markdown"]
    assert "Waiting for slow, which ignores the interrupt." in text
    assert "429" in text
    assert "be brief" in text


def test_a_front_end_that_is_not_known_to_update_gets_the_answer_as_an_output_of_its_own(timer):
    sink, outlet = display(timer, keeps_place=False)
    sink.feed(event(1, "turn.started", prompt="x", agent="a", model="m"))
    timer.advance(1)
    sink.finish(FINAL)
    first, *_, emptied, last = outlet.sent
    assert emptied[1:] == ({"text/plain": ""}, first[2], True)
    assert last[1] == FINAL
    assert (last[2] != first[2], last[3]) == (True, False)


def test_where_nothing_can_be_updated_only_the_final_form_is_sent(timer):
    sink, outlet = display(timer, can_update=False)
    sink.feed(event(1, "turn.started", prompt="x", agent="a", model="m"))
    timer.advance(5)
    sink.finish(FINAL)
    sink.finish(FINAL)
    assert [(s[1], s[3]) for s in outlet.sent] == [(FINAL, False)]


def test_who_is_known_to_update():
    assert replaces_outputs({"metadata": {"cellId": "c"}, "content": {"allow_stdin": True}})
    assert replaces_outputs({"metadata": {"colab": {"cell_id": "c"}}, "content": {"allow_stdin": True}})
    assert replaces_outputs({"metadata": {}, "content": {"allow_stdin": False}})
    assert not replaces_outputs({"metadata": {}, "content": {"allow_stdin": True}})
    assert not replaces_outputs({})


@pytest.mark.parametrize(
    ("metadata", "named"),
    [
        ({"cellId": "c"}, "c"),
        ({"colab": {"cell_id": "c"}}, "c"),
        ({"colab": {}}, ""),
        ({"colab": None}, ""),
        ({"cellId": None}, ""),
        ({}, ""),
        (None, ""),
    ],
)
def test_a_cell_is_named_as_its_client_names_it(metadata, named):
    assert cell_named({"metadata": metadata}) == named
    assert cell_named({}) == ""


def test_the_interval_grows_with_the_text_and_with_the_turns_that_show_at_once():
    budget = Bandwidth()
    budget.open()
    assert budget.interval_s(10) == 0.1
    assert budget.interval_s(600_000) == 2.0
    budget.open()
    assert budget.interval_s(600_000) == 4.0
    budget.close()
    assert budget.interval_s(600_000) == 2.0


def test_a_null_sink_shows_nothing(capsys):
    NullSink().feed(event(1, "turn.started"))
    NullSink().finish(FINAL)
    assert capsys.readouterr().out == ""


# -- streams -------------------------------------------------------------------------------------------------------
class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen(text: str) -> str:
    """What a terminal shows in the end, for the two sequences a tail uses."""
    lines, rest = [""], text
    while rest:
        if rest.startswith("\x1b["):
            up, rest = rest[2:].split("F\x1b[J", 1)
            lines = [*lines[: len(lines) - 1 - int(up)], ""]
        else:
            lines[-1:] = [lines[-1] + rest[0]] if rest[0] != "\n" else [lines[-1], ""]
            rest = rest[1:]
    return "\n".join(lines)


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("stream_type", [io.StringIO, Terminal])
def test_what_is_printed_is_the_plain_text_of_the_final_form(timer, name, stream_type):
    stream = stream_type()
    sink = StreamSink(stream, timer, clock=timer.clock)
    for one in log(name):
        sink.feed(one)
        timer.advance(0.2)
    final = bundle(log(name))
    sink.finish(final)
    shown = screen(stream.getvalue()) if stream_type is Terminal else stream.getvalue()
    if not shown.endswith(f"\n\n{final['text/plain']}\n"):  # a late event changed a row that was printed: all of it again
        assert shown.rstrip("\n") == final["text/plain"].rstrip("\n")


def test_a_row_is_printed_when_it_is_over(timer):
    stream = io.StringIO()
    sink = StreamSink(stream, timer, clock=timer.clock)
    sink.feed(event(1, "turn.started", prompt="x", agent="a", model="m"))
    sink.feed(event(2, "tool.started", "c1", tool_call_id="c1", name="top", arguments="{}"))
    timer.advance(1)
    assert "top" not in stream.getvalue()
    sink.feed(event(3, "tool.completed", "c1", tool_call_id="c1", name="top", status="ok", result="7", result_chars=1))
    timer.advance(1)
    assert "top" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_a_terminal_shows_the_text_as_it_is_written_and_takes_it_away(timer):
    stream = Terminal()
    sink = StreamSink(stream, timer, clock=timer.clock)
    sink.feed(event(1, "turn.started", prompt="x", agent="a", model="m"))
    sink.feed(event(2, "model.started", "m1", api_call=1, model="m"))
    sink.feed(event(3, "model.delta", "m1", text="growing"))
    timer.advance(1)
    assert "growing" in screen(stream.getvalue())
    sink.feed(event(4, "model.completed", "m1", api_call=1, text="growing", tool_calls=[{"name": "top"}], model="m"))
    sink.feed(event(5, "tool.started", "c1", tool_call_id="c1", name="top", arguments="{}"))
    assert "growing" not in screen(stream.getvalue())


def test_a_missing_stream_is_no_error(timer):
    sink = StreamSink(None, timer)
    sink.feed(event(1, "turn.started", prompt="x", agent="a", model="m"))
    sink.finish(FINAL)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("ab", ["ab"]),
        ("abcdefg", ["abcd", "efg"]),
        ("one\ntwo\nthree\nfour", ["thre", "e", "four"]),
        ("漢字漢字", ["漢字", "漢字"]),
    ],
)
def test_last_lines(text, lines):
    assert last_lines(text, 4, 3) == lines
