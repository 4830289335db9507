// A promotion: the agent's card with its button, what stands in the way, the target, the run while it goes on, its report.

import { element } from "../shared/dom.js";
import { formatTokens } from "../shared/format.js";
import { button, codeBlock, FormView, facts, jumpToCell, mark, notice, widget } from "./form.js";

const STEPS = [
  ["submitting", "Submitted"],
  ["queued", "Queued"],
  ["running", "Running"],
  ["over", "Done"],
];
const OVER = { completed: "Done", failed: "Failed", stopped: "Stopped", timed_out: "Timed out", max_turns: "Out of turns" };

const SOUGHT_S = 30;

class PromoteView extends FormView {
  /** @type {Record<string, any>} */
  inputs;
  /** @type {any} */
  runParts;
  /** @type {string | undefined} */
  buttonsKey;
  /** @type {string | undefined} */
  resultHtml;
  /** @type {string | undefined} */
  logText;
  /** @type {any} */
  looking;
  /** @type {HTMLElement} */
  took;

  constructor(model, el) {
    super(model, el, "Promote to Flyte");
    this.card = element("div", { class: "hnbs-card" });
    this.opener = button("Promote to Flyte", () => this._toggle(), { "aria-expanded": "false", class: "hnbs-open" });
    this.panel = element("div", { class: "hnbs-panel", hidden: true });
    this.body.append(this.card, this.opener, this.panel);
    this._build();
    const beat = setInterval(() => this._tick(), 1000);
    this.cleanups.push(() => clearInterval(beat));
  }

  // -- elements ----------------------------------------------------------------------------------------------------
  _build() {
    const input = (name, more) =>
      element("input", { type: "text", autocomplete: "off", spellcheck: "false", name, ...more });
    const field = (label, control, hint) => {
      const id = `${this.id}-${control.name}`,
        hinted = element("p", { class: "hnbs-hint", id: `${id}-hint`, "aria-live": "polite" }, hint);
      control.id = id;
      control.setAttribute("aria-describedby", hinted.id);
      return element("div", { class: "hnbs-field" }, element("label", { for: id }, label), control, hinted);
    };
    this.inputs = {
      target: element("select", { name: "target" }),
      project: input("project"),
      domain: input("domain"),
      endpoint: input("endpoint", { placeholder: "from your configuration" }),
      prompt: element("textarea", { name: "prompt", rows: 2 }),
    };
    const check = (name, label) => {
      const id = `${this.id}-${name}`;
      this.inputs[name] = element("input", { type: "checkbox", id, name });
      return element(
        "div",
        { class: "hnbs-choice" },
        this.inputs[name],
        element("div", {}, element("label", { for: id }, label)),
      );
    };
    this.targetField = field("Where", this.inputs.target, "");
    this.named = element(
      "div",
      { class: "hnbs-grid hnbs-three hnbs-inset" },
      field("Project", this.inputs.project, "Empty: that of your configuration."),
      field("Domain", this.inputs.domain, "Empty: likewise."),
      field("Endpoint", this.inputs.endpoint, "Address of the control plane."),
    );
    this.found = element("div", { class: "hnbs-found", "aria-live": "polite" });
    this.submit = element("button", { type: "submit", class: "hnbs-main" }, "Submit the run");
    this.look = button("Check again", () => this._look());
    this.closer = button(
      "Close",
      () => {
        this._toggle();
        this.root.closest(".jp-OutputArea")?.querySelector("[data-promotes]")?.focus({ preventScroll: true });
      },
      { hidden: true, title: "Close this form; nothing was sent" },
    );
    this.told = element("div", { class: "hnbs-state" });
    this.form = element(
      "form",
      { novalidate: true, "aria-label": "Promotion" },
      field("Question", this.inputs.prompt, "What the agent is asked there, with the conversation so far."),
      this.targetField,
      this.named,
      check("yes", "Run tools that ask for approval unasked: nobody is there to answer"),
      check("loopback", "The model's address on this machine can be reached from there, too"),
      this.found,
      element("div", { class: "hnbs-actions" }, this.submit, this.look, this.closer, this.told),
    );
    this.run = element("div", { class: "hnbs-run", hidden: true });
    this.panel.append(element("h3", {}), this.form, this.run);
    this.form.addEventListener("submit", event => {
      event.preventDefault();
      this._submit();
    });
    this.form.addEventListener("input", event => {
      this._forget();
      if (event.target.name === "prompt") {
        this._enable();
        return;
      }
      this._follow();
      clearTimeout(this.looking);
      this.looking = setTimeout(() => this._look(), event.target.type === "text" ? 900 : 0);
      this._enable();
    });
  }

