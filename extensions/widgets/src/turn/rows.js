// The items of a turn as elements: rows as hermes_nb/views/_steps.py makes them, prose, and what is asked. Nothing that a row
// says is computed here but the seconds of what still runs.

import { formatSeconds } from "../shared/format.js";
import { dress } from "./code.js";
import { button, element, icon } from "./dom.js";
import { Prose } from "./markdown.js";
import { dressTable } from "./table.js";

const DENIED_BY = ["deny"],
  ALLOWED = { once: "Approve", always: "Always", deny: "Deny" };

/** @param {import("../shared/protocol").Step} step */
function line(step) {
  const link = /^https?:\/\//.test(step.url ?? "") && {
    href: step.url,
    target: "_blank",
    rel: "noopener noreferrer nofollow",
  };
  const call = link ? element("a", link, step.call) : step.call;
  return element(
    "span",
    { class: "hnbr-what" },
    call && element(step.is_code ? "code" : "span", { class: "hnbr-call" }, call),
    call && " ",
    step.summary && element("span", { class: "hnbr-gist" }, step.summary),
  );
}

/**
 * @param {string[]} columns
 * @param {string[][]} rows
 */
function grid(columns, rows) {
  const isNumber = columns.map((_, n) => rows.every(row => /^-?[\d,]*\.?\d*$/.test(row[n] ?? ""))),
    kind = n => ({ class: isNumber[n] ? "hnbr-number" : null });
  return element(
    "table",
    { class: "hnbr-grid" },
    element("thead", {}, element("tr", {}, ...columns.map((name, n) => element("th", kind(n), name)))),
    element("tbody", {}, ...rows.map(row => element("tr", {}, ...row.map((cell, n) => element("td", kind(n), cell))))),
  );
}

/** @param {string[][]} pairs */
function pairsTable(pairs) {
  const rows = pairs.map(([k, v]) => element("tr", {}, element("th", {}, k), element("td", {}, v)));
  return element("table", { class: "hnbr-grid hnbr-pairs" }, element("tbody", {}, ...rows));
}

/** @param {[string, string]} run a kind of colour, and its text */
function inked([kind, text]) {
  return kind ? element("span", { class: `hnbr-ink-${kind}` }, text) : text;
}

/** @param {import("../shared/protocol").Detail} detail */
export function detailBlock({ label, text, runs, pairs, columns, rows, rest }) {
  const left = n =>
    element("div", { class: "hnbr-dim" }, `${n.toLocaleString("en")} more ${columns ? "rows" : "characters"}`);
  const isTechnical = label === "Technical";
  const body = pairs
    ? pairsTable(pairs)
    : columns
      ? element(
          "div",
          { class: "hnbr-scroll", tabindex: "0", role: "region", "aria-label": label || "Table" },
          grid(columns, rows ?? []),
        )
      : element("pre", { tabindex: "0", "aria-label": label || "Text" }, ...(runs ? runs.map(inked) : [text ?? ""]));
  if (isTechnical)
    return element("details", { class: "hnbr-technical" }, element("summary", { class: "hnbr-label" }, label), body);
  return element(
    "div",
    { class: "hnbr-block" },
    label && element("div", { class: "hnbr-label" }, label),
    body,
    Number(rest) > 0 && left(rest),
  );
}

// What ran when the kernel went: no clock, and no word that says that it still runs.
/** @param {import("../shared/protocol").Item} item */
function cut(item) {
  if (item.state !== "running") return item;
  return { ...item, state: "killed", icon: "✗", summary: "cut off", began: undefined, steps: item.steps?.map(cut) };
}

// One row on one line, which opens where there is more to see; pictures are below it, in its place.
class Row {
  /** @type {import("../shared/protocol").Item} */
  item;
  /** @type {any} */
  told;
  /** @type {any} */
  head;

  /**
   * @param {string} name
   * @param {import("../shared/protocol").RowHost} context
   */
  constructor(name, context) {
    this.name = name;
    this.context = context;
    this.inner = [];
    this.time = element("span", { class: "hnbr-time" });
    this.body = element("div", { class: "hnbr-opened" });
    this.plots = element("div", { class: "hnbr-plots" });
    this.element = element("div", { class: "hnbr-step" });
  }

