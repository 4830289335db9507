// Writes the licences of what library.js holds beside it.
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";

const here = new URL("./", import.meta.url);
const lock = JSON.parse(readFileSync(new URL("package-lock.json", here), "utf8"));
const texts = [];
for (const [path, { dev, version }] of Object.entries(lock.packages)) {
  if (!path || dev || path.includes("@types")) continue;
  const folder = new URL(`${path}/`, here);
  const file = existsSync(folder) && readdirSync(folder).find(name => /^licen[cs]e/i.test(name));
  if (file) texts.push(`${path.replace("node_modules/", "")} ${version}\n\n${readFileSync(new URL(file, folder), "utf8").trim()}`);
}
writeFileSync(new URL("../../hermes_nb/widgets/static/library-LICENSES.txt", here), texts.join(`\n\n${"-".repeat(80)}\n\n`) + "\n");
console.log(`licences of ${texts.length} packages`);
