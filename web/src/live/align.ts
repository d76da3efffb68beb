/** The positions of tokens in their text, which the page's tokenizer does not return. */

export type Span = [start: number, end: number];

/** How a vocabulary spells: bytes as letters, ▁ before words, or ## within them. */
export type Spelling = "bytes" | "marks" | "pieces";

export interface Spelled {
  /** Each token as the vocabulary spells it. */
  tokens: string[];
  /** Whether a token occurs in the text as spelled. */
  added: (at: number) => boolean;
  unknown: (at: number) => boolean;
  /** Whether the tokenizer composes letters with their accents. */
  composes: boolean;
}

/** Byte-level vocabularies show every byte as a printable letter; this undoes it. */
const bytes = (() => {
  const printable = (byte: number) => (byte >= 33 && byte < 127) || (byte >= 161 && byte < 173) || byte >= 174;
  const table = new Map<string, number>();
  let shifted = 0;
  for (let byte = 0; byte < 256; byte++) table.set(String.fromCodePoint(printable(byte) ? byte : 256 + shifted++), byte);
  return table;
})();

const encoder = new TextEncoder();
const isBlank = (each: string | undefined) => each !== undefined && /\s/u.test(each);

/** One span per token, in characters. */
export function spansOf(characters: string[], spelled: Spelled, spells: Spelling): Span[] {
  return { bytes: byBytes, marks: byMarks, pieces: byPieces }[spells](characters, spelled);
}

function byBytes(characters: string[], { tokens, added, composes }: Spelled): Span[] {
  const owner: number[] = [];
  const text: number[] = [];
  for (let at = 0; at < characters.length; ) {
    let next = at + 1;
    while (composes && next < characters.length && /\p{M}/u.test(characters[next])) next++;
    const [as, composed] = [characters.slice(at, next).join(""), characters.slice(at, next).join("").normalize("NFC")];
    if (as === composed) next = at + 1;
    const own = encoder.encode(as === composed ? characters[at] : composed);
    text.push(...own);
    owner.push(...Array<number>(own.length).fill(at));
    at = next;
  }
  owner.push(characters.length);
  let reached = 0;
  return tokens.map((token, number) => {
    let own = added(number) ? [...encoder.encode(token)] : [...token].map((each) => bytes.get(each) ?? 0);
    const fits = (from: number) => own.every((byte, i) => text[from + i] === byte);
    if (!fits(reached)) {
      // An added token takes the blanks beside it; a tokenizer may put one before the text.
      let next = reached;
      while (isBlank(characters[owner[next]])) next++;
      if (fits(next)) reached = next;
      else if (own[0] === 32) own = own.slice(1);
    }
    const first = owner[Math.min(reached, text.length)];
    reached = Math.min(reached + own.length, text.length);
    return [first, own.length ? owner[Math.max(0, reached - 1)] + 1 : first];
  });
}

/** SentencePiece's vocabularies: ▁ is a blank, or the one put before the text; what they lack is spelled in bytes. */
function byMarks(characters: string[], { tokens, added, unknown }: Spelled): Span[] {
  let at = 0;
  let bytesLeft = 0;
  return tokens.map((token, number) => {
    if (added(number)) {
      while (isBlank(characters[at]) && characters[at] !== token[0]) at++;
      const start = at;
      at = Math.min(characters.length, at + [...token].length);
      return [start, at];
    }
    const start = at;
    if (/^<0x[0-9A-F]{2}>$/.test(token)) {
      bytesLeft ||= encoder.encode(characters[at] ?? "").length;
      if (--bytesLeft <= 0) [at, bytesLeft] = [Math.min(characters.length, at + 1), 0];
      return [start, Math.min(characters.length, start + 1)];
    }
    if (unknown(number)) {
      const next = [...(tokens[number + 1] ?? "")].map((each) => (each === "▁" ? " " : each));
      // It covers an unknown stretch, up to where the next token begins.
      do at++;
      while (at < characters.length && !(next.length && next.every((each, i) => characters[at + i] === each)));
      return [start, Math.min(at, characters.length)];
    }
    for (const each of token) if (each !== "▁" || characters[at] === " " || characters[at] === "▁") at++;
    at = Math.min(at, characters.length);
    return [start, Math.max(at, Math.min(start + 1, characters.length))];
  });
}

const punctuation = /[\p{P}\u0024\u002b\u003c-\u003e\u005e\u0060\u007c\u007e]/u;
const cjk: [number, number][] = [[0x4e00, 0x9fff], [0x3400, 0x4dbf], [0x20000, 0x2ceaf], [0xf900, 0xfaff], [0x2f800, 0x2fa1f]];
const alone = (each: string) => punctuation.test(each) || cjk.some(([low, high]) => low <= each.codePointAt(0)! && each.codePointAt(0)! <= high);

function byPieces(characters: string[], { tokens, added, unknown }: Spelled): Span[] {
  const plain = characters.map((each) => each.normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase());
  const cleaned = characters.map((each) => /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\ufffd\0]/u.test(each) && !/\s/u.test(each));
  let at = 0;
  /** Letters of the character at `at` that earlier tokens took: a Hangul syllable is several. */
  let taken = 0;
  const passBlanks = () => {
    while (at < characters.length && (/\s/u.test(characters[at]) || cleaned[at])) at++;
  };
  return tokens.map((token, number) => {
    if (!taken) passBlanks();
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
    let left = (token.startsWith("##") && token.length > 2 ? token.slice(2) : token).normalize("NFD").replace(/\p{Mn}/gu, "").toLowerCase().length;
    let end = start;
    while (left > 0 && at < characters.length) {
      const letters = cleaned[at] ? 0 : Math.min(left, plain[at].length - taken);
      [left, taken] = [left - letters, taken + letters];
      if (plain[at] || end > start) end = at + 1;
      if (!cleaned[at] && taken < plain[at].length) break;
      [at, taken] = [at + 1, 0];
    }
    // A character without a form of its own (an accent) belongs to the one before it.
    while (!taken && at < characters.length && plain[at] === "" && !/\s/u.test(characters[at])) at++;
    return [start, Math.max(end, Math.min(start + 1, characters.length))];
  });
}