  // -- what is clicked ---------------------------------------------------------------------------------------------
  _toggle() {
    this.send({ t: this.data.is_open ? "close" : "open" });
  }

  values() {
    const form = {};
    for (const [name, control] of Object.entries(this.inputs))
      form[name] = control.type === "checkbox" ? control.checked : control.value;
    return form;
  }

  _look() {
    clearTimeout(this.looking);
    this.looking = 0;
    this.told.replaceChildren();
    this.send({ t: "look", form: this.values() });
  }

  _submit() {
    if (this.submit.disabled) return;
    if (!this.inputs.prompt.value.trim()) {
      this.told.replaceChildren(notice("bad", "Write what the agent is asked there."));
      this.inputs.prompt.setAttribute("aria-invalid", "true");
      this.inputs.prompt.focus();
      return;
    }
    this.inputs.prompt.removeAttribute("aria-invalid");
    this._disable(this.submit);
    this.told.replaceChildren("Submitting ...");
    this.send({ t: "submit", form: this.values(), n: this.data.n });
  }

  // What was said of an earlier try no longer holds once something is changed. What was found by looking stays.
  _forget() {
    this.inputs.prompt.removeAttribute("aria-invalid");
    if (this.data.is_submitting) return;
    this.told.replaceChildren();
    if (!this.data.error || !this.data.plan) return;
    this.forgotten = this.data.error;
    this._drawFound();
  }

  // A button that is disabled loses the focus; what takes its place gets it.
  _disable(control) {
    this.lostFocus = document.activeElement === control;
    control.disabled = true;
  }

  _isLost(area) {
    const isLost = area.contains(document.activeElement) || (this.lostFocus && document.activeElement === document.body);
    if (isLost) this.lostFocus = false;
    return isLost;
  }

  _enable() {
    const { plan, is_looking: isLooking, is_submitting: isSubmitting } = this.data;
    this.submit.disabled = isLooking || isSubmitting || !!this.looking || !plan?.may_submit;
  }

  // -- drawing -----------------------------------------------------------------------------------------------------
  draw() {
    const { data } = this;
    this._drawCard();
    this.panel.hidden = !data.is_open;
    if (!data.is_open) return;
    this.panel.firstChild.textContent = `Promote ${data.agent} to Flyte`;
    this._drawForm();
    const [shown, gone] = data.progress ? [this.run, this.form] : [this.form, this.run],
      hadFocus = !gone.hidden && this._isLost(gone);
    gone.hidden = true;
    shown.hidden = false;
    if (data.progress) this._drawRun();
    if (hadFocus) (data.progress ? this.run.querySelector("button") : this.inputs.prompt)?.focus({ preventScroll: true });
    if (data.sought_unix_s > (this.sought ?? 0)) {
      this.sought = data.sought_unix_s;
      this._seek();
    }
  }

  // Into sight, with the focus: asked for by a button elsewhere, in this view of the notebook and not long ago.
  _seek(nTries = 100) {
    if (Math.abs(Date.now() / 1000 - this.sought) > SOUGHT_S) return;
    if (!this.root.isConnected || !this.root.clientHeight) {
      if (nTries) requestAnimationFrame(() => this._seek(nTries - 1));
      return;
    }
    const notebook = this.root.closest(".jp-Notebook");
    if (notebook && document.activeElement !== document.body && !notebook.contains(document.activeElement)) return;
    this.root.scrollIntoView({ block: "nearest" });
    (this.data.progress ? this.run.querySelector("button") : this.inputs.prompt)?.focus({ preventScroll: true });
  }

