import { describe, expect, it } from "vitest";
import { groupsOf, spanOf, sumsBySpan } from "../src/protocol/spans";
import type { Part, Tokens } from "../src/protocol/types";
import { unitsOf } from "../src/protocol/units";

const tokens: Tokens = {
  text: ["<s>", "Ada", "##line", "lives", "Who", "?", "<a>", "Ada", "."],
  class: [2, 4, 4, 4, 4, 3, 2, 4, 3],
  segment: [0, 0, 0, 0, 0, 0, 0, 0, 0],
  word: [-1, 0, 0, 1, 2, 3, -1, 4, 5],
  continues: [0, 0, 1, 0, 0, 0, 0, 0, 0],
};
const part = {
  spans: [
    { name: "user 1", start: 1, end: 1 },
    { name: "document 1", start: 1, end: 4 },
    { name: "user 1", start: 4, end: 6 },
    { name: "answer", start: 7, end: 9 },
  ],
} as unknown as Part;

describe("spans of a conversation", () => {
  it("are runs of tokens or of words; the template's tokens belong to none", () => {
    const whole = unitsOf(tokens, "tokens", "shown");
    expect(groupsOf(whole, part)).toEqual([
      { name: "document 1", start: 1, end: 4 },
      { name: "user 1", start: 4, end: 6 },
      { name: "answer", start: 7, end: 9 },
    ]);
    const words = groupsOf(unitsOf(tokens, "words", "hidden"), part);
    expect(words.map(({ start, end }) => [start, end])).toEqual([[0, 2], [2, 4], [4, 6]]);
    expect([spanOf(words, 3), spanOf(groupsOf(whole, part), 6)]).toEqual(["user 1", ""]);
  });

  it("sum what one query, the answer, or the last token gives them", () => {
    const units = unitsOf(tokens, "tokens", "shown");
    const groups = groupsOf(units, part);
    const map = Float32Array.from({ length: 81 }, (_, i) => (Math.floor(i / 9) === i % 9 ? 0.5 : 0.0625));
    const answer = groups.filter(({ name }) => name === "answer");
    expect(sumsBySpan(map, 9, groups, 2, answer).get("document 1")).toBeCloseTo(0.625);
    expect(sumsBySpan(map, 9, groups, -1, answer).get("answer")).toBeCloseTo(0.5625);
    expect(sumsBySpan(map, 9, groups, -1, []).get("user 1")).toBeCloseTo(0.125);
  });
});
