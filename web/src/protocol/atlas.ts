/** An atlas's data for the page: every head's page, and its examples as columns. */
import type { Reading } from "./reading";
import type { AtlasHeader, BehaviourHeader, BehavioursHeader, TextsHeader } from "./types";

export type { AblatedTask, AtlasHeader, BehaviourHeader, HeadPage } from "./types";

export interface Token {
  place: number;
  text: string;
  continues: boolean;
  special: boolean;
}

export interface AtlasExample {
  measure: string;
  /** −1: among the strongest. */
  decile: number;
  value: number;
  /** The corpus's own number of the text. */
  document: number;
  query: number;
  keys: [number, number][];
}

const names = ["measure", "decile", "document", "query", "keys", "value", "weights"] as const;
const around = 12;
const aroundKey = 2;

/** Stretches of texts; tokens that no example needs did not travel. */
class Texts {
  private columns = {} as Record<"tokens" | "positions" | "flags", Float32Array>;

  constructor(
    private readonly header: TextsHeader,
    private readonly reading: Reading,
  ) {}

  async load(): Promise<void> {
    await Promise.all((["tokens", "positions", "flags"] as const).map(async (name) => (this.columns[name] = await this.reading.numbers(this.header[name].buffer))));
  }

  /** The near tokens of a text, in order; null marks a gap. */
  near(text: number, near: (place: number) => boolean): (Token | null)[] {
    const { starts, lengths, words } = this.header;
    const found: (Token | null)[] = [];
    let last = -1;
    for (let i = starts[text]; i < starts[text + 1]; i++) {
      const place = this.columns.positions[i];
      if (!near(place)) continue;
      if (place !== last + 1) found.push(null);
      const flags = this.columns.flags[i];
      found.push({ place, text: words[this.columns.tokens[i]], continues: (flags & 1) > 0, special: (flags & 2) > 0 });
      last = place;
    }
    if (last < lengths[text] - 1) found.push(null);
    return found;
  }
}

/** A position of a head in the plane of its queries and keys. */
export interface Matched {
  behaviour: number;
  query: [number, number];
  key: [number, number];
  weight: number;
  document: number;
  /** Tokens of the text. */
  at: [number, number];
  keyToken: string;
  /** The tokens about the query. */
  tokens: Token[];
}

const ofPoints = ["position", "behaviour", "key", "key_token", "plane"] as const;
const ofTexts = ["tokens", "document", "query", "start"] as const;

/** The several things that heads do, with the positions that show each. */
export class Behaviours {
  private columns = {} as Record<(typeof ofPoints)[number] | (typeof ofTexts)[number], Float32Array>;
  private readonly starts: number[] = [0];

  constructor(
    readonly header: BehavioursHeader,
    private readonly reading: Reading,
  ) {
    for (const count of header.counts) this.starts.push(this.starts[this.starts.length - 1] + count);
  }

  async load(): Promise<void> {
    const { header, reading, columns } = this;
    const take = async (name: keyof typeof columns, buffer: string) => void (columns[name] = await reading.numbers(buffer));
    await Promise.all([...ofPoints.map((name) => take(name, header[name].buffer)), ...ofTexts.map((name) => take(name, header.texts[name].buffer))]);
  }

  of(place: number): BehaviourHeader[] {
    return this.header.heads[place];
  }

  points(place: number): Matched[] {
    const found: Matched[] = [];
    for (let i = this.starts[place]; i < this.starts[place + 1]; i++) found.push(this.point(i));
    return found;
  }

  private point(i: number): Matched {
    const { columns: of, header } = this;
    const [qx, qy, kx, ky, weight] = of.plane.subarray(5 * i, 5 * i + 5);
    const position = of.position[i];
    const { starts } = header.texts;
    const tokens = Array.from(of.tokens.subarray(starts[position], starts[position + 1]), (code, n): Token => ({ place: of.start[position] + n, text: header.words[code >> 1], continues: code % 2 > 0, special: false }));
    return { behaviour: of.behaviour[i], query: [qx, qy], key: [kx, ky], weight, document: of.document[position], at: [of.query[position], of.key[i]], keyToken: header.words[of.key_token[i]], tokens };
  }
}

export class AtlasData {
  private columns = {} as Record<(typeof names)[number], Float32Array>;
  private readonly texts: Texts | null;
  private readonly keyTexts: Texts | null;
  private readonly starts: number[] = [0];
  readonly behaviours: Behaviours | null;

  constructor(
    readonly header: AtlasHeader,
    private readonly reading: Reading,
  ) {
    const opened = (texts: TextsHeader | null) => texts && new Texts(texts, reading);
    [this.texts, this.keyTexts] = [opened(header.texts), opened(header.key_texts)];
    this.behaviours = header.behaviours ? new Behaviours(header.behaviours, reading) : null;
    for (const count of header.counts) this.starts.push(this.starts[this.starts.length - 1] + count);
  }

  async load(): Promise<void> {
    const { examples } = this.header;
    await Promise.all([...names.map(async (name) => (this.columns[name] = await this.reading.numbers(examples[name].buffer))), this.texts?.load(), this.keyTexts?.load(), this.behaviours?.load()]);
  }

  /** A head's examples of one measure: the strongest, or those of a decile. */
  of(place: number, measure: string, decile: number): AtlasExample[] {
    return this.all(place).filter((each) => each.measure === measure && each.decile === decile);
  }

  all(place: number): AtlasExample[] {
    const { width, numbers } = this.header.examples;
    const { columns } = this;
    const found: AtlasExample[] = [];
    for (let i = this.starts[place]; i < this.starts[place + 1]; i++) {
      const keys: [number, number][] = [];
      for (let k = i * width; k < (i + 1) * width; k++) if (columns.keys[k] !== 65535) keys.push([columns.keys[k], columns.weights[k]]);
      found.push({
        measure: this.header.measures[columns.measure[i]].name,
        decile: columns.decile[i] - 1,
        value: columns.value[i],
        document: numbers[columns.document[i]],
        query: columns.query[i],
        keys,
      });
    }
    return found;
  }

  /** Tokens around the query and the heaviest key; the keys of cross attention are in another text. */
  excerpt({ document, query, keys }: AtlasExample): { asked: (Token | null)[]; keys: (Token | null)[] | null } | null {
    if (!this.texts) return null;
    const at = this.header.examples.numbers.indexOf(document);
    const aboutQuery = (place: number) => Math.abs(place - query) <= around;
    const aboutKey = (place: number) => keys.length > 0 && Math.abs(place - keys[0][0]) <= aroundKey;
    if (this.keyTexts) return { asked: this.texts.near(at, aboutQuery), keys: this.keyTexts.near(at, aboutKey) };
    return { asked: this.texts.near(at, (place) => aboutQuery(place) || aboutKey(place)), keys: null };
  }
}
