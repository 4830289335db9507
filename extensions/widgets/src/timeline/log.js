// The log in the browser: columns of numbers, lanes, rows for what overlaps, and time without its idle gaps.
// Nothing here touches the page.

export const GONE = 7,
  REPLAYED = 1 << 6,
  UNTIMED = 1 << 7,
  RECORD_BYTES = 21;
const MAX_ROWS = 60,
  MAX_ROWS_PER_LANE = 6;
// What is drawn last lies on top and wins where several share a pixel.
export const ORDER = ["turn", "wait", "replayed", "model", "tool", "stopped", "error", "running"];
export const CATEGORY = Object.fromEntries(ORDER.map((name, i) => [name, i + 1])); // 0 is nothing

/**
 * @param {ArrayBuffer | DataView} view
 * @returns {ArrayBuffer}
 */
export function bytesOf(view) {
  // a copy: columns need an offset that is a multiple of 8
  return view instanceof ArrayBuffer
    ? view.slice(0)
    : /** @type {ArrayBuffer} */ (view.buffer).slice(view.byteOffset, view.byteOffset + view.byteLength);
}

export class Log {
  /** @type {import("../shared/protocol").Layout} */
  made;
  /** @type {Float64Array} */
  start;
  /** @type {Float32Array} */
  length;
  /** @type {Uint16Array} */
  name;
  /** @type {Uint16Array} */
  agent;
  /** @type {Uint8Array} */
  code;
  /** @type {number} */
  capacity;
  /** @type {string[]} */
  names;
  /** @type {Uint8Array | null} */
  matches;
  /** @type {number | undefined} */
  _slowestOf;
  /** @type {number} */
  _slowest;

  constructor() {
    this.n = 0;
    this.names = [];
    this.kinds = ["turn", "model", "tool", "agent", "wait"];
    this.statuses = ["running", "ok", "error", "stopped", "timed_out", "denied", "skipped", "killed"];
    this.version = 0;
    this.live = false;
    this.clock = { now: 0, at: 0 };
    this.filter = { kind: "", agent: "", status: "" };
    this.matches = null; // Uint8Array of what a search found, null without one
    this.hideIdle = true;
    this._allocate(64);
    this._dirty = true;
  }

  _allocate(capacity) {
    const grow = (old, made) => {
      if (old) made.set(old.subarray(0, this.n));
      return made;
    };
    this.start = grow(this.start, new Float64Array(capacity));
    this.length = grow(this.length, new Float32Array(capacity));
    this.name = grow(this.name, new Uint16Array(capacity));
    this.agent = grow(this.agent, new Uint16Array(capacity));
    this.code = grow(this.code, new Uint8Array(capacity));
    this.capacity = capacity;
  }

  /** @param {import("../shared/protocol").LogHead & { n: number, data: DataView, kinds?: string[], statuses?: string[] }} head */
  load(head) {
    const n = head.n,
      data = bytesOf(head.data);
    this.names = [...head.names];
    if (head.kinds) this.kinds = head.kinds;
    if (head.statuses) this.statuses = head.statuses;
    this.start = new Float64Array(data, 0, n);
    this.length = new Float32Array(data, 8 * n, n);
    this.name = new Uint16Array(data, 12 * n, n);
    this.agent = new Uint16Array(data, 14 * n, n);
    this.code = new Uint8Array(data, 16 * n, n);
    this.n = this.capacity = n;
    this._tell(head);
    this.touch();
  }

  // What is told shows with the next `touch`: a large log is not laid out anew for each update.
  /**
   * @param {import("../shared/protocol").LogHead & { from: number }} head
   * @param {ArrayBuffer | DataView} view
   * @returns {number[]} the spans that changed
   */
  add(head, view) {
    const data = new DataView(bytesOf(view));
    this.names.length = Math.min(this.names.length, head.from);
    this.names.push(...head.names);
    const changed = [];
    for (let at = 0; at + RECORD_BYTES <= data.byteLength; at += RECORD_BYTES) {
      const i = data.getUint32(at, true);
      if (i >= this.capacity) this._allocate(Math.max(64, 2 * i));
      this.n = Math.max(this.n, i + 1);
      this.start[i] = data.getFloat64(at + 4, true);
      this.length[i] = data.getFloat32(at + 12, true);
      this.name[i] = data.getUint16(at + 16, true);
      this.agent[i] = data.getUint16(at + 18, true);
      this.code[i] = data.getUint8(at + 20);
      changed.push(i);
    }
    this._tell(head);
    return changed;
  }

  _tell(head) {
    this.live = !!head.live;
    this.clock = { now: head.now, at: performance.now() };
  }

  touch() {
    this._dirty = true;
    this.version++;
  }

  now() {
    return this.live ? this.clock.now + (performance.now() - this.clock.at) / 1000 : this.clock.now;
  }

