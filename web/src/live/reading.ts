/** One reading kept in the worker: the pass, its numbers, and the container the page opens it with. */
import type { HeadFacts, Lesson, Writing } from "../protocol/app";
import type { Header, OffHead, Part, State, Tokens } from "../protocol/types";
import { Container } from "./container";
import type { CorpusLabel, Known } from "./known";
import { patterns, statistics } from "./measures";
import { pictureStatistics } from "./picture_measures";
import { positionsIn } from "./pictures";
import type { Picture, Positions } from "./pictures";
import type { Maps, Marked, PatternScore } from "./measures";
import type { Pass } from "./model";
import type { Text } from "./tokens";

const side = 28;
const classToken = 4;
const ofTexts = "Patterns are those of texts; these positions are parts of a picture.";
/** Tokens from which on a text is first read as text. */
const long = 300;
/** The least share of the attention for a lesson about the head. */
const clear = 0.5;
const pairsShown = 5;

export class LiveReading {
  readonly maps: Maps;
  readonly marked: Marked;
  readonly numbers: Record<string, Float64Array>;
  readonly scores: Record<string, PatternScore>;
  private readonly positions: Positions | null = null;

  constructor(
    private readonly known: Known,
    readonly id: string,
    readonly text: Text,
    readonly pass: Pass,
    readonly off: OffHead[],
    readonly writing: Writing | null = null,
    private readonly picture: Picture | null = null,
  ) {
    this.maps = { attention: pass.attention, layers: known.layers.length, heads: known.heads, t: pass.t };
    this.marked = { tokens: text.tokens, ids: text.ids, stops: text.stops, causal: known.causal };
    this.numbers = statistics(this.maps, this.marked);
    this.scores = picture ? {} : patterns(this.maps, this.marked);
    if (picture) {
      this.positions = positionsIn(known.pictures!, picture);
      Object.assign(this.numbers, pictureStatistics(this.maps, this.positions));
    }
  }

  /** The container of the first answer: every layer's q and k, thumbnails, labels and the table of numbers. */
  container(layer: number | null): ArrayBuffer {
    const { known, text, pass, writing } = this;
    const made = new Container();
    const { heads, groups, dim, kind, layers } = known;
    const { t } = pass;
    const lesson = this.lesson();
    const [rows, columns] = [Math.min(side, t), Math.min(side, t)];
    const at = lesson?.layer === undefined ? this.opening() : ([lesson.layer, lesson.head!] as [number, number]);
    const shown: [number, number] = layer !== null && layer < layers.length ? [layer, at[1]] : at;
    const part: Part = {
      kind,
      layers: layers.map((_, number) => number),
      heads,
      groups,
      dim,
      query: { ...text.tokens, ...this.places(made) },
      key: null,
      encoding: "qk",
      per_layer: layers.map((each, number) => ({
        scaling: each.scaling,
        mask: each.mask,
        softcap: each.softcap,
        maps: null,
        q: made.add(`q${number}`, pass.q.subarray(number * heads * t * dim, (number + 1) * heads * t * dim), [heads, t, dim]),
        k: made.add(`k${number}`, pass.k.subarray(number * groups * t * dim, (number + 1) * groups * t * dim), [groups, t, dim]),
      })),
      thumbnails: { ...made.add("t", thumbnails(this.maps, rows), [layers.length, heads, rows, columns]), size: [rows, columns] },
      labels: known.corpus.filter((each) => !this.isOff(each.layer, each.head)).map(({ layer, head, text, score, evidence, rests }) => ({ layer, head, text, score, evidence, rests })),
      opening: at,
      why_no_qk: null,
      rotary: known.rotary,
    };
    const view = this.picture ? "image" : (lesson?.view ?? (t > long || writing ? "text" : "head"));
    const state: Partial<State> = { view, kind, layer: shown[0], head: shown[1], heads: [shown[1]], column: this.column(shown) };
    if (this.positions) Object.assign(state, { query: Math.max(0, this.positions.kinds.indexOf(classToken)), side: "query", key: null, also: [] });
    else if (writing) state.query = writing.prompt_tokens - 1;
    else if (view === "text") state.query = this.telling(shown);
    return made.written({
      view,
      model: known.model,
      caption: [known.model, ...text.texts.map((each) => `“${shortened(each)}”`)].join(" · "),
      warnings: [],
      state,
      parts: [part],
      table: this.table(made),
      id: this.id,
      lesson,
      writing,
      ...(writing ? { prompt_tokens: writing.prompt_tokens } : {}),
      ...this.pictures(made),
    });
  }

