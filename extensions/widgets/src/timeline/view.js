// Toolbar, canvas, panel and table of one view.

import { element, ownKeys } from "../shared/dom.js";
import { formatSeconds } from "../shared/format.js";
import { CATEGORY, GONE, ORDER, REPLAYED } from "./log.js";
import { OVERVIEW, Painter, ROW, readTheme, TOP } from "./paint.js";
import { briefOf, Panel, swatch, Table } from "./panel.js";

const HELP =
  "Arrow keys select steps, Enter opens one, Escape closes it. Plus and minus zoom, 0 shows all, Shift with left or " +
  "right moves the view, Home and End go to the first and last step, E to the next error, S to the slowest step, F follows what " +
  "runs, / searches. The button Frame shows the steps as a table.";

export class View {
  /** @type {Record<string, HTMLSelectElement & { hnbtKey?: string }>} */
  selects;
  /** @type {Panel} */
  panel;
  /** @type {Table} */
  table;
  /** @type {any} */
  touches;
  /** @type {any} */
  drag;
  /** @type {any} */
  _fetched;
  /** @type {boolean} */
  isFitted;
  /** @type {boolean} */
  follows;
  /** @type {number} */
  _frame;
  /** @type {string | null | undefined} */
  _themeKey;

  constructor(shared, model, el) {
    this.shared = shared;
    this.model = model;
    this.log = shared.log;
    this.looks = shared.looks;
    this.state = { from: 0, to: 1, scroll: 0, selected: -1, hovered: -1 };
    this.isFitted = true;
    this.follows = this.log.live;
    this.cleanups = [];
    this._beats = 0;
    this._build(el);
    this.painter = new Painter(this.canvas, this.log, this.looks);
    this._listen();
    this.refresh();
  }

  // -- elements ----------------------------------------------------------------------------------------------------
  _build(el) {
    const button = (text, label, act, more = {}) =>
      element("button", { type: "button", title: label, "aria-label": label, onclick: act, ...more }, text);
    this.search = element("input", {
      type: "search",
      placeholder: "Search",
      "aria-label": "Search names, prompts, arguments and results",
      spellcheck: "false",
    });
    this.found = element("span", { class: "hnbt-found", role: "status" });
    this.selects = {};
    const select = (what, all) =>
      (this.selects[what] = element(
        "select",
        { "aria-label": `Filter by ${what}`, onchange: () => this._filter() },
        element("option", { value: "" }, all),
      ));
    this.followButton = button("Follow", "Follow what runs (F)", () => this.setFollow(!this.follows), {
      "aria-pressed": "false",
    });
    this.frameButton = button("Frame", "Show the steps as a table", () => this.toggleFrame(), { "aria-expanded": "false" });
    this.idleButton = button("Idle time", "Show idle time at its true length", () => this.toggleIdle(), {
      "aria-pressed": "false",
    });
    this.errorButton = button("Next error", "Select the next error (E)", () => this.nextError());
    this.slowButton = button("Slowest", "Select the slowest step (S)", () => this.goTo(this.log.slowest()));
    this.toolbar = element(
      "div",
      { class: "hnbt-toolbar", role: "toolbar", "aria-label": "Timeline" },
      element("span", { class: "hnbt-group hnbt-searching" }, this.search, this.found),
      element(
        "span",
        { class: "hnbt-group" },
        select("kind", "All kinds"),
        select("agent", "All agents"),
        select("status", "Any status"),
      ),
      element(
        "span",
        { class: "hnbt-group" },
        button("−", "Zoom out (-)", () => this.zoom(1.6)),
        button("+", "Zoom in (+)", () => this.zoom(1 / 1.6)),
        button("All", "Show all (0)", () => this.fit()),
      ),
      element("span", { class: "hnbt-group" }, this.slowButton, this.errorButton, this.followButton, this.idleButton),
      element(
        "span",
        { class: "hnbt-group" },
        button("Figure", "Show the Plotly figure below", () =>
          this.model.send({ t: "figure", theme: this.painter.theme?.isDark ? "dark" : "light" }),
        ),
        this.frameButton,
      ),
    );
    this.summary = element("div", { class: "hnbt-summary" });
    const id = `hnbt-${Math.random().toString(36).slice(2)}`;
    this.canvas = element("canvas", { class: "hnbt-canvas" });
    this.spacer = element("div", { class: "hnbt-spacer" });
    this.pane = element(
      "div",
      { class: "hnbt-pane", tabindex: "0", role: "application", "aria-roledescription": "timeline", "aria-describedby": id },
      this.canvas,
      this.spacer,
    );
    this.tooltip = element("div", { class: "hnbt-tooltip", hidden: true, "aria-hidden": "true" });
    this.band = element("div", { class: "hnbt-band", hidden: true });
    this.empty = element("p", { class: "hnbt-empty", hidden: true });
    this.says = element("div", { class: "hnbw-unseen", "aria-live": "polite" });
    this.panel = new Panel({
      log: this.log,
      onClose: () => this.deselect(),
      onSelect: i => this.goTo(i),
      onZoom: i => this.zoomTo(i),
    });
    this.table = new Table({
      log: this.log,
      columns: this.shared.table,
      fetchRows: (numbers, use) => this.shared.ask({ t: "rows", numbers }, use),
      onSelect: i => this.goTo(i),
    });
    this.legend = element("div", { class: "hnbt-legend", "aria-label": "Colours and hatches", role: "group" });
    this.stage = element("div", { class: "hnbt-stage" }, this.pane, this.tooltip, this.band, this.empty);
    this.root = element(
      "div",
      { class: "hnbw hnbt", role: "region", "aria-label": "Agent timeline" },
      this.toolbar,
      this.summary,
      element("div", { class: "hnbt-body" }, this.stage, this.panel.element),
      this.legend,
      this.table.element,
      element("div", { class: "hnbw-unseen", id }, HELP),
      this.says,
    );
    this.root.hnbt = this; // for tests and for who embeds it
    this.root.addEventListener("keydown", event => this._key(event));
    el.append(this.root);
  }

