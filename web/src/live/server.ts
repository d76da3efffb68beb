/** Answers the app's routes in the page: what surfaces/app/session.py does, for one model in a worker. */
import type { PredictReply, Prediction, TokensReply, Writing } from "../protocol/app";
import type { HeadsOffRequest, MediaReadRequest, OffHead, ReadRequest, WriteRequest } from "../protocol/types";
import { fromBase64 } from "../protocol/decode";
import type { Known } from "./known";
import type { Model, Pass } from "./model";
import { decoded, prepared } from "./pictures";
import { LiveReading } from "./reading";
import type { Reader, Text } from "./tokens";

export interface Answer {
  status: number;
  body: string | ArrayBuffer;
}

/** Readings for Back, Forward and comparisons. */
const mostKept = 8;
const choices = 5;
const mostAtOnce = 64;

interface Written {
  ids: number[];
  off: OffHead[];
  reply: Writing;
}

export class Refused extends Error {
  constructor(message: string, readonly status = 400, readonly detail: object = {}) {
    super(message);
  }
}

/** The sentence that the page shows; WebAssembly and onnxruntime say in several ways that memory is short. */
export function failure(error: unknown): Answer {
  if (error instanceof Refused) return json({ error: error.message, ...error.detail }, error.status);
  const message = error instanceof Error ? error.message : String(error);
  const memory = error instanceof RangeError || /memory|alloc|\bOOM\b/i.test(message);
  return json({ error: memory ? "The browser has not enough memory for this text; give a shorter one." : message }, 500);
}

export class Server {
  private readonly readings = new Map<string, LiveReading>();
  private readonly writings = new Map<string, Written>();
  private number = 0;

  constructor(private readonly known: Known, private readonly model: Model, private readonly ofTexts: Reader | null) {}