  /** @param {import("../shared/protocol").Item} item */
  update(item) {
    const was = this.item;
    this.item = item;
    this.element.className = `hnbr-step hnbr-kind-${item.kind} hnbr-is-${item.state}`;
    this.element.style.marginLeft = item.depth ? `${item.depth * 1.6}em` : "";
    const opens = Boolean(item.details?.length || item.steps?.length || item.has_more || item.text || item.output);
    if (!this.head || opens !== this.opens) this._build(opens, item.kind === "log" && item.state !== "ok");
    this.row.replaceChildren(icon(item.icon), line(item), this.time);
    this.time.textContent = item.duration ?? "";
    if (was && was.state !== item.state) this.told = undefined;
    if (item.pictures !== was?.pictures) this._plot(item);
    this._fill();
  }

  _build(opens, isOpen) {
    this.opens = opens;
    this.row = element(opens ? "summary" : "div", { class: "hnbr-row" });
    this.head = opens ? element("details", { open: isOpen, ontoggle: () => this._fill() }, this.row, this.body) : this.row;
    this.element.replaceChildren(this.head, this.plots);
  }

  // The clock of what runs, by the kernel's time.
  tick(now) {
    if (this.item.began !== undefined && !this.item.duration) this.time.textContent = formatSeconds(now - this.item.began);
    for (const row of this.inner) row.tick(now);
  }

  die() {
    this.update(cut(this.item));
  }

  // What the kernel told when asked.
  tell(told) {
    this.told = told ?? {};
    this._fill();
  }

  _plot(item) {
    this.plots.replaceChildren(
      ...(item.pictures ?? []).map((uri, at) =>
        element("img", { src: uri, alt: `Plot ${at + 1} of ${item.call}`, class: "hnbr-picture" }),
      ),
    );
  }

  _fill() {
    if (!this.head?.open) return;
    const { item } = this,
      isDead = this.context.isDead();
    const isAsked = (item.has_more || ["call", "agent"].includes(item.kind)) && item.state !== "running";
    if (isAsked && !this.told && !isDead) this.context.fetch(this.name);
    const details = [...(this.told?.details ?? item.details ?? [])];
    if (item.text) details.push({ label: "", text: item.text });
    if (item.output) details.push({ label: "Printed", text: item.output });
    const steps = item.steps ?? [];
    this.inner.length = Math.min(this.inner.length, steps.length);
    for (const [at, step] of steps.entries()) {
      this.inner[at] ??= new Row(`${this.name}#${at}`, { ...this.context, fetch: () => {} });
      if (this.inner[at].item !== step) this.inner[at].update(step);
    }
    const lacks = item.has_more && !this.told && isDead;
    this.body.replaceChildren(
      ...details.map(detailBlock),
      ...this.inner.map(row => row.element),
      ...(lacks ? [element("div", { class: "hnbr-dim" }, "The rest needs the kernel.")] : []),
    );
  }
}

// Prose whose code, tables and formulas have what they need.
function proseOf(context) {
  return new Prose({
    onCode: (pre, isOpen) => dress(pre, context, isOpen),
    onTable: (table, isOpen) => dressTable(table, context, isOpen),
    typeset: context.typeset,
  });
}

// What a model said before it called tools.
class Said {
  /**
   * @param {string} _name
   * @param {import("../shared/protocol").RowHost} context
   */
  constructor(_name, context) {
    this.prose = proseOf(context);
    this.element = element("div", { class: "hnbr-said" }, this.prose.element);
  }

  /** @param {import("../shared/protocol").Item} item */
  update(item) {
    this.prose.set(item.text ?? "", Boolean(item.open));
  }
}

class Answer {
  /**
   * @param {string} _name
   * @param {import("../shared/protocol").RowHost} context
   */
  constructor(_name, context) {
    this.prose = proseOf(context);
    this.element = element("div", { class: "hnbr-answer" }, this.prose.element);
  }

  /** @param {import("../shared/protocol").Item} item */
  update(item) {
    this.prose.set(item.text, item.open);
    this.element.classList.toggle("hnbr-writing", item.open);
    this.element.setAttribute("aria-busy", String(item.open));
  }
}

// The arguments of a call that waits: a line each, where they are an object.
function given(ask) {
  let held;
  try {
    held = JSON.parse(ask.arguments);
  } catch {}
  if (!held || typeof held !== "object" || Array.isArray(held) || !Object.keys(held).length)
    return element("pre", { tabindex: "0", "aria-label": `Arguments of ${ask.name}` }, ask.arguments);
  const pairs = Object.entries(held).map(([name, value]) => [
    name,
    typeof value === "string" ? value : JSON.stringify(value, null, 1),
  ]);
  return element("div", { class: "hnbr-given", role: "group", "aria-label": `Arguments of ${ask.name}` }, pairsTable(pairs));
}

