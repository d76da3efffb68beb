/**
 * The contract between Python and the browser: one container, one state, one host.
 *
 * Container, little endian: bytes 0-3 "HSV1"; uint32 header length; header JSON (utf-8);
 * zero padding to 8; buffers back to back, each starting at a multiple of 8. `offset` in the
 * buffer table counts from the end of the padded header.
 *
 * In an HTML page the same container is one element:
 *
 *   <div data-headscope>
 *     <script type="application/json" data-header>{…, every "<" written as \u003c}</script>
 *     <script type="application/octet-stream" data-buffer="w0">base64 of the stored bytes</script>
 *   </div>
 *   <script type="module" nonce="…">the bundle, which mounts every [data-headscope] by itself</script>
 *
 * The app's page is <div data-headscope-app></div> and the same bundle.
 */

import type { AtlasHeader } from "./atlas";
import type { MediaHeader, PlacedTokens } from "./media";
import type { PredictionHeader } from "./prediction";

export type Kind = "encoder" | "decoder" | "cross";
/** The name of a folder of src/views, and of a file of views/ in Python. */
export type ViewName = string;
export type Theme = "auto" | "light" | "dark";

/** Layers and heads are 0-indexed everywhere. */
export interface Header extends MediaHeader {
  version: 1;
  view: ViewName;
  /** Tabs offered beside `view`; absent: every view the data can fill. */
  views?: ViewName[];
  model: string;
  /** One line under the picture: model, text, what was asked. */
  caption?: string;
  /** What may be wrong with the reading, a sentence each. */
  warnings?: string[];
  theme?: Theme;
  /** Initial selection; anything absent takes its default (state/state.ts). */
  state?: Partial<State>;
  parts: Part[];
  /** Tokens of the decoder that were given to it; those after them it wrote itself. */
  prompt_tokens?: number;
  /** A second reading of equal shape: the matrix view then offers this one, the other, and the difference. */
  other?: { model: string; caption?: string; parts: Part[] } | null;
  /** What the head map colours by; absent: only the pooled thumbnails' labels. */
  table?: HeadTable | null;
  /** Names of heads of a table that comes without a reading. */
  labels?: Label[];
  /** Examples and profiles of every head: the atlas view. */
  atlas?: AtlasHeader | null;
  /** What made the predicted token: the prediction view. */
  prediction?: PredictionHeader | null;
  /** What may be drawn in place of the weight, by name. */
  weightings?: Record<string, Weighting>;
  /** A sentence about what a page with a budget leaves out. */
  left_out?: string;
  buffers: Record<string, BufferEntry>;
}

/** What is drawn is weight × factor, at most 1; factors are (layers, heads, keys) of a part. */
export interface Weighting {
  title: string;
  parts: Partial<Record<Kind, { buffer: string }>>;
}

export interface Part {
  kind: Kind;
  /** Layer numbers present; per_layer, thumbnails and maps follow this order. */
  layers: number[];
  heads: number;
  /** Key/value heads: query head h reads key head floor(h / (heads / groups)). */
  groups: number;
  /** Neurons per head; 0 when q and k are absent. */
  dim: number;
  query: Tokens;
  /** null: the same tokens as query. */
  key: Tokens | null;
  encoding: "maps" | "qk";
  per_layer: Layer[];
  /** uint8 (layers, heads, rows, columns), max-pooled, 255 = weight 1; rows = min(28, t), columns = min(28, s). */
  thumbnails?: { buffer: string; size: [number, number] } | null;
  labels?: Label[];
  /** [layer, head] that a picture opens on unless it says otherwise. */
  opening?: [number, number];
  /** A sentence for the neuron view when q and k cannot be read. */
  why_no_qk?: string | null;
  rotary?: Rotary | null;
}

/** `dim` neurons (null: all) of q and k from `start` on turn in pairs: i with i + dim/2 ("halves"), or 2i with 2i+1. */
export interface Rotary {
  pairing: "halves" | "neighbours";
  dim: number | null;
  start: number;
}

