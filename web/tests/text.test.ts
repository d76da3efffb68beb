import { describe, expect, it, vi } from "vitest";
import { decodeLayer, headMap } from "../src/protocol/layer";
import { HeadRows } from "../src/protocol/rows";
import type { Layer, Part, Source, Tokens } from "../src/protocol/types";
import { unitsOf } from "../src/protocol/units";

// Letters ten pixels wide: the layout's own rules are tested, not a font.
vi.mock("../src/render/text", () => ({ textWidth: (text: string) => 10 * [...text].length }));
const { layout } = await import("../src/views/text/layout");
const { piecesOf } = await import("../src/views/text/pieces");
const { topOf } = await import("../src/render/strong_list");
const { shared, spread } = await import("../src/views/text/weights");
const { moved } = await import("../src/views/text/walk");

function tokensOf(written: string[]): Tokens {
  const count = written.length;
  return {
    text: written.map((each) => each.trim()),
    class: new Array<number>(count).fill(4),
    segment: new Array<number>(count).fill(0),
    word: written.map((_, i) => i),
    continues: new Array<number>(count).fill(0),
    written,
  };
}

function linesOf(written: string[], room: number): string[] {
  const tokens = tokensOf(written);
  let count = 0;
  const pieces = piecesOf(tokens, unitsOf(tokens, "tokens", "shown"), () => ({ query: count, key: count++ }));
  const placed = layout(pieces, room);
  return placed.lines.map(({ start, end, indent }) => indent + pieces.slice(start, end).map((piece, i) => (i ? piece.gap : "") + piece.text).join(""));
}

describe("running text", () => {
  it("is broken between words and never inside one", () => {
    expect(linesOf(["fresh", " straw", "berries", " and", " milk"], 120)).toEqual(["fresh", "strawberries", "and milk"]);
  });
  it("keeps the lines and the indent of code", () => {
    expect(linesOf(["def", " f", "():", "\n    return", " 1", "\n\n", "x"], 400)).toEqual(["def f():", "    return 1⏎", "x"]);
  });
  it("breaks between ideographs but not before their full stop", () => {
    expect(linesOf(["今日", "は", "天気", "。", "良い"], 50)).toEqual(["今日は", "天気。良い"]);
    expect(linesOf(["今日", "は天", "気", "。"], 50)).toEqual(["今日は天", "気。"]);
  });
  it("cuts a word that is longer than a line", () => {
    expect(linesOf(["aaaa", "bbbb", "cccc"], 90)).toEqual(["aaaabbbb", "cccc"]);
  });
  it("is walked word by word and line by line", () => {
    const tokens = tokensOf(["one", " two", "\nthree", " four"]);
    let count = 0;
    const pieces = piecesOf(tokens, unitsOf(tokens, "tokens", "shown"), () => ({ query: count, key: count++ }));
    const placed = layout(pieces, 400);
    expect(moved("ArrowRight", 0, pieces, placed, "query", false)).toBe(1);
    expect(moved("ArrowRight", 1, pieces, placed, "query", true)).toBe(0);
    expect(moved("ArrowDown", 0, pieces, placed, "query", false)).toBe(2);
    expect(moved("a", 0, pieces, placed, "query", false)).toBeNull();
  });
});

describe("a sample of queries", () => {
  it("is every query of a short text, spread over a long one, fewer for many heads", () => {
    expect(spread(5, 1)).toEqual([0, 1, 2, 3, 4]);
    expect(spread(1000, 1)).toHaveLength(1000);
    expect(spread(1000, 32, 256_000)).toEqual([62, 187, 312, 437, 562, 687, 812, 937]);
  });
  it("leaves no rhythm of its own in what lies near its queries", () => {
    for (const step of [2, 3, 4]) {
      const found = shared(Float32Array.from({ length: 40 }, (_, i) => Number(i % step === 1)), step);
      for (const value of found.subarray(step, 40 - step)) expect(value).toBeCloseTo(1 / step, 6);
    }
  });
});

describe("the strongest of many", () => {
  it("come in order, and nothing that weighs nothing", () => {
    expect(topOf(Float32Array.from([0.1, 0, 0.5, 0.3]), 3)).toEqual([2, 3, 0]);
    expect(topOf(Float32Array.from([0, 0.2]), 5)).toEqual([1]);
  });
});

describe("rows and columns of a head", () => {
  const [t, dim] = [7, 4];
  const numbers = (seed: number) => Float32Array.from({ length: t * dim }, (_, i) => Math.sin(seed + 1.7 * i));
  const stored = { q: numbers(1), k: numbers(2) };
  const source = {
    header: { buffers: Object.fromEntries(Object.keys(stored).map((name) => [name, { dtype: "float32", shape: [1, t, dim], codec: "raw" }])) },
    buffer: (name: "q" | "k") => Promise.resolve(new Uint8Array(stored[name].buffer)),
  } as unknown as Source;
  const part = { heads: 1, groups: 1, dim, query: { text: new Array<string>(t).fill("x") }, key: null } as unknown as Part;
  const layer: Layer = { scaling: 0.5, mask: "causal", q: { buffer: "q" }, k: { buffer: "k" } };

  it("are those of its whole map", async () => {
    const data = await decodeLayer(source, part, layer);
    const map = await headMap(data, 0);
    const rows = new HeadRows(data, 0);
    expect([...rows.row(3)]).toEqual([...map.subarray(3 * t, 4 * t)]);
    const column = await rows.column(2, null);
    column.forEach((weight, query) => expect(weight).toBeCloseTo(map[query * t + 2], 6));
  });

  it("are made to sum to one over the keys that are shown", async () => {
    const data = await decodeLayer(source, part, layer);
    const map = await headMap(data, 0);
    const shown = Uint8Array.from([0, 1, 1, 1, 1, 1, 1]);
    const column = await new HeadRows(data, 0).column(2, shown);
    for (let query = 2; query < t; query++) expect(column[query]).toBeCloseTo(map[query * t + 2] / (1 - map[query * t]), 5);
  });
});
