import { describe, expect, it } from "vitest";
import type { Tokens } from "../src/protocol/types";
import { isRightToLeft, passes, project, unitOf, unitsOf } from "../src/protocol/units";

const tokens: Tokens = {
  text: ["[CLS]", "fresh", "straw", "##berries", "[SEP]", "we", "ate", "[SEP]"],
  class: [0, 4, 4, 4, 1, 4, 4, 1],
  segment: [0, 0, 0, 0, 0, 1, 1, 1],
  word: [-1, 0, 1, 1, -1, 2, 3, -1],
  continues: [0, 0, 0, 1, 0, 0, 0, 0],
};
const map = Float32Array.from({ length: 64 }, (_, i) => (i % 8) / 28);

describe("units", () => {
  it("are tokens, or words with their pieces joined", () => {
    expect(unitsOf(tokens, "tokens", "shown").map((unit) => unit.text)).toEqual(tokens.text);
    expect(unitsOf(tokens, "words", "shown").map((unit) => unit.text)).toEqual(["[CLS]", "fresh", "strawberries", "[SEP]", "we", "ate", "[SEP]"]);
    expect(unitsOf(tokens, "words", "hidden").map((unit) => unit.text)).toEqual(["fresh", "strawberries", "we", "ate"]);
  });

  it("know which of them holds a token", () => {
    const words = unitsOf(tokens, "words", "hidden");
    expect(unitOf(words, 3)).toBe(1);
    expect(unitOf(words, 0)).toBe(-1);
    expect(unitOf(words, null)).toBe(-1);
  });
});

describe("a map of units", () => {
  it("is the map itself for whole tokens", () => {
    const units = unitsOf(tokens, "tokens", "shown");
    expect(project(map, 8, units, units, false)).toBe(map);
  });

  it("sums over a key's pieces and averages over a query's", () => {
    const words = unitsOf(tokens, "words", "shown");
    const out = project(map, 8, words, words, false);
    expect(out[2 * 7 + 2]).toBeCloseTo((2 + 3) / 28, 6);
    expect(out.subarray(2 * 7, 3 * 7).reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 6);
  });

  it("leaves specials out, and rows sum to one again when asked for", () => {
    const words = unitsOf(tokens, "words", "hidden");
    const hidden = project(map, 8, words, words, false);
    expect(hidden.subarray(0, 4).reduce((sum, value) => sum + value, 0)).toBeCloseTo((1 + 2 + 3 + 5 + 6) / 28, 6);
    const renormalised = project(map, 8, words, words, true);
    expect(renormalised.subarray(0, 4).reduce((sum, value) => sum + value, 0)).toBeCloseTo(1, 6);
    expect(renormalised[0] / renormalised[3]).toBeCloseTo(1 / 6, 5);
  });
});

describe("the sentence filter", () => {
  const units = unitsOf(tokens, "tokens", "shown");
  it("lets only its own direction pass", () => {
    expect(passes("ab", units[1], units[5])).toBe(true);
    expect(passes("ab", units[5], units[1])).toBe(false);
    expect(passes("bb", units[5], units[6])).toBe(true);
    expect(passes("all", units[5], units[1])).toBe(true);
  });
});

it("right-to-left text is known by its letters", () => {
  expect(isRightToLeft({ ...tokens, text: ["ذهبت", "إلى", "المتجر"] })).toBe(true);
  expect(isRightToLeft(tokens)).toBe(false);
});
