/** The unit of one row or column: a token or a whole word, with or without specials. */
import type { State, Tokens } from "./types";

export interface Unit {
  text: string;
  /** Tokens from start up to (not including) end. */
  start: number;
  end: number;
  class: number;
  segment: number;
  /** Joined to the unit before: a word piece. */
  continues: boolean;
  special: boolean;
  /** The first that the model wrote itself. */
  begins?: boolean;
}

/** `first` hidden leaves out the first token: for keys, of which it is the one many heads rest on. */
export function unitsOf(tokens: Tokens, unit: State["unit"], specials: State["specials"], first: State["first"] = "shown"): Unit[] {
  const units: Unit[] = [];
  for (let i = first === "hidden" ? 1 : 0; i < tokens.text.length; i++) {
    const special = tokens.class[i] <= 2;
    if (special && specials !== "shown") continue;
    const last = units[units.length - 1];
    const joins =
      unit === "words" && last && last.end === i && !special && !last.special && tokens.word[i] >= 0 && tokens.word[i] === tokens.word[i - 1];
    if (joins) {
      last.text += tokens.continues[i] ? tokens.text[i].replace(/^##/, "") : tokens.text[i];
      last.end = i + 1;
      continue;
    }
    units.push({
      text: tokens.text[i],
      start: i,
      end: i + 1,
      class: tokens.class[i],
      segment: tokens.segment[i],
      continues: unit === "tokens" && tokens.continues[i] === 1,
      special,
      ...(i === tokens.boundary ? { begins: true } : {}),
    });
  }
  return units;
}

/** The unit that holds a token, or -1. */
export function unitOf(units: Unit[], token: number | null): number {
  return token === null ? -1 : units.findIndex((unit) => token >= unit.start && token < unit.end);
}

/**
 * A map of tokens (t × s) → a map of units: summed over the key's tokens, averaged over the query's,
 * rows made to sum to one again when asked for.
 */
export function project(map: Float32Array, s: number, query: Unit[], key: Unit[], renormalise: boolean): Float32Array {
  const whole = query.length * s === map.length && key.length === s && !renormalise;
  if (whole && query.every((unit) => unit.end - unit.start === 1)) return map;
  const out = new Float32Array(query.length * key.length);
  for (let i = 0; i < query.length; i++) {
    const { start, end } = query[i];
    const offset = i * key.length;
    let sum = 0;
    for (let j = 0; j < key.length; j++) {
      let mass = 0;
      for (let row = start; row < end; row++) {
        for (let column = key[j].start; column < key[j].end; column++) mass += map[row * s + column];
      }
      out[offset + j] = mass / (end - start);
      sum += out[offset + j];
    }
    if (renormalise && sum > 0) for (let j = 0; j < key.length; j++) out[offset + j] /= sum;
  }
  return out;
}

/** May a line run from this query to this key under the sentence filter? */
export function passes(filter: State["filter"], query: Unit, key: Unit): boolean {
  if (filter === "all") return true;
  return query.segment === (filter[0] === "a" ? 0 : 1) && key.segment === (filter[1] === "a" ? 0 : 1);
}

export function hasPair(tokens: Tokens): boolean {
  return tokens.segment.includes(1);
}

const rightToLeft = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]/;

/** Direction of the text: that of most of its letters. */
export function isRightToLeft(tokens: Tokens): boolean {
  const letters = tokens.text.join("");
  let count = 0;
  for (const letter of letters) if (rightToLeft.test(letter)) count++;
  return count * 2 > letters.length;
}