  // Takes the page's colours over when they changed; false as long as there are none.
  _theme() {
    const theme = readTheme(this.root),
      key = theme && JSON.stringify(theme);
    if (theme && key !== this._themeKey) {
      this._themeKey = key;
      this.painter.setTheme(theme);
    }
    return !!this._themeKey;
  }

  _on(target, name, act, options) {
    target.addEventListener(name, act, options);
    this.cleanups.push(() => target.removeEventListener(name, act, options));
  }

  _listen() {
    const { pane } = this;
    const sizes = new ResizeObserver(() => {
      this._size();
      this.draw();
    });
    sizes.observe(this.stage);
    // A theme's stylesheet comes some time after its name, and who knows when: so look more than once.
    const themes = new MutationObserver(() => [0, 100, 300, 800, 2000].forEach(ms => setTimeout(() => this.draw(), ms)));
    themes.observe(document.body, {
      attributes: true,
      attributeFilter: ["data-jp-theme-light", "data-jp-theme-name", "class"],
    });
    const scheme = window.matchMedia("(prefers-color-scheme: dark)");
    this._on(scheme, "change", () => this.draw());
    this.cleanups.push(
      () => sizes.disconnect(),
      () => themes.disconnect(),
      () => cancelAnimationFrame(this._frame),
      () => clearInterval(this._beat),
    );
    this.cleanups.push(ownKeys(this.root));
    this._on(pane, "wheel", event => this._wheel(event), { passive: false });
    this._on(pane, "scroll", () => {
      this.state.scroll = pane.scrollTop;
      this.draw();
    });
    this._on(pane, "pointerdown", event => this._down(event));
    this._on(pane, "pointermove", event => this._move(event));
    this._on(pane, "pointerup", event => this._up(event));
    this._on(pane, "pointercancel", event => this._up(event));
    this._on(pane, "pointerleave", () => {
      if (!this.drag) this._hover(-1);
    });
    this._on(pane, "dblclick", event => {
      const i = this._at(event);
      if (i >= 0) this.zoomTo(i);
      else this.fit();
    });
    this._on(pane, "focus", () => this.draw());
    this._on(this.search, "input", () => {
      clearTimeout(this._searching);
      this._searching = setTimeout(() => this._search(), 120);
    });
    this._on(this.search, "keydown", event => {
      if (event.key === "Enter") {
        this.nextMatch(event.shiftKey ? -1 : 1);
        event.preventDefault();
      }
      if (event.key === "Escape") {
        this.search.value = "";
        this._search();
        pane.focus();
      }
      event.stopPropagation();
    });
    this._beat = setInterval(() => {
      // what runs grows
      if (!this.log.live) return;
      this.draw();
      if (++this._beats % 5 === 0) this._summarise();
    }, 100);
  }

