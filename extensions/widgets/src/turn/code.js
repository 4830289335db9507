// A block of code in an answer: coloured, to be copied, or to be put into the notebook as a cell.

import hljs from "highlight.js/lib/core";
import bash from "highlight.js/lib/languages/bash";
import diff from "highlight.js/lib/languages/diff";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import python from "highlight.js/lib/languages/python";
import r from "highlight.js/lib/languages/r";
import sql from "highlight.js/lib/languages/sql";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { button, copyText, element, flash } from "./dom.js";

for (const [name, language] of Object.entries({ bash, diff, javascript, json, python, r, sql, xml, yaml }))
  hljs.registerLanguage(name, language);
hljs.registerAliases(["console", "shell-session"], { languageName: "bash" });

const MAX_CHARS = 30_000;
// What a cell of a Python notebook runs, and the line that makes it run something else.
const CELLS = new Map([
  ["", ""],
  ["python", ""],
  ["py", ""],
  ["ipython", ""],
  ["bash", "%%bash\n"],
  ["sh", "%%bash\n"],
  ["html", "%%html\n"],
]);

/**
 * @param {any} pre
 * @param {{ insert: ((code: string) => boolean) | null }} host
 * @param {boolean} [isOpen] more of it comes
 */
export function dress(pre, { insert }, isOpen = false) {
  const code = pre.querySelector("code");
  if (!code || pre.closest(".hnbr-code")) return;
  const name = (/language-([\w+-]+)/.exec(code.className)?.[1] ?? "").toLowerCase(),
    text = code.textContent.replace(/\n$/, "");
  const language = hljs.getLanguage(name);
  if (language && text.length <= MAX_CHARS) {
    code.innerHTML = hljs.highlight(text, { language: name, ignoreIllegals: true }).value; // hljs escapes the text
    code.classList.add("hljs");
  }
  pre.tabIndex = 0;
  const copy = button("Copy", () => copyText(text, copy), { "aria-label": "Copy the code" });
  const bar = element(
    "div",
    { class: "hnbr-codebar" },
    element("span", { class: "hnbr-dim" }, name || "code"),
    !isOpen && copy,
  );
  if (!isOpen && insert && CELLS.has(name)) {
    const put = button("Insert as cell", () =>
      flash(put, insert(CELLS.get(name) + text) ? "Inserted below" : "Can't insert here"),
    );
    bar.append(put);
  }
  const box = element("div", { class: "hnbr-code" }, bar);
  pre.replaceWith(box);
  box.append(pre);
}
