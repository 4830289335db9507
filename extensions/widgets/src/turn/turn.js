// One turn on the page: what it does now, its rows, its answer, and what can be done about it.

import { formatSeconds } from "../shared/format.js";
import { button, copyText, element } from "./dom.js";
import { detailBlock, rowFor } from "./rows.js";
import { plainHtml } from "./table.js";

const SILENT_S = 6;
const SIGNS = { running: "◌", ok: "✓", error: "✗", stopped: "■", timed_out: "✗", killed: "✗" };

export class TurnView {
  /** @type {import("./state.js").Turn} */
  state;
  /** @type {import("../shared/protocol").TurnHost["act"]} */
  act;
  /** @type {() => boolean} */
  isDead;
  /** @type {() => boolean} */
  mayPromote;
  /** @type {boolean} */
  inChat;
  /** @type {number} */
  heardAt;
  /** @type {number | undefined} */
  isDue;
  /** @type {any} */
  ticking;
  /** @type {boolean | undefined} */
  isClosed;
  /** @type {string | undefined} */
  lastSaid;

  /**
   * @param {import("./state.js").Turn} state
   * @param {import("../shared/protocol").TurnHost} host
   */
  constructor(state, { act, insert, typeset, isDead, fetch, mayPromote = () => false, inChat = false }) {
    Object.assign(this, { state, act, isDead, mayPromote, inChat });
    this.rows = new Map();
    this.context = { insert, typeset, isDead, fetch: name => fetch(state.id, name), act: message => this._do(message) };
    this.sign = element("span", { class: "hnbr-icon", "aria-hidden": "true" });
    this.doing = element("span", { class: "hnbr-doing" });
    this.time = element("span", { class: "hnbr-time" });
    this.stop = button(
      "Stop",
      () => {
        this.stop.disabled = true;
        this._do({ do: "stop" });
      },
      { class: "hnbr-button hnbr-bad", title: "Stop this turn; what has arrived is kept" },
    );
    this.steer = button("Steer", () => this._toggleSteer(), {
      "aria-expanded": "false",
      title: "Send a note without stopping",
    });
    this.bar = element(
      "div",
      { class: "hnbr-bar" },
      element("span", { class: "hnbr-state" }, this.sign, this.doing, this.time),
      element("span", { class: "hnbr-buttons" }, !inChat && this.steer, this.stop),
    );
    this.word = element("input", {
      type: "text",
      "aria-label": "Add a note for the model",
      placeholder: "Add a note for the model",
    });
    this.form = element(
      "form",
      {
        class: "hnbr-steer",
        hidden: true,
        onsubmit: event => {
          event.preventDefault();
          this._steer();
        },
      },
      this.word,
      element("button", { type: "submit", class: "hnbr-button hnbr-first" }, "Send"),
    );
    this.items = element("div", { class: "hnbr-items" });
    this.said = element("div", { class: "hnbr-told", role: "status" });
    this.line = element("summary", { class: "hnbr-line" });
    this.models = element("div", { class: "hnbr-opened" });
    this.sums = element("details", { class: "hnbr-sums" }, this.line, this.models);
    this.copy = button("Copy", () => copyText(state.answer || state.asText(), this.copy, this._rich()), {
      title: "Copy the answer, with its form",
    });
    this.retry = button("Retry", () => this._do({ do: "retry" }), {
      title: "Ask again and replace this answer",
    });
    this.fork = button("Fork here", () => this._do({ do: "fork" }), {
      title: "Start a new conversation from here",
    });
    this.promote = button("Promote to Flyte", () => this._do({ do: "promote" }), {
      "data-promotes": "",
      title: "Run this agent on Flyte (checks first)",
    });
    this.foot = element(
      "div",
      { class: "hnbr-foot" },
      this.sums,
      element("span", { class: "hnbr-buttons" }, this.copy, this.retry, this.fork, this.promote),
    );
    this.announce = element("div", { class: "hnbr-unseen", role: "status", "aria-live": "polite" });
    this.element = element(
      "section",
      { class: "hnbr-turn", "aria-label": `Turn of ${state.head.agent || "the agent"}` },
      this.bar,
      this.form,
      this.items,
      this.said,
      this.foot,
      this.announce,
    );
    this.element.hnbr = this;
    this.form.addEventListener("keydown", event => {
      if (event.key === "Escape") this._toggleSteer(false);
    });
    this.heard();
    this.frames = 0;
    this._refresh();
  }

  // Something came from the kernel.
  heard() {
    this.heardAt = performance.now();
    this.element?.classList.remove("hnbr-silent");
  }

  // Draw what changed, with the next frame.
  refresh() {
    this.isDue ??= requestAnimationFrame(() => {
      this.isDue = undefined;
      this._refresh();
    });
  }

