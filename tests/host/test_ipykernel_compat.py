"""A tool that clears its cell is noticed, whether this ipykernel's `clear_output` asks the hooks or not."""

from __future__ import annotations

import ipykernel
import pytest
from ipykernel.zmqshell import ZMQDisplayPublisher

from hermes_nb.host.output.ipykernel_compat import clears_are_hooked


class Session:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent = []

    def msg(self, kind, content, parent):
        return {"header": {"msg_type": kind}, "content": content, "parent_header": parent}

    def send(self, socket, message, content=None, parent=None, ident=None):
        self.sent.append(message)


class Unhooked:
    """A publisher whose `clear_output` asks no hook."""

    topic = pub_socket = None

    def __init__(self) -> None:
        self.session, self.parent_header, self._hooks, self.n_flushed = Session(), {"msg_id": "cell"}, [], 0

    def _flush_streams(self):
        self.n_flushed += 1

    def clear_output(self, wait=False):
        self.session.send(None, "unhooked")


def test_hooks_are_asked_while_it_is_open_and_not_later():
    publisher, heard = Unhooked(), []
    publisher._hooks.append(lambda message: heard.append(message) or message)
    with clears_are_hooked(publisher):
        publisher.clear_output(wait=True)
    publisher.clear_output()
    message = {"header": {"msg_type": "clear_output"}, "content": {"wait": True}, "parent_header": {"msg_id": "cell"}}
    assert heard == [message]
    assert publisher.session.sent == [message, "unhooked"]
    assert publisher.n_flushed == 1


def test_a_hook_can_take_the_message():
    publisher = Unhooked()
    publisher._hooks.append(lambda message: None)
    with clears_are_hooked(publisher):
        publisher.clear_output()
    assert publisher.session.sent == []


def test_calls_may_end_in_any_order():
    publisher = Unhooked()
    first, second = clears_are_hooked(publisher), clears_are_hooked(publisher)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    publisher.clear_output()
    assert publisher.session.sent[0]["header"] == {"msg_type": "clear_output"}
    second.__exit__(None, None, None)
    assert "clear_output" not in vars(publisher)


def test_only_ipykernel_6_17_needs_it():
    """When the floor rises above it, host/output/ipykernel_compat.py can go."""
    is_needed = "_hooks" not in ZMQDisplayPublisher.clear_output.__code__.co_names
    assert is_needed == (ipykernel.version_info[:2] <= (6, 17))


def test_another_ipykernel_is_left_as_it_is():
    if ipykernel.version_info[:2] <= (6, 17):
        pytest.skip("this one needs the stand-in")
    publisher = ZMQDisplayPublisher()
    with clears_are_hooked(publisher):
        assert "clear_output" not in vars(publisher)
