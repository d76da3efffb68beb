import { describe, expect, it } from "vitest";
import type { Instrument } from "../src/instrument/instrument";
import type { PredictReply } from "../src/protocol/app";
import { inShort } from "../src/hosts/app/later/off_strip";
import { titleOf } from "../src/hosts/app/later/title";

const answer = (title: string, before: [string, number][], after: [string, number][]) => ({
  title,
  position: 0,
  before: before.map(([token, probability]) => ({ token, probability })),
  after: after.map(([token, probability]) => ({ token, probability })),
});
const reply = (...places: ReturnType<typeof answer>[]) => ({ places, note: null }) as unknown as PredictReply;

describe("the strip of a switched-off head", () => {
  it("shows the words that change most", () => {
    const found = reply(answer("next token", [["cat", 0.47], ["dog", 0.26], ["rat", 0.04]], [["dog", 0.34], ["cat", 0.26], ["rat", 0.04]]));
    expect(inShort(found)).toBe("cat 47 → 26 % · dog 26 → 34 %");
  });

  it("shows a word that takes the place of those before, and one that falls out of the list", () => {
    const found = reply(answer("next token", [["cat", 0.47], ["dog", 0.2]], [["house", 0.6], ["dog", 0.2]]));
    expect(inShort(found)).toBe("house rank 6 or lower → 60 % · cat 47 % → rank 6 or lower");
  });

  it("names the answer that it is of, where there are several", () => {
    const found = reply(answer("token 3", [["cat", 0.5]], [["cat", 0.4]]), answer("token 7", [["dog", 0.5]], [["dog", 0.1]]));
    expect(inShort(found)).toBe("token 3: cat 50 → 40 %");
  });

  it("says nothing before the answer is there", () => expect([null, "asking the model…"].map(inShort)).toEqual(["", ""]));
});

describe("the title of a picture", () => {
  const shown = (view: string, chips: string, heads: number[] | null, overview = false) =>
    titleOf({ state: { view, layer: 2, head: 6, heads }, definitionNow: () => ({ title: view, chips, overview }) } as unknown as Instrument);

  it("names the heads that are drawn, and no others", () => {
    expect(shown("head", "many", [6])).toBe("head, head 2-6");
    expect(shown("head", "many", [1, 6])).toBe("head, heads 2-1, 2-6");
    expect(shown("text", "many", null)).toBe("text, layer 2");
    expect(shown("head", "many", [])).toBe("head, no head");
    expect(shown("matrix", "one", null)).toBe("matrix, head 2-6");
    expect(shown("neuron", "none", null)).toBe("neuron, head 2-6");
  });

  it("names no head where the picture is of the whole model", () => {
    expect(shown("model", "none", [6], true)).toBe("model");
    expect(shown("prediction", "none", [6])).toBe("prediction");
  });
});
