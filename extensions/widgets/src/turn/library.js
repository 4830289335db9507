// The library of a page: `open` makes what the views of a model share, `show` draws it into an element.

import { ownKeys } from "../shared/dom.js";
import { ChatView } from "./chat.js";
import { Store } from "./store.js";
import css from "./turn.css";
import { TurnView } from "./turn.js";

const STYLE = Symbol.for("hermes_nb.style");

function style(el) {
  const root = el.getRootNode(),
    place = root instanceof ShadowRoot ? root : document;
  if (place[STYLE] === css) return;
  place[STYLE] = css;
  const made = document.createElement("style");
  made.textContent = css;
  (place instanceof ShadowRoot ? place : document.head).append(made);
}

// The views of one turn widget: the turn it shows now.
class Single {
  /** @type {HTMLElement & { hnbr?: TurnView }} for tests and for who embeds it */
  root;
  /** @type {TurnView | undefined} */
  view;

  constructor(store, el) {
    this.store = store;
    this.el = el;
    this.root = document.createElement("div");
    this.root.className = "hnbw hnbr";
    this.quiet = ownKeys(this.root);
    this.waiting = document.createElement("div");
    this.waiting.className = "hnbr-dim";
    this.waiting.textContent = "waiting for the agent …";
    this.root.append(this.waiting);
    el.append(this.root);
    this.refresh();
  }

  refresh() {
    const { store } = this,
      id = store.order.at(-1),
      state = store.turns.get(id);
    if (!state) return;
    if (this.view?.state !== state) {
      const hadFocus = this.view?.element.contains(document.activeElement);
      this.view?.close();
      this.waiting.remove();
      this.view = new TurnView(state, {
        act: m => store.act(m),
        insert: store.insert,
        typeset: store.typeset,
        isDead: () => store.isDead,
        fetch: (turn, k) => store.fetch(turn, k),
        mayPromote: () => store.mayPromote,
      });
      this.root.append(this.view.element);
      this.root.hnbr = this.view;
      if (hadFocus) this.view.stop.focus();
    }
    this.view?.refresh();
  }

  heard() {
    this.view?.heard();
  }
  told(_turn, name, detail) {
    this.view?.told(name, detail);
  }
  close() {
    this.quiet();
    this.view?.close();
    this.root.remove();
  }
}

export function open(model) {
  const store = new Store(model);
  return {
    show(_own, el) {
      style(el);
      const view = model.get("kind") === "chat" ? new ChatView(store, el) : new Single(store, el);
      store.shown(view);
      return () => {
        store.hidden(view);
        view.close();
      };
    },
    close() {
      store.close();
    },
  };
}