  _drawCard() {
    const { card, agent, is_open: isOpen, is_aside: isAside } = this.data;
    this.opener.hidden = isAside || (!card && isOpen);
    this.closer.hidden = !isAside;
    this.root.hidden = isAside && !isOpen;
    this.root.classList.toggle("hnbs-aside", isAside);
    this.opener.setAttribute("aria-expanded", String(isOpen));
    this.opener.textContent = isOpen ? "Close the promotion" : "Promote to Flyte";
    const key = JSON.stringify(card);
    if (!card || key === this.cardKey) return;
    this.cardKey = key;
    this.card.replaceChildren(element("h3", {}, `Agent ${agent}`), facts(card));
  }

  _drawForm() {
    const { form, targets } = this.data,
      key = JSON.stringify([form, targets]);
    if (key !== this.formKey) {
      this.formKey = key;
      this.inputs.target.replaceChildren(...targets.map(t => element("option", { value: t.value }, t.label)));
      for (const [name, control] of Object.entries(this.inputs)) {
        if (control.type === "checkbox") control.checked = form[name];
        else control.value = form[name];
      }
      this._follow();
    }
    this._drawFound();
    this._enable();
  }

  _follow() {
    const target = this.data.targets.find(t => t.value === this.inputs.target.value);
    this.targetField.lastChild.textContent = target?.note ?? "";
    this.named.hidden = !target?.is_named;
  }

  _drawFound() {
    const { plan, missing, is_looking: isLooking, is_submitting: isSubmitting } = this.data;
    if (!this.data.error) this.forgotten = "";
    const error = this.data.error === this.forgotten ? "" : this.data.error,
      key = JSON.stringify([plan, error, missing, isLooking, isSubmitting]);
    if (key === this.foundKey) return;
    this.foundKey = key;
    this.told.replaceChildren(...(isSubmitting ? ["Submitting ..."] : []));
    const parts = [];
    if (isLooking) parts.push(element("p", { class: "hnbs-hint" }, "Checking ..."));
    else {
      if (error) parts.push(notice("bad", error));
      if (missing) parts.push(codeBlock(missing, "Run this in a cell, then restart the kernel"));
      if (plan) parts.push(...this._plan(plan));
    }
    this.found.replaceChildren(...parts);
    const codes = (plan?.findings ?? []).map(f => f.code);
    const offer = (name, isWanted) => {
      this.inputs[name].closest(".hnbs-choice").hidden = !isWanted && !this.inputs[name].checked;
    };
    offer("yes", codes.includes("approval") || codes.includes("toolsets"));
    offer(
      "loopback",
      (plan?.findings ?? []).some(f => f.code === "loopback-model" && f.severity === "stops"),
    );
  }

  _plan(plan) {
    const stops = plan.findings.filter(f => f.severity === "stops"),
      notes = plan.findings.filter(f => f.severity !== "stops");
    const n = stops.length,
      kB = Math.max(1, Math.round(plan.size_bytes / 1000)).toLocaleString("en");
    const how = { child: "an action of its own", task: "your task", inline: "inside the turn" };
    const tools = plan.tools.map(t => `${t.name} (${how[t.how] ?? t.how})`).join(", ");
    return [
      n
        ? notice("bad", `${n} ${n === 1 ? "problem" : "problems"} to fix before this can run. Nothing was sent.`)
        : notice("good", "Ready to run. Nothing has been sent yet."),
      stops.length + notes.length > 0 &&
        element("ul", { class: "hnbs-findings" }, ...[...stops, ...notes].map(f => this._finding(f))),
      element(
        "details",
        {},
        element("summary", {}, "What will be uploaded"),
        facts([
          ["model", `${plan.model.id} (${plan.model.provider})`],
          ["tools", tools],
          [
            "secrets",
            Object.entries(plan.secrets)
              .map(([k, v]) => `${k} from ${v}`)
              .join(", "),
          ],
          ["size", `${kB} kB`],
          ["packages", plan.packages.join(", ")],
          ["modules", plan.local_modules.join(", ")],
          [
            "versions",
            Object.entries(plan.versions)
              .map(([k, v]) => `${k} ${v}`)
              .join(", "),
          ],
        ]),
      ),
    ].filter(Boolean);
  }

