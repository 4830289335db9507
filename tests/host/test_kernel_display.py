"""A turn's own output in a cell: what is sent, how much of it, and what is left in a saved notebook."""

from __future__ import annotations

import json
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.host.kernels import SETUP, Kernel, kernel_manager

pytestmark = pytest.mark.kernel
TYPES = {"text/markdown", "text/html", "text/plain"}


@pytest.fixture(autouse=True)
def _log(kernel: Kernel):
    kernel.run("from tests.host.fake_log import Feeding, answer_log")


def applied(reply) -> list[dict]:
    """The cell's outputs as a front end has them that acts on updates."""
    outputs: dict[str, dict] = {}
    for message in reply.messages:
        kind, content = message["header"]["msg_type"], message["content"]
        display_id = content.get("transient", {}).get("display_id", str(len(outputs)))
        if kind == "display_data" or (kind == "update_display_data" and display_id in outputs):
            outputs[display_id] = content["data"]
    return list(outputs.values())


def test_the_text_grows_and_ends_in_all_forms_at_one_place(kernel):
    reply = kernel.run(
        "feeding = Feeding(host, answer_log(60), seconds=1.0).begin()\nwhile feeding.is_alive(): await asyncio.sleep(0.05)",
        cell_id="c1",
    )
    assert len(reply.of("display_data")) == 1
    updates = reply.of("update_display_data")
    assert 3 <= len(updates) <= 13
    assert all(list(u["data"]) == ["text/markdown"] for u in updates[:-1])
    lengths = [len(u["data"]["text/markdown"]) for u in updates[:-1]]
    assert lengths[0] < lengths[-1]
    (output,) = applied(reply)
    assert set(output) == TYPES
    assert "word " * 59 in output["text/markdown"]


def test_a_client_without_updates_gets_the_answer_once(kernel):
    code = "feeding = Feeding(host, answer_log(5)).begin()\nwhile feeding.is_alive(): await asyncio.sleep(0.05)"
    reply = kernel.run(code, allow_stdin=True)
    shown = [c["data"] for c in reply.of("display_data")]
    assert [set(d) == TYPES for d in shown] == [False, True]
    assert "word word" in shown[1]["text/plain"]
    assert "text/plain" not in shown[0]  # a console prints nothing for the place where text would grow
    # One that does act on updates does not see it twice.
    assert [("word" in json.dumps(data)) for data in applied(reply)] == [False, True]


def test_twenty_thousand_deltas(kernel):
    """The whole text, under 1 MB and ten messages a second, from a thread that spends next to nothing on it."""
    reply = kernel.run(
        "feeding = Feeding(host, answer_log(20_000, '12345678'), seconds=4.0)\n"
        "cpu = time.process_time(); feeding.begin()\n"
        "while feeding.is_alive(): await asyncio.sleep(0.1)\n"
        "cpu = time.process_time() - cpu",
        cell_id="c1",
        timeout_s=60,
    )
    drawn = [m for m in reply.messages if m["header"]["msg_type"].endswith("display_data")]
    times = [m["received_s"] for m in drawn]
    sizes = [len(json.dumps(m["content"])) for m in drawn[:-1]]
    took_s = times[-1] - times[0]
    assert len(drawn) <= took_s * 10 + 3
    assert sum(sizes) / took_s < 1_000_000
    assert len(applied(reply)[0]["text/plain"]) > 160_000
    figures = kernel.value("[round(cpu, 2), round(feeding.feed_s, 2)]")
    print(f"20,000 deltas: {len(drawn)} messages, {sum(sizes) / took_s / 1e3:.0f} kB/s, CPU and feeding {figures} s")


def test_messages_carry_the_header_of_the_asking_cell_while_others_run(kernel):
    asking = kernel.send("feeding = Feeding(host, answer_log(60), seconds=0.8).begin()", cell_id="c1")
    other = kernel.run("for n in range(12): print(n); await asyncio.sleep(0.1)", cell_id="c2")
    kernel.run("feeding.join()")
    kernel.pump(lambda: TYPES in [set(u["data"]) for u in kernel.cells[asking].of("update_display_data")])
    assert other.of("display_data", "update_display_data") == []
    assert other.text == "".join(f"{n}\n" for n in range(12))


@pytest.mark.parametrize("cell_id", ["c1", ""])
def test_updates_of_a_background_turn_carry_the_header_of_its_own_cell(kernel, cell_id):
    code = "feeding = Feeding(host, answer_log(60), seconds=0.8, background=True).begin()"
    asking = kernel.send(code, allow_stdin=True, **({"cell_id": cell_id} if cell_id else {}))
    other = kernel.run("for n in range(12): print(n); await asyncio.sleep(0.1)", cell_id="c2", allow_stdin=True)
    kernel.run("feeding.join()", allow_stdin=True)
    kernel.pump(lambda: TYPES in [set(c["data"]) for c in kernel.cells[asking].of("display_data", "update_display_data")])
    assert len(kernel.cells[asking].of("update_display_data")) >= 3
    assert other.of("display_data", "update_display_data") == []