  async answer(path: string, body: unknown): Promise<Answer> {
    const [route, ...rest] = path.replace(/^\/?api\//, "").split("?")[0].split("/").map(decodeURIComponent);
    switch (route) {
      case "read":
        return { status: 200, body: await this.read(body as ReadRequest) };
      case "media":
        return { status: 200, body: await this.look(body as MediaReadRequest) };
      case "tokens":
        return json(this.count(body as ReadRequest));
      case "predict":
        return json(await this.predict(body as HeadsOffRequest));
      case "write":
        return json(await this.write(body as WriteRequest));
      case "reading":
        if (rest[1] === "head") return json(this.reading(rest[0]).facts(Number(rest[3]), Number(rest[4])));
    }
    throw new Refused(`A live page does not answer ${route}.`, 404);
  }

  private async read({ text, text_pair, off = [], edits = [], layer = null, truncate = false, writing }: ReadRequest): Promise<ArrayBuffer> {
    this.checkOff(off, edits);
    const written = writing ? this.written(writing) : null;
    if (!written && !text.trim()) throw new Refused("Type a sentence to read.");
    const cut = written ? this.reader.written(written.ids) : this.cut(text, text_pair ?? null, truncate);
    return (await this.kept(`live-${this.number++}`, cut, off, written?.reply ?? null)).container(layer);
  }

  /** The reading of the page's first picture, for further requests. */
  async readFirst(): Promise<void> {
    const { id, text, text_pair, media } = this.known.first;
    if (media) await this.see(id, this.example(media), media, []);
    else await this.kept(id, this.cut(text, text_pair, false), [], null);
  }

  private async look({ media, name, data, off = [], edits = [], layer = null }: MediaReadRequest): Promise<ArrayBuffer> {
    this.checkOff(off, edits);
    if (!this.known.pictures || media === "audio") throw new Refused(`${this.known.model} ${media === "audio" ? "hears no sound" : "sees no pictures"}; choose a model that does.`);
    const bytes = media === "example" ? this.example(name) : fromBase64(data ?? "");
    return (await this.see(`live-${this.number++}`, bytes, name, off)).container(layer);
  }

  private example(name: string): Uint8Array {
    const found = this.known.pictures?.examples[name];
    if (!found) throw new Refused("There is no such example.");
    return fromBase64(found);
  }

  private async see(id: string, bytes: Uint8Array, name: string, off: OffHead[]): Promise<LiveReading> {
    const known = this.known.pictures!;
    const { picture, pixels } = await decoded(bytes, name, known.most_pixels).catch((error: Error) => {
      throw new Refused(error.message);
    });
    const { data, rows, columns } = prepared(pixels, picture, known);
    const pass = await this.model.picture(data, rows, columns, off);
    const { tokens } = known;
    const positions = tokens.text.map((_, at) => at);
    const shown: Text = { ids: positions, types: [], tokens, stops: positions.map(() => false), texts: [] };
    const reading = new LiveReading(this.known, id, shown, pass, off, null, picture);
    keep(this.readings, id, reading);
    return reading;
  }

  private async kept(id: string, cut: Text, off: OffHead[], writing: Writing | null): Promise<LiveReading> {
    const pass = await this.model.text(cut.ids, cut.types, this.asked(cut), off);
    const reading = new LiveReading(this.known, id, cut, pass, off, writing);
    keep(this.readings, id, reading);
    return reading;
  }

  private cut(text: string, pair: string | null, truncate: boolean): Text {
    const cut = this.reader.read(text, pair?.trim() ? pair : null, truncate);
    const limit = this.known.max_tokens;
    const tokens = cut.ids.length;
    if (limit !== null && tokens > limit) throw new Refused(`The text has ${tokens} tokens; ${this.known.model} reads at most ${limit}.`, 413, { tokens, limit });
    if (!tokens) throw new Refused("The tokenizer makes no tokens of this text; give at least one word.");
    return cut;
  }

  /** Positions at which the model names words: masks, or the last one of a decoder. */
  private asked({ ids }: Text): number[] {
    if (this.known.causal) return [ids.length - 1];
    return ids.map((_, at) => at).filter((at) => ids[at] === this.known.mask);
  }

  private checkOff(off: OffHead[], edits: string[] = []): void {
    if (edits.length) throw new Refused("Emphasis and weights set by hand need Python; use headscope app.");
    const { layers, heads } = this.known;
    const wrong = off.find(([, layer, head]) => layer >= layers.length || head >= heads);
    if (wrong) throw new Refused(`There is no head ${wrong[1]}-${wrong[2]}; the model has ${layers.length} layers of ${heads} heads.`);
  }

  private get reader(): Reader {
    if (!this.ofTexts) throw new Refused(`${this.known.model} reads no text; give it a picture.`);
    return this.ofTexts;
  }

  private count({ text, text_pair }: ReadRequest): TokensReply {
    const { tokens, unknown } = this.reader.count(text, text_pair?.trim() ? text_pair : null);
    return { tokens, unknown, limit: this.known.max_tokens };
  }

  private reading(id: string): LiveReading {
    const found = this.readings.get(id);
    if (!found) throw new Refused("This reading is no longer kept; read the text again.", 404);
    return found;
  }

  /** The model's predictions with every head on, and with those of `off` switched off. */
  private async predict({ id, off = [] }: HeadsOffRequest): Promise<PredictReply> {
    const reading = this.reading(id);
    const { text } = reading;
    const positions = this.asked(text);
    const same = (one: OffHead[], two: OffHead[]) => JSON.stringify(one) === JSON.stringify(two);
    const passOf = async (wanted: OffHead[]) => (same(wanted, reading.off) ? reading.pass : this.model.text(text.ids, text.types, positions, wanted));
    const [before, after] = [await passOf([]), await passOf(off)];
    const said = (pass: Pass) => pass.logits.map((row) => this.likeliest(row));
    if (this.known.names_of_classes) return { places: [place("classes", null, said(before)[0], said(after)[0])] };
    if (this.known.causal) return { places: [place("next token", text.ids.length - 1, said(before)[0], said(after)[0])] };
    if (positions.length && before.logits[0].length) {
      const [one, two] = [said(before), said(after)];
      return { places: positions.map((position, row) => place(`token ${position}`, position, one[row], two[row])) };
    }
    const note = this.known.mask_token && before.logits[0]?.length ? `Put ${this.known.mask_token} where the model should fill in a word.` : `${this.known.model} has no output layer of words.`;
    if (!before.follows || text.texts.length < 2) return { places: [], note };
    const answers = (pass: Pass) => ranked(pass.follows!, (at) => ["follows", "does not follow"][at]);
    return { places: [place("next sentence", null, answers(before), answers(after))], note };
  }

  private likeliest(logits: Float32Array): Prediction[] {
    return ranked(logits, (at) => this.known.names_of_classes?.[at] ?? this.reader.listed(at));
  }

  private written(id: string): Written {
    const found = this.writings.get(id);
    if (!found) throw new Refused("This text is no longer kept; let the model write it again.", 404);
    return found;
  }

  /** The likeliest token again and again, up to `count` of them. */
  private async write({ writing, text = "", off = [], count }: WriteRequest): Promise<Writing> {
    if (!this.known.causal) throw new Refused(`${this.known.model} does not write text; choose a model that does.`);
    const being = writing ? this.written(writing) : this.begin(text, off);
    const limit = this.known.max_tokens ?? Infinity;
    for (let left = Math.min(count, mostAtOnce); left > 0 && !being.reply.done; left--) {
      if (being.ids.length >= limit) being.reply = { ...being.reply, done: true };
      else await this.step(being);
    }
    return being.reply;
  }

  private begin(text: string, off: OffHead[]): Written {
    if (!text.trim()) throw new Refused("Type the beginning of a text for the model to continue.");
    this.checkOff(off);
    const ids = this.reader.encode(text);
    // Without its end token, or the text could not continue.
    if (ids.length > 1 && ids[ids.length - 1] === this.known.closes) ids.pop();
    const id = `text-${this.number++}`;
    const begun: Written = { ids, off, reply: { id, prompt_tokens: ids.length, done: false, steps: [] } };
    keep(this.writings, id, begun);
    return begun;
  }

  private async step(being: Written): Promise<void> {
    const { ids, off, reply } = being;
    const { logits } = await this.model.text(ids, ids.map(() => 0), [ids.length - 1], off);
    let best = 0;
    logits[0].forEach((value, at) => (best = value > logits[0][best] ? at : best));
    ids.push(best);
    const step = { token: this.reader.label(best), choices: this.likeliest(logits[0]) };
    being.reply = { ...reply, steps: [...reply.steps, step], done: this.known.ends.includes(best) };
  }
}

export const json = (reply: unknown, status = 200): Answer => ({ status, body: JSON.stringify(reply) });

const place = (title: string, position: number | null, before: Prediction[], after: Prediction[]) => ({ title, position, before, after });

/** The likeliest, best first, with their share of the softmax. */
function ranked(logits: Float32Array, name: (at: number) => string): Prediction[] {
  const best: number[] = [];
  let top = -Infinity;
  for (let at = 0; at < logits.length; at++) {
    if (logits[at] > top) top = logits[at];
    if (best.length < choices || logits[at] > logits[best[best.length - 1]]) {
      let rank = best.length;
      while (rank > 0 && logits[at] > logits[best[rank - 1]]) rank--;
      best.splice(rank, 0, at);
      if (best.length > choices) best.pop();
    }
  }
  let sum = 0;
  for (const value of logits) sum += Math.exp(value - top);
  return best.map((at) => ({ token: name(at), probability: Math.exp(logits[at] - top) / sum }));
}

function keep<Value>(kept: Map<string, Value>, id: string, value: Value): void {
  kept.set(id, value);
  if (kept.size > mostKept) kept.delete(kept.keys().next().value!);
}