  _finding(f) {
    const isStop = f.severity === "stops",
      said = element("p", { class: "hnbs-hint", role: "status" });
    const where = f.tool ? `Tool ${f.tool}${f.place ? `, ${f.place}` : ""}` : f.place;
    const jump =
      Number.isInteger(f.cell) &&
      button(
        `Go to cell [${f.cell}]`,
        () => {
          said.textContent = jumpToCell(this.root, f.cell)
            ? ""
            : `No cell on this page has the number [${f.cell}] now: it ran again, or it is in another view. Look for ${f.variable || f.tool}.`;
        },
        { "data-works-alone": "" },
      );
    return element(
      "li",
      { class: isStop ? "hnbs-stops" : "" },
      element(
        "p",
        {},
        mark(isStop ? "✖" : "○", isStop ? "Stops" : "Note"),
        " ",
        element("strong", {}, isStop ? "Stops" : "Note"),
        ` ${f.text}`,
      ),
      f.cure && element("p", {}, f.cure),
      element(
        "div",
        { class: "hnbs-actions" },
        where && element("span", { class: "hnbs-hint" }, where),
        jump,
        element("code", { class: "hnbs-hint", title: "Kind of finding" }, f.code),
      ),
      said,
    );
  }

  // -- the run -----------------------------------------------------------------------------------------------------
  _drawRun() {
    const { progress: now, result, has_report: hasReport, agent } = this.data;
    if (!this.runParts) {
      this.runParts = {
        steps: element("ol", { class: "hnbs-steps", "aria-label": "Where the run is" }),
        facts: element("div"),
        log: element("div"),
        buttons: element("div", { class: "hnbs-actions" }),
        result: element("div", { class: "hnbs-result" }),
        report: element("div"),
      };
      this.run.replaceChildren(...Object.values(this.runParts));
    }
    const { steps, facts: rows, log, buttons } = this.runParts,
      phase = now.is_done ? "over" : now.phase || "submitting";
    const at = Math.max(
      0,
      STEPS.findIndex(
        ([name]) => name === phase || (name === "running" && !["submitting", "queued", "over"].includes(phase)),
      ),
    );
    const isBad = now.is_done && now.status !== "completed",
      last = now.is_done ? (OVER[now.status] ?? now.status) : "Done";
    steps.replaceChildren(
      ...STEPS.map(([name, label], i) =>
        element(
          "li",
          {
            class: i < at || (now.is_done && !isBad) ? "hnbs-past" : i === at ? (isBad ? "hnbs-wrong" : "hnbs-now") : "",
            ...(i === at && { "aria-current": "step" }),
          },
          name === "over" ? last : label,
        ),
      ),
    );
    const count = (n, one) => (n ? `${n.toLocaleString("en")} ${one}${n === 1 ? "" : "s"}` : "");
    const tokens = now.input_tokens === null ? "" : formatTokens(now.input_tokens, now.output_tokens);
    this.took = element("span", {});
    rows.replaceChildren(
      facts([
        ["run", now.run],
        [
          "link",
          /^https?:\/\//.test(now.url) &&
            element("a", { href: now.url, target: "_blank", rel: "noopener noreferrer" }, now.url),
        ],
        ["phase", `${now.phase || now.status}${now.attempt > 1 ? `, attempt ${now.attempt}` : ""}`],
        ["time", this.took],
        ["calls", [count(now.n_model_calls, "model call"), count(now.n_tool_calls, "tool call")].filter(Boolean).join(", ")],
        ["tokens", tokens],
        ["cost", now.cost],
        ["error", now.error],
      ]),
    );
    this._tick();
    this._drawLog(log, now);
    const key = `${now.is_done} ${now.status} ${hasReport}`;
    if (key !== this.buttonsKey) {
      this.buttonsKey = key;
      const hadFocus = this._isLost(buttons);
      this.report = button("Show the report", () => this._report(), { "aria-expanded": "false" });
      buttons.replaceChildren(
        ...(now.is_done
          ? [hasReport && this.report, button("Promote again", () => this._again())].filter(Boolean)
          : [
              button("Stop the run", event => {
                this._disable(event.currentTarget);
                event.currentTarget.textContent = "Stopping ...";
                this.send({ t: "stop" });
              }),
            ]),
      );
      if (hadFocus) buttons.querySelector("button")?.focus({ preventScroll: true });
    }
    if (result !== this.resultHtml) {
      this.resultHtml = result;
      this.runParts.result.innerHTML = result; // the views' own HTML, the same that a cell shows: foreign text is escaped in it
    }
    const said = now.is_done ? `The run of ${agent} ended: ${last}.` : `The run of ${agent}: ${now.phase || "submitting"}.`;
    if (said !== this.said) {
      this.said = said;
      this.say(said);
    }
  }

