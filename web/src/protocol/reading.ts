/** A reading in the page: parts, layers fetched when needed, maps computed when shown. */
import { Cache } from "./cache";
import { openContainer } from "./container";
import { decode, toFloats } from "./decode";
import { decodeLayer, headMap, isHere } from "./layer";
import type { LayerData } from "./layer";
import { bitmapOf, placesOf } from "./places";
import type { Places } from "./places";
import type { Answer, PredictionHeader } from "./types";
import type { Header, HeadTable, Kind, Label, Part, Source, TableColumn, Tokens } from "./types";

const MB = 2 ** 20;

export interface Thumbnails {
  /** (layers, heads, rows, columns), 255 = weight 1. */
  codes: Uint8Array;
  rows: number;
  columns: number;
}

export interface Prediction {
  header: PredictionHeader;
  /** (heads of header.words, tokens). */
  byKey: Float32Array;
}

interface Weighing {
  title: string;
  factors: Partial<Record<string, Float32Array>>;
}

export class Reading {
  private readonly predictions = new Cache<Prediction>(8 * MB, (found) => found.byKey.byteLength);
  private readonly layers = new Cache<LayerData>(256 * MB, (layer) => layer.bytes);
  private readonly maps = new Cache<Float32Array>(384 * MB, (map) => map.byteLength);
  private readonly pooled = new Cache<Thumbnails | null>(64 * MB, (pooled) => pooled?.codes.byteLength ?? 0);
  private readonly columns = new Cache<Float32Array>(8 * MB, (values) => values.byteLength);
  private readonly placed = new Cache<Places>(32 * MB, (places) => places.rectangles.byteLength);
  private readonly bitmaps = new Cache<ImageBitmap>(128 * MB, (bitmap) => 4 * bitmap.width * bitmap.height);
  private readonly weighings = new Cache<Weighing>(64 * MB, () => MB);
  readonly header: Header;
  private readonly titles = new Map<string, string>();
  /** The drawn value instead of the weight, and the answer of its logits. */
  weighting = "weight";
  target: string | null = null;

  /** `which` picks the second reading of a container that holds two. */
  constructor(
    private readonly source: Source,
    private readonly which: "this" | "other" = "this",
  ) {
    this.header = source.header;
    const { prompt_tokens } = source.header;
    for (const part of this.parts) if (part.kind !== "encoder" && prompt_tokens && prompt_tokens > 1) part.query.boundary = prompt_tokens;
  }

  get parts(): Part[] {
    return this.which === "this" ? this.header.parts : (this.header.other?.parts ?? []);
  }

  get table(): HeadTable | null {
    return this.header.table ?? null;
  }

  has(kind: Kind): boolean {
    return this.parts.some((part) => part.kind === kind);
  }

  part(kind: Kind): Part {
    const found = this.parts.find((part) => part.kind === kind) ?? this.parts[0];
    if (!found) throw new Error("This view's data holds no attention.");
    return found;
  }

  tokens(kind: Kind): { query: Tokens; key: Tokens } {
    const part = this.part(kind);
    return { query: part.query, key: part.key ?? part.query };
  }

  label(kind: Kind, layer: number, head: number): Label | null {
    const labels = this.part(kind).labels ?? [];
    let best: Label | null = null;
    for (const label of labels) {
      if (label.layer === layer && label.head === head && (!best || label.score > best.score)) best = label;
    }
    return best;
  }

  /** The layer with at least that head in it. */
  async layer(kind: Kind, layer: number, head: number): Promise<LayerData> {
    const part = this.part(kind);
    const here = part.per_layer[part.layers.indexOf(layer)];
    const name = `${kind} ${layer}`;
    if (here && isHere(here)) return this.layers.get(name, () => decodeLayer(this.source, part, here));
    const piece = here?.pieces?.find((each) => each.heads.includes(head));
    if (piece) return this.layers.get(`${name} here ${piece.heads[0]}`, () => decodeLayer(this.source, part, here, piece));
    // A long text comes head by head; whether it does is known once a first answer is here.
    const first = await this.layers.get(name, () => this.fetch(kind, layer, head));
    return first.has(head) ? first : this.layers.get(`${name} ${head}`, () => this.fetch(kind, layer, head));
  }

  private async fetch(kind: Kind, layer: number, head: number): Promise<LayerData> {
    if (!this.source.fetchLayer) {
      throw new Error(`Head ${layer}-${head} is only a thumbnail in this file; hs.head_view(reading, layer=${layer}, heads=[${head}]) shows it.`);
    }
    const fetched = openContainer(await this.source.fetchLayer(kind, layer, head));
    const its = fetched.header.parts[0];
    const found = its.per_layer[Math.max(0, its.layers.indexOf(layer))];
    return decodeLayer(fetched, its, found, found.pieces?.[0] ?? null);
  }

  /** Whether something else than the weight can be drawn. */
  get canWeigh(): boolean {
    return Object.keys(this.header.weightings ?? {}).length > 0 || this.source.fetchWeighting !== undefined;
  }

