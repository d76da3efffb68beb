/**
 * Numbers of every head on one text, as Python's measures and patterns define them (statistics/definitions,
 * patterns/scores). Tested against Python's numbers; what needs a corpus or the model's embeddings is not here.
 */
import type { Tokens } from "../protocol/types";

export interface Maps {
  /** (layers, heads, t, t). */
  attention: Float32Array;
  layers: number;
  heads: number;
  t: number;
}

export interface Marked {
  tokens: Tokens;
  ids: number[];
  stops: boolean[];
  causal: boolean;
}

export interface PatternScore {
  /** layers × heads. */
  score: Float64Array;
  /** The score of a head that attends uniformly to all it sees. */
  uniform: number;
}

const [cls, sep, punctuation, word] = [0, 1, 3, 4];

type Relation = (query: number, key: number) => boolean;

/** Layers × heads of every statistic that this text defines. */
export function statistics(maps: Maps, marked: Marked): Record<string, Float64Array> {
  const { tokens: { class: classes, segment }, stops, causal } = marked;
  const { t } = maps;
  const all = () => true;
  const notSep = (query: number) => classes[query] !== sep;
  const seen = (query: number) => (causal ? query + 1 : t);
  const on = (keys: boolean[]) => keySum(keys.flatMap((is, key) => (is ? [key] : [])));
  const found: Record<string, Float64Array> = {};
  const isCls = classes.map((each) => each === cls);
  const isSep = classes.map((each) => each === sep);
  if (isCls.includes(true)) found["cls"] = mean(maps, on(isCls), all);
  found["confidence"] = mean(maps, largest, notSep);
  if (segment.includes(1)) found["cross_sentence"] = mean(maps, rowSum((query, key) => segment[query] !== segment[key]), all);
  found["distance"] = mean(maps, distance, all);
  found["entropy"] = mean(maps, entropy, all);
  found["focus"] = mean(maps, (map, start, query) => 1 - entropy(map, start, query, t) / Math.log(seen(query)), (query) => seen(query) > 1);
  found["punctuation"] = mean(maps, on(stops), all);
  if (isSep.includes(true)) found["sep"] = mean(maps, on(isSep), all);
  if (causal) found["special_tokens"] = mean(maps, on(classes.map((each) => each < punctuation)), all);
  return defined(found);
}

type Row = (map: Float32Array, start: number, query: number, t: number) => number;

function rowSum(of: Relation): Row {
  return (map, start, query, t) => {
    let sum = 0;
    for (let key = 0; key < t; key++) if (of(query, key)) sum += map[start + key];
    return sum;
  };
}

function keySum(keys: number[]): Row {
  return (map, start) => {
    let sum = 0;
    for (const key of keys) sum += map[start + key];
    return sum;
  };
}

const largest: Row = (map, start, _, t) => {
  let most = 0;
  for (let key = 0; key < t; key++) if (map[start + key] > most) most = map[start + key];
  return most;
};

const distance: Row = (map, start, query, t) => {
  let sum = 0;
  for (let key = 0; key < t; key++) sum += map[start + key] * Math.abs(query - key);
  return sum;
};

const surprise = (weight: number) => (weight > 0 ? -weight * Math.log(weight) : 0);

const entropy: Row = (map, start, _, t) => {
  let sum = 0;
  for (let key = 0; key < t; key++) sum += surprise(map[start + key]);
  return sum;
};

/** The mean over the queries with a target; NaN if there are none. */
function mean({ attention, layers, heads, t }: Maps, row: Row, asked: (query: number) => boolean): Float64Array {
  const queries = Array.from({ length: t }, (_, query) => query).filter(asked);
  return Float64Array.from({ length: layers * heads }, (_, head) => {
    let sum = 0;
    for (const query of queries) sum += row(attention, (head * t + query) * t, query, t);
    return sum / queries.length;
  });
}

export function defined(found: Record<string, Float64Array>): Record<string, Float64Array> {
  return Object.fromEntries(Object.entries(found).filter(([, values]) => values.some((value) => !Number.isNaN(value))));
}

/** Every pattern that this text can show, without those that lack a query. */
export function patterns(maps: Maps, marked: Marked): Record<string, PatternScore> {
  const found: Record<string, PatternScore> = {};
  for (const [name, { targets, pool }] of Object.entries(relations(marked))) {
    const score = mass(maps, marked, targets, pool);
    if (score) found[name] = score;
  }
  const bag = marked.causal ? null : bagOfWords(maps, marked);
  if (bag) found["bag_of_words"] = bag;
  return found;
}

interface Aim {
  /** The keys the pattern points at, out of the keys of `pool`. */
  targets: Relation;
  pool: Relation;
}

