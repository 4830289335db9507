// A conversation in one output: the turns, what is written next, and which conversation it is.

import { ownKeys } from "../shared/dom.js";
import { button, element } from "./dom.js";
import { Prose } from "./markdown.js";
import { TurnView } from "./turn.js";

const NEAR = 40;

// A question and the turn that answers it.
class Exchange {
  constructor(state, deps) {
    this.state = state;
    this.you = new Prose({ typeset: deps.typeset });
    this.turn = new TurnView(state, { ...deps, inChat: true });
    this.element = element(
      "div",
      { class: "hnbr-exchange" },
      element("div", { class: "hnbr-you" }, element("div", { class: "hnbr-label" }, "You"), this.you.element),
      this.turn.element,
    );
    this.refresh();
  }

  refresh() {
    this.you.set(this.state.head.prompt ?? "", false);
    this.turn.refresh();
  }
  close() {
    this.turn.close();
    this.element.remove();
  }
}

export class ChatView {
  constructor(store, el) {
    this.store = store;
    this.el = el;
    this.exchanges = new Map();
    this.deps = {
      act: m => store.act(m),
      insert: store.insert,
      typeset: store.typeset,
      isDead: () => store.isDead,
      fetch: (turn, k) => store.fetch(turn, k),
    };
    this.name = element("b", { class: "hnbr-name" });
    this.model = element("span", { class: "hnbr-dim" });
    this.sessions = element("select", {
      "aria-label": "Conversation",
      onchange: () => this._act({ do: "open", session: this.sessions.value }),
    });
    this.fresh = button("New", () => this._act({ do: "open" }), { title: "Start a new conversation" });
    this.timeline = button("Timeline", () => this._act({ do: "timeline", shown: !store.chat.timeline }), {
      "aria-pressed": "false",
      title: "Show what took time, beside the conversation",
    });
    this.bar = element(
      "div",
      { class: "hnbr-chatbar" },
      element("span", { class: "hnbr-who" }, this.name, " ", this.model),
      element("span", { class: "hnbr-buttons" }, this.sessions, this.fresh, this.timeline),
    );
    this.more = button("", () => this._act({ do: "more" }), { class: "hnbr-button hnbr-earlier", hidden: true });
    this.empty = element("p", { class: "hnbr-empty" });
    this.list = element("div", { class: "hnbr-list" });
    this.log = element(
      "div",
      { class: "hnbr-log", role: "log", "aria-live": "off", tabindex: "0", "aria-label": "Conversation" },
      this.more,
      this.empty,
      this.list,
    );
    this.field = element("textarea", { rows: 2, placeholder: "Ask something" });
    this.send = element("button", { type: "submit", class: "hnbr-button hnbr-first" }, "Send");
    this.steer = button("Steer", () => this._send(true), {
      hidden: true,
      title: "Put this into the turn that runs, instead of behind it",
    });
    this.note = element("div", { class: "hnbr-told", role: "status" });
    this.hint = element("span", { class: "hnbr-dim hnbr-hint" }, "Enter sends, Shift+Enter starts a new line.");
    this.form = element(
      "form",
      {
        class: "hnbr-composer",
        onsubmit: event => {
          event.preventDefault();
          this._send(false);
        },
      },
      this.field,
      element(
        "div",
        { class: "hnbr-sending" },
        this.hint,
        element("span", { class: "hnbr-buttons" }, this.steer, this.send),
      ),
    );
    this.root = element("section", { class: "hnbw hnbr hnbr-chat" }, this.bar, this.log, this.note, this.form);
    this.root.hnbr = this;
    this.field.addEventListener("keydown", event => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this._send(false);
    });
    this.field.addEventListener("input", () => this._grow());
    this.quiet = ownKeys(this.root);
    el.append(this.root);
    this.sizes = new ResizeObserver(() => {
      if (this.isAtEnd) this.log.scrollTop = this.log.scrollHeight;
    });
    this.sizes.observe(this.list);
    this.isAtEnd = true;
    this.lastTop = 0;
    this.log.addEventListener("scroll", () => this._scrolled());
    this.refresh();
  }

  // Only who scrolls up leaves the end: what grew or was made narrower since the last scroll was seen has not moved anybody.
  _scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.log,
      isNear = scrollHeight - scrollTop - clientHeight < NEAR;
    if (isNear) this.isAtEnd = true;
    else if (scrollTop < this.lastTop) this.isAtEnd = false;
    this.lastTop = scrollTop;
  }

  refresh() {
    this.isDue ??= requestAnimationFrame(() => {
      this.isDue = undefined;
      this._refresh();
    });
  }

  _refresh() {
    const { store } = this,
      { chat } = store,
      isDead = store.isDead;
    this.root.setAttribute("aria-label", `Chat with ${chat.agent ?? "the agent"}`);
    this.name.textContent = chat.agent ?? "…";
    this.model.textContent = chat.model ?? "";
    this.field.setAttribute("aria-label", `Message to ${chat.agent ?? "the agent"}`);
    this._listSessions();
    this.more.hidden = !chat.n_earlier || isDead;
    this.more.textContent = `Show ${chat.n_earlier === 1 ? "1 earlier turn" : `${chat.n_earlier} earlier turns`}`;
    this.empty.hidden = store.order.length > 0;
    this.empty.textContent = isDead
      ? ""
      : store.isTold
        ? `This is the beginning of a conversation with ${chat.agent}.`
        : "waiting for the kernel …";
    for (const [id, exchange] of this.exchanges) {
      if (store.turns.get(id) !== exchange.state) {
        exchange.close();
        this.exchanges.delete(id);
      }
    }
    let at = this.list.firstChild;
    for (const id of store.order) {
      let exchange = this.exchanges.get(id);
      if (!exchange) {
        exchange = new Exchange(store.turns.get(id), this.deps);
        this.exchanges.set(id, exchange);
      }
      if (exchange.element !== at) this.list.insertBefore(exchange.element, at);
      else at = at.nextSibling;
      exchange.refresh();
    }
    const isRunning = [...store.turns.values()].some(turn => turn.isRunning);
    this.steer.hidden = !isRunning || isDead;
    this.send.textContent = isRunning ? "Queue" : "Send";
    this.send.title = isRunning ? "Ask it when what runs is over" : "";
    this.timeline.setAttribute("aria-pressed", String(Boolean(chat.timeline)));
    for (const made of [this.send, this.field, this.sessions, this.fresh, this.timeline]) made.disabled = isDead;
    if (isDead) {
      this.note.textContent = "The kernel of this chat is gone. Run its cell again to go on with the conversation.";
      this.note.classList.add("hnbr-error");
    }
  }

  _listSessions() {
    const { sessions = [], session } = this.store.chat,
      key = JSON.stringify([sessions, session]);
    if (key === this.listed) return;
    this.listed = key;
    this.sessions.replaceChildren(
      ...sessions.map(([id, title]) =>
        element("option", { value: id, selected: id === session }, title.length > 60 ? `${title.slice(0, 59)}…` : title),
      ),
    );
    this.sessions.value = session;
  }

  _grow() {
    this.field.style.height = "auto";
    this.field.style.height = `${Math.min(220, this.field.scrollHeight + 2)}px`;
  }

  _act(message) {
    return this.store.act(message).then(said => {
      this.note.textContent = said.text;
      this.note.classList.toggle("hnbr-error", !said.ok);
      return said;
    });
  }

  _send(steer) {
    const text = this.field.value;
    if (!text.trim() || this.send.disabled || this.isSending) return;
    this.isSending = true;
    this.isAtEnd = true;
    this._act({ do: "send", text, steer }).then(said => {
      this.isSending = false;
      if (!said.ok) return;
      if (this.field.value === text) this.field.value = "";
      this._grow();
    });
  }

  heard() {
    for (const exchange of this.exchanges.values()) exchange.turn.heard();
  }
  told(turn, name, detail) {
    this.exchanges.get(turn)?.turn.told(name, detail);
  }

  close() {
    this.quiet();
    this.sizes.disconnect();
    if (this.isDue) cancelAnimationFrame(this.isDue);
    for (const exchange of this.exchanges.values()) exchange.close();
    this.root.remove();
  }
}
