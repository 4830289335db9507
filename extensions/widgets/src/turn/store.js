// What all views of one widget share: turns as they were told, what was asked of the kernel, whether it still lives.

import { keepStatic } from "../shared/keep.js";
import { errorRemover, inserter, typesetter, watchKernel } from "./lab.js";
import { Turn } from "./state.js";

const SAY_S = 15;

export class Store {
  /** @type {Map<string, import("./state.js").Turn>} */
  turns;
  /** @type {string[]} */
  order;
  /** @type {Record<string, any>} */
  chat;
  /** @type {Map<number, (said: import("../shared/protocol").Said) => void>} */
  asked;
  /** @type {Set<any>} */
  views;

  /**
   * @param {import("../shared/protocol").Model} model
   */
  constructor(model) {
    this.model = model;
    this.turns = new Map();
    this.order = [];
    this.chat = {};
    this.views = new Set();
    this.asked = new Map();
    this.n = 0;
    this.isDead = false;
    this.isTold = false;
    this.mayPromote = false;
    this.take = message => this._take(message);
    model.on("msg:custom", this.take);
    this.onLive = () => setTimeout(() => this._lookAlive());
    model.on("comm_live_update", this.onLive);
    this.unwatch = watchKernel(model, () => this.die());
    this.insert = inserter(model);
    this.typeset = typesetter(model);
    this.isAgain = false;
    this.removeErrors = errorRemover(model);
  }

  // Does something in the kernel; resolves to { ok, text }.
  /**
   * @param {Record<string, unknown>} message
   * @returns {Promise<import("../shared/protocol").Said>}
   */
  act(message) {
    const n = ++this.n + Math.random(); // another tab's numbers are not mine
    return new Promise(resolve => {
      if (this.isDead) {
        resolve({ ok: false, text: "The kernel is gone. Run the cell again." });
        return;
      }
      const late = setTimeout(() => {
        this.asked.delete(n);
        resolve({ ok: false, text: "The kernel has not answered. The stop square of the toolbar works in any case." });
      }, SAY_S * 1000);
      this.asked.set(n, said => {
        clearTimeout(late);
        resolve(said);
      });
      this.model.send({ t: "do", n, ...message });
    });
  }

  fetch(turn, k) {
    this.model.send({ t: "detail", turn, k });
  }

  shown(view) {
    this.views.add(view);
    this.model.send({ t: "ready", keeps: keepStatic(this.model, () => this.still()) });
  }

  hidden(view) {
    this.views.delete(view);
    try {
      if (!this.isDead) this.model.send({ t: "gone" });
    } catch {
      /* the kernel is gone too */
    }
  }

  // What is written to the notebook's file: the kernel's form, or before it came, text.
  /** @returns {import("../shared/protocol").Bundle} */
  still() {
    const made = this.model.get("static");
    if (made?.["text/html"]) return made;
    const text = this.order.map(id => this.turns.get(id)?.asText() ?? "").join("\n\n") || "Saved before anything was shown.";
    const safe = text.replace(/[&<>]/g, sign => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;" })[sign]);
    return {
      "text/html": `<pre style="white-space:pre-wrap">${safe}\n\n(saved while it ran)</pre>`,
      "text/plain": `${text}\n\n(saved while it ran)`,
    };
  }

  die() {
    if (this.isDead) return;
    this.isDead = true;
    for (const said of this.asked.values()) said({ ok: false, text: "The kernel is gone." });
    this.asked.clear();
    for (const view of this.views) view.refresh();
  }

  // The views carry the class that Jupyter gives to widgets without a kernel.
  _lookAlive() {
    for (const view of this.views)
      if (view.el.closest(".jupyter-widgets-disconnected")) {
        this.die();
        return;
      }
  }

  /** @param {import("../shared/protocol").Message} message */
  _take(message) {
    const kind = message?.t;
    if (kind === "said") {
      this.asked.get(message.n)?.(/** @type {any} */ (message));
      this.asked.delete(message.n);
      return;
    }
    if (kind === "all") {
      this.isTold = true;
      this.mayPromote = Boolean(message.may_promote);
      const before = this.order.at(-1);
      this.order = message.turns.map(turn => turn.id);
      this.isAgain ||= this.model.get("kind") !== "chat" && before !== undefined && !this.order.includes(before);
      this.turns = new Map(
        message.turns.map(told => {
          const known = this.turns.get(told.id);
          if (known) known.reset(told);
          return [told.id, known ?? new Turn(told)];
        }),
      );
      this.chat = { ...this.chat, ...message.chat };
    } else if (kind === "turn") {
      if (this.turns.has(message.turn.id)) {
        this.turns.get(message.turn.id)?.reset(message.turn);
        return;
      }
      this.turns.set(message.turn.id, new Turn(message.turn));
      this.order.push(message.turn.id);
    } else if (kind === "chat") this.chat = { ...this.chat, ...message.chat };
    else if (kind === "ops") this.turns.get(message.turn)?.apply(message.ops);
    else if (kind === "detail") {
      for (const view of this.views) view.told(message.turn, message.k, message.detail);
      return;
    } else if (kind !== "beat") return;
    if (this.isAgain && this.turns.get(this.order.at(-1) ?? "")?.head.status === "ok") {
      this.isAgain = false;
      this.removeErrors();
    }
    for (const view of this.views) {
      view.heard();
      if (kind !== "beat") view.refresh(message.turn?.id ?? message.turn);
    }
  }

  close() {
    this.model.off("msg:custom", this.take);
    this.model.off("comm_live_update", this.onLive);
    this.unwatch();
  }
}
