"""A turn as clients of every kind get it, message by message: with the least a front end can do, and with more."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from hermes_nb.testing import Say
from tests.magics.conftest import Asked
from tests.magics.kernel import Cell, Kernel

pytestmark = [pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(180)]

VIEW = "application/vnd.jupyter.widget-view+json"
RUN = "%%hermes run -a analyst\nWho matters most?"


def bare(kernel: Kernel, source: str) -> Cell:
    """A run by a client that names no cell and lets a person type, such as a console."""
    message_id = kernel.client.execute(source)
    cell = kernel._cells[message_id] = Cell()
    return kernel.finish(cell)


def plain_forms(cell: Cell) -> str:
    """What a client sees that knows neither comms nor updates: streams, and the text of what was displayed."""
    parts: list[str] = []
    for message in cell.messages:
        kind, content = message["header"]["msg_type"], message["content"]
        if kind == "stream":
            parts.append(content["text"])
        elif kind in ("display_data", "execute_result"):
            data = content["data"]
            parts.append(str(data.get("text/plain") or data.get("text/markdown") or ""))
    return "\n".join(parts)


def test_the_least_a_front_end_can_do_is_enough(kernel: Kernel, model: Asked) -> None:
    model.answer = lambda request: Say("Ada matters most.")
    cell = bare(kernel, RUN)
    assert cell.status == "ok"
    shown = plain_forms(cell)
    assert shown.count("Ada matters most.\n\nscripted · ") == 1
    assert not any(m["header"]["msg_type"].startswith("comm_") for m in cell.messages)


def test_a_headless_client_is_offered_no_widget(kernel: Kernel, model: Asked) -> None:
    model.answer = lambda request: Say("Ada matters most.")
    cell = kernel.ok(RUN)
    assert not any(VIEW in c["data"] for kind in ("display_data", "update_display_data") for c in cell.contents(kind))
    assert "Ada matters most." in cell.text


def test_a_notebook_without_widgets_gets_stream_and_answer_as_before(kernel: Kernel, model: Asked) -> None:
    model.answer = lambda request: Say("Ada matters most, and Barbara after her.", delay_s=0.8)
    cell = kernel.finish(kernel.start(RUN, allow_stdin=True))
    assert cell.status == "ok"
    ((first,), updates) = (cell.contents("display_data"), cell.contents("update_display_data"))
    assert VIEW in first["data"]
    streamed = [c["data"] for c in updates]
    assert any(set(data) == {"text/markdown"} and "Ada" in data["text/markdown"] for data in streamed), "it never streamed"
    assert {"text/html", "text/markdown", "text/plain"} == set(streamed[-1])
    assert "Ada matters most, and Barbara after her." in streamed[-1]["text/plain"]


def stop_by_click(kernel: Kernel, cell: Cell, *, keeps: bool = True) -> None:
    """Answer as a browser that shows the cell's turn as a widget, and click Stop."""
    opened: dict[str, Any] = {}

    def find() -> bool:
        for message in cell.messages:
            data = message["content"].get("data") or {}
            if message["header"]["msg_type"] == "comm_open" and (data.get("state") or {}).get("kind") == "turn":
                opened["id"] = message["content"]["comm_id"]
        return "id" in opened

    def say(content: dict[str, Any]) -> None:
        request = kernel.client.session.msg(
            "comm_msg", {"comm_id": opened["id"], "data": {"method": "custom", "content": content}}
        )
        kernel.client.shell_channel.send(request)

    kernel.until(find)
    say({"t": "ready", "keeps": keeps})
    say({"t": "do", "n": 1, "do": "stop"})
    kernel.finish(cell, timeout_s=20)


def test_a_client_with_comms_gets_the_widget_and_stops_by_click(kernel: Kernel, model: Asked) -> None:
    model.answer = lambda request: Say("word " * 200, delay_s=0.1)
    cell = kernel.start(RUN, allow_stdin=True)
    stop_by_click(kernel, cell)
    assert cell.error is not None
    assert cell.error["ename"] == "KeyboardInterrupt"


PLAIN = """
from hermes_nb import Agent, Hermes, Model
async with Hermes.local(state="plain") as plain:
    instance = await plain.create_instance("demo", agents=[Agent("plain", model=model)])
    answer = await instance.agent("plain").run("Say a lot.")
print(answer.status)
"""


@pytest.fixture(scope="module")
def unloaded(tmp_path_factory: pytest.TempPathFactory, module_model: Asked) -> Iterator[Kernel]:
    """A kernel where the extension was never loaded."""
    kernel = Kernel(tmp_path_factory.mktemp("unloaded"))
    try:
        url = module_model.scripted.base_url
        kernel.ok(f"from hermes_nb import Model\nmodel = Model('scripted', 'custom', base_url={url!r}, api_key='sk-x')")
        yield kernel
    finally:
        kernel.close()


@pytest.mark.parametrize("keeps", [True, False])
def test_without_the_extension_a_turn_is_the_same_widget(unloaded: Kernel, model: Asked, keeps: bool) -> None:
    model.answer = lambda request: Say("word " * 200, delay_s=0.1)
    cell = unloaded.start(PLAIN, allow_stdin=True)
    stop_by_click(unloaded, cell, keeps=keeps)
    assert (cell.status, cell.out) == ("ok", "stopped\n")
    (first, *_) = cell.contents("display_data")
    assert VIEW in first["data"]
    if not keeps:  # its Hermes is closed with the cell; the widget gives way to the text all the same
        unloaded.until(lambda: VIEW not in cell.shown[0], 20)
        assert "Stopped by you" in cell.text


def test_without_the_extension_others_get_text_as_before(unloaded: Kernel, model: Asked) -> None:
    model.answer = lambda request: Say("Ada matters most.")
    cell = bare(unloaded, PLAIN)
    assert cell.out == "completed\n"
    assert "Ada matters most." in plain_forms(cell)
    assert not any(m["header"]["msg_type"].startswith("comm_") for m in cell.messages)
    headless = unloaded.ok(PLAIN)
    assert not any(VIEW in data for data in headless.shown)
    assert "Ada matters most." in headless.text