  /** @param {number} i */
  kind(i) {
    return this.code[i] & 7;
  }
  /** @param {number} i */
  kindName(i) {
    return this.kinds[this.kind(i)] ?? "";
  }
  /** @param {number} i */
  status(i) {
    return this.statuses[(this.code[i] >> 3) & 7] ?? "";
  }
  /** @param {number} i */
  isReplayed(i) {
    return (this.code[i] & REPLAYED) !== 0;
  }
  /** @param {number} i */
  isRunning(i) {
    return Number.isNaN(this.length[i]);
  }
  /** @param {number} i */
  end(i) {
    return this.isRunning(i) ? Math.max(this.start[i], this.now()) : this.start[i] + this.length[i];
  }
  /** @param {number} i */
  seconds(i) {
    return this.isRunning(i) ? Math.max(0, this.now() - this.start[i]) : this.length[i];
  }
  /** @param {number} i */
  isTimed(i) {
    return this.isRunning(i) || (this.code[i] & UNTIMED) === 0;
  }
  /** @param {number} i */
  nameOf(i) {
    return this.names[this.name[i]] ?? "";
  }
  /** @param {number} i */
  agentOf(i) {
    return this.names[this.agent[i]] ?? "";
  }

  categories() {
    // by code: what colour and hatch say
    const table = new Uint8Array(256);
    for (let code = 0; code < 256; code++) {
      const kind = this.kinds[code & 7],
        status = this.statuses[(code >> 3) & 7];
      table[code] =
        (code & 7) === GONE
          ? 0
          : status === "running"
            ? CATEGORY.running
            : ["error", "timed_out", "killed"].includes(status)
              ? CATEGORY.error
              : ["stopped", "denied", "skipped"].includes(status)
                ? CATEGORY.stopped
                : code & REPLAYED
                  ? CATEGORY.replayed
                  : (CATEGORY[kind === "agent" ? "turn" : kind] ?? 0);
    }
    return table;
  }

  /** @param {number} i */
  isShown(i) {
    const { kind, agent, status } = this.filter;
    if ((this.code[i] & 7) === GONE) return false;
    if (kind && this.kindName(i) !== kind) return false;
    if (agent && this.agentOf(i) !== agent) return false;
    return !status || (status === "replayed" ? this.isReplayed(i) : this.status(i) === status);
  }

  // Lanes, rows and times, made anew when something changed.
  /** @returns {import("../shared/protocol").Layout} */
  layout() {
    if (!this._dirty) return this.made;
    this._dirty = false;
    const shown = this._shown();
    const times = this._times(shown);
    const lanes = this._lanes(shown);
    return (this.made = { shown, ...times, ...this._rows(lanes, times) });
  }

  /** @returns {Uint32Array} */
  _shown() {
    const { kind, agent, status } = this.filter,
      filtered = kind || agent || status;
    const shown = new Uint32Array(this.n);
    let n = 0,
      sorted = true,
      last = -Infinity;
    for (let i = 0; i < this.n; i++) {
      if (filtered ? !this.isShown(i) : (this.code[i] & 7) === GONE) continue;
      shown[n++] = i;
      if (this.start[i] < last) sorted = false;
      last = this.start[i];
    }
    const found = shown.subarray(0, n);
    if (!sorted) {
      const start = this.start;
      found.sort((a, b) => start[a] - start[b] || a - b);
    }
    return found;
  }

  // Seconds from the start with idle gaps cut short: `x0`, `x1` by place in `shown`, NaN for the end of what runs.
  /** @param {Uint32Array} shown */
  _times(shown) {
    const n = shown.length,
      start = this.start,
      length = this.length,
      now = this.now();
    const blocks = [];
    let busy = 0,
      from = n ? start[shown[0]] : 0,
      reach = from;
    const ends = [];
    for (let k = 0; k < n; k++) {
      const i = shown[k],
        s = start[i],
        e = Number.isNaN(length[i]) ? Math.max(s, now) : s + length[i];
      if (s > reach) {
        ends.push([from, reach]);
        busy += reach - from;
        from = s;
      }
      if (e > reach) reach = e;
    }
    if (n) {
      ends.push([from, reach]);
      busy += reach - from;
    }
    const least = this.hideIdle ? Math.max(1, busy * 0.04) : Infinity,
      cut = Math.max(busy * 0.012, 0.02);
    let x = 0;
    for (const [s, e] of ends) {
      const last = blocks[blocks.length - 1];
      if (last && s - last.end <= least) last.end = e;
      else blocks.push({ start: s, end: e, x: 0 });
    }
    for (const block of blocks) {
      block.x = x;
      x += block.end - block.start + cut;
    }
    const width = blocks.length ? x - cut : 1;
    const x0 = new Float64Array(n),
      x1 = new Float64Array(n);
    for (let k = 0, b = 0; k < n; k++) {
      const i = shown[k],
        s = start[i];
      while (b + 1 < blocks.length && s >= blocks[b + 1].start) b++;
      const shift = blocks[b].x - blocks[b].start;
      x0[k] = s + shift;
      x1[k] = s + length[i] + shift;
    }
    return { blocks, width: Math.max(width, 1e-6), x0, x1, origin: n ? start[shown[0]] : 0 };
  }