  private places(made: Container): Pick<Tokens, "places"> {
    if (!this.positions) return {};
    const { kinds, rectangles } = this.positions;
    const seconds = new Float32Array(2 * kinds.length).fill(NaN);
    const pictures = Float32Array.from(rectangles.filter((_, at) => at % 4 === 0), (left) => (Number.isNaN(left) ? -1 : 0));
    return {
      places: {
        kinds: made.add("xk", kinds, [kinds.length]),
        rectangles: made.add("xr", rectangles, [kinds.length, 4]),
        seconds: made.add("xs", seconds, [kinds.length, 2]),
        pictures: made.add("xp", pictures, [kinds.length]),
      },
    };
  }

  private pictures(made: Container): Pick<Header, "pictures"> {
    if (!this.picture) return {};
    const { name, width, height, bytes } = this.picture;
    return { pictures: [{ name, width, height, ...made.add("picture0", bytes, [bytes.length]) }] };
  }

  private table(made: Container) {
    const { known } = this;
    const all = { ...this.numbers, ...Object.fromEntries(Object.entries(this.scores).map(([name, { score }]) => [name, score])) };
    const listed = [...known.measures].sort((a, b) => Number(a.origin === "pattern") - Number(b.origin === "pattern")).filter(({ name }) => name in all);
    const columns = listed.map(({ name, title, note, unit, is_share }, at) => ({
      name,
      title,
      note,
      scale: "sequential" as const,
      ...(unit === "share" ? {} : { unit }),
      ...(is_share ? { range: [0, 1] } : {}),
      ...made.add(`h${at}`, Float32Array.from(all[name]), [known.layers.length, known.heads]),
    }));
    return { kind: known.kind, layers: known.layers.map((_, number) => number), heads: known.heads, columns };
  }

  /** The best labelled head that is not a sink; else the sharpest that is not a sink. */
  private opening(): [number, number] {
    const best = this.known.corpus.filter((each) => !each.rests).reduce<CorpusLabel | null>((a, b) => (a && a.score >= b.score ? a : b), null);
    if (best) return [best.layer, best.head];
    const { attention, t, heads } = this.maps;
    const { class: classes } = this.text.tokens;
    const words = classes.map((_, at) => at).filter((at) => classes[at] === 4);
    const rows = words.length ? words : classes.map((_, at) => at);
    const dullness = Array.from({ length: this.maps.layers * heads }, (_, head) => {
      let trivial = 0;
      let spread = 0;
      for (const query of rows) {
        for (let key = 0; key < t; key++) {
          const weight = attention[(head * t + query) * t + key];
          spread -= weight > 0 ? weight * Math.log(weight) : 0;
          if (key === 0 || key === query || classes[key] < 3) trivial += weight;
        }
      }
      return spread / rows.length + (trivial / rows.length > 0.5 ? 100 : 0);
    });
    const least = dullness.indexOf(Math.min(...dullness));
    return [Math.floor(least / heads), least % heads];
  }

  private labelOf(layer: number, head: number): CorpusLabel | undefined {
    return this.isOff(layer, head) ? undefined : this.known.corpus.find((each) => each.layer === layer && each.head === head);
  }

  private isOff(layer: number, head: number): boolean {
    return this.off.some(([, l, h]) => l === layer && h === head);
  }

  /** The head map's opening measure: the selected head's label. */
  private column([layer, head]: [number, number]): string {
    const pattern = this.labelOf(layer, head)?.pattern ?? "";
    return pattern in this.scores ? pattern : "entropy";
  }

  /** The text view's opening query: the word with the sharpest attention. */
  private telling([layer, head]: [number, number]): number {
    const { attention, t, heads } = this.maps;
    const { class: classes } = this.text.tokens;
    let [best, most] = [0, -1];
    for (let query = 1; query < t; query++) {
      if (classes[query] !== 4) continue;
      for (let key = 1; key < t; key++) {
        const weight = attention[((layer * heads + head) * t + query) * t + key];
        if (key !== query && classes[key] === 4 && weight > most) [best, most] = [query, weight];
      }
    }
    return best;
  }

