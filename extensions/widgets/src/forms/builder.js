// The agent builder: a form, what is wrong in it beside each field, and the agent's code in a new cell.

import { element } from "../shared/dom.js";
import { button, codeBlock, FormView, facts, insertCell, mark, notice, widget } from "./form.js";

const FIELDS = [
  "name",
  "model",
  "model_id",
  "base_url",
  "key_variable",
  "instructions",
  "max_turns",
  "max_cost_usd",
  "max_tokens",
  "more_toolsets",
  "runtime",
];

class BuilderView extends FormView {
  /** @type {Record<string, any>} */
  inputs;
  /** @type {Record<string, any>} */
  fieldsets;
  /** @type {Record<string, string>} */
  errors;
  /** @type {Record<string, string>} */
  pinned;
  /** @type {{ id?: string, source?: string }} */
  cell;

  constructor(model, el) {
    super(model, el, "Agent builder");
    this.errors = {};
    this.pinned = {}; // what was wrong in fields that were emptied because they held a key; until one types there
    this.touched = new Set();
    this.inputs = {};
    this.cell = {};
    this.n = 0;
    this._build();
  }

  // -- elements ----------------------------------------------------------------------------------------------------
  _build() {
    const { form } = this.data;
    const input = (name, more) =>
      element("input", { type: "text", autocomplete: "off", spellcheck: "false", value: form[name], ...more });
    const add = (name, label, control, hint, more = {}) => this._field(name, label, control, hint, more);
    this.title = element("h3", {}, form.name ? `Agent ${form.name}` : "New agent");
    this.fieldsets = {};
    const tools = this._set("tools", "Tools", "Functions of this notebook that the agent may call."),
      toolsets = this._set("toolsets", "Hermes toolsets", "Hermes's own tools, with what they may touch. None by default.");
    toolsets.box.classList.add("hnbs-two");
    this.look = button("Refresh", () => this._refresh(), {
      "aria-label": "Look for functions, models and runtimes again",
    });
    tools.box.after(this.look);
    toolsets.box.after(
      add(
        "more_toolsets",
        "Other toolsets",
        input("more_toolsets", { placeholder: "name, name" }),
        "Names of further toolsets, by commas.",
      ),
    );
    this.other = element(
      "div",
      { class: "hnbs-grid hnbs-inset" },
      add(
        "model_id",
        "Name of the model",
        input("model_id", { placeholder: "provider:model" }),
        "As its provider spells it, e.g. openrouter:anthropic/claude-sonnet-5.",
      ),
      add(
        "base_url",
        "Endpoint (optional)",
        input("base_url", { type: "url", placeholder: "http://127.0.0.1:8000/v1" }),
        "Address of an OpenAI-compatible server; without it the provider's own.",
      ),
      add(
        "key_variable",
        "Variable with the key (optional)",
        input("key_variable", { placeholder: "MY_MODEL_KEY" }),
        "The NAME of a variable of the environment. The key itself is never written into the notebook.",
      ),
    );
    this.create = element("button", { type: "submit", class: "hnbs-main" }, "Create agent");
    this.state = element("div", { class: "hnbs-state" });
    this.preview = element("details", { class: "hnbs-preview" }, element("summary", {}, "Code"), element("div"));
    this.made = element("div", { class: "hnbs-made" });
    this.form = element(
      "form",
      { novalidate: true, autocomplete: "off", "aria-label": "Agent" },
      element(
        "div",
        { class: "hnbs-grid" },
        add(
          "name",
          "Name",
          input("name", { placeholder: "analyst", required: true, "aria-required": "true", maxlength: 64 }),
          "How you call it: a letter, then letters, digits, _ . -",
        ),
        add("model", "Model", element("select"), "", { live: true }),
      ),
      this.other,
      add(
        "instructions",
        "Instructions",
        element("textarea", { rows: 4, placeholder: "You answer from the data, in one sentence." }, form.instructions),
        "What the model is told about its job.",
      ),
      tools.set,
      toolsets.set,
      element(
        "fieldset",
        {},
        element("legend", {}, "Limits"),
        element(
          "div",
          { class: "hnbs-grid hnbs-three" },
          add(
            "max_turns",
            "Max. model calls of a turn",
            input("max_turns", { inputmode: "numeric" }),
            "Empty: Hermes's own limit, 90.",
          ),
          add(
            "max_cost_usd",
            "Max. cost of a session, US$",
            input("max_cost_usd", { inputmode: "decimal", placeholder: "none" }),
            "No further model call once it is spent.",
          ),
          add(
            "max_tokens",
            "Max. tokens of a session",
            input("max_tokens", { inputmode: "numeric", placeholder: "none" }),
            "Sent and received together.",
          ),
        ),
      ),
      add("runtime", "Where its turns run", element("select"), "", { live: true }),
      element("div", { class: "hnbs-actions" }, this.create, this.state),
      this.preview,
    );
    this.body.append(element("header", {}, this.title), this.form, this.made);
    this.form.addEventListener("submit", event => {
      event.preventDefault();
      this._create();
    });
    this.form.addEventListener("input", event => this._changed(event.target));
    this.form.addEventListener("change", event => this._changed(event.target));
    this.form.addEventListener("focusout", event => {
      if (event.target.name) {
        this.touched.add(event.target.name);
        this._showErrors();
      }
    });
  }

