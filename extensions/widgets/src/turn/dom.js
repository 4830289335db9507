// Elements made by hand: foreign text only ever as text.

import { copyText, element } from "../shared/dom.js";

export { copyText, element };

export function button(label, onclick, attributes = {}) {
  return element("button", { type: "button", class: "hnbr-button", onclick, ...attributes }, label);
}

// An emoji for those who see it; the words beside it say the same.
export function icon(sign) {
  return element("span", { class: "hnbr-icon", "aria-hidden": "true" }, sign);
}

// Says for a moment what a button did, in its own label.
export function flash(made, text) {
  const said = made.dataset.label ?? made.textContent;
  made.dataset.label = said;
  made.textContent = text;
  clearTimeout(made.flashing);
  made.flashing = setTimeout(() => {
    made.textContent = said;
  }, 1800);
}
