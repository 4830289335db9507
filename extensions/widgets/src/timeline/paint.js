// The canvas: ruler, overview, lanes, bars. One frame costs a look at the spans in view and a fill per run of pixels.

import { formatSeconds } from "../shared/format.js";
import { tickLabel } from "./format.js";
import { CATEGORY, ORDER } from "./log.js";

export const RULER = 24,
  OVERVIEW = 22,
  ROW = 22,
  TOP = RULER + OVERVIEW,
  PAD = 3;
const DARK_TEXT = new Set(["tool", "replayed", "stopped", "running", "turn", "wait", "error"]);

// Colours come from the front end through the stylesheet's own variables; null while the element is in no page.
export function readTheme(root) {
  const style = getComputedStyle(root),
    read = name => style.getPropertyValue(`--hnb-${name}`).trim();
  const theme = {
    paper: read("paper"),
    ink: read("ink"),
    dim: read("dim"),
    grid: read("grid"),
    stripe: read("stripe"),
    focus: read("focus"),
    font: style.fontFamily || "sans-serif",
  };
  return theme.paper && theme.ink ? theme : null;
}

function isDark(paper) {
  const probe = /** @type {CanvasRenderingContext2D} */ (document.createElement("canvas").getContext("2d"));
  probe.fillStyle = "#fff";
  probe.fillStyle = paper;
  probe.fillRect(0, 0, 1, 1);
  const [r, g, b] = probe.getImageData(0, 0, 1, 1).data;
  return 0.299 * r + 0.587 * g + 0.114 * b < 128;
}

export function hatchTile(kind, colour, ratio) {
  const size = 8,
    tile = document.createElement("canvas");
  tile.width = tile.height = size * ratio;
  const c = /** @type {CanvasRenderingContext2D} */ (tile.getContext("2d"));
  c.scale(ratio, ratio);
  c.strokeStyle = c.fillStyle = colour;
  c.lineWidth = 1.3;
  c.beginPath();
  const line = (x, y, u, v) => {
    c.moveTo(x, y);
    c.lineTo(u, v);
  };
  if (kind === "/" || kind === "x") {
    line(-1, 9, 9, -1);
    line(-1, 1, 1, -1);
    line(7, 9, 9, 7);
  }
  if (kind === "\\" || kind === "x") {
    line(-1, -1, 9, 9);
    line(7, -1, 9, 1);
    line(-1, 7, 1, 9);
  }
  if (kind === "-") {
    line(0, 2, 8, 2);
    line(0, 6, 8, 6);
  }
  if (kind === "|") {
    line(2, 0, 2, 8);
    line(6, 0, 6, 8);
  }
  c.stroke();
  if (kind === ".")
    for (const [x, y] of [
      [2, 2],
      [6, 6],
    ]) {
      c.beginPath();
      c.arc(x, y, 1.2, 0, 7);
      c.fill();
    }
  return tile;
}

export class Painter {
  /** @type {any} */
  theme;
  /** @type {any} */
  view;
  /** @type {number} */
  scale;
  /** @type {string[]} */
  colours;
  /** @type {Record<string, CanvasPattern | null>} */
  hatches;
  /** @type {Uint8Array} */
  _columns;
  /** @type {Float32Array} */
  _cover;
  /** @type {Uint8Array | undefined} */
  _categories;
  /** @type {Map<string, number> | null} */
  _widths;
  /** @type {any} */
  _overview;
  /** @type {any} */
  _errorsOf;
  /** @type {number[]} */
  _errorPlaces;
  /** @type {Record<number, number> | null} */
  _lastMark;
  /** @type {CanvasRenderingContext2D} */
  context;

  /**
   * @param {HTMLCanvasElement} canvas
   * @param {import("./log.js").Log} log
   * @param {Record<string, [colour: string, hatch: string]>} looks
   */
  constructor(canvas, log, looks) {
    this.canvas = canvas;
    this.context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", { alpha: false }));
    this.log = log;
    this.looks = looks;
    this.width = 600;
    this.height = 200;
    this.gutter = 140;
    this.ratio = 1;
    this.frames = 0;
  }

