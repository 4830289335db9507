// What every widget needs: elements made by hand, foreign text only ever as text; copying; the keys of the notebook kept away.

/**
 * @param {string} tag
 * @param {Record<string, any>} attributes
 * @param {any[]} children
 * @returns {any} an element of that tag
 */
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

/**
 * @param {string} text
 * @param {HTMLElement} button
 * @param {string} [html] the same with its form, for who can paste it
 */
export async function copyText(text, button, html = "") {
  const said = button.textContent;
  let isCopied = true;
  try {
    const blob = type => new Blob([type === "text/html" ? html : text], { type });
    if (html && typeof ClipboardItem !== "undefined")
      await navigator.clipboard.write([
        new ClipboardItem({ "text/html": blob("text/html"), "text/plain": blob("text/plain") }),
      ]);
    else await navigator.clipboard.writeText(text);
  } catch {
    const area = element("textarea", { class: "hnbw-unseen" });
    area.value = text;
    button.after(area);
    area.select();
    try {
      isCopied = document.execCommand("copy");
    } catch {
      isCopied = false;
    }
    area.remove();
    button.focus();
  }
  button.textContent = isCopied ? "Copied" : "Can't copy here";
  setTimeout(() => {
    button.textContent = said;
  }, 1500);
}

// JupyterLab takes letters and arrows for commands of the notebook before any element hears of them, but not from below an
// element with this attribute. Ctrl and Command stay the notebook's: Ctrl+S saves. Returns what ends it.
/** @param {HTMLElement} root */
export function ownKeys(root) {
  const hear = event => {
    if (root.contains(event.target)) root.toggleAttribute("data-lm-suppress-shortcuts", !event.ctrlKey && !event.metaKey);
  };
  // A key that reaches the notebook moves the focus to its active cell.
  const keep = event => {
    if (!event.ctrlKey && !event.metaKey) event.stopPropagation();
  };
  window.addEventListener("keydown", hear, true);
  root.addEventListener("keydown", keep);
  return () => window.removeEventListener("keydown", hear, true);
}
