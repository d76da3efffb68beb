/** Readings with known patterns, made from q and k as a model would: for looking at the views while working on them. */
import { deflateRawSync } from "node:zlib";

const prose = `the quick student went to the store . there she bought fresh straw ##berries and a loaf of bread , because her friend had asked for them . when the rain began , she waited under the roof and read a page of the book that her mother had given her , which told of a river , a bridge and the two towns it joined`.split(" ");

export function random(seed) {
  let x = seed >>> 0;
  return () => {
    x = (x + 0x6d2b79f5) >>> 0;
    let t = Math.imul(x ^ (x >>> 15), 1 | x);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

export function bertTokens(count, pair = true) {
  const text = ["[CLS]"];
  const half = pair ? Math.floor((count - 3) / 2) : count - 2;
  let at = 0;
  for (let i = 0; i < half; i++) text.push(prose[at++ % prose.length]);
  text.push("[SEP]");
  const b = text.length;
  if (pair) {
    while (text.length < count - 1) text.push(prose[at++ % prose.length]);
    text.push("[SEP]");
  }
  return describe(text, (i) => (pair && i >= b ? 1 : 0));
}

export function plainTokens(words) {
  return describe(words, () => 0);
}

function describe(text, segmentOf) {
  let word = -1;
  const classes = text.map((each) => (each === "[CLS]" ? 0 : each === "[SEP]" || each === "</s>" ? 1 : /^<.*>$/.test(each) ? 2 : /^[.,;!?。、]$/.test(each) ? 3 : 4));
  const continues = text.map((each) => (each.startsWith("##") ? 1 : 0));
  return {
    text,
    class: classes,
    segment: text.map((_, i) => segmentOf(i)),
    word: text.map((_, i) => (classes[i] <= 2 ? -1 : continues[i] ? word : ++word)),
    continues,
  };
}

function half(value) {
  const f = new Float32Array([value]);
  const bits = new Uint32Array(f.buffer)[0];
  const sign = (bits >>> 16) & 0x8000;
  const exponent = ((bits >>> 23) & 255) - 112;
  if (exponent <= 0) return sign;
  if (exponent >= 31) return sign | 0x7bff;
  const rounded = ((exponent << 10) | ((bits >>> 13) & 1023)) + ((bits >>> 12) & 1);
  return sign | rounded;
}

const patterns = ["next word", "previous word", "delimiter", "same word", "bag of words", "first token", "other sentence", null];

/** q and k of one head whose scores peak where its pattern says. */
function headVectors(pattern, tokens, keyTokens, dim, rng) {
  const [t, s] = [tokens.text.length, keyTokens.text.length];
  const q = new Float32Array(t * dim);
  const k = new Float32Array(s * dim);
  const pairs = Math.floor(dim / 2);
  const word = (text) => {
    const r = random([...text].reduce((sum, c) => sum * 31 + c.codePointAt(0), 7));
    return Array.from({ length: dim }, () => r() - 0.5);
  };
  const shift = pattern === "next word" ? 1 : pattern === "previous word" ? -1 : 0;
  const target = (j) =>
    pattern === "delimiter" ? keyTokens.class[j] === 1 : pattern === "first token" ? j === 0 : false;
  const sign = (segment) => (segment ? 1 : -1);
  for (let i = 0; i < t; i++) {
    const own = word(tokens.text[i]);
    for (let n = 0; n < dim; n++) {
      let value = (rng() - 0.5) * 0.6;
      if (shift !== 0 && n < pairs * 2) {
        const w = Math.PI * 2 ** (-(n >> 1) / (pairs / 7));
        value += 1.1 * (n & 1 ? Math.sin(w * (i + shift)) : Math.cos(w * (i + shift)));
      } else if (pattern === "same word") value += 5 * own[n];
      else if (pattern === "delimiter" || pattern === "first token") value += n % 3 === 0 ? 1.4 : 0;
      else if (pattern === "other sentence") value += n % 4 === 0 ? -1.1 * sign(tokens.segment[i]) : 1.2 * own[n];
      else if (pattern === null) value += 1.6 * own[n];
      q[i * dim + n] = value;
    }
  }
  for (let j = 0; j < s; j++) {
    const own = word(keyTokens.text[j]);
    for (let n = 0; n < dim; n++) {
      let value = (rng() - 0.5) * 0.6;
      if (shift !== 0 && n < pairs * 2) {
        const w = Math.PI * 2 ** (-(n >> 1) / (pairs / 7));
        value += 1.1 * (n & 1 ? Math.sin(w * j) : Math.cos(w * j));
      } else if (pattern === "same word") value += 3 * own[n];
      else if (pattern === "delimiter" || pattern === "first token") value += n % 3 === 0 ? (target(j) ? 1.5 : -0.3) : 0;
      else if (pattern === "other sentence") value += n % 4 === 0 ? sign(keyTokens.segment[j]) : 1.2 * own[n];
      else if (pattern === null) value += 2.2 * own[n];
      k[j * dim + n] = value;
    }
  }
  return { q, k };
}

function softmaxMap(q, k, t, s, dim, scaling, causal) {
  const map = new Float32Array(t * s);
  for (let i = 0; i < t; i++) {
    let sum = 0;
    for (let j = 0; j < s; j++) {
      if (causal && j > i + s - t) continue;
      let score = 0;
      for (let n = 0; n < dim; n++) score += q[i * dim + n] * k[j * dim + n];
      sum += map[i * s + j] = Math.exp(score * scaling);
    }
    for (let j = 0; j < s; j++) map[i * s + j] /= sum;
  }
  return map;
}

function pool(map, t, s) {
  const [rows, columns] = [Math.min(28, t), Math.min(28, s)];
  const out = new Uint8Array(rows * columns);
  for (let i = 0; i < t; i++) {
    for (let j = 0; j < s; j++) {
      const at = Math.floor((i * rows) / t) * columns + Math.floor((j * columns) / s);
      out[at] = Math.max(out[at], Math.min(255, Math.round(255 * map[i * s + j])));
    }
  }
  return { out, rows, columns };
}

class Buffers {
  table = {};
  chunks = [];
  size = 0;
  add(name, array, dtype, shape, extra = {}) {
    let bytes = Buffer.from(array.buffer, array.byteOffset, array.byteLength);
    const item = { uint16: 2, float16: 2, float32: 4 }[dtype] ?? 1;
    if (item > 1) {
      const planes = Buffer.alloc(bytes.length);
      const count = bytes.length / item;
      for (let i = 0; i < count; i++) for (let p = 0; p < item; p++) planes[p * count + i] = bytes[i * item + p];
      bytes = planes;
    }
    const stored = deflateRawSync(bytes, { level: 6 });
    this.table[name] = { dtype, shape, offset: this.size, bytes: stored.length, codec: "deflate", planes: item > 1, ...extra };
    this.chunks.push([name, stored]);
    this.size = Math.ceil((this.size + stored.length) / 8) * 8;
    return { buffer: name };
  }
}

/** One part; `layerCount` layers of `heads` heads. Thumbnails of long texts come from the first layer's arithmetic only where asked. */
export function makePart(buffers, { kind = "encoder", query, key = null, layerCount = 6, heads = 12, groups = heads, dim = 32, causal = false, encoding = "maps", seed = 1, prefix = "", rotary = false, whole = true }) {
  const keyTokens = key ?? query;
  const [t, s] = [query.text.length, keyTokens.text.length];
  const rng = random(seed);
  const scaling = 1 / Math.sqrt(dim);
  const [rows, columns] = [Math.min(28, t), Math.min(28, s)];
  const thumbs = new Uint8Array(layerCount * heads * rows * columns);
  const labels = [];
  const per_layer = [];
  for (let layer = 0; layer < layerCount; layer++) {
    const q = new Float32Array(heads * t * dim);
    const k = new Float32Array(groups * s * dim);
    const codes = encoding === "maps" || encoding === "both" ? new Uint16Array(heads * t * s) : null;
    for (let head = 0; head < heads; head++) {
      const pattern = patterns[Math.floor(rng() * patterns.length)];
      const made = headVectors(pattern, query, keyTokens, dim, rng);
      q.set(made.q, head * t * dim);
      const group = Math.floor(head / (heads / groups));
      if (head % (heads / groups) === 0) k.set(made.k, group * s * dim);
      const its = k.subarray(group * s * dim, (group + 1) * s * dim);
      if (whole || layer === 0) {
        const map = softmaxMap(made.q, its, t, s, dim, scaling, causal);
        thumbs.set(pool(map, t, s).out, (layer * heads + head) * rows * columns);
        if (codes) for (let i = 0; i < map.length; i++) codes[head * t * s + i] = Math.round(map[i] * 2000);
      }
      if (pattern && pattern !== "bag of words" && rng() < 0.75) labels.push({ layer, head, text: pattern, score: 0.55 + 0.44 * rng() });
    }
    const halves = (values) => Uint16Array.from(values, half);
    const sendVectors = encoding !== "maps";
    per_layer.push({
      scaling,
      mask: causal ? "causal" : "none",
      bias: null,
      softcap: null,
      sinks: null,
      maps: codes ? buffers.add(`${prefix}w${kind}${layer}`, codes, "uint16", [heads, t, s], { scale: 1 / 2000 }) : null,
      q: sendVectors ? buffers.add(`${prefix}q${kind}${layer}`, halves(q), "float16", [heads, t, dim]) : null,
      k: sendVectors ? buffers.add(`${prefix}k${kind}${layer}`, halves(k), "float16", [groups, s, dim]) : null,
    });
  }
  return {
    kind,
    layers: per_layer.map((_, layer) => layer),
    heads,
    groups,
    dim,
    query,
    key,
    encoding: encoding === "maps" ? "maps" : "qk",
    per_layer,
    thumbnails: { ...buffers.add(`${prefix}t${kind}`, thumbs, "uint8", [layerCount, heads, rows, columns]), size: [rows, columns] },
    labels,
    why_no_qk: encoding === "maps" ? "This page carries weights only: make it with hs.neuron_view(reading) to see q and k." : null,
    rotary,
  };
}

export function makeTable(buffers, kind, layerCount, heads, seed = 9) {
  const rng = random(seed);
  const column = (name, scale, make, note) => ({
    name,
    buffer: buffers.add(`c_${name}`, Float32Array.from({ length: layerCount * heads }, make), "float32", [layerCount, heads]).buffer,
    scale,
    note,
  });
  return {
    kind,
    layers: Array.from({ length: layerCount }, (_, i) => i),
    heads,
    columns: [
      column("previous_word", "sequential", () => rng() ** 4, "Mean weight on the word before."),
      column("entropy", "sequential", () => 0.5 + 3 * rng(), "Mean entropy of a row, in nats."),
      column("change", "diverging", () => rng() - 0.5, "This model less the other."),
    ],
  };
}

export function makeHeader(buffers, rest) {
  return { version: 1, model: "synthetic-bert", caption: "synthetic-bert · the quick student went to the store", theme: "auto", ...rest, buffers: buffers.table };
}

export { Buffers };

/** The container as bytes. */
export function toBytes(header, buffers) {
  const json = Buffer.from(JSON.stringify(header));
  const start = Math.ceil((8 + json.length) / 8) * 8;
  const bytes = Buffer.alloc(start + buffers.size);
  bytes.write("HSV1", 0, "latin1");
  bytes.writeUInt32LE(json.length, 4);
  json.copy(bytes, 8);
  for (const [name, chunk] of buffers.chunks) chunk.copy(bytes, start + buffers.table[name].offset);
  return bytes;
}

/** The container as an element of a page. */
export function toElement(header, buffers) {
  const json = JSON.stringify(header).replaceAll("<", "\\u003c");
  const scripts = buffers.chunks.map(([name, chunk]) => `<script type="application/octet-stream" data-buffer="${name}">${chunk.toString("base64")}</script>`);
  return `<div data-headscope><script type="application/json" data-header>${json}</script>${scripts.join("\n")}</div>`;
}