  _drawLog(log, now) {
    const text = this.data.result ? "" : now.log.join("\n"); // the rows of the result hold it
    if (text === this.logText) return;
    this.logText = text;
    const isOpen = log.querySelector("details")?.open ?? true;
    log.replaceChildren(
      ...(text
        ? [
            element(
              "details",
              { open: isOpen },
              element("summary", {}, "Log"),
              element(
                "pre",
                { class: "hnbs-log", tabindex: "0", role: "region", "aria-label": "The end of the run's log" },
                text,
              ),
            ),
          ]
        : []),
    );
    const body = log.querySelector("pre");
    if (body) body.scrollTop = body.scrollHeight;
  }

  _tick() {
    const now = this.data.progress;
    if (!now || !this.took || this.isDead) return;
    const { began_unix_s: began, ended_unix_s: ended } = this.data,
      s = Math.max(0, Math.round((ended ?? Date.now() / 1000) - began));
    this.took.textContent = s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
  }

  _again() {
    this.runParts = this.buttonsKey = this.resultHtml = this.logText = undefined;
    this.send({ t: "again" });
  }

  _report() {
    const { report } = this.runParts,
      isOpen = report.childElementCount > 0;
    this.report.setAttribute("aria-expanded", String(!isOpen));
    this.report.textContent = isOpen ? "Show the report" : "Hide the report";
    if (isOpen) {
      report.replaceChildren();
      return;
    }
    report.replaceChildren(element("p", { class: "hnbs-hint" }, "Fetching the report ..."));
    this.send({ t: "report", by: this.id });
  }

  hear(message) {
    if (message?.t !== "report" || message.by !== this.id || !this.runParts) return;
    if (!message.html) {
      this.runParts.report.replaceChildren(notice("bad", message.error || "There is no report any longer."));
      return;
    }
    // In a frame of its own origin that may ask for nothing: the report has scripts, and holds what tools returned.
    const policy =
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">";
    const frame = element("iframe", {
      class: "hnbs-report",
      sandbox: "allow-scripts",
      title: "Report of the run",
      srcdoc: policy + message.html,
    });
    this.runParts.report.replaceChildren(frame);
  }

  lastWords() {
    const now = this.data.progress;
    if (now && !now.is_done && now.run)
      return `The kernel was restarted. The run goes on in Flyte: %hermes resume ${now.run} brings it back.`;
    return super.lastWords();
  }
}

export default widget(PromoteView);