const CALM_MS = 500;

// A request for approval, or a question: open it has buttons, answered it is a row.
class Asked {
  /** @type {any} */
  ask;

  /**
   * @param {string} _name
   * @param {import("../shared/protocol").RowHost} context
   */
  constructor(_name, context) {
    this.context = context;
    this.row = new Row(_name, context);
    this.element = element("div", { class: "hnbr-asked" }, this.row.element);
  }

  /** @param {import("../shared/protocol").Item} item */
  update(item) {
    if (!item.ask) {
      this.id = undefined;
      this.row.update(item);
      this.element.className = "hnbr-asked";
      this.element.removeAttribute("role");
      this.element.removeAttribute("aria-label");
      this.element.replaceChildren(this.row.element);
      return;
    }
    if (this.id === item.ask.id) return;
    const { ask } = item;
    this.id = ask.id;
    this.ask = ask;
    this.element.className = "hnbr-asked hnbr-open";
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", ask.approval ? "Approve this call?" : "Question of the agent");
    this.element.replaceChildren(
      ...[
        element(
          "div",
          { class: "hnbr-question" },
          element("b", {}, ask.approval ? "Approve this call?" : ask.question),
          ask.approval && element("code", { class: "hnbr-asks" }, ask.name || ask.question),
        ),
        ask.arguments && given(ask),
        ask.approval ? this._allow(ask) : this._reply(ask),
      ].filter(Boolean),
    );
    this._calm();
  }

  // The second half of a double click meets a question that has just come into the place of an answered one: not yet.
  _calm() {
    const id = this.id,
      buttons = [...this.element.querySelectorAll("button")];
    for (const made of buttons) made.disabled = true;
    setTimeout(() => {
      if (this.id === id && !this.context.isDead()) for (const made of buttons) made.disabled = false;
    }, CALM_MS);
  }

  tick(now) {
    if (this.id === undefined) this.row.tick(now);
  }

  // Nobody waits for the answer any more: what can't be clicked does not look as if it could.
  die() {
    if (this.id === undefined) return;
    for (const made of /** @type {NodeListOf<HTMLButtonElement>} */ (this.element.querySelectorAll("button, textarea")))
      made.disabled = true;
    this.element.classList.add("hnbr-over");
    const title = this.element.querySelector(".hnbr-question b");
    if (title) title.textContent = this.ask.approval ? "No longer waiting" : `No longer waiting: ${this.ask.question}`;
    this.element.setAttribute("aria-label", "No longer waiting");
  }

  _send(ask, answer) {
    for (const made of this.element.querySelectorAll("button, textarea")) made.disabled = true;
    this.context.act({ do: "answer", id: ask.id, answer }).then(said => {
      if (!said.ok) for (const made of this.element.querySelectorAll("button, textarea")) made.disabled = false;
    });
  }

  _allow(ask) {
    return element(
      "div",
      { class: "hnbr-buttons" },
      ...ask.choices.map(choice =>
        button(ALLOWED[choice] ?? choice, () => this._send(ask, choice), {
          class:
            choice === "once"
              ? "hnbr-button hnbr-first"
              : DENIED_BY.includes(choice)
                ? "hnbr-button hnbr-bad"
                : "hnbr-button",
          title:
            choice === "always"
              ? "Don't ask again for this tool with these arguments, in this conversation"
              : choice === "once"
                ? "This call alone"
                : "The model is told it was denied",
        }),
      ),
    );
  }

  _reply(ask) {
    const field = element("textarea", { rows: 2, "aria-label": "Your answer", placeholder: "Your answer" });
    const send = () => {
      if (field.value.trim()) this._send(ask, field.value);
    };
    field.addEventListener("keydown", event => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
        event.preventDefault();
        send();
      }
    });
    return element(
      "div",
      {},
      element("div", { class: "hnbr-buttons" }, ...ask.choices.map(choice => button(choice, () => this._send(ask, choice)))),
      element("div", { class: "hnbr-reply" }, field, button("Answer", send, { class: "hnbr-button hnbr-first" })),
    );
  }
}

/** @param {string} kind */
export function rowFor(kind) {
  return { said: Said, answer: Answer, wait: Asked }[kind] ?? Row;
}
