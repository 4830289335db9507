// The items of a turn as elements: rows in the grammar of the static form, prose, and what is asked.

import { dress } from "./code.js";
import { button, element, icon } from "./dom.js";
import { Prose } from "./markdown.js";

const DENIED_BY = ["deny"], ALLOWED = { once: "Approve", always: "Always", deny: "Deny" };

function parts(item) {
  const made = [];
  for (const [lead, text, isCode, url] of item.parts ?? []) {
    const link = /^https?:\/\//.test(url ?? "") && { href: url, target: "_blank", rel: "noopener noreferrer nofollow" };
    made.push(lead, text && (link ? element("a", link, text) : element(isCode ? "code" : "span", { class: isCode ? null : "hnbr-dim" }, text)));
  }
  return made.length ? [" — ", ...made] : [];
}

function headline(item) {
  const isRunning = item.status === "running";
  return [
    item.icon && icon(isRunning && item.kind !== "wait" ? "⏳" : item.icon), " ",
    item.label && element("b", {}, item.label),
    item.meta && element("span", { class: "hnbr-meta" }, ` ${item.meta}`),
    ...parts(item),
    item.error && element("span", { class: "hnbr-error" }, ` ⚠ ${item.error}`),
  ];
}

function block(label, text, rest) {
  return element("div", { class: "hnbr-block" },
    element("div", { class: "hnbr-label" }, label),
    element("pre", { tabindex: "0", "aria-label": label }, text),
    rest > 0 && element("div", { class: "hnbr-dim" }, `${rest.toLocaleString("en")} more characters are not shown here`));
}

// A row that says all on its line: notes, endings, answered questions.
class Plain {
  constructor() { this.element = element("div", { class: "hnbr-row" }); }
  update(item) {
    this.element.className = `hnbr-row hnbr-${item.kind}`;
    this.element.style.marginLeft = item.depth ? `${item.depth * 1.6}em` : "";
    this.element.replaceChildren(...headline(item).filter(Boolean));
  }
}

// The last lines of a run's log.
class Log {
  constructor() { this.element = element("div", { class: "hnbr-block" }); }
  update(item) { this.element.replaceChildren(block(item.label, item.lines, 0)); }
}

// A row that opens: a tool call, a delegated agent.
class Opening {
  constructor(name, context) {
    this.name = name;
    this.context = context;
    this.summary = element("summary", { class: "hnbr-row" });
    this.body = element("div", { class: "hnbr-opened" });
    this.element = element("details", { class: "hnbr-tool", ontoggle: () => this._fill() }, this.summary, this.body);
  }

  update(item) {
    const was = this.item;
    this.item = item;
    this.element.style.marginLeft = item.depth ? `${item.depth * 1.6}em` : "";
    this.summary.replaceChildren(...headline(item).filter(Boolean));
    if (item.pictures?.length) this.summary.append(element("span", { class: "hnbr-meta" }, ` · ${item.pictures.length === 1 ? "1 plot" : `${item.pictures.length} plots`}`));
    if (was && was.status !== item.status) this.told = undefined;
    if (this.element.open) this._fill();
  }

  // What the kernel told when asked.
  tell(detail) { this.told = detail; this._fill(); }

  _fill() {
    if (!this.element.open) return;
    const { item } = this, detail = item.detail ?? this.told;
    if (!detail && !this.context.isDead()) this.context.fetch(this.name);
    const facts = element("dl", { class: "hnbr-facts" });
    for (const [label, text] of detail?.facts ?? []) facts.append(element("div", {}, element("dt", {}, label), element("dd", {}, text)));
    const printed = item.output && !detail?.texts.some(([label]) => label === "printed") ? [block("printed", item.output, 0)] : [];
    this.body.replaceChildren(...[
      ...(detail?.texts ?? []).map(([label, text, rest]) => block(label, text, rest)), ...printed,
      ...(item.pictures ?? []).map((uri, at) => element("img", { src: uri, alt: `Plot ${at + 1} of ${item.label}`, class: "hnbr-picture" })),
      detail ? facts : element("div", { class: "hnbr-dim" }, this.context.isDead() ? "The kernel that knows more is gone." : "Asking the kernel for the rest …"),
    ]);
  }
}

