// The timeline's widget: what all views of one model share, and what they say to Python (`hermes_nb/widgets/_view.py`).

import { keepStatic } from "../shared/keep.js";
import { bytesOf, Log } from "./log.js";
import { View } from "./view.js";

const LARGE = 20_000;

// Python makes it soon after the widget is shown; a save that comes before has a line in its place.
function stillOf(model, log) {
  const made = model.get("static"),
    text = `Timeline of ${log.n} spans. The notebook was saved before its rows were made.`;
  return made?.["text/html"] ? made : { "text/html": `<div>${text}</div>`, "text/plain": text };
}

// One state for all views of a model; `initialize` and `render` get different `model` objects.
export default () => {
  /** @type {any} */
  const shared = {
    log: new Log(),
    views: new Set(),
    details: new Map(),
    asked: new Map(),
    n: 0,
    looks: {},
    table: [],
    wasEverLive: false,
    wasLive: false,
    changes: [],
    changed(changed) {
      this.log.touch();
      this.wasEverLive ||= this.log.live;
      for (const view of this.views) view.refresh(changed);
    },
    // Ten times a second, but four times a second where laying out takes its time.
    grew(changed) {
      this.changes.push(...changed);
      const wasLive = this.wasLive;
      this.wasLive = this.log.live;
      if (this.log.n > LARGE && wasLive === this.log.live) {
        this.timer ??= setTimeout(() => this.showGrown(), 250);
        return;
      }
      this.showGrown();
    },
    showGrown() {
      clearTimeout(this.timer);
      this.timer = undefined;
      this.changed(this.changes.splice(0));
    },
    ask(message, use) {
      const id = ++this.n;
      this.asked.set(id, use);
      this.model.send({ ...message, id });
    },
    fetch(i) {
      this.model.send({ t: "detail", n: i });
    },
  };

  function load(model) {
    const head = model.get("log");
    if (!head?.data) return;
    shared.looks = head.looks;
    shared.table = head.table;
    shared.log.load(head);
    shared.wasEverLive ||= shared.log.live;
    head.details?.forEach((detail, i) => shared.details.set(i, detail));
  }

  function take(message, buffers) {
    if (message?.t === "add") shared.grew(shared.log.add(message, buffers[0]));
    else if (message?.t === "detail" && message.detail) {
      shared.details.set(message.n, { ...message.detail, isWhole: true, code: shared.log.code[message.n] });
      for (const view of shared.views) view.told(message.n);
    } else if (message?.t === "rows" || message?.t === "found") {
      const use = shared.asked.get(message.id);
      shared.asked.delete(message.id);
      use?.(message.t === "rows" ? message.rows : new Uint32Array(bytesOf(buffers[0])));
    }
  }

  return {
    initialize({ model }) {
      shared.model = model;
      load(model);
      model.on("msg:custom", take);
      return () => model.off("msg:custom", take);
    },
    render({ model, el }) {
      const view = new View(shared, model, el);
      shared.views.add(view);
      model.send({ t: "ready", keeps: keepStatic(model, () => stillOf(model, shared.log)) });
      return () => {
        shared.views.delete(view);
        view.close();
        try {
          if (shared.views.size === 0) model.send({ t: "gone" });
        } catch {
          /* the kernel is gone too */
        }
      };
    },
  };
};
