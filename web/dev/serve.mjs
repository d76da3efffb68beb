/** The app with synthetic readings, for looking at it without a model: node dev/serve.mjs [port] */
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { bundle } from "../build.mjs";
import { Buffers, makeHeader, makePart, makeTable, plainTokens, random, toBytes } from "./synthetic.mjs";

const port = Number(process.argv[2] ?? 8799);
const folder = fileURLToPath(new URL("../dist/dev/", import.meta.url));
await bundle(join(folder, "headscope.js"));
const page = `<!doctype html><html lang="en"><meta charset="utf-8"><title>headscope</title><style>body{margin:0}</style><div data-headscope-app></div><script type="module" src="/static/app/app.js"></script></html>`;
const readings = new Map();
const shape = { layerCount: 6, heads: 12, dim: 32, encoding: "both" };

const examples = [
  { title: "Two sentences", text: "i went to the store .", text_pair: "at the store , i bought fresh straw ##berries ." },
  { title: "Question and answer", text: "who wrote the letter ?", text_pair: "her mother wrote it ." },
  { title: "A repeated phrase", text: "the red door was open and the red door was" },
];

function tokensOf(text, pair) {
  const a = ["[CLS]", ...text.split(/\s+/), "[SEP]"];
  const tokens = plainTokens(pair ? [...a, ...pair.split(/\s+/), "[SEP]"] : a);
  tokens.segment = tokens.text.map((_, i) => (i < a.length ? 0 : 1));
  return tokens;
}

function read({ model, text, text_pair, off }) {
  const query = tokensOf(text, text_pair);
  const buffers = new Buffers();
  const part = makePart(buffers, { query, ...shape, seed: 1 + off.length + (model === "tuned" ? 7 : 0) });
  const id = `r${readings.size}`;
  const header = makeHeader(buffers, { id, view: "head", parts: [part], table: makeTable(buffers, "encoder", shape.layerCount, shape.heads) });
  const full = structuredClone(part);
  readings.set(id, { part: full, buffers, query });
  for (const [i, layer] of part.per_layer.entries()) if (i > 0) Object.assign(layer, { maps: null, q: null, k: null });
  return toBytes(header, buffers);
}

function layerOf(id, layer) {
  const { part, buffers } = readings.get(id);
  const only = { ...part, layers: [layer], per_layer: [part.per_layer[layer]], thumbnails: null };
  return toBytes(makeHeader(buffers, { view: "head", parts: [only] }), buffers);
}

const facts = (layer, head) => {
  const rng = random(layer * 31 + head);
  return {
    label: "next word",
    score: 0.93,
    patterns: ["next_word", "previous_word", "delimiter", "same_word", "bag_of_words"].map((name, i) => ({ name, score: 0.93 / (1 + 2 * i), lift: 12 / (i + 1), labelled: i === 0 })),
    statistics: [["entropy", 3 * rng(), "nats"], ["mean_distance", 5 * rng(), "tokens"], ["weight_on_separators", rng(), ""], ["confidence", rng(), ""]].map(([name, value, unit]) => ({ name, value, unit })),
    why: { text: `Head ${layer}-${head} attends to the next word; 27 of 32 neurons take part, different ones at each position.`, marked: [1, 4, 9], share: 0.4 },
  };
};

createServer((request, response) => {
  const url = new URL(request.url, "http://localhost");
  let body = "";
  request.on("data", (chunk) => (body += chunk));
  request.on("end", () => {
    const json = (value, status = 200) => response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value));
    const bytes = (value) => response.writeHead(200, { "content-type": "application/octet-stream" }).end(value);
    const parts = url.pathname.split("/").filter(Boolean);
    const sent = body ? JSON.parse(body) : {};
    if (url.pathname === "/") return response.writeHead(200, { "content-type": "text/html" }).end(page);
    if (parts[0] === "static") return response.writeHead(200, { "content-type": "text/javascript" }).end(readFileSync(join(folder, "app", basename(url.pathname))));
    if (url.pathname === "/api/models") {
      const model = { id: "synthetic", title: "synthetic-bert", layers: { encoder: 6 }, heads: { encoder: 12 }, causal: false, encoder_decoder: false, max_length: 512, predicts: true };
      return json({ models: [model, { ...model, id: "tuned", title: "synthetic-tuned" }], default: "synthetic", examples, max_characters: 20000 });
    }
    if (url.pathname === "/api/read") {
      const count = sent.text.split(/\s+/).length;
      if (sent.text.includes("fail")) return json({ error: "The model could not be loaded: there is no folder of that name." }, 400);
      if (count > 100 && !sent.truncate) return json({ error: "Too long.", tokens: count, limit: 100 }, 413);
      return bytes(read(sent));
    }
    if (url.pathname === "/api/predict") {
      const list = (shift) => ["store", "market", "shop", "park", "house"].map((token, i) => ({ token: i === 1 && shift ? "beach" : token, probability: 0.5 / (i + 1 + shift) }));
      return json({ places: [{ title: "masked word at 5", position: 5, before: list(0), after: list(sent.off.length) }] });
    }
    if (url.pathname === "/api/importance") {
      return json({ heads: Array.from({ length: 12 }, (_, i) => ({ kind: "encoder", layer: i % 6, head: (i * 5) % 12, importance: 1 / (i + 1) })), note: "How much the output moves when the head is switched off, by its gradient." });
    }
    if (parts[1] === "reading" && parts[3] === "layer") return bytes(layerOf(parts[2], Number(parts[5])));
    if (parts[1] === "reading" && parts[3] === "head") return json(facts(Number(parts[5]), Number(parts[6])));
    return json({ error: "There is no such page." }, 404);
  });
}).listen(port, "127.0.0.1", () => console.log(`http://127.0.0.1:${port}`));
