import { describe, expect, it } from "vitest";
import { decodeLayer, headMap } from "../src/protocol/layer";
import { Reading } from "../src/protocol/reading";
import type { BufferEntry, Header, Layer, Part, Source, Tokens } from "../src/protocol/types";

const tokens = (count: number): Tokens => ({
  text: Array.from({ length: count }, (_, i) => `t${i}`),
  class: new Array<number>(count).fill(4),
  segment: new Array<number>(count).fill(0),
  word: Array.from({ length: count }, (_, i) => i),
  continues: new Array<number>(count).fill(0),
});

function sourceOf(part: Part, buffers: Record<string, { entry: Partial<BufferEntry>; data: ArrayBufferView }>): Source {
  const table = Object.fromEntries(
    Object.entries(buffers).map(([name, { entry, data }]) => [name, { dtype: "float32" as const, shape: [], offset: 0, bytes: data.byteLength, codec: "raw" as const, ...entry }]),
  );
  const header: Header = { version: 1, view: "head", model: "m", parts: [part], buffers: table };
  return {
    header,
    buffer: (name) => Promise.resolve(new Uint8Array(buffers[name].data.buffer as ArrayBuffer, buffers[name].data.byteOffset, buffers[name].data.byteLength)),
  };
}

/** One buffer behind its header, as it comes over a wire. */
function packed(source: Source, data: Float32Array): Promise<Uint8Array> {
  const header = new TextEncoder().encode(JSON.stringify(source.header));
  const start = Math.ceil((8 + header.length) / 8) * 8;
  const bytes = new Uint8Array(start + data.byteLength);
  bytes.set([0x48, 0x53, 0x56, 0x31]);
  new DataView(bytes.buffer).setUint32(4, header.length, true);
  bytes.set(header, 8);
  bytes.set(new Uint8Array(data.buffer), start);
  return Promise.resolve(bytes);
}

const layerOf = (change: Partial<Layer>): Layer => ({ scaling: 0.5, mask: "none", ...change });
const partOf = (change: Partial<Part>): Part => ({
  kind: "decoder",
  layers: [0],
  heads: 4,
  groups: 2,
  dim: 3,
  query: tokens(5),
  key: null,
  encoding: "qk",
  per_layer: [],
  ...change,
});

const values = (count: number, step: number) => Float32Array.from({ length: count }, (_, i) => Math.sin(i * step) * 2);

function softmax(scores: number[]): number[] {
  const exps = scores.map((score) => Math.exp(score));
  const sum = exps.reduce((a, b) => a + b, 0);
  return exps.map((each) => each / sum);
}