  /** What weights are drawn times, one number a key; null: as they are. */
  async factor(kind: Kind, layer: number, head: number, drawn: Pick<Reading, "weighting" | "by" | "target"> = this): Promise<Float32Array | null> {
    const { weighting: by, by: name, target } = drawn;
    if (by === "weight") return null;
    const { title, factors } = await this.weighings.get(name, async () => {
      const here = this.header.weightings?.[by];
      if (!here && !this.source.fetchWeighting) throw new Error("This file can draw the weights alone; hs.circuits.with_weightings(scope, text) makes one with more.");
      const source = here ? this.source : openContainer(await this.source.fetchWeighting!(by, target));
      const { title, parts } = source.header.weightings![by];
      const factors: Partial<Record<string, Float32Array>> = {};
      for (const [of, { buffer }] of Object.entries(parts)) factors[of] = (await decode(source.header.buffers[buffer], await source.buffer(buffer), buffer)) as Float32Array;
      return { title, factors };
    });
    const found = factors[kind];
    if (!found) throw new Error(`Only the weights of ${kind} attention can be drawn.`);
    this.titles.set(name, title);
    const { layers, heads } = this.part(kind);
    const s = this.tokens(kind).key.text.length;
    return found.subarray((layers.indexOf(layer) * heads + head) * s).subarray(0, s);
  }

  /** The cache key of the drawn value. */
  get by(): string {
    return `${this.weighting} ${this.weighting === "logit" ? this.target : ""}`;
  }

  /** The name of the drawn value, if it is not the weight. */
  get drawn(): string {
    return this.titles.get(this.by) ?? "";
  }

  map(kind: Kind, layer: number, head: number): Promise<Float32Array> {
    // The drawn value now, which is the map's cache key; it may change before the map is made.
    const { weighting, by, target } = this;
    return this.maps.get(`${by} ${kind} ${layer} ${head}`, async () => {
      const factor = await this.factor(kind, layer, head, { weighting, by, target });
      const map = headMap(await this.layer(kind, layer, head), head);
      return factor ? (await map).map((weight, i) => weight * factor[i % factor.length]) : map;
    });
  }

  /** The map if it has been computed already. */
  peek(kind: Kind, layer: number, head: number): Float32Array | null {
    return this.maps.peek(`${this.by} ${kind} ${layer} ${head}`);
  }

  /** Where the positions of one side lie; null for words. */
  async places(kind: Kind, side: "query" | "key"): Promise<Places | null> {
    const header = this.tokens(kind)[side].places;
    return header ? this.placed.get(header.kinds.buffer, () => placesOf(this.source, header)) : null;
  }

  picture(at: number): Promise<ImageBitmap> {
    return this.bitmaps.get(String(at), () => bitmapOf(this.source, this.header.pictures![at]));
  }

  /** Loudness, 255 for the loudest: bands (low first) × moments. */
  async spectrogram(): Promise<{ codes: Uint8Array; bands: number; moments: number }> {
    const { buffer } = this.header.sound!;
    const entry = this.header.buffers[buffer];
    const codes = (await decode(entry, await this.source.buffer(buffer), buffer)) as Uint8Array;
    return { codes, bands: entry.shape[0], moments: entry.shape[1] };
  }

  thumbnails(kind: Kind): Promise<Thumbnails | null> {
    return this.pooled.get(kind, async () => {
      const pooled = this.part(kind).thumbnails;
      if (!pooled) return null;
      const entry = this.header.buffers[pooled.buffer];
      const codes = (await decode(entry, await this.source.buffer(pooled.buffer), pooled.buffer)) as Uint8Array;
      return { codes, rows: pooled.size[0], columns: pooled.size[1] };
    });
  }

  column(column: TableColumn): Promise<Float32Array> {
    return this.columns.get(column.buffer, () => this.numbers(column.buffer));
  }

  /** Any buffer as floats. */
  async numbers(buffer: string): Promise<Float32Array> {
    const entry = this.header.buffers[buffer];
    return toFloats(await decode(entry, await this.source.buffer(buffer), buffer), entry.scale ?? 1);
  }

  /** Whether a prediction is here, or can be requested. */
  get canPredict(): boolean {
    return Boolean(this.header.prediction) || this.canAsk;
  }

  /** Reads the text again with a word masked; null without a model that fills masks. */
  get maskWord(): ((token: number) => void) | null {
    return this.source.maskWord ?? null;
  }

  /** Whether other targets than the current one can be requested. */
  get canAsk(): boolean {
    return this.source.fetchPrediction !== undefined;
  }

  prediction(answer: Answer = { target: null, rather: null, token: null }): Promise<Prediction> {
    const { target, rather, token } = answer;
    return this.predictions.get(JSON.stringify([target, rather, token]), async () => {
      const here = this.header.prediction && ((target ?? rather ?? token) === null || !this.source.fetchPrediction);
      const source = here || !this.source.fetchPrediction ? this.source : openContainer(await this.source.fetchPrediction(answer));
      const header = source.header.prediction;
      if (!header) throw new Error(source.header.why_no_prediction ?? "There is no prediction to explain here.");
      const entry = source.header.buffers[header.by_key.buffer];
      const numbers = await decode(entry, await source.buffer(header.by_key.buffer), header.by_key.buffer);
      return { header, byKey: toFloats(numbers, entry.scale ?? 1) };
    });
  }
}
