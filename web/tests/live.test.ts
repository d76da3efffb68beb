/** What a live page says when its model fails, and where it finds tokens in their text. */
import { describe, expect, it } from "vitest";
import { spansOf } from "../src/live/align";
import type { Spelling } from "../src/live/align";
import { Refused, failure } from "../src/live/server";

const said = (error: unknown) => JSON.parse(failure(error).body as string) as { error: string };

describe("a failure in the engine", () => {
  it.each([
    new Error("Can't run the session: ERROR_CODE: 6, ERROR_MESSAGE: std::bad_alloc"),
    new Error("Failed to allocate memory for requested buffer of size 1073741824"),
    new RangeError("Array buffer allocation failed"),
    new RangeError("Invalid typed array length: 9000000000"),
    new Error("Aborted(OOM). Build with -sASSERTIONS for more info."),
    "out of memory",
  ])("is told as a shortage of memory: %s", (error) => {
    expect(said(error).error).toBe("The browser has not enough memory for this text; give a shorter one.");
  });

  it("is told in its own words where it is another", () => {
    expect(said(new Error("input 'ids' is missing")).error).toBe("input 'ids' is missing");
    expect(said(new Refused("Type a sentence.", 400, { limit: 8 }))).toEqual({ error: "Type a sentence.", limit: 8 });
    expect(failure(new Refused("Too long.", 413)).status).toBe(413);
  });
});

describe("tokens in their text", () => {
  const covered = (text: string, tokens: string[], spells: Spelling, composes = false) => {
    const characters = [...text];
    const added = (at: number) => tokens[at] === "<mask>";
    const spans = spansOf(characters, { tokens, added, unknown: (at) => tokens[at] === "<unk>", composes }, spells);
    return spans.map(([start, end]) => characters.slice(start, end).join(""));
  };

  it("spelled in bytes stand where their bytes do, though a mask takes the blank before it", () => {
    expect(covered("the <mask> sat", ["the", "<mask>", "Ġs", "at"], "bytes")).toEqual(["the", "<mask>", " s", "at"]);
    expect(covered("the cat", ["Ġthe", "Ġcat"], "bytes")).toEqual(["the", " cat"]);
    expect(covered("é <mask> é", ["Ã©", "<mask>", "ĠÃ", "©"], "bytes")).toEqual(["é", "<mask>", " é", "é"]);
    expect(covered("e\u0301t", ["Ã©", "t"], "bytes", true)).toEqual(["e", "t"]);
  });

  it("spelled with ▁ stand where their letters do, and several bytes on one letter", () => {
    expect(covered("a 漢 b", ["▁a", "▁", "<0xE6>", "<0xBC>", "<0xA2>", "▁b"], "marks")).toEqual(["a", " ", "漢", "漢", "漢", " b"]);
    expect(covered("x <mask>  y", ["x", "<mask>", "▁▁y"], "marks")).toEqual(["x", "<mask>", "  y"]);
    expect(covered("a ☃☃ b", ["▁a", "▁", "<unk>", "▁b"], "marks")).toEqual(["a", " ", "☃☃", " b"]);
  });

  it("spelled in pieces stand in their words, whatever their case and accents", () => {
    expect(covered("Zürich ☃. ok", ["zur", "##ich", "<unk>", ".", "ok"], "pieces")).toEqual(["Zür", "ich", "☃", ".", "ok"]);
    expect(covered("한국 a", ["한", "##ᄀ", "##ᅮᆨ", "a"].map((each) => each.normalize("NFD")), "pieces")).toEqual(["한", "국", "국", "a"]);
  });
});