  // -- drawing -----------------------------------------------------------------------------------------------------
  refresh(changed = []) {
    this._options();
    this._size();
    if (this.log.live && !this.wasLive) this.setFollow(true);
    if (!this.log.live && this.wasLive) {
      if (this.follows) this.fit();
      this.setFollow(false);
    }
    this.wasLive = this.log.live;
    if (this.log.matches) this._search();
    this._summarise();
    this.table.refresh();
    if (changed.includes(this.state.selected)) this._fetch(this.state.selected);
    this.draw();
  }

  draw() {
    if (this._frame) return;
    this._frame = requestAnimationFrame(() => {
      this._frame = 0;
      this._paint();
    });
  }

  _paint() {
    if (!this.root.isConnected || this.stage.clientWidth < 20 || !this._theme()) return;
    const began = performance.now(),
      whole = this.log.span();
    if (this.isFitted) {
      this.state.from = 0;
      this.state.to = whole;
    }
    if (this.follows && this.log.live && !this.isFitted) {
      const size = this.state.to - this.state.from;
      this.state.to = whole + size * 0.03;
      this.state.from = this.state.to - size;
    }
    if (this.isFitted) {
      const margin = whole * 0.01;
      this.state.from -= margin;
      this.state.to += margin * 2;
    }
    this.painter.paint(this.state);
    this.lastPaintMs = performance.now() - began;
    this.root.dataset.frames = this.painter.frames;
    this.root.dataset.spans = this.log.n;
    this.root.dataset.view = `${this.state.from.toFixed(4)} ${this.state.to.toFixed(4)}`;
  }

  _size() {
    const { rows } = this.log.layout(),
      width = this.stage.clientWidth;
    if (width < 20) return;
    const whole = TOP + Math.max(rows.length, 3) * ROW + 4,
      height = Math.min(whole, 440);
    this.spacer.style.height = `${Math.max(0, whole - height)}px`;
    this.pane.style.height = `${height}px`;
    this.painter.setSize(this.pane.clientWidth, height);
    this.root.classList.toggle("hnbt-narrow", this.root.clientWidth < 720);
    this.empty.hidden = rows.length > 0;
    this.empty.textContent =
      this.log.n === 0
        ? "Nothing has happened yet. Steps appear here as soon as a turn runs."
        : "No step fits the filters. Choose other ones, or set them back.";
  }

  _options() {
    if (this._optionsOf === this.log.version) return;
    this._optionsOf = this.log.version;
    const { log } = this,
      kinds = new Map(),
      agents = new Map(),
      statuses = new Map(),
      looks = new Map(),
      categories = log.categories();
    const codes = new Uint32Array(256),
      byAgent = new Map();
    for (let i = 0; i < log.n; i++) {
      codes[log.code[i]]++;
      byAgent.set(log.agent[i], (byAgent.get(log.agent[i]) ?? 0) + 1);
    }
    for (let code = 0; code < 256; code++) {
      if (!codes[code] || (code & 7) === GONE) continue;
      const add = (map, key) => map.set(key, (map.get(key) ?? 0) + codes[code]);
      add(kinds, log.kinds[code & 7]);
      add(statuses, log.statuses[(code >> 3) & 7]);
      if (code & REPLAYED) add(statuses, "replayed");
      add(looks, ORDER[categories[code] - 1]);
    }
    for (const [agent, n] of byAgent) if (log.names[agent]) agents.set(log.names[agent], n);
    this.errors = looks.get("error") ?? 0;
    const fill = (what, values) => {
      const select = this.selects[what],
        value = select.value,
        all = select.options[0];
      const made = [...values].map(([name, n]) =>
        element("option", { value: name }, `${name.replace("_", " ")} (${n.toLocaleString("en")})`),
      );
      const key = made.map(o => o.textContent).join("\n");
      if (select.hnbtKey === key) return;
      select.hnbtKey = key;
      select.replaceChildren(all, ...made);
      select.value = values.has(value) ? value : "";
      select.disabled = values.size < 2 && !value;
    };
    fill("kind", kinds);
    fill("agent", agents);
    fill("status", statuses);
    const key = [...looks.keys()].sort().join();
    if (key !== this._legendOf) {
      this._legendOf = key;
      this.legend.replaceChildren(
        ...ORDER.filter(name => looks.has(name)).map(name =>
          element("span", { class: "hnbt-look" }, swatch(name, this.looks), this.looks[name][2]),
        ),
      );
    }
    this.errorButton.hidden = this.errors === 0;
    this.errorButton.textContent = this.errors > 1 ? `Next error (${this.errors.toLocaleString("en")})` : "Go to error";
    this.followButton.hidden = !log.live && !this.shared.wasEverLive;
    this.followButton.disabled = !log.live;
  }

