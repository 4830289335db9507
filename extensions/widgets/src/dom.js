// Elements made by hand: foreign text only ever as text.

import { copyText, element } from "../../../hermes_nb/widgets/static/dom.js";

export { copyText, element };

export function button(label, onclick, attributes = {}) {
  return element("button", { type: "button", class: "hnbr-button", onclick, ...attributes }, label);
}

// An emoji for those who see it; the words beside it say the same.
export function icon(sign) { return element("span", { class: "hnbr-icon", "aria-hidden": "true" }, sign); }

// Says for a moment what a button did, in its own label.
export function flash(made, text) {
  const said = made.dataset.label ?? made.textContent;
  made.dataset.label = said;
  made.textContent = text;
  clearTimeout(made.flashing);
  made.flashing = setTimeout(() => { made.textContent = said; }, 1800);
}

export function seconds(s) {
  if (s < 60) return `${s < 10 ? s.toFixed(1) : Math.floor(s)} s`;
  const whole = Math.round(s);
  return whole < 3600 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
}
