"""The chat as a person meets it: three turns, a queue, a word mid-turn, sessions, the timeline beside it, reopened."""

from __future__ import annotations

import json

import pytest

from hermes_nb.testing import Call, Hang, Say

from .axe import findings
from .turn_page import ANALYST, Page

pytestmark = [pytest.mark.browser, pytest.mark.kernel, pytest.mark.hermes, pytest.mark.timeout(400)]

NAME = "chat.ipynb"
END = "c.log.scrollHeight - c.log.scrollTop - c.log.clientHeight < 2"
SETUP, CHAT = range(2)
CELLS = (ANALYST, "%hermes chat -a analyst -o talk")


class ChatPage(Page):
    """`c` is the chat, `v` the view of its last turn."""

    def cell_view(self, cell: int) -> str:
        root = f"[...document.querySelectorAll('.jp-Notebook .jp-Cell')][{cell}]?.querySelector('.hnbr-chat')"
        return f"const c = {root}?.hnbr, v = c && [...c.exchanges.values()].at(-1)?.turn;"

    def ask(self, text: str) -> None:
        field = self.cell(CHAT).get_by_label("Message to analyst")
        field.fill(text)
        field.press("Enter")

    def shoot(self, cell: int, name: str) -> None:
        super().shoot(cell, f"chat-{name}")


PAGE = ChatPage


def test_an_empty_chat_says_so(page: ChatPage) -> None:
    page.notebook.run_cell(CHAT)
    page.wait(CHAT, "c.root.innerText.includes('beginning of a conversation')")
    page.notebook.wait_idle()
    page.shoot(CHAT, "empty")


def test_three_turns_are_one_conversation(page: ChatPage) -> None:
    first = Say("Ada and **Barbara**.", reasoning="The table has two.")
    page.model.extend([Call("top_customers", {"n": 2}), first, Say("1,200.")])
    page.ask("Who matters most?")
    page.wait(CHAT, "v?.state.head.status === 'ok' && v.state.answer.includes('Barbara')", timeout_s=60)
    page.ask("How much does Ada bring?")
    page.wait(CHAT, "c.exchanges.size === 2 && v.state.answer === '1,200.' && v.state.head.status === 'ok'")
    page.model.extend([Say("You asked about Ada.")])
    field = page.cell(CHAT).get_by_label("Message to analyst")
    field.fill("What did I ask?")
    field.press("Shift+Enter")
    field.press_sequentially("In one line.")
    page.button(CHAT, "Send").click()
    page.wait(CHAT, "c.exchanges.size === 3 && v.state.head.status === 'ok'")
    assert page.js(CHAT, "v.state.head.prompt") == "What did I ask?\nIn one line."
    sent = json.dumps(page.model.requests[-1].messages)
    assert "Who matters most?" in sent
    assert "1,200." in sent
    assert field.input_value() == ""
    page.wait(CHAT, "c.sessions.selectedOptions[0].text === 'Who matters most? (3)'")
    page.shoot(CHAT, "three-turns")
    assert findings(page.notebook, ".hnbr-chat") == []


def test_what_is_sent_meanwhile_waits_or_steers(page: ChatPage) -> None:
    page.model.extend([Call("slow", {"seconds": 2}), Say("Slow is done."), Say("And now the queued one.")])
    page.ask("Work slowly.")
    page.wait(CHAT, "v.doing.textContent === 'running slow'")
    page.ask("Then this.")
    page.wait(CHAT, "v.state.head.status === 'queued' && v.doing.textContent === 'waits for its turn'")
    page.cell(CHAT).get_by_label("Message to analyst").fill("Be brief.")
    page.button(CHAT, "Steer").click()
    page.wait(CHAT, "v.state.answer === 'And now the queued one.' && v.state.head.status === 'ok'")
    assert "Be brief." in page.js(CHAT, "c.root.innerText")


def test_stop_by_click_leaves_the_chat_usable(page: ChatPage) -> None:
    page.model.extend([Hang("Once upon a time ", "never."), Say("Here again.")])
    page.ask("Tell a story.")
    page.wait(CHAT, "v.state.answer.includes('Once upon')")
    page.button(CHAT, "Stop").click()
    page.wait(CHAT, "v.state.head.status === 'stopped'", timeout_s=5)
    page.ask("Still there?")
    page.wait(CHAT, "v.state.answer === 'Here again.'")


def test_the_timeline_stands_beside_it(page: ChatPage) -> None:
    page.button(CHAT, "Timeline").click()
    page.notebook.wait_for("() => document.querySelector('.hnbt canvas')", "the timeline", timeout_s=30)
    page.wait(CHAT, END)  # it grew, being narrower now, and nobody scrolled
    page.shoot(CHAT, "timeline")
    page.button(CHAT, "Timeline").click()
    page.notebook.wait_for("() => !document.querySelector('.hnbt canvas')", "no timeline", timeout_s=30)


def test_who_scrolls_up_is_left_there_and_at_the_end_it_follows(page: ChatPage) -> None:
    held = Hang("More ", "of it.\n\nAnd " * 30)
    page.model.extend([held, Say("That was all.")])
    page.ask("Go on.")
    page.wait(CHAT, f"v.state.answer.includes('More') && {END}")
    page.js(CHAT, "(c.log.scrollTop -= 200, 1)")
    page.wait(CHAT, "!c.isAtEnd")
    top = page.js(CHAT, "c.log.scrollTop")
    held.release()
    page.wait(CHAT, "v.state.head.status === 'ok' && v.element.innerText.includes('of it.')")
    assert page.js(CHAT, "c.log.scrollTop") == top > 0
    page.js(CHAT, "(c.log.scrollTop = c.log.scrollHeight, 1)")
    page.wait(CHAT, "c.isAtEnd")
    page.ask("Was that all?")
    page.wait(CHAT, "v.state.answer === 'That was all.' && v.state.head.status === 'ok'")
    page.wait(CHAT, END)


def test_sessions_are_switched(page: ChatPage) -> None:
    page.button(CHAT, "New").click()
    page.wait(CHAT, "c.exchanges.size === 0")
    page.model.extend([Say("A new start.")])
    page.ask("Start anew.")
    page.wait(CHAT, "v?.state.answer === 'A new start.' && v.state.head.status === 'ok'")
    page.wait(CHAT, "c.sessions.options.length === 2")
    old = page.js(CHAT, "[...c.sessions.options].find(o => !o.selected).value")
    page.cell(CHAT).get_by_label("Conversation").first.select_option(old)
    page.wait(CHAT, "c.exchanges.size >= 6")


def test_reopened_it_is_a_transcript(page: ChatPage) -> None:
    page.notebook.command("application:toggle-left-area")
    page.notebook.page.set_viewport_size({"width": 520, "height": 1100})
    page.wait(CHAT, "c.root.scrollWidth <= c.root.clientWidth + 1")
    page.shoot(CHAT, "narrow")
    page.notebook.page.set_viewport_size({"width": 1400, "height": 1000})
    page.wait(CHAT, "c.store.still()['text/html'].includes('Here again.')")
    page.notebook.save()
    page.browser.assert_clean()
    page.notebook.close()
    page.notebook = page.browser.open(NAME)
    for text in ("Who matters most?", "1,200.", "Here again."):
        page.notebook.wait_text(text, cell=CHAT)
    assert page.notebook.page.evaluate("document.querySelectorAll('.hnbr').length") == 0
    page.shoot(CHAT, "reopened")


def test_the_page_was_clean(page: ChatPage) -> None:
    page.browser.assert_clean()
