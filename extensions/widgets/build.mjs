// Bundles src/ into hermes_nb/widgets/static, with the licences of what the bundles hold. scripts/extensions.py calls it, and
// records the digest of the sources. `node build.mjs --check` writes nothing: status 1 where a file there is another.
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const SOURCES = new URL("./", import.meta.url);
const TARGET = new URL("../../hermes_nb/widgets/static/", import.meta.url);
const ENTRIES = [
  "turn/library.js",
  "turn/loader.js",
  "timeline/timeline.js",
  "timeline/timeline.css",
  "forms/builder.js",
  "forms/promote.js",
  "forms/form.css",
];

async function bundles() {
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(SOURCES),
    entryPoints: ENTRIES.map(name => `src/${name}`),
    entryNames: "[name]",
    outdir: "built", // in memory: nothing is written there
    bundle: true,
    minify: true,
    write: false,
    format: "esm",
    target: "es2022",
    charset: "utf8",
    legalComments: "none",
    loader: { ".css": "css" },
    plugins: [{ name: "style as text", setup: styleAsText }],
    banner: Object.fromEntries(["js", "css"].map(kind => [kind, "/* Built from extensions/widgets; do not edit. */"])),
  });
  const made = new Map(outputFiles.map(file => [path.basename(file.path), file.text]));
  return made.set("library-LICENSES.txt", licences());
}

// A style sheet that a script imports is a text in it; what it imports is in that text.
function styleAsText({ onLoad, onResolve }) {
  onResolve({ filter: /\.css$/ }, ({ kind, path: name, resolveDir }) =>
    kind === "import-statement" ? { path: path.resolve(resolveDir, name), namespace: "text" } : undefined,
  );
  onLoad({ filter: /./, namespace: "text" }, async ({ path: file }) => {
    const { outputFiles } = await build({ entryPoints: [file], bundle: true, minify: true, write: false, charset: "utf8" });
    return { contents: outputFiles[0].text, loader: "text" };
  });
}

// Of every package that the widgets depend on, with what those depend on: a published bundle may hold others.
function licences() {
  const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", SOURCES), "utf8"));
  const found = new Set();
  const visit = owner => {
    for (const name of Object.keys(packages[owner].dependencies ?? {})) {
      const place = placesOf(owner, name).find(one => one in packages);
      if (!place) throw new Error(`${name}, which ${owner} needs, is not in the lock file.`);
      if (found.has(place)) continue;
      found.add(place);
      visit(place);
    }
  };
  visit("widgets");
  const texts = [...found].sort().map(place => {
    const folder = new URL(`../${place}/`, SOURCES);
    const file = readdirSync(folder).find(one => /^licen[cs]e/i.test(one));
    if (!file) throw new Error(`${place} has no file with its licence.`);
    const text = readFileSync(new URL(file, folder), "utf8").trim();
    return `${place.replace(/.*node_modules\//, "")} ${packages[place].version}\n\n${text}`;
  });
  return `${texts.join(`\n\n${"-".repeat(80)}\n\n`)}\n`;
}

// Where Node looks for a package, as keys of the lock file: from the inside out.
function placesOf(owner, name) {
  const folders = owner.split("/");
  return folders
    .map((_, n) => folders.slice(0, folders.length - n).join("/"))
    .concat("")
    .map(folder => `${folder ? `${folder}/` : ""}node_modules/${name}`);
}

const isCheck = process.argv.includes("--check");
for (const [name, text] of await bundles()) {
  const file = new URL(name, TARGET);
  if (!isCheck) {
    writeFileSync(file, text);
    console.log(`${name}: ${text.length.toLocaleString("en")} characters`);
  } else if (!existsSync(file) || readFileSync(file, "utf8") !== text) {
    console.error(`hermes_nb/widgets/static/${name} is not what these sources give. Run make extensions.`);
    process.exitCode = 1;
  }
}