  _summarise() {
    const { log } = this,
      { shown } = log.layout(),
      slow = log.slowest();
    const steps = `${shown.length.toLocaleString("en")} ${shown.length === 1 ? "span" : "spans"}`;
    const parts = [shown.length === log.n ? steps : `${steps} of ${log.n.toLocaleString("en")}`];
    if (shown.length)
      parts.push(
        `${formatSeconds(log.span())}${log.layout().blocks.length > 1 && log.hideIdle ? " without idle time" : ""}`,
      );
    if (slow >= 0 && shown.length > 2) parts.push(`slowest: ${log.nameOf(slow)} ${formatSeconds(log.seconds(slow))}`);
    if (this.errors) parts.push(`${this.errors.toLocaleString("en")} ${this.errors === 1 ? "error" : "errors"}`);
    if (log.live) parts.push("running");
    this.summary.textContent = parts.join(" · ");
    this.pane.setAttribute("aria-label", `Timeline: ${parts.join(", ")}`);
    this.slowButton.disabled = slow < 0;
    this.idleButton.hidden = log.hideIdle && log.layout().blocks.length < 2;
  }

  // -- where one looks ---------------------------------------------------------------------------------------------
  fit() {
    this.isFitted = true;
    this.draw();
  }

  look(from, to) {
    const whole = this.log.span(),
      least = 2e-6,
      size = Math.min(Math.max(to - from, least), whole * 1.2);
    const middle = (from + to) / 2;
    const low = -whole * 0.1 - size * 0.05,
      high = whole * 1.1 + size * 0.05;
    let start = middle - size / 2;
    start = Math.max(low, Math.min(start, high - size));
    this.isFitted = false;
    this.state.from = start;
    this.state.to = start + size;
    this.draw();
  }

  zoom(factor, pixel = this.painter.gutter + this.painter.plot / 2) {
    const { from, to } = this.state,
      at = from + ((pixel - this.painter.gutter) / this.painter.plot) * (to - from);
    const share = (at - from) / (to - from),
      size = (to - from) * factor;
    if (size >= this.log.span() * 1.05 && factor > 1) {
      this.fit();
      return;
    }
    this.look(at - share * size, at + (1 - share) * size);
  }

  pan(seconds) {
    this.setFollow(false);
    this.look(this.state.from + seconds, this.state.to + seconds);
  }

  setFollow(follows) {
    this.follows = follows;
    this.followButton.setAttribute("aria-pressed", String(follows));
    this.draw();
  }

  zoomTo(i) {
    const k = this.log.placeOf(i);
    if (k < 0) return;
    const from = this.log.layout().x0[k],
      to = this.log.xEnd(k),
      pad = Math.max((to - from) * 0.4, 1e-5);
    this.setFollow(false);
    this.look(from - pad, to + pad);
  }