/** One layer of a part. `maps`, `q` and `k` all null: not here, the host fetches it. */
export interface Layer {
  scaling: number;
  mask: Mask;
  /** Added to the scaled score. */
  bias?: Bias | null;
  /** score = softcap * tanh(score / softcap), after scaling, before bias and mask. */
  softcap?: number | null;
  /** float32 (heads,): one extra logit per head that takes mass and is not a key. */
  sinks?: { buffer: string } | null;
  /** uint16 | uint8 | float32 (heads, t, s), weight = code * scale. Preferred when both are here. */
  maps?: { buffer: string } | null;
  /** float32 (heads, t, dim), after rotary. */
  q?: { buffer: string } | null;
  /** float32 (groups, s, dim), after rotary, not repeated. */
  k?: { buffer: string } | null;
  /** Some heads alone, where the layer does not travel whole: a page with a budget, a long text. */
  pieces?: Piece[];
}

/** Heads that share their keys: maps (heads.length, t, s), q (heads.length, t, dim), k (1, s, dim). */
export interface Piece {
  heads: number[];
  maps?: { buffer: string } | null;
  q?: { buffer: string } | null;
  k?: { buffer: string } | null;
}

/**
 * With d = i + (s - t) - j, the distance back from query i to key j:
 *   "causal"                     visible when d >= 0
 *   {window: w, causal: true}    visible when 0 <= d < w
 *   {window: w, causal: false}   visible when |d| < w
 *   {buffer}                     bit (t, s) or (heads, t, s), 1 = may attend, numpy packbits(bitorder="little")
 *                                of the whole array flattened, no padding at row ends
 */
export type Mask = "none" | "causal" | { window: number; causal: boolean } | { buffer: string };

/**
 * dense: (heads | 1, t, s). relative: (heads | 1, t + s - 1), bias of query i and key j at
 * index j - i + t - 1.
 */
export interface Bias {
  buffer: string;
  form: "dense" | "relative";
}

/** All arrays have one entry a token. */
export interface Tokens extends PlacedTokens {
  text: string[];
  /** 0 CLS, 1 SEP, 2 other special, 3 punctuation, 4 word. */
  class: number[];
  /** 0 sentence A, 1 sentence B. */
  segment: number[];
  /** Word number, -1 for specials. */
  word: number[];
  /** 1: continues the word of the token before. */
  continues: number[];
  /** Each token as it stands in the text, with all that stands between it and the token before; absent: only `text` is known. */
  written?: string[];
  /** The first token that the model wrote itself; absent: none. */
  boundary?: number;
}

export interface Label {
  layer: number;
  head: number;
  text: string;
  score: number;
}

/** Layers × heads of numbers for the head map. */
export interface HeadTable {
  kind: Kind;
  layers: number[];
  heads: number;
  columns: TableColumn[];
}

export interface TableColumn {
  name: string;
  /** What the menu shows; default: name with spaces. */
  title?: string;
  /** float32 (layers, heads); NaN = not measured. */
  buffer: string;
  scale: "sequential" | "diverging";
  /** Ends of the colour scale; absent: the data's own. */
  range?: [number, number];
  /** One sentence of what the number means. */
  note?: string;
}

export interface BufferEntry {
  dtype: "uint16" | "uint8" | "int8" | "float32" | "bit";
  shape: number[];
  offset: number;
  /** Length as stored, that is after compression. */
  bytes: number;
  /** deflate = raw deflate (RFC 1951, zlib wbits=-15). */
  codec: "raw" | "deflate";
  /** value = code * scale; default 1. */
  scale?: number;
  /** Multi-byte items stored as planes: all low bytes, then all high bytes (before compression). */
  planes?: boolean;
}

export type Filter = "all" | "aa" | "ab" | "ba" | "bb";

