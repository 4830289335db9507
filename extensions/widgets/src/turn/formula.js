// Which parts of a model's Markdown are formulas, by the rules of hermes_nb/views/_formula.py; one list of cases tests both.

// `$x$` begins and ends at the edge of a word, and not with a space: "$5 and then $7" and "$HOME/$USER" are none.
const PATTERN = [
  String.raw`\$\$(?<dollars>(?:(?!\$\$)(?:[^\\]|\\.)){1,2000}?)\$\$`,
  String.raw`\\\[(?<square>(?:(?!\\[\[\]]).){1,2000})\\\]`,
  String.raw`\\\((?<round>(?:(?!\\[()]).){1,2000})\\\)`,
  String.raw`(?<![A-Za-z0-9$\\])\$(?<dollar>(?![\s$])(?:[^$\\${"`"}\n]|\\[^\n]){1,1000}(?<!\s))\$(?![A-Za-z0-9$])`,
].join("|");
const FORMULA = new RegExp(PATTERN, "sy");
// What begins with a digit is a sum of money, unless it is a number alone or has a sign that words have not.
const MONEY = /^\d(?!(?:[\d.,]*\\?%?$)|.*[\\^_={}<>+*/])/s;
const BLOCK = [
  ["\\[", "\\]"],
  ["$$", "$$"],
];

/**
 * The formula that begins at that place, null where none does.
 * @param {string} text
 */
export function formulaAt(text, at = 0) {
  FORMULA.lastIndex = at;
  const found = FORMULA.exec(text);
  return found?.groups?.dollar && MONEY.test(found.groups.dollar) ? null : found;
}

function inline(state, silent) {
  if (!"$\\".includes(state.src[state.pos])) return false;
  const found = formulaAt(state.src, state.pos);
  if (!found || state.pos + found[0].length > state.posMax) return false;
  if (!silent) state.push("formula", "", 0).content = found[0];
  state.pos += found[0].length;
  return true;
}

function block(state, start, end, silent) {
  if (state.sCount[start] - state.blkIndent >= 4) return false;
  const lines = [];
  let closing = "",
    isOver = false;
  for (let line = start; line < end && !isOver; line++) {
    const text = state.src.slice(state.bMarks[line] + state.tShift[line], state.eMarks[line]).trimEnd();
    if (!lines.length) closing = BLOCK.find(([opening]) => text.startsWith(opening))?.[1] ?? "";
    if (!closing || !text || (lines.length && state.sCount[line] < state.blkIndent)) return false;
    lines.push(text);
    isOver = text.endsWith(closing) && (lines.length > 1 || text.length > 4);
  }
  const source = lines.join("\n");
  if (!isOver || formulaAt(source)?.[0].length !== source.length) return false;
  if (!silent) {
    const token = state.push("formula_block", "", 0);
    Object.assign(token, { content: source, block: true, map: [start, start + lines.length] });
    state.line = start + lines.length;
  }
  return true;
}

// Gives a markdown-it the tokens `formula` and `formula_block`, whose content has its delimiters.
export function useFormulas(parser) {
  parser.inline.ruler.before("escape", "formula", inline);
  parser.block.ruler.before("fence", "formula_block", block, { alt: ["paragraph", "reference", "blockquote", "list"] });
  for (const [name, tag] of [
    ["formula", "span"],
    ["formula_block", "div"],
  ])
    parser.renderer.rules[name] = (tokens, at) =>
      `<${tag} class="hnbr-formula">${parser.utils.escapeHtml(tokens[at].content)}</${tag}>`;
}