  // By agent in order of appearance; in it the agent, its model, its tools, its waits.
  /**
   * @param {Uint32Array} shown
   * @returns {import("../shared/protocol").Lane[]}
   */
  _lanes(shown) {
    /** @type {Map<number, any>} */
    const found = new Map(),
      agents = new Map(),
      tool = this.kinds.indexOf("tool");
    const place = this.kinds.map(k => ({ turn: 0, agent: 0, model: 1, tool: 2, wait: 3 })[k] ?? 3);
    for (let k = 0; k < shown.length; k++) {
      const i = shown[k],
        kind = this.code[i] & 7,
        agent = this.agent[i];
      const key = (agent * 4 + place[kind]) * 65536 + (kind === tool ? this.name[i] : 0);
      let lane = found.get(key);
      if (lane === undefined) {
        if (!agents.has(agent)) agents.set(agent, agents.size);
        lane = { agent, place: place[kind], name: kind === tool ? this.name[i] : -1, items: [], busy: 0 };
        found.set(key, lane);
      }
      lane.items.push(k);
      lane.busy += this.length[i] || 0;
    }
    let lanes = [...found.values()];
    lanes.sort((a, b) => agents.get(a.agent) - agents.get(b.agent) || a.place - b.place);
    const alone = agents.size === 1;
    for (const lane of lanes) {
      const who = this.names[lane.agent] || "agent";
      const what = ["", "model", this.names[lane.name] ?? "tool", "waiting"][lane.place];
      lane.label = what || who;
      lane.owner = alone || !what ? "" : who;
    }
    if (lanes.length > MAX_ROWS) {
      const kept = new Set([...lanes].sort((a, b) => b.busy - a.busy).slice(0, MAX_ROWS - 1));
      const rest = lanes.filter(l => !kept.has(l));
      const items = rest.flatMap(l => l.items).sort((a, b) => a - b);
      lanes = [
        ...lanes.filter(l => kept.has(l)),
        { label: `${rest.length} more lanes`, owner: "", items, place: 4, busy: rest.reduce((s, l) => s + l.busy, 0) },
      ];
    }
    return lanes;
  }

  // Rows of a lane: each span in the topmost that is free; the last row takes what finds none.
  _rows(lanes, { x0, x1 }) {
    const cap = lanes.length * 2 <= MAX_ROWS ? MAX_ROWS_PER_LANE : 1;
    const rows = [],
      rowOf = new Int32Array(x0.length);
    for (const lane of lanes) {
      const free = new Float64Array(cap).fill(-Infinity),
        made = [];
      for (const k of lane.items) {
        let row = 0;
        while (row < cap - 1 && free[row] > x0[k]) row++;
        free[row] = Math.max(free[row], Number.isNaN(x1[k]) ? Infinity : x1[k]);
        (made[row] ??= []).push(k);
      }
      lane.first = rows.length;
      lane.index = lanes.indexOf(lane);
      lane.n = made.length;
      for (const items of made) {
        const reach = new Float64Array(items.length); // so that what ends in view is found by halving
        for (let j = 0, most = -Infinity; j < items.length; j++) {
          const end = x1[items[j]];
          most = Math.max(most, Number.isNaN(end) ? Infinity : end);
          reach[j] = most;
          rowOf[items[j]] = rows.length;
        }
        rows.push({ lane, items: Uint32Array.from(items), reach });
      }
    }
    return { lanes, rows, rowOf };
  }

  // Place in `shown` of a span; -1 when it is filtered out.
  /** @param {number} i */
  placeOf(i) {
    const { shown } = this.layout();
    let low = 0,
      high = shown.length - 1;
    const s = this.start[i];
    while (low <= high) {
      const mid = (low + high) >> 1,
        j = shown[mid];
      if (j === i) return mid;
      if (this.start[j] < s || (this.start[j] === s && j < i)) low = mid + 1;
      else high = mid - 1;
    }
    return shown.indexOf(i);
  }

  x(unix) {
    const { blocks } = this.layout();
    let b = 0;
    while (b + 1 < blocks.length && unix >= blocks[b + 1].start) b++;
    return blocks.length ? blocks[b].x + unix - blocks[b].start : 0;
  }

  xEnd(k) {
    const made = this.layout();
    return Number.isNaN(made.x1[k]) ? this.x(this.now()) : made.x1[k];
  }

  span() {
    // of all in view seconds; grows while something runs
    const made = this.layout();
    return Math.max(made.width, this.live && made.blocks.length ? this.x(this.now()) : 0);
  }

  // The step that took longest; turns and delegated agents hold others and are no steps, and a person who is waited for is not slow.
  slowest() {
    if (this._slowestOf === this.version) return this._slowest;
    const { shown } = this.layout(),
      isStep = this.kinds.map(kind => kind !== "turn" && kind !== "agent" && kind !== "wait");
    let best = -1,
      most = 0;
    for (let k = 0; k < shown.length; k++) {
      const i = shown[k];
      if (this.length[i] > most && isStep[this.code[i] & 7]) {
        most = this.length[i];
        best = i;
      }
    }
    this._slowestOf = this.version;
    return (this._slowest = best);
  }

  count(test) {
    let n = 0;
    for (const i of this.layout().shown) if (test(i)) n++;
    return n;
  }
}
