// The panel of a span and the table of all.

import { copyText, element } from "../shared/dom.js";
import { formatSeconds } from "../shared/format.js";
import { hatchTile } from "./paint.js";

// A swatch of a category: colour and hatch, as on the canvas.
export function swatch(name, looks) {
  const canvas = element("canvas", { class: "hnbt-swatch", width: 28, height: 20, "aria-hidden": "true" });
  const c = canvas.getContext("2d");
  c.fillStyle = looks[name][0];
  const thin = name === "turn";
  c.fillRect(0, thin ? 5 : 0, 28, thin ? 10 : 20);
  if (looks[name][1]) {
    c.fillStyle = c.createPattern(hatchTile(looks[name][1], "rgba(255,255,255,.75)", 1.6), "repeat");
    c.fillRect(0, 0, 28, 20);
  }
  return canvas;
}

export function briefOf(log, i) {
  const took = log.isTimed(i) ? formatSeconds(log.seconds(i)) : log.isReplayed(i) ? "not timed" : "";
  return [`${log.nameOf(i)}`, log.kindName(i), log.status(i).replace("_", " "), log.isReplayed(i) ? "replayed" : "", took]
    .filter(Boolean)
    .join(" · ");
}

export class Panel {
  /** @type {string} */
  key;
  /** @type {number} */
  number;

  constructor({ log, onClose, onSelect, onZoom }) {
    this.log = log;
    this.onSelect = onSelect;
    this.onZoom = onZoom;
    this.onClose = onClose;
    this.element = element("section", { class: "hnbt-panel", "aria-label": "Selected step", hidden: true });
  }

  // detail is null while it is fetched
  show(i, detail) {
    const { log } = this,
      shown = detail ?? {
        title: log.nameOf(i),
        kind: log.kindName(i),
        status: log.status(i).replace("_", " "),
        replayed: log.isReplayed(i),
        facts: [["duration", formatSeconds(log.seconds(i))]],
        texts: [],
      };
    const key = JSON.stringify(shown);
    if (key === this.key && this.number === i) return;
    const place = this.number === i ? this.element.scrollTop : 0;
    this.key = key;
    this.number = i;
    const close = element(
      "button",
      {
        type: "button",
        class: "hnbt-close",
        "aria-label": "Close the panel",
        title: "Close (Esc)",
        onclick: () => this.onClose(),
      },
      "✕",
    );
    const marks = [
      element(
        "span",
        { class: shown.is_error ? "hnbt-badge hnbt-bad" : "hnbt-badge" },
        (shown.is_error ? "✖ " : "") + shown.status,
      ),
    ];
    if (shown.replayed) marks.push(element("span", { class: "hnbt-badge" }, "↺ replayed"));
    const facts = element("dl", { class: "hnbt-facts" });
    for (const [label, text] of shown.facts)
      facts.append(element("div", {}, element("dt", {}, label), element("dd", {}, text)));
    const actions = element(
      "div",
      { class: "hnbt-actions" },
      element("button", { type: "button", onclick: () => this.onZoom(i) }, "Zoom to it"),
      Number.isInteger(shown.parent) &&
        element("button", { type: "button", onclick: () => this.onSelect(shown.parent) }, "Its parent"),
      element("button", { type: "button", onclick: event => copyText(asText(shown), event.currentTarget) }, "Copy all"),
    );
    this.element.replaceChildren(
      element("header", {}, element("h4", {}, shown.title), close),
      element("div", { class: "hnbt-badges" }, element("span", { class: "hnbt-kind" }, shown.kind), ...marks),
      actions,
      facts,
      ...shown.texts.map(([label, text, rest]) => this.text(label, text, rest)),
      ...(detail ? [] : [element("p", { class: "hnbt-dim" }, "Fetching the rest from the kernel …")]),
    );
    this.element.hidden = false;
    this.element.scrollTop = place;
  }

  text(label, text, rest) {
    const copy = element(
      "button",
      { type: "button", "aria-label": `Copy ${label}`, onclick: event => copyText(text, event.currentTarget) },
      "Copy",
    );
    const body = element("pre", { tabindex: "0", "aria-label": label }, text);
    return element(
      "div",
      { class: label === "error" || label === "hint" ? "hnbt-text hnbt-error" : "hnbt-text" },
      element("div", { class: "hnbt-head" }, element("h5", {}, label), copy),
      body,
      rest > 0 && element("p", { class: "hnbt-dim" }, `${rest.toLocaleString("en")} more characters are not shown here`),
    );
  }

  hide() {
    this.element.hidden = true;
    this.element.replaceChildren();
    this.number = -1;
    this.key = "";
  }
}