  // Select a span and bring it into view.
  goTo(i) {
    if (i < 0 || i >= this.log.n) return;
    let k = this.log.placeOf(i);
    if (k < 0) {
      for (const select of Object.values(this.selects)) select.value = "";
      this._filter();
      k = this.log.placeOf(i);
      if (k < 0) return;
    }
    const made = this.log.layout(),
      from = made.x0[k],
      to = this.log.xEnd(k),
      size = this.state.to - this.state.from;
    const pixels = ((to - from) / size) * this.painter.plot;
    if (!this.isFitted || pixels < 4) {
      if (pixels < 4 || pixels > this.painter.plot * 3)
        this.look(from - Math.max((to - from) * 3, 1e-4), to + Math.max((to - from) * 3, 1e-4));
      else if (from < this.state.from || to > this.state.to) this.look((from + to - size) / 2, (from + to + size) / 2);
    }
    const top = made.rowOf[k] * ROW,
      height = this.pane.clientHeight - TOP;
    if (top < this.pane.scrollTop) this.pane.scrollTop = top;
    if (top + ROW > this.pane.scrollTop + height) this.pane.scrollTop = top + ROW - height;
    this.select(i);
  }

  select(i) {
    this.state.selected = i;
    this.root.dataset.selected = i;
    this.says.textContent = briefOf(this.log, i);
    this.panel.show(i, this.shared.details.get(i) ?? null);
    this._fetch(i);
    this._size();
    this.draw();
  }

  _fetch(i) {
    const now = performance.now();
    if (this._fetched?.i === i && now - this._fetched.at < 500) {
      clearTimeout(this._again);
      this._again = setTimeout(() => {
        if (this.state.selected === i) this._fetch(i);
      }, 500);
      return;
    }
    this._fetched = { i, at: now };
    if (
      this.shared.details.get(i)?.isWhole &&
      !this.log.isRunning(i) &&
      this.shared.details.get(i).code === this.log.code[i]
    )
      return;
    this.shared.fetch(i);
  }

  told(i) {
    if (i === this.state.selected) this.panel.show(i, this.shared.details.get(i));
  }

  deselect() {
    this.state.selected = -1;
    this.root.dataset.selected = -1;
    this.panel.hide();
    this.pane.focus({ preventScroll: true });
    this._size();
    this.draw();
  }

  nextError() {
    this._next(i => this.log.categories()[this.log.code[i]] === CATEGORY.error, 1);
  }
  nextMatch(step) {
    if (this.log.matches) this._next(i => this.log.matches[i] === 1, step);
  }

  _next(test, step) {
    const { shown } = this.log.layout(),
      n = shown.length;
    let k = this.state.selected >= 0 ? this.log.placeOf(this.state.selected) : step > 0 ? -1 : n;
    for (let tried = 0; tried < n; tried++) {
      k = (k + step + n) % n;
      if (test(shown[k])) {
        this.goTo(shown[k]);
        return;
      }
    }
  }

  // -- search, filters, table --------------------------------------------------------------------------------------
  _filter() {
    for (const [what, select] of Object.entries(this.selects)) this.log.filter[what] = select.value;
    this.shared.changed();
  }

  _search() {
    const text = this.search.value.trim(),
      { log } = this;
    if (!text) {
      log.matches = null;
      this._showFound();
      return;
    }
    // Names are known here; texts are Python's. Its answer replaces ours when the kernel is free.
    const words = text.toLowerCase().split(/\s+/),
      hits = log.names.map(name => words.every(w => name.toLowerCase().includes(w)));
    const matches = new Uint8Array(log.n);
    for (let i = 0; i < log.n; i++) if (hits[log.name[i]] || hits[log.agent[i]]) matches[i] = 1;
    log.matches = matches;
    this._showFound();
    this.shared.ask({ t: "find", text }, numbers => {
      if (this.search.value.trim() !== text) return;
      const found = new Uint8Array(log.n);
      for (const i of numbers) found[i] = 1;
      log.matches = found;
      this._showFound();
    });
  }

  _showFound() {
    const { matches } = this.log;
    const n = matches ? this.log.count(i => matches[i]) : 0;
    this.found.textContent = matches ? `${n.toLocaleString("en")} found` : "";
    this.root.dataset.found = matches ? n : "";
    this.table.shownOf = null;
    this.table.refresh();
    this.draw();
  }

