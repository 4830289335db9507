// A page without a browser, for what makes elements: import it before anything that reads `document` when it loads.
import { JSDOM } from "jsdom";

const { window } = new JSDOM("<!doctype html><body></body>", { url: "http://localhost/lab", pretendToBeVisual: true });

// What jsdom has no layout for.
class ResizeObserver {
  observe() {}
  disconnect() {}
}
window.ResizeObserver = ResizeObserver;
window.matchMedia ??= () => ({ matches: false, addEventListener() {}, removeEventListener() {} });

const NAMES = [
  "window",
  "document",
  "DOMParser",
  "navigator",
  "ShadowRoot",
  "ResizeObserver",
  "MutationObserver",
  "getComputedStyle",
];
for (const name of [...NAMES, "requestAnimationFrame", "cancelAnimationFrame"]) {
  Object.defineProperty(globalThis, name, { value: window[name], configurable: true, writable: true });
}

// Resolves when what was asked for with the next frame was drawn.
export const frame = () => new Promise(resolve => window.requestAnimationFrame(() => resolve(undefined)));

// What a widget has of its kernel: what was sent, and listeners that a test can tell something.
export class Model {
  constructor(state = {}) {
    this.state = state;
    this.sent = [];
    this.listeners = new Map();
  }

  get(name) {
    return this.state[name];
  }

  set(name, value) {
    this.state[name] = value;
    this.tell(`change:${name}`);
  }

  on(event, hear) {
    this.listeners.set(event, [...(this.listeners.get(event) ?? []), hear]);
  }

  off(event, hear) {
    this.listeners.set(
      event,
      (this.listeners.get(event) ?? []).filter(one => one !== hear),
    );
  }

  tell(event, ...parts) {
    for (const hear of this.listeners.get(event) ?? []) hear(...parts);
  }

  send(message) {
    this.sent.push(message);
  }

  nListeners() {
    return [...this.listeners.values()].flat().length;
  }
}

export function place() {
  const made = document.createElement("div");
  document.body.append(made);
  return made;
}