/** Everything that is on screen and can be linked to. Token numbers are those of Tokens, whatever the unit. */
export interface State {
  view: ViewName;
  kind: Kind;
  layer: number;
  /** Heads switched on in the head view; null = all of them. */
  heads: number[] | null;
  /** Model view: the heads it was made for; null = all of them. */
  columns: number[] | null;
  /** The head in hand: neuron and matrix view, the app's panel. */
  head: number;
  /** Pinned query token, or null. */
  query: number | null;
  /** Pinned key token, or null. */
  key: number | null;
  filter: Filter;
  specials: "shown" | "hidden" | "renormalised";
  /** The first token as a key: many heads of a decoder rest on it. */
  first: "shown" | "hidden";
  unit: "tokens" | "words";
  /** Lines below this weight are left out. */
  minimum: number;
  scale: "linear" | "sqrt";
  layout: "vertical" | "horizontal";
  direction: "auto" | "ltr" | "rtl";
  theme: Theme;
  /** Model view: what a thumbnail shows. */
  thumbnails: "maps" | "lines";
  /** Model view and chips: heads by number, or strongest label first. */
  order: "number" | "label";
  /** Model view: only heads whose label contains this. */
  find: string;
  /** Neuron view. */
  sort: "number" | "contribution";
  wrap: boolean;
  /** Neurons of an explanation, to be marked. */
  marked: number[];
  /** Head map: name of the column in use ("" = first). */
  column: string;
  /** What is drawn: α, ‖α v W‖, or the size of its part along an answer's logit. */
  weighting: "weight" | "norm" | "logit";
  /** Matrix view: which of two readings. */
  reading: "this" | "other" | "difference";
}

/** What a host gives a mounted view. Page, widget and app each have one. */
export interface Source {
  header: Header;
  /** Stored bytes of a buffer named in header.buffers (still compressed). */
  buffer(name: string): Promise<Uint8Array>;
  /** A whole container whose single part holds that single layer; of a large one, at least that head. */
  fetchLayer?(kind: Kind, layer: number, head: number): Promise<ArrayBuffer | Uint8Array>;
  /** A container whose header has a prediction of this target; the likeliest if null. */
  fetchPrediction?(target: string | null): Promise<ArrayBuffer | Uint8Array>;
  /** A container whose header has that weighting. */
  fetchWeighting?(by: string, target: string | null): Promise<ArrayBuffer | Uint8Array>;
}

/** A query of a text in an atlas's corpus, to be seen with a head in a view. */
export interface TextPlace {
  document: number;
  query: number;
  kind: Kind;
  layer: number;
  head: number;
  view: ViewName;
}

export interface MountOptions {
  /** Called after the user changed something. */
  onState?(state: State): void;
  /** false: no tabs, the view stays what header.view says. */
  tabs?: boolean;
  /** Pixels the stage may fill; default: what the window has left below the controls. */
  height?: number;
  /** A second reading for the matrix view's difference, where it is not in the container itself. */
  other?: Source | null;
  /** It has no controls of its own: another view's steer it. */
  follows?: boolean;
  /** The view stands in a frame that fills the window (the app): nothing below it but its own foot. */
  fill?: boolean;
  /** Reads a text of the atlas's corpus and opens a head on it. */
  openText?: (place: TextPlace) => void;
}

/** mount(element, container | Source, options): what the bundle exports, and element.headscope. */
export interface Mounted {
  readonly state: State;
  /** Change what is on screen, as a click would. */
  set(change: Partial<State>): void;
  /** The weight as the page has it, whole tokens, specials shown. `head` may be any head of the layer. */
  weight(kind: Kind, layer: number, head: number, query: number, key: number): Promise<number>;
  /** Resolves when the first picture is painted (two animation frames after its marks were drawn). */
  readonly ready: Promise<void>;
  /** Counts pictures painted; each counted two animation frames after its marks were drawn. */
  readonly paints: number;
  /** Resolves when nothing is waiting to be drawn: the state now set is on screen. */
  painted(): Promise<void>;
  /** What is drawn, as data: view, heads, tokens and their strongest numbers. */
  picture(): Record<string, unknown> | null;
  /** What the line under the picture says, e.g. "showing 1,240 of 262,144 lines, 93 % of the mass". */
  readonly status: string;
  unmount(): void;
}

/**
 * The live widget (anywidget). Traits: `container` (Bytes, the container, layers may be absent),
 * `state` (Dict, synced both ways; a partial State may be set from Python).
 * Custom messages: browser → kernel {type: "layer", id, kind, layer};
 * kernel → browser {type: "layer", id} with buffers[0] = container, or {type: "error", id, message}.
 */
export interface WidgetRequest {
  type: "layer";
  id: number;
  kind: Kind;
  layer: number;
  head: number;
}
export type WidgetReply =
  | { type: "layer"; id: number }
  | { type: "error"; id: number; message: string };