  _field(name, label, control, hint, { live = false } = {}) {
    const id = `${this.id}-${name}`;
    Object.assign(control, { id, name });
    control.setAttribute("aria-describedby", `${id}-hint ${id}-error`);
    const said = element("p", { class: "hnbs-error", id: `${id}-error`, hidden: true });
    const hinted = element("p", { class: "hnbs-hint", id: `${id}-hint`, ...(live && { "aria-live": "polite" }) }, hint);
    this.inputs[name] = { control, said, hinted };
    return element("div", { class: "hnbs-field" }, element("label", { for: id }, label), control, hinted, said);
  }

  _set(name, legend, hint) {
    const id = `${this.id}-${name}`,
      box = element("div", { class: "hnbs-choices" });
    const said = element("p", { class: "hnbs-error", id: `${id}-error`, hidden: true });
    const set = element(
      "fieldset",
      { "aria-describedby": `${id}-hint ${id}-error` },
      element("legend", {}, legend),
      element("p", { class: "hnbs-hint", id: `${id}-hint` }, hint),
      box,
      said,
    );
    this.fieldsets[name] = { box, said };
    return { set, box };
  }

  // What can be chosen; what is chosen stays so.
  _offer() {
    const { choices, form } = this.data,
      key = JSON.stringify(choices);
    if (key === this.offered) return;
    const isFirst = !this.offered,
      chosen = isFirst ? form : this.values();
    this.offered = key;
    if (!isFirst) this.say(`${choices.tools.length} functions and ${choices.models.length - 1} models were found.`);
    for (const [name, list] of [
      ["model", choices.models],
      ["runtime", choices.runtimes],
    ]) {
      const { control } = this.inputs[name];
      control.replaceChildren(...list.map(o => element("option", { value: o.value }, o.label)));
      control.value = list.some(o => o.value === chosen[name]) ? chosen[name] : list[0].value;
    }
    const { tools, toolsets } = this.fieldsets;
    tools.box.replaceChildren(
      ...(choices.tools.length
        ? choices.tools.map(t => this._tool(t, chosen.tools))
        : [
            element(
              "p",
              { class: "hnbs-none" },
              "No function is defined in this notebook yet. Define one in a cell, then look again.",
            ),
          ]),
    );
    toolsets.box.replaceChildren(
      ...choices.toolsets.map(t =>
        this._choice("toolsets", t.name, chosen.toolsets.includes(t.name), false, [
          element("strong", {}, t.name),
          t.is_strong && element("span", { class: "hnbs-tag hnbs-strong" }, mark("▲", "Warning"), " acts outside"),
          element("span", { class: "hnbs-about" }, t.touches),
        ]),
      ),
    );
    this._follow();
  }

