/** Writes one HTML page a case into dist/dev: node dev/pages.mjs [case …] */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../build.mjs";
import { Buffers, bertTokens, makeHeader, makePart, makeTable, plainTokens, toElement } from "./synthetic.mjs";

const folder = fileURLToPath(new URL("../dist/dev/", import.meta.url));
mkdirSync(folder, { recursive: true });
const script = join(folder, "headscope.js");
await bundle(script);

const cases = {
  head8: () => single({ view: "head", query: bertTokens(8, false) }),
  head21: () => single({ view: "head", query: bertTokens(21) }),
  head128: () => single({ view: "head", query: bertTokens(128) }),
  head512: () => single({ view: "head", query: bertTokens(512), encoding: "qk", dim: 64, layerCount: 12, whole: false }),
  model21: () => single({ view: "model", query: bertTokens(21), layerCount: 12 }),
  model128: () => single({ view: "model", query: bertTokens(128), layerCount: 6 }),
  model512: () => single({ view: "model", query: bertTokens(512), encoding: "qk", dim: 64, layerCount: 12, whole: false }),
  neuron21: () => single({ view: "neuron", query: bertTokens(21), encoding: "both", dim: 64, state: { layer: 1, heads: [2], query: 5, marked: [0, 3, 6] } }),
  neuron8: () => single({ view: "neuron", query: bertTokens(8, false), encoding: "both", dim: 32, rotary: true, causal: true, groups: 4 }),
  matrix21: () => single({ view: "matrix", query: bertTokens(21), encoding: "both" }),
  matrix128: () => single({ view: "matrix", query: bertTokens(128) }),
  matrix512: () => single({ view: "matrix", query: bertTokens(512), encoding: "qk", layerCount: 2, whole: false }),
  head_map: () => single({ view: "head_map", query: bertTokens(21), layerCount: 12, table: true }),
  gqa2048: () => single({ view: "head", kind: "decoder", query: bertTokens(2048, false), encoding: "qk", dim: 64, heads: 16, groups: 4, causal: true, layerCount: 2, whole: false, rotary: true }),
  chinese: () => single({ view: "head", query: plainTokens([..."我昨天去商店买了新鲜的草莓。"]), state: { orientation: "horizontal" } }),
  arabic: () => single({ view: "head", query: plainTokens("ذهبت الطالبة إلى المتجر واشترت الفراولة الطازجة .".split(" ")) }),
  heads32: () => single({ view: "head", kind: "decoder", query: bertTokens(21), heads: 32, layerCount: 2, causal: true, state: { heads: null, layer: 0 } }),
  hostile: () => single({ view: "head", query: plainTokens(["</script>", "<img src=x onerror=alert(1)>", '"quotes"', "a\u0000b", "\t", "", "&amp;", "<!--"]), layerCount: 2 }),
  translation: () => translation(),
  difference: () => difference(),
};

function single({ view, table, state, ...rest }) {
  const buffers = new Buffers();
  const part = makePart(buffers, rest);
  const extra = table ? { table: makeTable(buffers, part.kind, part.layers.length, part.heads) } : {};
  return [toElement(makeHeader(buffers, { view, state, parts: [part], ...extra }), buffers)];
}

function translation() {
  const buffers = new Buffers();
  const source = plainTokens("she bought fresh straw ##berries at the store . </s>".split(" "));
  const target = plainTokens("<pad> sie kaufte frische Erd ##beeren im Laden .".split(" "));
  const shape = { heads: 8, encoding: "both" };
  const parts = [
    makePart(buffers, { ...shape, kind: "encoder", query: source, layerCount: 6 }),
    makePart(buffers, { ...shape, kind: "decoder", query: target, layerCount: 4, causal: true, seed: 2 }),
    makePart(buffers, { ...shape, kind: "cross", query: target, key: source, layerCount: 4, seed: 3 }),
  ];
  return [toElement(makeHeader(buffers, { view: "head", parts, state: { kind: "cross" } }), buffers)];
}

function difference() {
  const buffers = new Buffers();
  const query = bertTokens(21);
  const parts = [makePart(buffers, { query, layerCount: 2 })];
  const other = { model: "tuned", parts: [makePart(buffers, { query, layerCount: 2, seed: 4, prefix: "o" })] };
  return [toElement(makeHeader(buffers, { view: "matrix", parts, other, state: { reading: "difference" } }), buffers)];
}

const policy = `default-src 'none'; script-src 'nonce-dev'; img-src data: blob:; style-src 'nonce-dev'`;
const wanted = process.argv.slice(2);
for (const [name, make] of Object.entries(cases)) {
  if (wanted.length && !wanted.includes(name)) continue;
  const html = `<!doctype html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><title>${name}</title><style nonce="dev">body{margin:0}</style>${make().join("\n")}<script type="module" nonce="dev">${readFileSync(script, "utf8")}</script>`;
  writeFileSync(join(folder, `${name}.html`), html);
  console.log(`${name}.html ${(html.length / 1e6).toFixed(2)} MB`);
}