function relations({ tokens, ids, causal }: Marked): Record<string, Aim> {
  const { class: classes, segment, word: words } = tokens;
  const visible: Relation = (query, key) => !causal || key <= query;
  const fromContent: Relation = (query, key) => classes[query] >= punctuation && visible(query, key);
  const content: Relation = (query, key) => fromContent(query, key) && classes[key] >= punctuation;
  const others: Relation = (query, key) => classes[query] === word && classes[key] === word && query !== key && visible(query, key);
  const isPair = segment.includes(1);
  const across: Relation = (query, key) => isPair && segment[query] !== segment[key] && others(query, key);
  const earlier: Relation = (query, key) => key < query && content(query, key);
  const same: Relation = (query, key) => ids[query] === ids[key];
  const inSentence = (offset: number): Relation => (query, key) => key - query === offset && segment[query] === segment[key];
  const siblings: Relation = (query, key) => others(query, key) && words[query] === words[key] && words[query] >= 0;
  const reach = words.map((_, query) => Math.max(2, words.filter((__, key) => siblings(query, key)).length));
  const near: Relation = (query, key) => siblings(query, key) || (query !== key && Math.abs(key - query) <= reach[query] && content(query, key));
  const nth = (of: number, number: number) => classes.map((each, at) => each === of && classes.slice(0, at + 1).filter((one) => one === of).length === number);
  const on = (keys: boolean[]): Relation => (_, key) => keys[key];
  const both: Record<string, Aim> = {
    previous_word: { targets: inSentence(-1), pool: content },
    same_word: { targets: same, pool: others },
    self_word: { targets: (query, key) => query === key, pool: content },
    sibling_pieces: { targets: siblings, pool: near },
  };
  if (causal) {
    return {
      ...both,
      duplicate_token: { targets: same, pool: earlier },
      induction: { targets: (query, key) => follows(earlier, same, query, key), pool: earlier },
      sink: { targets: (_, key) => key === 0, pool: (query, key) => query >= 4 && visible(query, key) },
    };
  }
  return {
    ...both,
    next_word: { targets: inSentence(1), pool: content },
    same_word_other: { targets: same, pool: across },
    delimiter: { targets: (_, key) => classes[key] < punctuation, pool: fromContent },
    delimiter_cls: { targets: on(nth(cls, 1)), pool: fromContent },
    delimiter_sep1: { targets: on(nth(sep, 1)), pool: fromContent },
    delimiter_sep2: { targets: on(nth(sep, 2)), pool: fromContent },
  };
}

/** The key comes after an earlier copy of the query's token, and is not the token before it. */
const follows = (earlier: Relation, same: Relation, query: number, key: number) => key > 0 && key - query < -1 && earlier(query, key - 1) && same(query, key - 1);

/** Attention on targets, averaged over queries that have one and a choice. */
function mass({ attention, layers, heads, t }: Maps, { causal }: Marked, targets: Relation, pool: Relation): PatternScore | null {
  const aimed: [query: number, keys: number[]][] = [];
  let uniform = 0;
  for (let query = 0; query < t; query++) {
    const keys: number[] = [];
    let choice = 0;
    for (let key = 0; key < t; key++) {
      if (!pool(query, key)) continue;
      choice++;
      if (targets(query, key)) keys.push(key);
    }
    if (!keys.length || keys.length >= choice) continue;
    aimed.push([query, keys]);
    uniform += keys.length / (causal ? query + 1 : t);
  }
  if (!aimed.length) return null;
  const score = Float64Array.from({ length: layers * heads }, (_, head) => {
    let sum = 0;
    for (const [query, keys] of aimed) for (const key of keys) sum += attention[(head * t + query) * t + key];
    return sum / aimed.length;
  });
  return { score, uniform: uniform / aimed.length };
}

/** The mass on the query's own sentence times its uniformity there. */
function bagOfWords({ attention, layers, heads, t }: Maps, { tokens: { class: classes, segment } }: Marked): PatternScore | null {
  const size = segment.map((own) => segment.filter((each) => each === own).length);
  const asked = segment.map((_, query) => query).filter((query) => classes[query] >= punctuation && size[query] > 1 && size[query] < t);
  if (!asked.length) return null;
  const score = Float64Array.from({ length: layers * heads }, (_, head) => {
    let sum = 0;
    for (const query of asked) {
      let own = 0;
      let surprised = 0;
      for (let key = 0; key < t; key++) {
        if (segment[key] !== segment[query]) continue;
        const weight = attention[(head * t + query) * t + key];
        own += weight;
        surprised += surprise(weight);
      }
      sum += (surprised - surprise(own)) / Math.log(size[query]);
    }
    return sum / asked.length;
  });
  return { score, uniform: asked.reduce((sum, query) => sum + size[query] / t, 0) / asked.length };
}