describe("a layer sent as q and k", () => {
  const q = values(4 * 5 * 3, 1.3);
  const k = values(2 * 5 * 3, 0.7);
  const score = (head: number, i: number, j: number) => {
    const group = Math.floor(head / 2);
    let sum = 0;
    for (let n = 0; n < 3; n++) sum += q[(head * 5 + i) * 3 + n] * k[(group * 5 + j) * 3 + n];
    return 0.5 * sum;
  };
  const buffers = { q: { entry: { shape: [4, 5, 3] }, data: q }, k: { entry: { shape: [2, 5, 3] }, data: k } };

  it("lets two query heads share one key head", async () => {
    const layer = layerOf({ q: { buffer: "q" }, k: { buffer: "k" } });
    const part = partOf({ per_layer: [layer] });
    const data = await decodeLayer(sourceOf(part, buffers), part, layer);
    for (const head of [0, 1, 2, 3]) {
      const map = await headMap(data, head);
      for (let i = 0; i < 5; i++) {
        const truth = softmax([0, 1, 2, 3, 4].map((j) => score(head, i, j)));
        truth.forEach((weight, j) => expect(map[i * 5 + j]).toBeCloseTo(weight, 6));
      }
    }
  });

  it("adds a relative bias at the distance from query to key", async () => {
    const bias = values(4 * 9, 2.1);
    const layer = layerOf({ q: { buffer: "q" }, k: { buffer: "k" }, bias: { buffer: "b", form: "relative" } });
    const part = partOf({ per_layer: [layer] });
    const data = await decodeLayer(sourceOf(part, { ...buffers, b: { entry: { shape: [4, 9] }, data: bias } }), part, layer);
    const map = await headMap(data, 3);
    const truth = softmax([0, 1, 2, 3, 4].map((j) => score(3, 1, j) + bias[3 * 9 + (j - 1 + 4)]));
    truth.forEach((weight, j) => expect(map[5 + j]).toBeCloseTo(weight, 6));
  });

  it("adds a dense bias shared by all heads", async () => {
    const bias = values(25, 0.9);
    const layer = layerOf({ q: { buffer: "q" }, k: { buffer: "k" }, bias: { buffer: "b", form: "dense" } });
    const part = partOf({ per_layer: [layer] });
    const data = await decodeLayer(sourceOf(part, { ...buffers, b: { entry: { shape: [1, 5, 5] }, data: bias } }), part, layer);
    const truth = softmax([0, 1, 2, 3, 4].map((j) => score(2, 4, j) + bias[20 + j]));
    const map = await headMap(data, 2);
    truth.forEach((weight, j) => expect(map[20 + j]).toBeCloseTo(weight, 6));
  });

  it("takes each head's own mask of bits and sink", async () => {
    const bits = new Uint8Array(13);
    const seen = (head: number, i: number, j: number) => (head + i + j) % 3 !== 0;
    for (let at = 0; at < 100; at++) {
      const [head, i, j] = [Math.floor(at / 25), Math.floor((at % 25) / 5), at % 5];
      if (seen(head, i, j)) bits[at >> 3] |= 1 << (at & 7);
    }
    const sinks = Float32Array.of(0.1, 0.2, 0.3, 0.4);
    const layer = layerOf({ q: { buffer: "q" }, k: { buffer: "k" }, mask: { buffer: "m" }, sinks: { buffer: "s" } });
    const part = partOf({ per_layer: [layer] });
    const all = { ...buffers, m: { entry: { dtype: "bit" as const, shape: [4, 5, 5] }, data: bits }, s: { entry: { shape: [4] }, data: sinks } };
    const map = await headMap(await decodeLayer(sourceOf(part, all), part, layer), 2);
    const exps = [0, 1, 2, 3, 4].map((j) => (seen(2, 3, j) ? Math.exp(score(2, 3, j)) : 0));
    const sum = exps.reduce((a, b) => a + b, Math.exp(sinks[2]));
    exps.forEach((each, j) => expect(map[15 + j]).toBeCloseTo(each / sum, 6));
  });

  it("in pieces gives the heads it has, and names the call for the others", async () => {
    const layer = layerOf({ pieces: [{ heads: [3], q: { buffer: "q3" }, k: { buffer: "k1" } }] });
    const part = partOf({ per_layer: [layer] });
    const some = {
      q3: { entry: { shape: [1, 5, part.dim] }, data: q.subarray(3 * 5 * part.dim) },
      k1: { entry: { shape: [1, 5, part.dim] }, data: k.subarray(5 * part.dim) },
    };
    const reading = new Reading(sourceOf(part, some));
    const map = await reading.map("decoder", 0, 3);
    const truth = softmax([0, 1, 2, 3, 4].map((j) => score(3, 2, j)));
    truth.forEach((weight, j) => expect(map[10 + j]).toBeCloseTo(weight, 6));
    await expect(reading.map("decoder", 0, 2)).rejects.toThrow("hs.head_view(reading, layer=0, heads=[2])");
  });

  it("that comes head by head is fetched for each head once", async () => {
    const asked: number[] = [];
    const layer = layerOf({});
    const part = partOf({ per_layer: [layer] });
    const source = sourceOf(part, {});
    source.fetchLayer = (_, __, head) => {
      asked.push(head);
      const piece = layerOf({ pieces: [{ heads: [head], maps: { buffer: "w" } }] });
      const data = new Float32Array(25).fill(head);
      return packed(sourceOf(partOf({ per_layer: [piece] }), { w: { entry: { shape: [1, 5, 5] }, data } }), data);
    };
    const reading = new Reading(source);
    expect((await reading.map("decoder", 0, 1))[0]).toBe(1);
    expect((await reading.map("decoder", 0, 2))[0]).toBe(2);
    await reading.layer("decoder", 0, 1);
    await reading.layer("decoder", 0, 2);
    expect(asked).toEqual([1, 2]);
  });
});

describe("a layer sent as maps", () => {
  it("is its codes times their scale, and is right to half a step", async () => {
    const weights = Array.from({ length: 50 }, (_, i) => ((i * 37) % 101) / 101);
    const codes = Uint16Array.from(weights, (weight) => Math.round(weight / 0.001));
    const layer = layerOf({ maps: { buffer: "w" } });
    const part = partOf({ heads: 2, per_layer: [layer] });
    const reading = new Reading(sourceOf(part, { w: { entry: { dtype: "uint16", shape: [2, 5, 5], scale: 0.001 }, data: codes } }));
    const map = await reading.map("decoder", 0, 1);
    map.forEach((weight, i) => expect(Math.abs(weight - weights[25 + i])).toBeLessThanOrEqual(5.01e-4));
    expect(reading.peek("decoder", 0, 1)).toBe(map);
    expect(reading.peek("decoder", 0, 0)).toBeNull();
  });

  it("that is absent and cannot be fetched says so", async () => {
    const part = partOf({ per_layer: [layerOf({})] });
    await expect(new Reading(sourceOf(part, {})).map("decoder", 0, 0)).rejects.toThrow("Head 0-0 is only a thumbnail in this file");
  });
});
