// One turn as Python tells it: a head, and items by name in reading order.

export class Turn {
  constructor(told) { this.reset(told); }

  reset({ id, head, items, now }) {
    this.id = id;
    this.head = head;
    this.order = items.map(([name]) => name);
    this.items = new Map(items);
    this.skew = Date.now() / 1000 - now;
  }

  get isRunning() { return this.head.status === "running" || this.head.status === "queued"; }

  // Seconds since it began, by the kernel's clock.
  get elapsed() { return Math.max(0, Date.now() / 1000 - this.skew - this.head.began); }

  get answer() {
    const name = this.order.findLast(one => this.items.get(one).kind === "answer");
    return name ? this.items.get(name).text : "";
  }

  apply(ops) {
    for (const [what, name, ...rest] of ops) {
      if (what === "head") Object.assign(this.head, name);
      else if (what === "put") { this.order.splice(rest[0], 0, name); this.items.set(name, rest[1]); }
      else if (what === "del") { this.order = this.order.filter(one => one !== name); this.items.delete(name); }
      else if (!this.items.has(name)) continue;
      else if (what === "set") this.items.set(name, Object.fromEntries(Object.entries({ ...this.items.get(name), ...rest[0] }).filter(([, v]) => v !== null)));
      else if (what === "add") { const item = this.items.get(name); this.items.set(name, { ...item, [rest[0]]: (item[rest[0]] ?? "") + rest[1] }); }
    }
  }

  // As text: what is kept when the notebook is saved while it runs, or its kernel is gone.
  asText() {
    const lines = [];
    for (const name of this.order) {
      const item = this.items.get(name);
      if (item.kind === "answer") { lines.push("", item.text, ""); continue; }
      const detail = (item.parts ?? []).map(([lead, text]) => lead + text).join("");
      lines.push("  ".repeat(item.depth ?? 0) + [item.icon, item.label, item.meta].filter(Boolean).join(" ") +
        (detail ? ` — ${detail.trim()}` : "") + (item.error ? ` ⚠ ${item.error}` : ""));
      if (item.text) lines.push(item.text);
    }
    if (this.head.line) lines.push("", this.head.line);
    return lines.join("\n").trim();
  }
}
