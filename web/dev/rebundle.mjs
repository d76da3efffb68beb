/** Puts a fresh bundle into the pages of dist/dev, keeping their data. */
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../build.mjs";

const folder = fileURLToPath(new URL("../dist/dev/", import.meta.url));
const script = join(folder, "headscope.js");
const [{ gzipped }] = await bundle(script);
const code = readFileSync(script, "utf8");
const tag = '<script type="module" nonce="dev">';
for (const name of readdirSync(folder).filter((each) => each.endsWith(".html"))) {
  const html = readFileSync(join(folder, name), "utf8");
  if (!html.includes(tag)) continue;
  writeFileSync(join(folder, name), `${html.slice(0, html.lastIndexOf(tag))}${tag}${code}</script>`);
}
console.log(`${(gzipped / 1024).toFixed(1)} KB gzipped`);