  setTheme(theme) {
    this.theme = { ...theme, isDark: isDark(theme.paper) };
    this._widths = null;
    this.hatches = {};
    this._overview = null;
    this.colours = [theme.paper, ...ORDER.map(name => this.looks[name][0])];
  }

  setSize(width, height) {
    const ratio = Math.min(window.devicePixelRatio || 1, 2);
    this.gutter = Math.round(Math.min(190, Math.max(76, width * 0.2)));
    if (width === this.width && height === this.height && ratio === this.ratio && this.canvas.width > 1) return;
    Object.assign(this, { width, height, ratio });
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    this.hatches = {};
    this._overview = null;
  }

  get plot() {
    return Math.max(10, this.width - this.gutter - 8);
  }

  hatch(name) {
    if (!(name in this.hatches)) {
      const kind = this.looks[name][1];
      const tile = kind && hatchTile(kind, this.theme.isDark ? "rgba(0,0,0,.42)" : "rgba(255,255,255,.6)", this.ratio);
      const pattern = tile ? this.context.createPattern(tile, "repeat") : null;
      pattern?.setTransform?.(new DOMMatrix().scale(1 / this.ratio));
      this.hatches[name] = pattern;
    }
    return this.hatches[name];
  }

  // view: {from, to} in seconds of the layout, scroll in pixels, selected, hovered: numbers of spans or -1
  paint(view) {
    const c = this.context,
      { theme, log } = this,
      made = log.layout();
    this.view = view;
    this.scale = this.plot / (view.to - view.from);
    c.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    c.fillStyle = theme.paper;
    c.fillRect(0, 0, this.width, this.height);
    c.font = `12px ${theme.font}`;
    c.textBaseline = "middle";
    const ticks = this._ticks(made, view);
    this._stripes(made, view, ticks);
    c.save();
    c.beginPath();
    c.rect(this.gutter, TOP, this.plot + 8, this.height - TOP);
    c.clip();
    this._bars(made, view);
    this._marks(made, view);
    c.restore();
    this._labels(made, view);
    this._ruler(ticks);
    this._drawOverview(made, view);
    this.frames++;
  }

  toPixel(x) {
    return this.gutter + (x - this.view.from) * this.scale;
  }
  toX(pixel) {
    return this.view.from + (pixel - this.gutter) / this.scale;
  }
  rowTop(row) {
    return TOP + row * ROW - this.view.scroll;
  }

  _visibleRows(made) {
    const first = Math.max(0, Math.floor(this.view.scroll / ROW));
    return [first, Math.min(made.rows.length, Math.ceil((this.view.scroll + this.height - TOP) / ROW))];
  }