  _choice(set, value, checked, disabled, parts, more = null) {
    const id = `${this.id}-${set}-${value}`;
    return element(
      "div",
      { class: "hnbs-choice" },
      element("input", { type: "checkbox", id, value, "data-set": set, checked, disabled }),
      element("div", {}, element("label", { for: id }, ...parts), more),
    );
  }

  _tool(tool, chosen) {
    const id = `${tool.variable} ${tool.name}`;
    if (tool.problem) {
      return this._choice(
        "tools",
        tool.variable,
        false,
        true,
        [element("strong", {}, tool.variable), element("span", { class: "hnbs-tag" }, "can't be a tool")],
        element("p", { class: "hnbs-problem" }, mark("▲", "Problem"), " ", tool.problem),
      );
    }
    const schema = element(
      "details",
      {},
      element("summary", { "aria-label": `Schema of ${id}` }, "Schema"),
      element("pre", { tabindex: "0" }, JSON.stringify(tool.schema, null, 2)),
    );
    return this._choice(
      "tools",
      tool.variable,
      chosen.includes(tool.variable),
      false,
      [
        element("strong", {}, tool.variable),
        element("code", {}, tool.signature),
        tool.name !== tool.variable && ` as ${tool.name} `,
        ...tool.marks.map(word => element("span", { class: "hnbs-tag" }, word)),
        element(
          "span",
          { class: "hnbs-about" },
          tool.description.split("\n")[0] || "No docstring: the model sees only its name and parameters.",
        ),
      ],
      schema,
    );
  }

  // -- what is in it -----------------------------------------------------------------------------------------------
  values() {
    const form = {};
    for (const name of FIELDS) form[name] = this.inputs[name].control.value;
    for (const name of ["tools", "toolsets"]) {
      form[name] = [...this.form.querySelectorAll(`input[data-set=${name}]:checked`)].map(box => box.value);
    }
    return form;
  }

  _changed(control) {
    if (control.name) {
      this.touched.add(control.name);
      delete this.pinned[control.name];
    }
    if (this.isOutdated) this.state.replaceChildren(); // what it says was said of another form
    this.isOutdated = false;
    this._follow();
    clearTimeout(this.checking);
    this.checking = setTimeout(() => this.send({ t: "check", id: ++this.n, form: this.values() }), 250);
  }

  _follow() {
    const { choices } = this.data,
      noteOf = (list, name) => list.find(o => o.value === this.inputs[name].control.value)?.note ?? "";
    this.inputs.model.hinted.textContent = noteOf(choices.models, "model");
    this.inputs.runtime.hinted.textContent = noteOf(choices.runtimes, "runtime");
    this.other.hidden = this.inputs.model.control.value !== "other";
  }

  _refresh() {
    this.say("Looking again ...");
    this.send({ t: "refresh", form: this.values() });
  }

  _create() {
    for (const name of FIELDS) this.touched.add(name);
    this.isRefused = this.isOutdated = false;
    this.wants = { by: this.id, n: this.data.n };
    this.lostFocus = document.activeElement === this.create; // a button that is disabled loses it
    this.create.disabled = true;
    this.state.replaceChildren("Creating ...");
    this.send({ t: "create", form: this.values(), ...this.wants });
    // A busy kernel answers later; who waits shall know why.
    this.waiting = setTimeout(() => {
      if (!this.isDead) this.state.replaceChildren("The kernel is busy; the agent is created when it is free.");
    }, 1500);
  }

  hear(message) {
    if (this.isDead) return;
    if (message?.t === "checked" && message.id === this.n) this._told(message);
    if ((message?.t === "refused" || message?.t === "created") && message.by === this.id) {
      clearTimeout(this.waiting);
      this.create.disabled = false;
      this.state.replaceChildren();
      if (message.t === "refused") this._refused(message);
      else this._created(message);
      if (this.lostFocus && document.activeElement === document.body) this.create.focus({ preventScroll: true });
    }
  }

