// Runs the unit tests of all packages: bundles each, so that TypeScript and style sheets are understood by every Node from 20 on,
// then hands them to Node's own runner. Arguments go to it: node test/run.mjs --test-name-pattern=rows
import { spawnSync } from "node:child_process";
import { readdirSync, rmSync } from "node:fs";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL("..", import.meta.url));
const built = path.join(here, "node_modules", ".cache", "unit-tests");
const tests = ["lab", "widgets"].flatMap(name =>
  readdirSync(path.join(here, name, "test"), { recursive: true })
    .filter(file => /\.test\.[jt]s$/.test(file))
    .map(file => path.join(here, name, "test", file)),
);

rmSync(built, { recursive: true, force: true });
await build({
  entryPoints: tests,
  outbase: here,
  outdir: built,
  outExtension: { ".js": ".mjs" },
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  sourcemap: "inline",
  external: ["jsdom"],
  loader: { ".css": "text" },
  logLevel: "warning",
});
const files = tests.map(file => path.join(built, path.relative(here, file).replace(/\.[jt]s$/, ".mjs")));
const { status } = spawnSync(process.execPath, ["--enable-source-maps", "--test", ...process.argv.slice(2), ...files], {
  stdio: "inherit",
});
process.exit(status ?? 1);
