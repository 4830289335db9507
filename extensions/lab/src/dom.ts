/** Elements of the page. Text is always set as text: nothing that a kernel says is read as HTML. */

type Attributes = Record<string, string | boolean | ((event: Event) => void)>;

/** An element with attributes, listeners (`onclick`) and children. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") {
      made.addEventListener(name.replace(/^on/, ""), value);
    } else if (typeof value === "string") {
      made.setAttribute(name, value);
    } else if (value) {
      made.setAttribute(name, "");
    }
  }
  made.append(...children);
  return made;
}

/** Writes only what differs: a text that is selected or read aloud stays as it is. */
export function setText(node: Node, text: string): void {
  if (node.textContent !== text) {
    node.textContent = text;
  }
}

/** Writes only what differs. */
export function setAttribute(node: Element, name: string, value: string): void {
  if (node.getAttribute(name) !== value) {
    node.setAttribute(name, value);
  }
}

/** A row of a list: its element, and how it shows other data. */
export interface IRow<T> {
  node: HTMLElement;
  update(data: T): void;
}

/** Keeps a list's rows by key, so that what has the focus stays while data comes. */
export class Rows<T> {
  private _rows = new Map<string, IRow<T>>();

  constructor(
    readonly node: HTMLElement,
    private _key: (data: T) => string,
    private _make: () => IRow<T>,
  ) {}

  /** Shows these, in this order. */
  update(all: T[]): void {
    const keys = new Set(all.map(this._key));
    for (const [key, row] of this._rows) {
      if (!keys.has(key)) {
        this._drop(row.node);
        this._rows.delete(key);
      }
    }
    all.forEach((data, place) => {
      const key = this._key(data);
      const row = this._rows.get(key) ?? this._make();
      this._rows.set(key, row);
      row.update(data);
      if (this.node.children[place] !== row.node) {
        this._place(row.node, place);
      }
    });
  }

  private _place(node: HTMLElement, place: number): void {
    const active = node.contains(document.activeElement) ? (document.activeElement as HTMLElement) : null;
    this.node.insertBefore(node, this.node.children[place] ?? null);
    active?.focus(); // moving an element takes the focus away
  }

  private _drop(node: HTMLElement): void {
    if (node.contains(document.activeElement)) {
      // Not into nowhere: to the heading of the list the row was in.
      node.closest("details")?.querySelector("summary")?.focus();
    }
    node.remove();
  }
}
