// Elements made by hand: foreign text only ever as text.

export function element(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) made.setAttribute(name, value);
  }
  made.append(...children.filter(child => child !== null && child !== undefined && child !== false));
  return made;
}

export function button(label, onclick, attributes = {}) {
  return element("button", { type: "button", class: "hnbw-button", onclick, ...attributes }, label);
}

// An emoji for those who see it; the words beside it say the same.
export function icon(sign) { return element("span", { class: "hnbw-icon", "aria-hidden": "true" }, sign); }

export async function copyText(text, beside) {
  try { await navigator.clipboard.writeText(text); return true; } catch { /* not allowed here */ }
  const area = element("textarea", { class: "hnbw-unseen", "aria-hidden": "true" });
  area.value = text;
  beside.after(area);
  area.select();
  let isCopied = false;
  try { isCopied = document.execCommand("copy"); } catch { isCopied = false; }
  area.remove();
  beside.focus();
  return isCopied;
}

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
