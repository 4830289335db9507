// What models write that CommonMark has not: bare addresses, tasks, line breaks in tables, text that runs from right to left. The same rules are in
// hermes_nb/views/_prose_rules.py. And what is half written is held back, so that no source is seen.

const BREAK = /<br\s*\/?>/iy,
  TASK = /^\[([ xX])\] /,
  BARE = /https:\/\/[^\s<>"'`|]+/gi;
const BLOCKS = new Set(
  "paragraph_open list_item_open td_open th_open heading_open blockquote_open bullet_list_open ordered_list_open".split(" "),
);

// An address without what ends the sentence around it; a bracket belongs to it where it was opened in it.
function address(text) {
  let url = text;
  for (;;) {
    const last = url.at(-1) ?? "";
    if (last === ")" ? url.split("(").length < url.split(")").length : ".,;:!?]}*_".includes(last)) url = url.slice(0, -1);
    else return url;
  }
}

// The children of a block with the bare https addresses as links, those of links and code left alone.
function linked(state, children) {
  const made = [];
  let depth = 0;
  const text = content => {
    const token = new state.Token("text", "", 0);
    token.content = content;
    if (content) made.push(token);
  };
  for (const token of children) {
    depth += token.type === "link_open" ? 1 : token.type === "link_close" ? -1 : 0;
    if (token.type !== "text" || depth || !/https:\/\//i.test(token.content)) {
      made.push(token);
      continue;
    }
    let at = 0;
    for (const found of token.content.matchAll(BARE)) {
      const url = address(found[0]),
        href = state.md.normalizeLink(url);
      if (!/^https:\/\/./i.test(url) || !state.md.validateLink(href)) continue;
      text(token.content.slice(at, found.index));
      const open = new state.Token("link_open", "a", 1);
      open.attrs = [["href", href]];
      made.push(open);
      text(url);
      made.push(new state.Token("link_close", "a", -1));
      at = found.index + url.length;
    }
    text(token.content.slice(at));
  }
  return made;
}

export function useRules(parser) {
  parser.inline.ruler.before("autolink", "br", (state, silent) => {
    BREAK.lastIndex = state.pos;
    const found = BREAK.exec(state.src);
    if (!found || state.pos + found[0].length > state.posMax) return false;
    if (!silent) state.push("hardbreak", "br", 0);
    state.pos += found[0].length;
    return true;
  });
  parser.core.ruler.push("hermes", state => {
    for (const [at, token] of state.tokens.entries()) {
      if (BLOCKS.has(token.type)) token.attrSet("dir", "auto");
      const isFirst = token.type === "inline" && state.tokens[at - 2]?.type === "list_item_open",
        first = token.children?.[0],
        task = isFirst && first && TASK.exec(first.content);
      if (token.type === "inline" && token.children) token.children = linked(state, token.children);
      if (task) first.content = (task[1] === " " ? "☐ " : "☑ ") + first.content.slice(task[0].length);
    }
  });
}

const FENCE = /^ {0,3}(`{3,}|~{3,})/;

/**
 * The last block of a text that still grows, without what is half written: a table's line, a mark of emphasis or code, a link.
 * @param {string} text
 */
export function settled(text) {
  const lines = text.split("\n");
  let fence = "";
  for (const line of lines) {
    const mark = FENCE.exec(line)?.[1];
    if (mark && !fence) fence = mark;
    else if (mark && line.trim().startsWith(fence)) fence = "";
  }
  if (fence) return text;
  const start = lines.findLastIndex(line => !line.trimStart().startsWith("|")) + 1,
    table = lines.slice(start);
  if (table.length && table.length < 3 && !/^[\s|:-]+\|\s*$/.test(table[1] ?? "")) return lines.slice(0, start).join("\n");
  if (table.length && !/\|\s*$/.test(table.at(-1) ?? "")) return lines.slice(0, -1).join("\n");
  const from = text.lastIndexOf("\n\n") + 1,
    before = text.slice(0, from);
  let last = text
    .slice(from)
    .replace(/!?\[([^\]\n]*)(?:\](?:\([^)\s]*)?)?$/, (all, words) => (/^ ?x?$/i.test(words) ? all : words));
  const ticks = (last.match(/`/g) ?? []).length;
  if (ticks % 2) return before + (last.endsWith("`") ? last.replace(/`+$/, "") : `${last}\``);
  last = last.replace(/(^|[\s(])[*_]{1,2}$/, "$1");
  const bare = last.replace(/`[^`]*`/g, "");
  if ((bare.match(/\*\*/g) ?? []).length % 2) last = last.endsWith("*") && !last.endsWith("**") ? `${last}*` : `${last}**`;
  return before + last;
}