// What a model said before it called tools, and what it thought.
class Said {
  constructor(name, context) {
    this.prose = new Prose({ onCode: pre => dress(pre, context) });
    this.thought = element("pre", { tabindex: "0", "aria-label": "Reasoning" });
    this.count = element("span", { class: "hnbr-meta" });
    this.reasoning = element("details", { class: "hnbr-reasoning", ontoggle: () => this._think() },
      element("summary", { class: "hnbr-row" }, icon("💭"), " ", element("b", {}, "Reasoning"), this.count), this.thought);
    this.problem = element("div", { class: "hnbr-row" });
    this.element = element("div", { class: "hnbr-said" }, this.reasoning, this.prose.element, this.problem);
  }

  update(item) {
    this.item = item;
    this.reasoning.hidden = !item.reasoning?.trim();
    this.count.textContent = ` ${(item.reasoning ?? "").length.toLocaleString("en")} characters`;
    this._think();
    this.prose.element.hidden = !item.text;
    this.prose.set(item.text ?? "", item.status === "running");
    this.problem.hidden = !item.error;
    if (item.error) this.problem.replaceChildren(...headline({ ...item, parts: [] }).filter(Boolean));
  }

  _think() { if (this.reasoning.open && this.thought.textContent !== this.item.reasoning) this.thought.textContent = this.item.reasoning; }
}

class Answer {
  constructor(name, context) {
    this.prose = new Prose({ onCode: pre => dress(pre, context) });
    this.element = element("div", { class: "hnbr-answer" }, this.prose.element);
  }

  update(item) {
    this.prose.set(item.text, item.open);
    this.element.classList.toggle("hnbr-writing", item.open);
    this.element.setAttribute("aria-busy", String(item.open));
  }
}

const CALM_MS = 500;

// A request for approval, or a question: open it has buttons, answered it is a row.
class Asked {
  constructor(name, context) {
    this.context = context;
    this.row = new Plain();
    this.element = element("div", { class: "hnbr-asked" }, this.row.element);
  }

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
    this.element.className = "hnbr-asked hnbr-open";
    this.element.setAttribute("role", "group");
    this.element.setAttribute("aria-label", ask.approval ? "Approval needed" : "Question of the agent");
    this.element.replaceChildren(...[
      element("div", { class: "hnbr-question" }, icon("✋"), " ", element("b", {}, ask.approval ? "Approval needed" : "The agent asks"), ` — ${ask.question}`),
      ask.arguments && element("pre", { tabindex: "0", "aria-label": `Arguments of ${ask.name}` }, ask.arguments),
      ask.approval ? this._allow(ask) : this._reply(ask)].filter(Boolean));
    this._calm();
  }

  // The second half of a double click meets a question that has just come into the place of an answered one: not yet.
  _calm() {
    const id = this.id, buttons = [...this.element.querySelectorAll("button")];
    for (const made of buttons) made.disabled = true;
    setTimeout(() => {
      if (this.id === id && !this.context.isDead()) for (const made of buttons) made.disabled = false;
    }, CALM_MS);
  }

  _send(ask, answer) {
    for (const made of this.element.querySelectorAll("button, textarea")) made.disabled = true;
    this.context.act({ do: "answer", id: ask.id, answer }).then(said => {
      if (!said.ok) for (const made of this.element.querySelectorAll("button, textarea")) made.disabled = false;
    });
  }

  _allow(ask) {
    return element("div", { class: "hnbr-buttons" }, ...ask.choices.map(choice =>
      button(ALLOWED[choice] ?? choice, () => this._send(ask, choice), {
        class: choice === "once" ? "hnbr-button hnbr-first" : DENIED_BY.includes(choice) ? "hnbr-button hnbr-bad" : "hnbr-button",
        title: choice === "always" ? "This tool with these arguments, for the rest of this session" : choice === "once" ? "This call alone" : "The model is told that it may not" })));
  }

  _reply(ask) {
    const field = element("textarea", { rows: 2, "aria-label": "Your answer", placeholder: "Your answer" });
    const send = () => { if (field.value.trim()) this._send(ask, field.value); };
    field.addEventListener("keydown", event => { if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); send(); } });
    return element("div", {},
      element("div", { class: "hnbr-buttons" }, ...ask.choices.map(choice => button(choice, () => this._send(ask, choice)))),
      element("div", { class: "hnbr-reply" }, field, button("Answer", send, { class: "hnbr-button hnbr-first" })));
  }
}

export function rowFor(kind) {
  return { tool: Opening, agent: Opening, model: Said, answer: Answer, wait: Asked, log: Log }[kind] ?? Plain;
}
