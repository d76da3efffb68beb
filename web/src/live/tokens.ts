/** A text as the model is given it, and its tokens as the page shows them. */
import { Tokenizer } from "@huggingface/tokenizers";
import type { Tokens } from "../protocol/types";
import { spansOf } from "./align";
import type { Span } from "./align";
import type { Known } from "./known";
import { Words } from "./words";

export interface Text {
  ids: number[];
  types: number[];
  tokens: Tokens;
  /** Tokens that are full stops or commas. */
  stops: boolean[];
  texts: string[];
}

interface Sentence {
  text: string;
  ids: number[];
  spelled: string[];
}

export class Reader {
  private readonly tokenizer: Tokenizer;
  private readonly added: Set<number>;
  private readonly composes: boolean;

  constructor(private readonly known: Known, json: object, config: object) {
    this.tokenizer = new Tokenizer(json, config);
    this.added = new Set(this.tokenizer.get_added_tokens_decoder().keys());
    this.composes = JSON.stringify((json as { normalizer?: object }).normalizer ?? null).includes('"NFC"');
  }

  label(id: number): string {
    return this.known.vocabulary!.labels[id] ?? String(id);
  }

  /** A token out of any text, with the space before it: `Mary` and `␣Mary`. */
  listed(id: number): string {
    return (this.known.vocabulary!.spaced[id] === "1" ? "␣" : "") + this.label(id);
  }

  /** All of a text's tokens, cut to the model's limit on request. */
  read(text: string, pair: string | null, truncate: boolean): Text {
    const first = this.sentence(text);
    const second = pair ? this.sentence(pair) : null;
    const whole = this.tokenizer.encode(text, { text_pair: pair || null, return_token_type_ids: true });
    const before = find(whole.ids, first.ids, 0);
    const after = before + first.ids.length;
    const between = second ? find(whole.ids, second.ids, after) : whole.ids.length;
    const end = second ? between + second.ids.length : whole.ids.length;
    const head = whole.ids.slice(0, before);
    const middle = whole.ids.slice(after, between);
    const tail = whole.ids.slice(end);
    const limit = this.known.max_tokens;
    if (truncate && limit !== null) cut(first, second, limit - head.length - middle.length - tail.length);
    const parts: [number[], number, Sentence | null][] = [[head, 0, null], [first.ids, 0, first], [middle, 0, null], ...(second ? ([[second.ids, 1, second], [tail, 1, null]] as [number[], number, Sentence][]) : [])];
    const typeOf = (at: number) => (whole.token_type_ids ?? [])[at] ?? 0;
    const types = [...head.map((_, i) => typeOf(i)), ...first.ids.map(() => typeOf(before)), ...middle.map((_, i) => typeOf(after + i)), ...(second ? [...second.ids.map(() => typeOf(between)), ...tail.map((_, i) => typeOf(end + i))] : [])];
    return this.text(parts, types, second ? [text, pair!] : [text]);
  }

  /** Tokens that the model wrote itself, after those of the prompt. */
  written(ids: number[]): Text {
    const spelled = ids.map((id) => this.tokenizer.id_to_token(id) ?? "");
    const text = this.tokenizer.decode(ids, { skip_special_tokens: false, clean_up_tokenization_spaces: false });
    return this.text([[ids, 0, { text, ids, spelled }]], ids.map(() => 0), [text]);
  }

  encode(text: string): number[] {
    return this.tokenizer.encode(text).ids;
  }

  count(text: string, pair: string | null): { tokens: number; unknown: number } {
    const { ids } = this.tokenizer.encode(text, { text_pair: pair || null });
    return { tokens: ids.length, unknown: ids.filter((id) => id === this.known.unknown).length };
  }

  private sentence(text: string): Sentence {
    const { ids, tokens } = this.tokenizer.encode(text, { add_special_tokens: false });
    return { text, ids, spelled: tokens };
  }

  private text(parts: [number[], number, Sentence | null][], types: number[], texts: string[]): Text {
    const { vocabulary, unknown } = this.known;
    const ids: number[] = [];
    const tokens: Tokens = { text: [], class: [], segment: [], word: [], continues: [], written: [] };
    let words = 0;
    for (const [own, segment, sentence] of parts) {
      const characters = sentence ? [...sentence.text] : [];
      const found = new Words(characters);
      const isAdded = (at: number) => this.added.has(own[at]);
      const spans: Span[] = sentence ? spansOf(characters, { tokens: sentence.spelled, added: isAdded, unknown: (at) => own[at] === unknown, composes: this.composes }, vocabulary!.spells) : [];
      let reached = 0;
      own.forEach((id, at) => {
        const number = ids.push(id) - 1;
        const label = this.label(id);
        tokens.segment.push(segment);
        tokens.class.push(classOf(vocabulary!.classes[id] ?? 4, number));
        if (!sentence) {
          tokens.text.push(label);
          tokens.word.push(-1);
          tokens.written!.push(label);
        } else {
          const start = found.trimmed(...spans[at]);
          const as = characters.slice(start, spans[at][1]).join("");
          tokens.text.push(id === unknown ? as || label : label);
          tokens.word.push(found.ends.length ? words + found.at(start) : -1);
          tokens.written!.push(characters.slice(reached, spans[at][1]).join(""));
          reached = Math.max(reached, spans[at][1]);
        }
        const word = tokens.word[number];
        tokens.continues.push(number > 0 && word >= 0 && word === tokens.word[number - 1] ? 1 : 0);
      });
      words += found.ends.length;
    }
    const stops = new Set(vocabulary!.stops);
    return { ids, types, tokens, stops: ids.map((id) => stops.has(id)), texts };
  }
}

/** One token for both roles: at the start it begins a text, elsewhere it ends one. */
const classOf = (stored: number, at: number) => (stored === 5 ? (at === 0 ? 0 : 1) : stored);

/** Where a run of tokens begins, at `from` or soon after. */
function find(all: number[], run: number[], from: number): number {
  for (let at = from; at + run.length <= all.length; at++) if (run.every((id, i) => all[at + i] === id)) return at;
  throw new Error("The tokenizer reads this text otherwise alone than with its special tokens; change it a little.");
}

/** As the tokenizer's own library does: the longer sentence loses its end first, down to the shorter one's length. */
function cut(first: Sentence, second: Sentence | null, room: number): void {
  const [n, m] = [first.ids.length, second?.ids.length ?? 0];
  if (n + m <= room) return;
  let short = second ? Math.min(n, m) : 0;
  let long = Math.max(short, room - short);
  if (short + long > room) {
    short = Math.floor(room / 2);
    long = room - short;
  }
  const kept = n > m ? [long, short] : [short, long];
  [first, second].forEach((each, at) => {
    each?.ids.splice(second ? kept[at] : room);
    each?.spelled.splice(second ? kept[at] : room);
  });
}
