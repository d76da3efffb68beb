/** Examples of an atlas: where a query and its keys stand, within one text and across two. */
import { describe, expect, it } from "vitest";
import { leftOut } from "../src/more/heads/atlas/charts";
import { isSpaceOf, touches } from "../src/more/heads/atlas/spelled";
import { AtlasData } from "../src/protocol/atlas";
import type { AtlasHeader, Token } from "../src/protocol/atlas";
import type { Reading } from "../src/protocol/reading";

const words = Array.from({ length: 40 }, (_, i) => `w${i}`);

/** A text of forty words of which all travelled. */
const texts = (prefix: string) => ({ words, starts: [0, 40], lengths: [40], tokens: { buffer: `${prefix}_tokens` }, positions: { buffer: `${prefix}_places` }, flags: { buffer: `${prefix}_flags` } });

async function opened(across: boolean): Promise<AtlasData> {
  const counting = Float32Array.from({ length: 40 }, (_, i) => i);
  const numbers: Record<string, Float32Array> = {
    measure: Float32Array.of(0), decile: Float32Array.of(0), document: Float32Array.of(0), query: Float32Array.of(14), value: Float32Array.of(0.9),
    keys: Float32Array.of(35, 65535), weights: Float32Array.of(0.9, 0),
  };
  for (const prefix of ["t", "k"]) Object.assign(numbers, { [`${prefix}_tokens`]: counting, [`${prefix}_places`]: counting, [`${prefix}_flags`]: new Float32Array(40) });
  const columns = Object.fromEntries(Object.keys(numbers).map((name) => [name, { buffer: name }]));
  const header = { measures: [{ name: "confidence", title: "confidence" }], ablations: [], heads: [], kinds: [], counts: [1], examples: { width: 2, numbers: [7], ...columns }, texts: texts("t"), key_texts: across ? texts("k") : null } as unknown as AtlasHeader;
  const data = new AtlasData(header, { numbers: (name: string) => Promise.resolve(numbers[name]) } as unknown as Reading);
  await data.load();
  return data;
}

const places = (tokens: ({ place: number } | null)[]) => tokens.map((token) => token?.place ?? null);
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

describe("the excerpt of an example", () => {
  it("holds the query, its neighbours and a key far away", async () => {
    const data = await opened(false);
    const excerpt = data.excerpt(data.all(0)[0])!;
    expect(places(excerpt.asked)).toEqual([null, ...range(2, 26), null, ...range(33, 37), null]);
    expect(excerpt.keys).toBeNull();
  });

  it("holds the keys of cross attention in a text of their own", async () => {
    const data = await opened(true);
    const excerpt = data.excerpt(data.all(0)[0])!;
    expect(places(excerpt.asked)).toEqual([null, ...range(2, 26), null]);
    expect(places(excerpt.keys!)).toEqual([null, ...range(33, 37), null]);
  });
});

describe("an example as text", () => {
  it("leaves out the space before a number, and no space that stands alone", () => {
    const token = (text: string, continues: boolean) => ({ place: 0, text, continues, special: false });
    expect(isSpaceOf(token("␣", false), token("7", true))).toBe(true);
    expect(isSpaceOf(token("▁", false), token("7", true))).toBe(true);
    for (const next of [token("June", false), null, undefined]) expect(isSpaceOf(token("␣", false), next)).toBe(false);
    expect(isSpaceOf(token("straw", false), token("##berries", true))).toBe(false);
  });
});

describe("the chart of offsets", () => {
  it("says how much stands further away than it shows", () => {
    expect(leftOut([[-60, 3, 1], [-1, 1, 1]], 24)).toBe("75 % are further away than 24");
    expect(leftOut([[64, 1, 1], [-1, 999, 1]], 24)).toBe("< 1 % are further away than 24");
    expect(leftOut([[-24, 1, 1]], 24)).toBe("");
  });
});

describe("spaces between tokens that keep none", () => {
  it("stand where English writes them", () => {
    const tokens = "the model ' s words ( all of them ) , then a 5 % rise .".split(" ").map((text) => ({ text }) as Token);
    const written = tokens.map(({ text }, at) => (at && !touches(tokens, at) ? ` ${text}` : text)).join("");
    expect(written).toBe("the model's words (all of them), then a 5 % rise.");
  });
});