  _told({ errors, code, forget = [] }) {
    for (const name of forget) {
      const { control } = this.inputs[name];
      if (control.tagName === "INPUT") {
        control.value = "";
        this.pinned[name] = errors[name];
      }
    }
    this.errors = { ...errors, ...this.pinned };
    this._showErrors(forget);
    if (this.isRefused) this._count();
    this.preview.lastChild.replaceChildren(
      code
        ? codeBlock(code, "The agent's code")
        : element("p", { class: "hnbs-none" }, "The code appears here once every field is right."),
    );
  }

  _showErrors(always = []) {
    for (const [name, { control, said }] of Object.entries(this.inputs)) {
      const text = this.touched.has(name) || always.includes(name) ? (this.errors[name] ?? "") : "";
      control.toggleAttribute("aria-invalid", !!text);
      if (text) control.setAttribute("aria-invalid", "true");
      this._error(said, text);
    }
    this._error(this.fieldsets.tools.said, this.errors.tools ?? "");
  }

  _error(said, text) {
    if (said.dataset.text === text) return;
    said.dataset.text = text;
    said.hidden = !text;
    said.replaceChildren(...(text ? [mark("✖", "Error"), " ", text] : []));
  }

  _refused(message) {
    this._told(message);
    this.isRefused = !message.text;
    this.isOutdated = !!message.text;
    if (message.text) this.state.replaceChildren(notice("bad", message.text));
    this.say(message.text || this._count());
    const first = FIELDS.find(name => this.errors[name]);
    if (first) this.inputs[first].control.focus();
    else if (this.errors.tools) this.form.querySelector("input[data-set=tools]:not(:disabled)")?.focus();
  }

  // How many fields are still wrong of a form that was sent.
  _count() {
    const n = Object.keys(this.errors).length,
      text = n ? `${n} ${n === 1 ? "field needs" : "fields need"} a look.` : "";
    this.isRefused = n > 0;
    this.state.replaceChildren(...(n ? [notice("bad", text)] : []));
    return text;
  }

  problem(text) {
    super.problem(text);
    clearTimeout(this.waiting);
    this.create.disabled = false;
    this.state.replaceChildren();
  }

  // Here, and in no other tab, the code comes into a cell.
  _created({ code }) {
    const id = insertCell(this.model, code, this.cell);
    const isSame = id && id === this.cell.id;
    this.cell = { id, source: code };
    this._showMade(id ? (isSame ? "The cell below was changed to it." : "It is in the new cell below.") : "");
    this.say(`Agent ${this.data.created?.agent} is ready to be asked.${id ? " Its code is in a new cell below." : ""}`);
  }

  // -- what was made -----------------------------------------------------------------------------------------------
  draw() {
    this._offer();
    if (this.data.created) this._showMade();
  }

  _showMade(where = this.where ?? "") {
    const { created } = this.data;
    this.where = where;
    this.create.textContent = "Change agent";
    this.title.textContent = `Agent ${created.agent}`;
    const insert = button(
      "Insert as a cell",
      event => {
        const id = insertCell(this.model, created.code);
        event.currentTarget.textContent = id ? "Inserted" : "Can't insert here";
        if (id) this.cell = { id, source: created.code };
      },
      { "data-works-alone": "" },
    );
    const by = where || `Copy it into a cell, or run %hermes agent ${created.variable} --code, which puts it there.`;
    this.made.replaceChildren(
      notice(
        created.problem ? "bad" : "good",
        created.problem || `Agent ${created.agent} is bound. Ask it: %%hermes run -a ${created.agent}`,
      ),
      facts(created.lines),
      codeBlock(created.code, "The agent's code", insert),
      element("p", { class: "hnbs-hint" }, by),
    );
  }

  die() {
    super.die();
    this.made.querySelector(":scope > .hnbs-notice")?.remove(); // it is bound no longer
  }

  lastWords() {
    const { created } = this.data;
    return created
      ? `The kernel was restarted: agent ${created.agent} is gone with it. Its code, below, makes it again.`
      : "The kernel was restarted, and this form is no longer connected. What you typed is still here; run the cell again for a new form.";
  }
}

export default widget(BuilderView);