  toggleFrame() {
    this.frameButton.setAttribute("aria-expanded", String(this.table.toggle()));
  }

  toggleIdle() {
    this.log.hideIdle = !this.log.hideIdle;
    this.idleButton.setAttribute("aria-pressed", String(!this.log.hideIdle));
    this.isFitted = true;
    this.shared.changed();
  }

  // -- hands -------------------------------------------------------------------------------------------------------
  _point(event) {
    const box = this.pane.getBoundingClientRect();
    return [event.clientX - box.left - this.pane.clientLeft, event.clientY - box.top - this.pane.clientTop];
  }
  _at(event) {
    const [x, y] = this._point(event);
    return this.painter.hit(x, y);
  }

  _wheel(event) {
    const isPinch = event.ctrlKey || event.metaKey,
      hasFocus = this.root.contains(document.activeElement);
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.pan((event.deltaX || event.deltaY) / this.painter.scale);
    } else if (isPinch || hasFocus) {
      const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : event.deltaMode === 2 ? 300 : 1);
      this.zoom(Math.exp(Math.max(-300, Math.min(300, pixels)) * (isPinch ? 0.01 : 0.0025)), this._point(event)[0]);
    } else return; // the page scrolls until one has clicked into the timeline
    event.preventDefault();
    event.stopPropagation();
  }

  _down(event) {
    if (event.button > 0) return;
    const [x, y] = this._point(event);
    if (x > this.pane.clientWidth) return; // the scrollbar
    this.touches ??= new Map();
    this.touches.set(event.pointerId, x);
    this.pane.setPointerCapture(event.pointerId);
    if (this.touches.size === 2) {
      const [a, b] = [...this.touches.values()];
      this.drag = {
        mode: "pinch",
        gap: Math.abs(a - b) || 1,
        from: this.state.from,
        to: this.state.to,
        middle: (a + b) / 2,
      };
      return;
    }
    const mode = y < OVERVIEW ? "overview" : y < TOP || event.shiftKey ? "range" : "pan";
    this.drag = { mode, x, y, from: this.state.from, to: this.state.to, scroll: this.pane.scrollTop, hasMoved: false };
    if (mode === "overview") this._overviewTo(x);
  }

  _overviewTo(x) {
    const whole = this.log.span(),
      at = ((x - this.painter.gutter) / this.painter.plot) * whole,
      size = this.state.to - this.state.from;
    this.setFollow(false);
    if (!this.isFitted) this.look(at - size / 2, at + size / 2);
  }

  _move(event) {
    const [x, y] = this._point(event),
      { drag } = this;
    if (!drag) {
      const i = this.painter.hit(x, y);
      this._hover(i, x, y);
      return;
    }
    if (drag.mode === "pinch") {
      this.touches.set(event.pointerId, x);
      const [a, b] = [...this.touches.values()],
        size = ((drag.to - drag.from) * drag.gap) / Math.max(8, Math.abs(a - b));
      const share = (drag.middle - this.painter.gutter) / this.painter.plot,
        at = drag.from + share * (drag.to - drag.from);
      this.look(at - share * size, at + (1 - share) * size);
      return;
    }
    if (!drag.hasMoved && Math.hypot(x - drag.x, y - drag.y) < 4) return;
    drag.hasMoved = true;
    this._hover(-1);
    if (drag.mode === "overview") this._overviewTo(x);
    else if (drag.mode === "pan") {
      const by = ((drag.x - x) / this.painter.plot) * (drag.to - drag.from);
      this.setFollow(false);
      this.look(drag.from + by, drag.to + by);
      this.pane.scrollTop = drag.scroll + drag.y - y;
    } else {
      const left = Math.max(this.painter.gutter, Math.min(x, drag.x)),
        right = Math.min(this.painter.width, Math.max(x, drag.x));
      Object.assign(this.band.style, { left: `${left}px`, width: `${Math.max(1, right - left)}px` });
      this.band.hidden = false;
    }
  }

  _up(event) {
    const { drag } = this,
      [x] = this._point(event);
    this.touches?.delete(event.pointerId);
    this.drag = null;
    this.band.hidden = true;
    if (!drag || event.type === "pointercancel" || drag.mode === "pinch") return;
    if (drag.mode === "range" && drag.hasMoved) {
      const ends = [drag.x, x].map(p => this.painter.toX(Math.max(this.painter.gutter, p))).sort((a, b) => a - b);
      this.setFollow(false);
      this.look(ends[0], ends[1]);
    } else if (!drag.hasMoved && drag.mode === "pan") {
      const i = this._at(event);
      if (i >= 0) this.select(i);
      else if (this.state.selected >= 0) this.deselect();
    }
  }

  _hover(i, x, y) {
    if (this.state.hovered !== i) {
      this.state.hovered = i;
      this.draw();
    }
    this.tooltip.hidden = i < 0;
    if (i < 0) return;
    this.tooltip.textContent = `${briefOf(this.log, i)}\nat +${formatSeconds(this.log.start[i] - this.log.layout().origin)}`;
    const left = Math.min(x + 14, this.stage.clientWidth - this.tooltip.offsetWidth - 6);
    Object.assign(this.tooltip.style, { left: `${Math.max(4, left)}px`, top: `${y + 18}px` });
  }

  _key(event) {
    if (event.target.closest("input, select, pre, .hnbt-scroll")) {
      event.stopPropagation();
      return;
    }
    const isInPane = event.target === this.pane,
      size = this.state.to - this.state.from;
    const acts = {
      "+": () => this.zoom(1 / 1.5),
      "=": () => this.zoom(1 / 1.5),
      "-": () => this.zoom(1.5),
      0: () => this.fit(),
      e: () => this.nextError(),
      s: () => this.goTo(this.log.slowest()),
      f: () => this.log.live && this.setFollow(!this.follows),
      n: () => this.nextMatch(1),
      "/": () => this.search.focus(),
      Escape: () => this.deselect(),
      ...(isInPane && {
        ArrowRight: () => (event.shiftKey ? this.pan(size * 0.15) : this._step(1)),
        ArrowLeft: () => (event.shiftKey ? this.pan(-size * 0.15) : this._step(-1)),
        ArrowDown: () => this._lane(1),
        ArrowUp: () => this._lane(-1),
        Home: () => this.goTo(this.log.layout().shown[0] ?? -1),
        End: () => this.goTo(this.log.layout().shown.at(-1) ?? -1),
        Enter: () => this._open(),
        " ": () => this._open(),
      }),
    };
    const act = acts[event.key] ?? (event.key.length === 1 ? acts[event.key.toLowerCase()] : undefined);
    event.stopPropagation(); // a letter is a command of the notebook
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    act();
    event.preventDefault();
  }

  _open() {
    if (this.state.selected < 0) this._step(1);
    else this.panel.element.querySelector("button")?.focus();
  }

  // The next step of the same row; without a selection the first in view.
  _step(by) {
    const made = this.log.layout();
    if (!made.rows.length) return;
    const k = this.state.selected >= 0 ? this.log.placeOf(this.state.selected) : -1;
    if (k < 0) {
      const first = made.shown.find((_, at) => made.x0[at] >= this.state.from);
      this.goTo(first ?? made.shown[0]);
      return;
    }
    const { items } = made.rows[made.rowOf[k]],
      at = items.indexOf(k) + by;
    if (at >= 0 && at < items.length) this.goTo(made.shown[items[at]]);
    else this.says.textContent = by > 0 ? "Last step of this lane" : "First step of this lane";
  }

  // The step of the next row that is nearest in time.
  _lane(by) {
    const made = this.log.layout(),
      k = this.state.selected >= 0 ? this.log.placeOf(this.state.selected) : -1;
    if (k < 0) {
      this._step(1);
      return;
    }
    const row = made.rows[made.rowOf[k] + by];
    if (!row) return;
    const x = (made.x0[k] + this.log.xEnd(k)) / 2;
    let low = 0,
      high = row.items.length - 1;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (this.log.xEnd(row.items[mid]) < x) low = mid + 1;
      else high = mid;
    }
    this.goTo(made.shown[row.items[low]]);
  }

  close() {
    for (const end of this.cleanups) end();
    this.root.remove();
  }
}