  private lesson(): (Lesson & { view: string }) | null {
    const [first, second] = this.text.texts;
    const found = this.known.lessons.find((each) => each.text === first && (each.text_pair ?? undefined) === second);
    if (!found || this.writing) return null;
    const { title, says, unclear, tries, view, measure } = found;
    if (!measure) return { title, says, tries, view };
    const values = this.numbers[measure] ?? this.scores[measure]?.score;
    if (!values) return null;
    let best = 0;
    values.forEach((value, index) => (best = value > values[best] ? index : best));
    const { heads } = this.known;
    return { title, tries, view, says: values[best] < clear && unclear ? unclear : says, layer: Math.floor(best / heads), head: best % heads };
  }

  /** The facts about one head on this text. */
  facts(layer: number, head: number): HeadFacts {
    const { known } = this;
    const index = layer * known.heads + head;
    const listed = Object.entries(this.scores).map(([name, { score, uniform }]) => ({ name: known.patterns[name].label, about: known.patterns[name].about, score: score[index], lift: score[index] / uniform }));
    listed.sort((a, b) => b.score - a.score);
    const label = this.labelOf(layer, head);
    const first = ["entropy", "confidence", "distance", "special_tokens"];
    const rank = (name: string) => (first.includes(name) ? first.indexOf(name) : first.length);
    return {
      label: label?.text ?? null,
      score: label?.score ?? null,
      evidence: label?.evidence ?? null,
      about: label ? `It ${known.patterns[label.pattern].about}.` : null,
      patterns: listed,
      why_no_patterns: this.picture ? ofTexts : known.corpus.length ? "No label over a corpus; its scores on this text:" : "Its scores on this text:",
      corpus: null,
      ...this.looks(index),
      statistics: known.measures
        .filter(({ name, origin }) => origin === "statistic" && name in this.numbers && Number.isFinite(this.numbers[name][index]))
        .sort((a, b) => rank(a.name) - rank(b.name))
        .map(({ name, title, unit, note }) => ({ name: title, value: this.numbers[name][index], unit: unit === "share" ? "" : unit, note })),
      why: null,
      why_not: this.picture ? ofTexts : "The neuron view shows q and k of this head. To see which neurons make its label, open the model with headscope app.",
    };
  }

  /** Each pair of words once; special tokens and, in a decoder, the first token are left out. */
  private looks(index: number): Pick<HeadFacts, "looks" | "left_out"> {
    const { attention, t } = this.maps;
    const { class: classes, text } = this.text.tokens;
    const { causal } = this.known;
    const found: { query: number; key: number; weight: number }[] = [];
    for (let query = 0; query < t; query++) {
      if (classes[query] < 3) continue;
      for (let key = causal && t > 1 ? 1 : 0; key < t; key++) {
        const weight = attention[(index * t + query) * t + key];
        if (weight > 0.01 && classes[key] >= 3) found.push({ query, key, weight });
      }
    }
    found.sort((a, b) => b.weight - a.weight);
    const kept = new Map<string, (typeof found)[number]>();
    for (const look of found) {
      const words = `${text[look.query].toLowerCase()}\n${text[look.key].toLowerCase()}`;
      if (!kept.has(words)) kept.set(words, look);
      if (kept.size >= pairsShown) break;
    }
    const special = classes.some((each) => each < 3);
    const left = [special ? "special tokens" : "", causal && t > 1 ? "the first token as a key" : ""].filter(Boolean);
    return { looks: [...kept.values()], left_out: left.length ? `Left out: ${left.join(", and ")}.` : null };
  }
}

function shortened(text: string): string {
  const plain = text.split(/\s+/u).join(" ").trim();
  return plain.length <= 110 ? plain : `${plain.slice(0, 109).trimEnd()}…`;
}

/** The largest weight of each bin, 255 = 1. */
function thumbnails({ attention, layers, heads, t }: Maps, bins: number): Uint8Array {
  const made = new Uint8Array(layers * heads * bins * bins);
  const edges = Array.from({ length: bins + 1 }, (_, bin) => Math.floor((bin * t) / bins));
  for (let head = 0; head < layers * heads; head++) {
    for (let row = 0; row < bins; row++) {
      for (let column = 0; column < bins; column++) {
        let most = 0;
        for (let query = edges[row]; query < edges[row + 1]; query++) {
          for (let key = edges[column]; key < edges[column + 1]; key++) most = Math.max(most, attention[(head * t + query) * t + key]);
        }
        made[(head * bins + row) * bins + column] = Math.min(255, Math.round(most * 255));
      }
    }
  }
  return made;
}
