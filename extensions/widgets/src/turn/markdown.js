// A model's Markdown as elements, by the rules of hermes_nb/views/_prose.py: raw HTML is text, images are links, only web links
// live. markdown-it makes no other HTML than that, and DOMPurify lets nothing else through.

import DOMPurify from "dompurify";
import markdownIt from "markdown-it";
import { useFormulas } from "./formula.js";
import { settled, useRules } from "./rules.js";

const SAFE_LINK = /^(?:https?:|mailto:|#|\/(?!\/)|\.\/|\.\.\/|[\w.-]+(?:[/?#]|$))/i;
const MAX_CHARS = 200_000;
const TAGS =
  "a blockquote br code del div em h1 h2 h3 h4 h5 h6 hr li ol p pre s span strong table tbody td th thead tr ul".split(" ");

const parser = markdownIt("commonmark", { html: false }).enable(["table", "strikethrough"]).disable("image");
useFormulas(parser);
useRules(parser);
parser.validateLink = url => SAFE_LINK.test(url.trim());
parser.renderer.rules.link_open = (tokens, at, options, _env, self) => {
  tokens[at].attrSet("rel", "noopener noreferrer nofollow");
  tokens[at].attrSet("target", "_blank");
  return self.renderToken(tokens, at, options);
};
for (const cell of ["th_open", "td_open"]) {
  parser.renderer.rules[cell] = (tokens, at, options, _env, self) => {
    const side = /text-align:(\w+)/.exec(String(tokens[at].attrGet("style") ?? ""))?.[1];
    tokens[at].attrs = side
      ? [
          ["class", `hnbr-${side}`],
          ["dir", "auto"],
        ]
      : [["dir", "auto"]];
    return self.renderToken(tokens, at, options);
  };
}

function cleaned(html) {
  return DOMPurify.sanitize(html, {
    ALLOWED_TAGS: TAGS,
    ALLOWED_ATTR: ["class", "dir", "href", "rel", "start", "target"],
    ALLOW_DATA_ATTR: false,
    ALLOW_ARIA_ATTR: false,
    ALLOWED_URI_REGEXP: SAFE_LINK,
    RETURN_DOM_FRAGMENT: true,
  });
}

function drawn(text) {
  if (text.length > MAX_CHARS) {
    const made = document.createDocumentFragment(),
      pre = document.createElement("pre");
    pre.textContent = text;
    made.append(pre);
    return made;
  }
  return cleaned(parser.render(text));
}

// Where the last top-level block begins: what is before it no longer changes when text is added.
function lastBlock(text) {
  const starts = parser
    .parse(text, {})
    .filter(t => t.level === 0 && t.map && t.nesting >= 0)
    .map(t => t.map?.[0] ?? 0);
  if (starts.length < 2) return 0;
  let at = 0;
  for (let line = starts[starts.length - 1]; line > 0; line--) at = text.indexOf("\n", at) + 1;
  return at;
}

function each(nodes, css, hear) {
  if (hear) for (const node of nodes) for (const one of node.matches(css) ? [node] : node.querySelectorAll(css)) hear(one);
}

// A text that grows. Blocks that are over are drawn once; only the last one is drawn anew.
export class Prose {
  /** @type {string} */
  text;
  /** @type {((pre: Element, isOpen?: boolean) => void) | undefined} */
  onCode;
  /** @type {((table: Element, isOpen?: boolean) => void) | undefined} */
  onTable;
  /** @type {((formula: Element) => void) | undefined} */
  typeset;

  /**
   * @param {{ onCode?: (pre: Element, isOpen?: boolean) => void, onTable?: (table: Element, isOpen?: boolean) => void,
   *   typeset?: (formula: Element) => void }} options what is told of each block of code, table and formula
   */
  constructor({ onCode, onTable, typeset } = {}) {
    this.onCode = onCode;
    this.onTable = onTable;
    this.typeset = typeset;
    this.element = document.createElement("div");
    this.element.className = "hnbr-prose";
    this.done = document.createElement("div");
    this.rest = document.createElement("div");
    this.element.append(this.done, this.rest);
    this.text = "";
    this.nDone = 0;
    this.isOpen = true;
  }

  set(text, isOpen) {
    if (text === this.text && isOpen === this.isOpen) return;
    if (!text.startsWith(this.text) || (!isOpen && /^ {0,3}\[[^\]\n]+\]:/m.test(text))) this._reset();
    this.text = text;
    this.isOpen = isOpen;
    this._draw();
  }

  _reset() {
    this.nDone = 0;
    this.done.replaceChildren();
  }

  _draw() {
    const open = this.text.slice(this.nDone);
    if (this.text.length > MAX_CHARS) {
      this._reset();
      this.rest.replaceChildren(drawn(this.text));
      return;
    }
    const split = this.isOpen ? lastBlock(open) : open.length;
    if (split > 0) {
      const over = drawn(open.slice(0, split));
      const nodes = [...over.children];
      this.done.append(over);
      this.nDone += split;
      each(nodes, "pre", this.onCode);
      each(nodes, "table", this.onTable && (table => this.onTable?.(table)));
      each(nodes, ".hnbr-formula", this.typeset);
    }
    const rest = this.text.slice(this.nDone);
    this.rest.replaceChildren(drawn(this.isOpen ? settled(rest) : rest));
    const still = [...this.rest.children];
    each(still, "table", this.onTable && (table => this.onTable?.(table, true)));
    each(
      still,
      "pre",
      this.onCode && (pre => this.onCode?.(pre, true)), // framed and coloured from its first line on
    );
  }
}