function asText(shown) {
  const lines = [`${shown.title} (${shown.kind}, ${shown.status}${shown.replayed ? ", replayed" : ""})`];
  for (const [label, text] of shown.facts) lines.push(`${label}: ${text}`);
  for (const [label, text, rest] of shown.texts)
    lines.push("", `${label}:`, text, ...(rest > 0 ? [`(+${rest} more characters)`] : []));
  return lines.join("\n");
}

const PAGE_ROWS = 50;

// The frame: the text alternative of the canvas, a page at a time.
export class Table {
  /** @type {import("./log.js").Log} */
  log;
  /** @type {string[]} */
  columns;
  /** @type {(numbers: number[], use: (rows: string[][]) => void) => void} */
  fetchRows;
  /** @type {(i: number) => void} */
  onSelect;
  /** @type {Map<number, any>} */
  rows;
  /** @type {string | null} */
  shownOf;

  constructor({ log, columns, fetchRows, onSelect }) {
    Object.assign(this, { log, columns, fetchRows, onSelect });
    this.page = 0;
    this.told = new Map();
    this.element = element("section", { class: "hnbt-frame", "aria-label": "The steps as a table", hidden: true });
  }

  get isOpen() {
    return !this.element.hidden;
  }

  toggle() {
    this.element.hidden = !this.element.hidden;
    this.shownOf = null;
    if (this.isOpen) this.refresh();
    return this.isOpen;
  }

  numbers() {
    const { shown } = this.log.layout(),
      { matches } = this.log;
    return matches ? Array.from(shown).filter(i => matches[i]) : shown;
  }

  refresh() {
    if (!this.isOpen) return;
    const all = this.numbers(),
      pages = Math.max(1, Math.ceil(all.length / PAGE_ROWS));
    this.page = Math.min(this.page, pages - 1);
    const page = Array.from(all.slice(this.page * PAGE_ROWS, (this.page + 1) * PAGE_ROWS));
    const key = `${this.log.version}:${this.page}:${page.length}:${all.length}`;
    if (key === this.shownOf) return;
    this.shownOf = key;
    const { log } = this,
      origin = log.layout().origin;
    this.rows = new Map();
    const heads = ["#", "start", "duration", "kind", "name", "agent", "status", ...this.columns];
    const body = element("tbody");
    for (const i of page) {
      const cells = [
        i,
        `+${formatSeconds(log.start[i] - origin)}`,
        log.isRunning(i) ? "running" : log.isTimed(i) ? formatSeconds(log.length[i]) : "",
        log.kindName(i),
        log.nameOf(i),
        log.agentOf(i),
        log.status(i).replace("_", " ") + (log.isReplayed(i) ? ", replayed" : ""),
      ];
      const open = element("button", { type: "button", class: "hnbt-link", onclick: () => this.onSelect(i) }, cells[4]);
      const row = element(
        "tr",
        { "data-n": i },
        ...cells.map((cell, at) => element("td", {}, at === 4 ? open : String(cell))),
      );
      this.rows.set(i, row);
      body.append(row);
      this._fill(i, this.told.get(i) ?? []);
    }
    const turn = step => {
      this.page = Math.max(0, Math.min(pages - 1, this.page + step));
      this.refresh();
    };
    const from = all.length ? this.page * PAGE_ROWS + 1 : 0;
    this.element.replaceChildren(
      element(
        "div",
        { class: "hnbt-pages" },
        element(
          "button",
          { type: "button", "aria-label": "Previous page of the table", disabled: this.page === 0, onclick: () => turn(-1) },
          "‹",
        ),
        element(
          "span",
          {},
          `${from.toLocaleString("en")}-${(from + page.length - (page.length ? 1 : 0)).toLocaleString("en")} of ${all.length.toLocaleString("en")}`,
        ),
        element(
          "button",
          {
            type: "button",
            "aria-label": "Next page of the table",
            disabled: this.page >= pages - 1,
            onclick: () => turn(1),
          },
          "›",
        ),
      ),
      element(
        "div",
        { class: "hnbt-scroll", tabindex: "0", role: "region", "aria-label": "Table of steps" },
        element(
          "table",
          {},
          element("thead", {}, element("tr", {}, ...heads.map(h => element("th", { scope: "col" }, h)))),
          body,
        ),
      ),
    );
    this.fetchRows(page, rows =>
      page.forEach((i, at) => {
        this.told.set(i, rows[at]);
        this._fill(i, rows[at]);
      }),
    );
  }

  _fill(i, cells) {
    const row = this.rows.get(i);
    if (!row) return;
    while (row.cells.length > 7) row.lastChild.remove();
    this.columns.forEach((_, at) => row.append(element("td", {}, cells[at] ?? "")));
  }
}