def test_updates_for_a_headless_client_travel_with_the_cell_it_reads(kernel):
    kernel.run("feeding = Feeding(host, answer_log(60), seconds=0.8, background=True).begin()")
    other = kernel.run("feeding.join()")
    assert other.of("update_display_data") != []


def test_what_was_printed_before_comes_before(kernel):
    reply = kernel.run("print('first'); feeding = Feeding(host, answer_log(1)).begin(); feeding.join()", cell_id="c")
    kinds = [m["header"]["msg_type"] for m in reply.messages if m["header"]["msg_type"] in ("stream", "display_data")]
    assert kinds == ["stream", "display_data"]


def test_under_capture_the_final_form_is_captured(kernel):
    reply = kernel.run("%%capture out\nfeeding = Feeding(host, answer_log(5), blocks=True).begin(); feeding.join()")
    assert reply.of("display_data", "update_display_data") == []
    assert kernel.value("[sorted(o.data) for o in out.outputs]") == [sorted(TYPES)]


def test_a_quiet_turn_sends_nothing(kernel):
    reply = kernel.run(
        "sink = host.open_sink(host.caller(blocks=True), quiet=True)\n"
        "[sink.feed(e) for e in answer_log(5)]; sink.finish({'text/plain': 'x'})"
    )
    assert reply.of("display_data", "update_display_data") == []


@pytest.mark.parametrize("name", ["hostile", "unicode"])
def test_any_text_gets_through_the_wire(kernel, name):
    """Lone surrogates and control characters would break the JSON of a message."""
    path = Path(__file__).parent.parent / "golden" / f"{name}.jsonl"
    reply = kernel.run(
        "from pathlib import Path; from hermes_nb.model.event import Event\n"
        f"log = [Event.from_json(l) for l in Path({str(path)!r}).read_text('utf-8').splitlines() if l]\n"
        "feeding = Feeding(host, log, seconds=0.3).begin(); feeding.join()",
        cell_id="c1",
    )
    assert set(applied(reply)[0]) == TYPES


# -- a saved notebook ----------------------------------------------------------------------------------------------
def executed(tmp_path, *cells: str, between_s: float = 0.0) -> nbformat.NotebookNode:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in (SETUP, *cells)])
    client = NotebookClient(notebook, timeout=60, km=kernel_manager(tmp_path))
    client.on_cell_executed = lambda **_: time.sleep(between_s)
    client.execute(cleanup_kc=True)
    return notebook


IMPORT = "from tests.host.fake_log import Feeding, answer_log"
WAIT = "while feeding.is_alive(): await asyncio.sleep(0.02)"


@pytest.mark.parametrize(
    "cell",
    [
        f"feeding = Feeding(host, answer_log(50), seconds=0.5).begin()\n{WAIT}",
        "feeding = Feeding(host, answer_log(50), seconds=0.5, blocks=True).begin(); feeding.join()",
        "def f():\n    feeding = Feeding(host, answer_log(50), blocks=True).begin(); feeding.join()\nf()",
    ],
)
def test_a_saved_notebook_holds_the_final_form(tmp_path, cell):
    (output,) = executed(tmp_path, IMPORT, cell).cells[-1].outputs
    assert output.output_type == "display_data"
    assert set(output.data) == TYPES
    assert "word word" in output.data["text/markdown"]


def test_a_background_turn_that_ends_in_a_later_cell_is_saved_in_its_own(tmp_path):
    notebook = executed(
        tmp_path,
        IMPORT,
        "feeding = Feeding(host, answer_log(50), seconds=0.5, background=True).begin()",
        f"print('later')\n{WAIT}",
    )
    (output,) = notebook.cells[2].outputs
    assert set(output.data) == TYPES
    assert [o.output_type for o in notebook.cells[3].outputs] == ["stream"]


def test_a_background_turn_that_ends_between_two_cells_is_saved(tmp_path):
    cell = "feeding = Feeding(host, answer_log(50), seconds=0.3, background=True).begin()"
    is_over = "print(feeding.is_alive())"
    notebook = executed(tmp_path, IMPORT, cell, is_over, between_s=1.0)
    assert notebook.cells[3].outputs[0].text == "False\n"
    (output,) = notebook.cells[2].outputs
    assert set(output.data) == TYPES
    assert len(notebook.cells[3].outputs) == 1


def test_interleaved_turns_of_two_cells_keep_their_places(tmp_path):
    notebook = executed(
        tmp_path,
        IMPORT,
        "one = Feeding(host, answer_log(30, 'one '), seconds=0.6, background=True).begin()",
        "two = Feeding(host, answer_log(30, 'two '), seconds=0.3).begin()\n"
        "while one.is_alive() or two.is_alive(): await asyncio.sleep(0.02)",
    )
    for n, word in ((2, "one one"), (3, "two two")):
        (output,) = notebook.cells[n].outputs
        assert word in output.data["text/plain"]