  // Nice steps within each busy stretch, told as time since the start, idle time included.
  _ticks(made, view) {
    const wanted = (view.to - view.from) / Math.max(2, this.plot / 110);
    const steps = [1e-6, 2e-6, 5e-6];
    for (let p = -5; p < 2; p++) steps.push(10 ** p, 2 * 10 ** p, 5 * 10 ** p);
    const nice = [...steps.filter(s => s < 60), 60, 120, 300, 600, 1800, 3600, 7200, 21600, 86400, 604800, 2592000];
    const step = nice.find(s => s >= wanted) ?? nice[nice.length - 1];
    const ticks = [],
      blocks = made.blocks;
    let low = 0,
      high = blocks.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (blocks[mid].x <= view.from) low = mid + 1;
      else high = mid;
    }
    let lastPixel = -Infinity;
    for (let b = Math.max(0, low - 1); b < blocks.length; b++) {
      const block = blocks[b],
        next = blocks[b + 1];
      if (block.x > view.to) break;
      const end = next ? block.end : Infinity;
      if (b) {
        const x = this.toPixel(block.x);
        if (x - lastPixel > 3) {
          ticks.push({ x, idle: block.start - blocks[b - 1].end });
          lastPixel = x;
        }
      }
      const from = Math.max(block.start, block.start + view.from - block.x) - made.origin;
      const to = Math.min(end, block.start + view.to - block.x) - made.origin;
      for (let t = Math.ceil(from / step - 1e-9) * step; t <= to + 1e-9; t += step) {
        const x = this.toPixel(block.x + t + made.origin - block.start);
        if (x - lastPixel < 56 && ticks.length && !ticks[ticks.length - 1].idle) continue;
        if (ticks.length && x - lastPixel < 40) continue;
        ticks.push({ x, label: tickLabel(t, step) });
        lastPixel = x;
        if (ticks.length > 400) return ticks;
      }
    }
    return ticks;
  }

  _stripes(made, _view, ticks) {
    const c = this.context,
      { theme } = this;
    const [first, last] = this._visibleRows(made);
    for (let r = first; r < last; r++) {
      const lane = made.rows[r].lane;
      if (lane.index % 2 === 0) continue;
      c.fillStyle = theme.stripe;
      c.fillRect(0, this.rowTop(r), this.width, ROW);
    }
    for (const tick of ticks) {
      if (tick.x < this.gutter) continue;
      if (tick.idle) {
        c.strokeStyle = theme.dim;
        c.setLineDash([2, 3]);
        c.lineWidth = 1;
        c.beginPath();
        c.moveTo(tick.x - 2, TOP);
        c.lineTo(tick.x - 2, this.height);
        c.stroke();
        c.setLineDash([]);
      } else {
        c.fillStyle = theme.grid;
        c.fillRect(Math.round(tick.x), TOP, 1, this.height);
      }
    }
  }

  _bars(made, view) {
    const { log, context: c } = this,
      width = Math.ceil(this.plot) + 9;
    if (!this._columns || this._columns.length < width) {
      this._columns = new Uint8Array(width);
      this._cover = new Float32Array(width);
    }
    const categories = (this._categories ??= log.categories());
    const batches = ORDER.map(() => []),
      faint = ORDER.map(() => []),
      wide = [];
    const [first, last] = this._visibleRows(made);
    const now = log.now(),
      nowX = made.blocks.length ? log.x(now) : 0;
    for (let r = first; r < last; r++) {
      this._row(made, made.rows[r], r, view, categories, nowX, batches, faint, wide, width);
    }
    for (const [list, alpha] of /** @type {[number[][], number][]} */ ([
      [faint, 0.45],
      [batches, 1],
    ])) {
      c.globalAlpha = alpha;
      for (let k = 0; k < ORDER.length; k++) {
        const rects = list[k];
        if (!rects.length) continue;
        c.fillStyle = this.colours[k + 1];
        for (let j = 0; j < rects.length; j += 4) c.fillRect(rects[j], rects[j + 1], rects[j + 2], rects[j + 3]);
      }
    }
    c.globalAlpha = 1;
    for (const bar of wide) this._bar(bar);
  }

  // What is narrower than 3 pixels goes into columns of pixels, the rest is drawn as bars.
  _row(made, row, r, view, categories, nowX, batches, faint, wide, width) {
    const { log } = this,
      { x0, x1, shown } = made,
      { items, reach } = row,
      { scale } = this;
    const columns = this._columns,
      cover = this._cover,
      matches = log.matches;
    let low = 0,
      high = items.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (reach[mid] < view.from) low = mid + 1;
      else high = mid;
    }
    const y = this.rowTop(r);
    let from = width,
      to = -1;
    for (let j = low; j < items.length; j++) {
      const k = items[j],
        a = (x0[k] - view.from) * scale;
      if (a > width) break;
      const end = Number.isNaN(x1[k]) ? nowX : x1[k],
        b = (end - view.from) * scale;
      if (b < 0) continue;
      const i = shown[k],
        category = categories[log.code[i]];
      const isOut = matches !== null && !matches[i];
      if (b - a >= 3) {
        wide.push({ i, category, x: a, w: b - a, y, isOut });
        continue;
      }
      const column = a < 0 ? 0 : a | 0;
      if (isOut) {
        if (columns[column] === 0) columns[column] = 128 | category;
      } else if (columns[column] & 128 || columns[column] < category) columns[column] = category;
      cover[column] += b - a;
      if (column < from) from = column;
      if (column > to) to = column;
    }
    for (let p = from; p <= to; ) {
      const value = columns[p];
      if (value === 0) {
        p++;
        continue;
      }
      const level = cover[p] >= 0.35;
      let q = p + 1;
      while (q <= to && columns[q] === value && cover[q] >= 0.35 === level) q++;
      const category = value & 127,
        thin = category === CATEGORY.turn;
      const list = value & 128 || (!level && q - p > 2) ? faint : batches;
      list[category - 1].push(
        this.gutter + p,
        y + PAD + (thin ? 3 : 0),
        Math.max(q - p, 1.2),
        ROW - 2 * PAD - (thin ? 6 : 0),
      );
      p = q;
    }
    if (to >= 0) {
      columns.fill(0, from, to + 1);
      cover.fill(0, from, to + 1);
    }
  }

  _bar({ i, category, x, w, y, isOut }) {
    const c = this.context,
      { log, theme } = this,
      name = ORDER[category - 1];
    if (!name) return;
    const thin = name === "turn" || log.kindName(i) === "turn" || log.kindName(i) === "agent";
    const left = this.gutter + Math.max(x, -20),
      right = this.gutter + Math.min(x + w, this.plot + 28);
    const top = y + PAD + (thin ? 2 : 0),
      height = ROW - 2 * PAD - (thin ? 4 : 0),
      size = right - left;
    c.globalAlpha = isOut ? 0.18 : 1;
    c.fillStyle = this.colours[category];
    c.fillRect(left, top, size, height);
    const hatch = size > 7 && this.hatch(name);
    if (hatch) {
      c.fillStyle = hatch;
      c.fillRect(left, top, size, height);
    }
    if (size > 4) {
      // an edge, so that neighbours stay two
      c.fillStyle = name === "stopped" ? "#8a8200" : theme.isDark ? "rgba(255,255,255,.4)" : "rgba(0,0,0,.35)";
      c.fillRect(left, top, 1, height);
      c.fillRect(right - 1, top, 1, height);
    }
    if (!isOut && size > 34) {
      const seen = Math.max(left, this.gutter),
        room = Math.min(right, this.gutter + this.plot + 8) - seen - 8;
      const took = log.isTimed(i) ? formatSeconds(log.seconds(i)) : "";
      const words = thin ? [took] : [`${log.nameOf(i)} ${took}`, took];
      const text = words.find(t => t && this._textWidth(t) <= room);
      if (text) {
        const isDarkText = DARK_TEXT.has(name),
          wide = this._textWidth(text);
        if (hatch) {
          c.fillStyle = this.colours[category];
          c.fillRect(seen + 3, top + 1, wide + 4, height - 2);
        }
        c.fillStyle = isDarkText ? "#111" : "#fff";
        c.fillText(text, seen + 5, top + height / 2 + 0.5);
      }
    }
    c.globalAlpha = 1;
  }

  _textWidth(text) {
    this._widths ??= new Map();
    let width = this._widths.get(text);
    if (width === undefined) {
      if (this._widths.size > 5000) this._widths.clear();
      this._widths.set(text, (width = this.context.measureText(text).width));
    }
    return width;
  }

  // Errors get a mark whatever their size; the slowest step and the selected one a frame.
  _marks(made, view) {
    const c = this.context,
      { log, theme } = this,
      [first, last] = this._visibleRows(made);
    const boxOf = i => {
      const k = log.placeOf(i);
      if (k < 0) return null;
      const r = made.rowOf[k];
      if (r < first || r >= last) return null;
      const x = this.toPixel(made.x0[k]),
        end = this.toPixel(log.xEnd(k));
      return end < this.gutter || x > this.width ? null : { x, y: this.rowTop(r), w: Math.max(end - x, 2) };
    };
    for (const k of this._errors(made)) {
      const r = made.rowOf[k];
      if (r < first || r >= last) continue;
      const x = Math.round(this.toPixel(made.x0[k])),
        y = this.rowTop(r);
      if (x < this.gutter - 6 || x > this.width) continue;
      if (x - (this._lastMark?.[r] ?? -99) < 12) continue;
      (this._lastMark ??= {})[r] = x;
      c.fillStyle = theme.paper;
      c.beginPath();
      c.moveTo(x - 7, y + 1);
      c.lineTo(x + 7, y + 1);
      c.lineTo(x, y + 14);
      c.fill();
      c.fillStyle = this.looks.error[0];
      c.beginPath();
      c.moveTo(x - 5, y + 2);
      c.lineTo(x + 5, y + 2);
      c.lineTo(x, y + 12);
      c.fill();
    }
    this._lastMark = null;
    const slow = log.slowest(),
      slowBox = made.shown.length > 2 && slow >= 0 && boxOf(slow);
    if (slowBox) {
      c.strokeStyle = theme.ink;
      c.lineWidth = 2;
      c.strokeRect(slowBox.x - 1, slowBox.y + 2, slowBox.w + 2, ROW - 4);
    }
    this.slowAt = slowBox ? slowBox.y + ROW / 2 : undefined;
    for (const [i, colour] of [
      [view.hovered, theme.dim],
      [view.selected, theme.focus],
    ]) {
      const box = i >= 0 && boxOf(i);
      if (!box) continue;
      c.strokeStyle = theme.paper;
      c.lineWidth = 4;
      c.strokeRect(box.x - 1, box.y + 1, box.w + 2, ROW - 2);
      c.strokeStyle = colour;
      c.lineWidth = 2;
      c.strokeRect(box.x - 1, box.y + 1, box.w + 2, ROW - 2);
    }
  }

  _errors(made) {
    if (this._errorsOf !== made) {
      const { log } = this,
        categories = (this._categories ??= log.categories()),
        found = [];
      for (let k = 0; k < made.shown.length && found.length < 4000; k++) {
        if (categories[log.code[made.shown[k]]] === CATEGORY.error) found.push(k);
      }
      this._errorsOf = made;
      this._errorPlaces = found;
    }
    return this._errorPlaces;
  }

  _labels(made, _view) {
    const c = this.context,
      { theme } = this;
    c.fillStyle = theme.paper;
    c.fillRect(0, TOP, this.gutter - 1, this.height);
    made.lanes.forEach((lane, index) => {
      const top = this.rowTop(lane.first),
        height = lane.n * ROW;
      if (top + height < TOP || top > this.height) return;
      if (index % 2) {
        c.fillStyle = theme.stripe;
        c.fillRect(0, Math.max(top, TOP), this.gutter - 1, height - Math.max(0, TOP - top));
      }
      const y = Math.max(top, TOP - ROW / 3) + ROW / 2 + 0.5;
      const isHead = lane.place === 0;
      c.font = `${isHead ? "600 " : ""}12px ${theme.font}`;
      c.fillStyle = theme.ink;
      c.fillText(this._fit(lane.label, this.gutter - 24 - (isHead ? 0 : 8)), isHead ? 8 : 16, y);
    });
    c.font = `12px ${theme.font}`;
    if (this.slowAt !== undefined && this.slowAt > TOP) {
      // The slowest step has its mark beside the lane's name, where it covers no bar.
      c.fillStyle = theme.ink;
      c.fillText("▲", this.gutter - 14, this.slowAt + 0.5);
    }
    c.fillStyle = theme.grid;
    c.fillRect(this.gutter - 1, TOP, 1, this.height);
  }

  _fit(text, room) {
    const line = text.replace(/\s+/g, " ");
    if (this.context.measureText(line).width <= room) return line;
    let low = 0,
      high = line.length;
    while (low < high) {
      const mid = (low + high + 1) >> 1;
      if (this.context.measureText(`${line.slice(0, mid)}…`).width <= room) low = mid;
      else high = mid - 1;
    }
    return `${line.slice(0, low)}…`;
  }

  _ruler(ticks) {
    const c = this.context,
      { theme } = this;
    c.fillStyle = theme.paper;
    c.fillRect(0, 0, this.width, TOP);
    c.fillStyle = theme.dim;
    for (const tick of ticks) {
      if (tick.x < this.gutter - 1) continue;
      if (tick.idle) continue;
      c.fillRect(Math.round(tick.x), TOP - 4, 1, 4);
      if (tick.x + this._textWidth(tick.label) + 4 < this.width) c.fillText(tick.label, tick.x + 3, OVERVIEW + RULER / 2);
    }
    c.fillStyle = theme.grid;
    c.fillRect(0, TOP - 1, this.width, 1);
  }

  // All of the log in a strip; what is in view is framed.
  _drawOverview(made, view) {
    const c = this.context,
      { theme, log } = this,
      whole = log.span(),
      k = this.plot / whole;
    if (!this._overview || this._overview.made !== made || (log.live && performance.now() - this._overview.at > 500)) {
      this._overview = { made, at: performance.now(), rects: this._overviewRects(made, k) };
    }
    const top = 3,
      height = OVERVIEW - 6;
    c.fillStyle = theme.stripe;
    c.fillRect(this.gutter, top, this.plot, height);
    for (const [category, x, w, share] of this._overview.rects) {
      c.globalAlpha = 0.35 + 0.65 * Math.min(1, share);
      c.fillStyle = this.colours[category];
      c.fillRect(this.gutter + x, top + 2, w, height - 4);
    }
    c.globalAlpha = 1;
    const a = this.gutter + Math.max(0, view.from) * k,
      b = this.gutter + Math.min(whole, view.to) * k;
    c.fillStyle = theme.isDark ? "rgba(0,0,0,.55)" : "rgba(255,255,255,.72)";
    c.fillRect(this.gutter, top, Math.max(0, a - this.gutter), height);
    c.fillRect(b, top, Math.max(0, this.gutter + this.plot - b), height);
    c.strokeStyle = theme.dim;
    c.lineWidth = 1;
    c.strokeRect(Math.round(a) + 0.5, top + 0.5, Math.max(3, Math.round(b - a) - 1), height - 1);
    c.fillStyle = theme.dim;
    c.fillText(this._fit("overview", this.gutter - 14), 8, OVERVIEW / 2);
  }

  _overviewRects(made, k) {
    const { log } = this,
      categories = (this._categories ??= log.categories()),
      n = Math.ceil(this.plot) + 1;
    const best = new Uint8Array(n),
      share = new Float32Array(n);
    for (let p = 0; p < made.shown.length; p++) {
      const i = made.shown[p],
        kind = log.kindName(i);
      if (kind === "turn" || kind === "agent") continue;
      const category = categories[log.code[i]],
        a = made.x0[p] * k,
        b = log.xEnd(p) * k;
      for (let x = Math.max(0, a | 0); x <= Math.min(n - 1, b | 0); x++) {
        if (best[x] < category) best[x] = category;
        share[x] += Math.min(b, x + 1) - Math.max(a, x);
      }
    }
    const rects = [];
    for (let x = 0; x < n; x++) {
      if (!best[x]) continue;
      const last = rects[rects.length - 1];
      if (last && last[0] === best[x] && last[1] + last[2] === x && Math.abs(last[3] - share[x]) < 0.2) last[2]++;
      else rects.push([best[x], x, 1, share[x]]);
    }
    return rects;
  }

  // Number of the span at a point, -1 for none.
  hit(px, py) {
    const made = this.log.layout(),
      r = Math.floor((py - TOP + this.view.scroll) / ROW);
    if (py < TOP || px < this.gutter || r < 0 || r >= made.rows.length) return -1;
    const { items, reach } = made.rows[r],
      slack = 3 / this.scale,
      x = this.toX(px);
    let low = 0,
      high = items.length;
    while (low < high) {
      const mid = (low + high) >> 1;
      if (reach[mid] < x - slack) low = mid + 1;
      else high = mid;
    }
    let best = -1,
      near = Infinity;
    for (let j = low; j < items.length && made.x0[items[j]] <= x + slack; j++) {
      const k = items[j],
        end = this.log.xEnd(k),
        far = x < made.x0[k] ? made.x0[k] - x : x > end ? x - end : 0;
      if (far <= slack && far <= near) {
        near = far;
        best = made.shown[k];
      }
    }
    return best;
  }
}
