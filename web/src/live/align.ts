/** The positions of tokens in their text, which the page's tokenizer does not return. */

export type Span = [start: number, end: number];

/** Byte-level vocabularies show every byte as a printable letter; this undoes it. */
const bytes = (() => {
  const printable = (byte: number) => (byte >= 33 && byte < 127) || (byte >= 161 && byte < 173) || byte >= 174;
  const table = new Map<string, number>();
  let shifted = 0;
  for (let byte = 0; byte < 256; byte++) table.set(String.fromCodePoint(printable(byte) ? byte : 256 + shifted++), byte);
  return table;
})();

/** One span per token, in characters; tokens of `added` occur in the text as spelled. */
export function spansOf(characters: string[], tokens: string[], added: (at: number) => boolean, unknown: (at: number) => boolean, spells: "bytes" | "pieces"): Span[] {
  return spells === "bytes" ? byBytes(characters, tokens, added) : byPieces(characters, tokens, added, unknown);
}

function byBytes(characters: string[], tokens: string[], added: (at: number) => boolean): Span[] {
  const encoder = new TextEncoder();
  const owner: number[] = [];
  characters.forEach((each, at) => owner.push(...Array<number>(encoder.encode(each).length).fill(at)));
  owner.push(characters.length);
  const length = (token: string, at: number) => (added(at) ? encoder.encode(token).length : [...token].filter((each) => bytes.has(each)).length);
  const total = tokens.reduce((sum, token, at) => sum + length(token, at), 0);
  // A tokenizer that puts a space before the text has one byte more than the text.
  let reached = owner.length - 1 - total;
  return tokens.map((token, at) => {
    const start = Math.max(0, reached);
    reached += length(token, at);
    const end = Math.max(start, Math.min(reached, owner.length - 1));
    const first = owner[start];
    return [first, end > start ? owner[end - 1] + 1 : first];
  });
}

const punctuation = /[\p{P}\u0024\u002b\u003c-\u003e\u005e\u0060\u007c\u007e]/u;
const cjk: [number, number][] = [[0x4e00, 0x9fff], [0x3400, 0x4dbf], [0x20000, 0x2ceaf], [0xf900, 0xfaff], [0x2f800, 0x2fa1f]];
const alone = (each: string) => punctuation.test(each) || cjk.some(([low, high]) => low <= each.codePointAt(0)! && each.codePointAt(0)! <= high);

function byPieces(characters: string[], tokens: string[], added: (at: number) => boolean, unknown: (at: number) => boolean): Span[] {
  const plain = characters.map((each) => each.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase());
  const cleaned = characters.map((each) => /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd\0]/u.test(each) && !/\s/u.test(each));
  let at = 0;
  const passBlanks = () => {
    while (at < characters.length && (/\s/u.test(characters[at]) || cleaned[at])) at++;
  };
  return tokens.map((token, number) => {
    passBlanks();
    if (added(number)) {
      const spelled = [...token];
      if (spelled.every((each, i) => characters[at + i] === each)) {
        const start = at;
        at += spelled.length;
        return [start, at];
      }
    }
    const start = at;
    if (unknown(number)) {
      // It covers a whole unknown stretch, up to a blank or a sign that is a token of its own.
      do at++;
      while (at < characters.length && !/\s/u.test(characters[at]) && !alone(characters[at]) && !alone(characters[at - 1]));
      return [start, Math.min(at, characters.length)];
    }
    let left = (token.startsWith("##") && token.length > 2 ? token.slice(2) : token.replace(/^▁/u, "")).normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase().length;
    let end = start;
    while (left > 0 && at < characters.length) {
      if (!cleaned[at]) left -= plain[at].length;
      if (plain[at] || end > start) end = at + 1;
      at++;
    }
    // A character without a form of its own (an accent) belongs to the one before it.
    while (at < characters.length && plain[at] === "" && !/\s/u.test(characters[at])) at++;
    return [start, Math.max(end, Math.min(start + 1, characters.length))];
  });
}
