// One turn as Python tells it: a head, and items by name in reading order.

export class Turn {
  /** @type {string} */
  id;
  /** @type {import("../shared/protocol").Head} */
  head;
  /** @type {string[]} */
  order;
  /** @type {import("../shared/protocol").Items} */
  items;
  /** @type {number} */
  skew;

  /**
   * @param {import("../shared/protocol").Told} told
   */
  constructor(told) {
    this.reset(told);
  }

  /** @param {import("../shared/protocol").Told} told */
  reset({ id, head, items, now }) {
    this.id = id;
    this.head = head;
    this.order = items.map(([name]) => name);
    this.items = /** @type {import("../shared/protocol").Items} */ (new Map(items));
    this.skew = Date.now() / 1000 - now;
  }

  get isRunning() {
    return this.head.status === "running" || this.head.status === "queued";
  }

  // Seconds since it began, by the kernel's clock.
  get elapsed() {
    return Math.max(0, Date.now() / 1000 - this.skew - this.head.began);
  }

  // The kernel's time.
  get now() {
    return Date.now() / 1000 - this.skew;
  }

  get answer() {
    const name = this.order.findLast(one => this.items.get(one).kind === "answer");
    return name ? this.items.get(name).text : "";
  }

  /** @param {import("../shared/protocol").Operation[]} ops */
  apply(ops) {
    for (const [what, name, ...rest] of /** @type {any[]} */ (ops)) {
      if (what === "head") Object.assign(this.head, name);
      else if (what === "put") {
        this.order.splice(rest[0], 0, name);
        this.items.set(name, rest[1]);
      } else if (what === "del") {
        this.order = this.order.filter(one => one !== name);
        this.items.delete(name);
      } else if (!this.items.has(name)) continue;
      else if (what === "set")
        this.items.set(
          name,
          /** @type {any} */ (
            Object.fromEntries(Object.entries({ ...this.items.get(name), ...rest[0] }).filter(([, v]) => v !== null))
          ),
        );
      else if (what === "add") {
        const item = this.items.get(name);
        this.items.set(name, { ...item, [rest[0]]: (item[rest[0]] ?? "") + rest[1] });
      }
    }
  }

  // As text: what is kept when the notebook is saved while it runs, or its kernel is gone.
  asText() {
    const lines = [];
    for (const name of this.order) {
      const item = this.items.get(name);
      if (item.kind === "answer") {
        lines.push("", item.text, "");
        continue;
      }
      if (item.kind === "said") {
        lines.push(item.text);
        continue;
      }
      const text = [item.icon, item.call, item.summary].filter(Boolean).join(" ");
      lines.push("  ".repeat(item.depth ?? 0) + [text, item.duration].filter(Boolean).join(" · "));
    }
    if (this.head.line) lines.push("", this.head.line);
    return lines.join("\n").trim();
  }
}
