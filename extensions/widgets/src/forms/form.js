// The ground of forms and cards: one root that draws `data`, says what was clicked, and tells when its kernel is gone.

import { copyText, element, ownKeys } from "../shared/dom.js";
import { keepStatic } from "../shared/keep.js";

let made = 0;

export const button = (text, act, more = {}) => element("button", { type: "button", onclick: act, ...more }, text);

// A mark that is read as a word where the sign has no shape.
export const mark = (sign, word) =>
  element("span", { class: "hnbs-mark", role: "img", "aria-label": word, title: word }, sign);

export const notice = (kind, ...parts) =>
  element(
    "p",
    { class: `hnbs-notice hnbs-${kind}` },
    kind === "bad"
      ? mark("✖", "Error")
      : kind === "warn"
        ? mark("▲", "Warning")
        : kind === "good"
          ? mark("✔", "Done")
          : null,
    " ",
    ...parts,
  );

export function codeBlock(text, label, ...more) {
  const copy = button("Copy", event => copyText(text, event.currentTarget), {
    "aria-label": `Copy ${label}`,
    "data-works-alone": "",
  });
  return element(
    "div",
    { class: "hnbs-code" },
    element("div", { class: "hnbs-bar" }, element("span", {}, label), copy, ...more),
    element("pre", { tabindex: "0", role: "region", "aria-label": label }, text),
  );
}

// Label and value of each line, as in the agent's card.
export function facts(rows) {
  const list = element("dl", { class: "hnbs-facts" });
  for (const [label, text] of rows) {
    if (text) list.append(element("div", {}, element("dt", {}, label), element("dd", {}, text)));
  }
  return list;
}

// The notebook that an element is in, where the front end lets one at it: JupyterLab and Notebook 7.
const contextOf = model => model.widget_manager?.context;

// Calls `act` once, when the kernel that made a widget ends or starts anew. Returns what ends the watch.
export function watchKernel(model, act) {
  const session = contextOf(model)?.sessionContext;
  if (typeof session?.statusChanged?.connect !== "function") return () => {};
  const ends = new Set(["restarting", "autorestarting", "terminating", "dead"]);
  const hear = (_, status) => {
    if (ends.has(status)) act();
  };
  session.statusChanged.connect(hear);
  return () => session.statusChanged.disconnect(hear);
}

// Puts code into a new cell below the one that shows a widget, or into the cell that got it before and was not touched since.
// Returns the cell's id; "" where the front end gives no hold of its cells.
export function insertCell(model, source, before = {}) {
  try {
    const notebook = contextOf(model)?.model?.sharedModel,
      cells = notebook?.cells;
    if (typeof notebook?.insertCell !== "function" || !Array.isArray(cells)) return "";
    const old = cells.find(cell => before.id && cell.id === before.id);
    if (old && old.getSource?.() === before.source && typeof old.setSource === "function") {
      old.setSource(source);
      return old.id;
    }
    const mime = "application/vnd.jupyter.widget-view+json",
      id = model.get("shown_as");
    const shows = cell => (cell.outputs ?? []).some(output => output.data?.[mime]?.model_id === id);
    const at = cells.findIndex(cell => cell.cell_type === "code" && shows(cell));
    if (at < 0) return "";
    notebook.insertCell(at + 1, { cell_type: "code", source, metadata: {} });
    return notebook.cells[at + 1]?.id || "";
  } catch (error) {
    console.warn("hermes_nb:", error);
    return "";
  }
}

// Goes to the cell that ran as `[count]`, in the notebook of `root`. False where there is none on the page.
export function jumpToCell(root, count) {
  const cells = [...(root.closest(".jp-Notebook")?.querySelectorAll(".jp-CodeCell") ?? [])];
  const cell = cells.find(cell => cell.querySelector(":scope .jp-InputPrompt")?.textContent.trim() === `[${count}]:`);
  if (!cell) return false;
  const isCalm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
  cell.scrollIntoView({ block: "center", behavior: isCalm ? "auto" : "smooth" });
  cell.setAttribute("tabindex", cell.getAttribute("tabindex") ?? "-1");
  cell.focus({ preventScroll: true });
  cell
    .querySelector(".jp-InputArea")
    ?.animate?.([{ outline: "3px solid var(--jp-brand-color1, #0072B2)" }, { outline: "3px solid transparent" }], {
      duration: isCalm ? 1 : 2500,
    });
  return true;
}

export class FormView {
  /** @type {boolean | undefined} */
  isDead;
  /** @type {(() => void)[]} */
  cleanups;

  /**
   * @param {import("../shared/protocol").Model} model
   * @param {HTMLElement} el
   * @param {string} label
   */
  constructor(model, el, label) {
    this.model = model;
    this.id = `hnbs-${++made}-${Math.random().toString(36).slice(2, 8)}`;
    this.cleanups = [];
    this.says = element("div", { class: "hnbw-unseen", role: "status", "aria-live": "polite" });
    this.body = element("div", { class: "hnbs-body" });
    this.root = element("section", { class: "hnbw hnbs", role: "region", "aria-label": label }, this.body, this.says);
    this.root.hnbs = this; // for tests and for who embeds it
    el.append(this.root);
    const onData = () => {
        if (!this.isDead) this.draw();
      },
      onMessage = message => {
        if (message?.t === "problem") this.problem(message.text);
        else this.hear(message);
      };
    model.on("change:data", onData);
    model.on("msg:custom", onMessage);
    this.cleanups.push(
      () => model.off("change:data", onData),
      () => model.off("msg:custom", onMessage),
      ownKeys(this.root),
      watchKernel(model, () => this.die()),
    );
    const sizes = new ResizeObserver(() => this.root.classList.toggle("hnbs-narrow", this.root.clientWidth < 560));
    sizes.observe(this.root);
    this.cleanups.push(() => sizes.disconnect());
  }

  get data() {
    return this.model.get("data") ?? {};
  }

  start() {
    this.draw();
    this.send({ t: "ready", keeps: keepStatic(this.model, () => this.model.get("static")) });
  }

  /** @param {import("../shared/protocol").Message} message */
  send(message) {
    if (this.isDead) return;
    try {
      this.model.send(message);
    } catch {
      this.die();
    }
  }

  say(text) {
    this.says.textContent = text;
  }

  /** @param {import("../shared/protocol").Message} _message */
  hear(_message) {}

  draw() {}

  // What went wrong in the kernel, and is nobody's field.
  problem(text) {
    this.body.querySelector(":scope > .hnbs-bad")?.remove();
    this.body.prepend(notice("bad", text));
    this.say(text);
  }

  // The kernel is gone: what is shown stays to be read, nothing can be clicked but what works without it.
  die() {
    if (this.isDead) return;
    this.isDead = true;
    this.root.classList.add("hnbs-dead");
    for (const control of this.root.querySelectorAll("button, input, select, textarea")) {
      if (!control.hasAttribute("data-works-alone")) control.disabled = true;
    }
    const text = this.lastWords();
    this.body.prepend(notice("warn", text));
    this.say(text);
  }

  lastWords() {
    return "The kernel was restarted, and this is no longer connected to it. Run the cell again.";
  }

  close() {
    for (const end of this.cleanups) end();
    this.root.remove();
  }
}

// What anywidget takes: a view of `View` for each element.
export const widget = View => () => ({
  render({ model, el }) {
    const view = new View(model, el);
    view.start();
    return () => view.close();
  },
});
