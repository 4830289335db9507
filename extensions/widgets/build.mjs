// Bundles src/ into hermes_nb/widgets/static/library.js. The first line records the hash of what it was made of; a test holds
// the committed file to it. Run: npm ci --ignore-scripts && npm run build
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL("./", import.meta.url);
const shared = ["dom.js", "keep.js", "theme.css"].map(name => `../../hermes_nb/widgets/static/${name}`);
const names = ["build.mjs", "package-lock.json", "package.json", ...readdirSync(new URL("src/", here)).map(n => `src/${n}`), ...shared];
const hash = createHash("sha256");
for (const name of names.sort()) hash.update(name).update("\0").update(readFileSync(new URL(name, here))).update("\0");

const made = await build({
  absWorkingDir: new URL(".", here).pathname,
  entryPoints: ["src/main.js"],
  bundle: true,
  minify: true,
  write: false,
  format: "esm",
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  loader: { ".css": "text" },
});
const licence = "markdown-it, linkify-it, mdurl, uc.micro, punycode.js, argparse, entities, DOMPurify, highlight.js: library-LICENSES.txt";
const head = `/* Built from extensions/widgets; do not edit. sources sha256:${hash.digest("hex")}\n   Holds ${licence} */\n`;
const target = new URL("../../hermes_nb/widgets/static/library.js", here);
writeFileSync(target, head + made.outputFiles[0].text);
console.log(`library.js: ${(head.length + made.outputFiles[0].text.length).toLocaleString("en")} characters`);
