/** Behaviours of a head: its points with their texts, and a behaviour in a line. */
import { describe, expect, it } from "vitest";
import { named } from "../src/more/heads/atlas/behaviours";
import { Behaviours } from "../src/protocol/atlas";
import type { BehavioursHeader } from "../src/protocol/types";
import type { Reading } from "../src/protocol/reading";

const columns: Record<string, number[]> = {
  position: [0, 1, 1], behaviour: [0, 1, 0], key: [3, 9, 2], key_token: [1, 2, 0], plane: [1, 2, 3, 4, 0.5, 5, 6, 7, 8, 0.25, 0, 0, 0, 0, 1],
  tokens: [0, 3, 4], document: [7, 8], query: [4, 11], start: [3, 11],
};
const at = (name: string) => ({ buffer: name });
const header = {
  axes: "PCA", total: 2, heads: [[], []], counts: [2, 1], words: ["a", "##b", "c"],
  ...Object.fromEntries(["position", "behaviour", "key", "key_token", "plane"].map((name) => [name, at(name)])),
  texts: { starts: [0, 2, 3], ...Object.fromEntries(["tokens", "document", "query", "start"].map((name) => [name, at(name)])) },
} as unknown as BehavioursHeader;

describe("the points of a head", () => {
  it("have their own text, weights and places", async () => {
    const found = new Behaviours(header, { numbers: (name: string) => Promise.resolve(Float32Array.from(columns[name])) } as unknown as Reading);
    await found.load();
    const [first, second] = found.points(0);
    expect(first).toMatchObject({ behaviour: 0, query: [1, 2], key: [3, 4], weight: 0.5, document: 7, at: [4, 3], keyToken: "##b" });
    expect(first.tokens).toEqual([{ place: 3, text: "a", continues: false, special: false }, { place: 4, text: "##b", continues: true, special: false }]);
    expect(second).toMatchObject({ behaviour: 1, document: 8, at: [11, 9], keyToken: "c" });
    expect(found.points(1)).toHaveLength(1);
  });
});

describe("a behaviour in a line", () => {
  const plain = { share: 0.62, label: "", score: null, lift: null, weight: 0.5, keys: ["the", "a"] };
  it("has its share with the label and its lift, else with its most frequent keys", () => {
    expect(named({ ...plain, label: "previous word", score: 0.8, lift: 12.25 })).toMatch(/^62 % previous word \(lift 12\.2/);
    expect(named(plain)).toBe("62 % to “the”, “a”");
  });
});
