// A table of an answer: it scrolls in its own place, and is copied for a sheet, as CSV, or put into the notebook as a frame.

import { button, copyText, element, flash } from "./dom.js";

const NUMBER = /^-?(?:0|[1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*)(?:\.\d+)?$/;

/**
 * @param {Element} table
 * @returns {string[][]} the texts of its cells, the head first
 */
function cellsOf(table) {
  return [...table.querySelectorAll("tr")].map(row =>
    [...row.children].map(cell => (cell.textContent ?? "").replace(/\s+/g, " ").trim()),
  );
}

/** @param {string[][]} rows */
export function toCsv(rows) {
  const field = text => (/[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
  return `${rows.map(row => row.map(field).join(",")).join("\n")}\n`;
}

/**
 * The code of a frame. A column is one of numbers where each of its cells is a number.
 * @param {string[][]} rows
 */
export function toFrame([head, ...rows]) {
  const isNumber = head.map((_, at) => rows.length > 0 && rows.every(row => NUMBER.test(row[at] ?? "")));
  const value = (text, at) => (isNumber[at] ? text.replaceAll(",", "") : JSON.stringify(text ?? ""));
  const lines = rows.map(row => `    [${head.map((_, at) => value(row[at], at)).join(", ")}],\n`);
  const names = head.map(name => JSON.stringify(name)).join(", ");
  return `import pandas as pd\n\ndf = pd.DataFrame([\n${lines.join("")}], columns=[${names}])\ndf`;
}

/**
 * The HTML of prose without buttons, classes and what only the page needs.
 * @param {Element} prose
 */
export function plainHtml(prose) {
  const copy = /** @type {Element} */ (prose.cloneNode(true));
  for (const bar of copy.querySelectorAll(".hnbr-codebar, .hnbr-tablebar")) bar.remove();
  for (const one of copy.querySelectorAll("*"))
    for (const name of ["class", "tabindex", "role", "aria-label"]) one.removeAttribute(name);
  return copy.innerHTML;
}

/**
 * @param {any} table
 * @param {{ insert: ((code: string) => boolean) | null }} host
 * @param {boolean} [isOpen] more of it comes: its buttons have their place, but are not there yet
 */
export function dressTable(table, { insert }, isOpen = false) {
  if (table.closest(".hnbr-table")) return;
  const rows = cellsOf(table),
    bar = element("div", { class: "hnbr-tablebar" }),
    scroll = element("div", { class: "hnbr-scroll", tabindex: "0", role: "region", "aria-label": "Table" }),
    box = element("div", { class: "hnbr-table" }, scroll, bar);
  if (!isOpen) {
    const sheet = button("Copy table", () => copyText(rows.map(row => row.join("\t")).join("\n"), sheet, plainHtml(scroll))),
      csv = button("Copy as CSV", () => copyText(toCsv(rows), csv));
    bar.append(sheet, csv);
    if (insert) {
      const put = button("To DataFrame", () => flash(put, insert(toFrame(rows)) ? "Inserted below" : "Can't insert here"));
      bar.append(put);
    }
  }
  table.replaceWith(box);
  scroll.append(table);
}