  _refresh() {
    const { head } = this.state;
    const isRunning = this.state.isRunning && !this.isDead(),
      isCutOff = this.state.isRunning && this.isDead();
    this.frames += 1;
    for (const [name, row] of this.rows)
      if (!this.state.items.has(name)) {
        row.element.remove();
        this.rows.delete(name);
      }
    let at = this.items.firstChild;
    for (const name of this.state.order) {
      const item = this.state.items.get(name);
      let row = this.rows.get(name);
      if (!row) {
        row = new (rowFor(item.kind))(name, this.context);
        this.rows.set(name, row);
      }
      if (row.shown !== item) {
        row.update(item);
        row.shown = item;
        row.isOver = false;
      }
      if (isCutOff && !row.isOver) {
        row.die?.();
        row.isOver = true;
      }
      if (row.element !== at) this.items.insertBefore(row.element, at);
      else at = at.nextSibling;
    }
    this.element.dataset.status = head.status;
    this.element.classList.toggle("hnbr-cut", isCutOff);
    this.bar.hidden = !isRunning && !isCutOff && head.status !== "ok"; // another end has a row of its own
    this.doing.textContent = isCutOff
      ? "The kernel stopped during this turn. %hermes resume continues it."
      : (isRunning && head.doing) || head.done || head.word;
    this.sign.textContent = isCutOff ? "✗" : (SIGNS[head.status] ?? "◌");
    this.time.hidden = !isRunning;
    this.stop.hidden = this.steer.hidden = !isRunning;
    this.stop.disabled = head.word === "stopping";
    this.stop.textContent = head.status === "queued" ? "Cancel" : "Stop";
    this.time.hidden ||= head.status === "queued";
    if (!isRunning && !this.form.hidden) this._toggleSteer(false);
    this.line.textContent = head.line;
    this.sums.classList.toggle("hnbr-plain", !head.models?.rows?.length);
    if (this.shownModels !== head.models) {
      this.shownModels = head.models;
      this.models.replaceChildren(...(head.models?.rows?.length ? [detailBlock({ ...head.models, label: "" })] : []));
    }
    this.foot.classList.toggle("hnbr-live", isRunning);
    this.copy.hidden = isRunning;
    this.retry.hidden = this.fork.hidden = isRunning || this.isDead();
    this.promote.hidden = this.retry.hidden || !this.mayPromote();
    this._tick();
    this._say(isCutOff ? "The kernel stopped during this turn." : `${head.agent}: ${isRunning ? head.doing : head.word}`);
  }

  _tick() {
    clearTimeout(this.ticking);
    if (!this.state.isRunning || this.isDead() || this.isClosed) return;
    this.time.textContent = formatSeconds(this.state.elapsed);
    for (const row of this.rows.values()) row.tick?.(this.state.now);
    const silent = (performance.now() - this.heardAt) / 1000;
    this.element.classList.toggle("hnbr-silent", silent > SILENT_S);
    if (silent > SILENT_S) this.doing.textContent = `Kernel not responding for ${formatSeconds(silent)}`;
    this.ticking = setTimeout(() => this._tick(), 200);
  }

  // For screen readers: what changed in kind, not every word.
  _say(text) {
    if (this.lastSaid !== text) {
      this.lastSaid = text;
      this.announce.textContent = text;
    }
  }

  // The answer's elements without their buttons: what a word processor or a mail pastes.
  _rich() {
    return [...this.items.querySelectorAll(":scope > .hnbr-answer > .hnbr-prose")].map(plainHtml).join("\n");
  }

  _do(message) {
    return this.act({ ...message, turn: this.state.id }).then(said => {
      this.said.textContent = said.text;
      this.said.classList.toggle("hnbr-error", !said.ok);
      if (!said.ok) this.stop.disabled = false;
      return said;
    });
  }

  _toggleSteer(open = this.form.hidden) {
    const hadFocus = this.form.contains(document.activeElement);
    this.form.hidden = !open;
    this.steer.setAttribute("aria-expanded", String(open));
    if (open) this.word.focus();
    else if (hadFocus && !this.steer.hidden) this.steer.focus();
  }

  _steer() {
    const text = this.word.value;
    if (!text.trim()) return;
    this._do({ do: "steer", text }).then(said => {
      if (said.ok) {
        this.word.value = "";
        this._toggleSteer(false);
      }
    });
  }

  told(name, detail) {
    this.rows.get(name)?.tell?.(detail);
  }

  close() {
    this.isClosed = true;
    clearTimeout(this.ticking);
    if (this.isDue) cancelAnimationFrame(this.isDue);
    this.element.remove();
  }
}
