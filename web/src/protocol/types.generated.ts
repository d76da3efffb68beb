/** Written by `make types` from the models in Python: change those, not this file. */
/* eslint-disable max-lines */
export type Kind = "encoder" | "decoder" | "cross";
export type Theme = "auto" | "light" | "dark";
export type Filter = "all" | "aa" | "ab" | "ba" | "bb";
export type Mask = "none" | "causal" | { window: number; causal: boolean } | { buffer: string };
export type OffHead = [Kind, number, number];

/** Everything on screen that a link can hold. Tokens are numbered as in Tokens. */
export interface State {
  view: string;
  kind: Kind;
  layer: number;
  /** Heads switched on in the head view; null = all of them. */
  heads: number[] | null;
  /** Model view: the heads it was made for; null = all of them. */
  columns: number[] | null;
  /** The selected head: neuron and matrix view, the app's panel. */
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
  orientation: "vertical" | "horizontal";
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
  /** Matrix view: which of two readings. */
  reading: "this" | "other" | "difference";
  /** What is drawn: α, ‖α v W‖, or the size of its part along an answer's logit. */
  weighting: "weight" | "norm" | "logit";
}

export const defaults: State = {
  view: "head",
  kind: "encoder",
  layer: 0,
  heads: null,
  columns: null,
  head: 0,
  query: null,
  key: null,
  filter: "all",
  specials: "shown",
  first: "shown",
  unit: "tokens",
  minimum: 0,
  scale: "linear",
  orientation: "vertical",
  direction: "auto",
  theme: "auto",
  thumbnails: "maps",
  order: "number",
  find: "",
  sort: "number",
  wrap: false,
  marked: [],
  column: "",
  reading: "this",
  weighting: "weight",
};

export const choices: { [Key in keyof State]?: readonly State[Key][] } = {
  kind: ["encoder", "decoder", "cross"],
  filter: ["all", "aa", "ab", "ba", "bb"],
  specials: ["shown", "hidden", "renormalised"],
  first: ["shown", "hidden"],
  unit: ["tokens", "words"],
  scale: ["linear", "sqrt"],
  orientation: ["vertical", "horizontal"],
  direction: ["auto", "ltr", "rtl"],
  theme: ["auto", "light", "dark"],
  thumbnails: ["maps", "lines"],
  order: ["number", "label"],
  sort: ["number", "contribution"],
  reading: ["this", "other", "difference"],
  weighting: ["weight", "norm", "logit"],
};

export interface BufferReference {
  buffer: string;
}

export interface BufferEntry {
  dtype: "uint16" | "uint8" | "int8" | "float32" | "bit";
  shape: number[];
  offset: number;
  /** Length as stored, that is after compression. */
  bytes: number;
  /** deflate: raw deflate (RFC 1951, zlib wbits=-15). */
  codec: "raw" | "deflate";
  /** value = code * scale. */
  scale?: number;
  /** Multi-byte items as planes: all low bytes, then all high bytes (before compression). */
  planes?: boolean;
}

/** The drawn value is weight × factor, at most 1; factors: (layers, heads, keys) of a part. */
export interface Weighting {
  title: string;
  parts: Partial<Record<Kind, BufferReference>>;
}

/** Neurons of q and k rotate in pairs: i with i + dim/2 ("halves"), or 2i with 2i+1. */
export interface Rotary {
  pairing: "halves" | "neighbours";
  /** null: all of them. */
  dim: number | null;
  start: number;
}

/** Heads that share their keys: maps (heads, t, s), q (heads, t, dim), k and v (1, s, dim). */
export interface Piece {
  heads: number[];
  maps?: BufferReference | null;
  q?: BufferReference | null;
  k?: BufferReference | null;
  v?: BufferReference | null;
}

/** dense: (heads | 1, t, s). relative: (heads | 1, t + s - 1), at index j - i + t - 1. */
export interface Bias {
  buffer: string;
  form: "dense" | "relative";
}

/** One layer of a part. If `maps`, `q` and `k` are all null, the host fetches it. */
export interface Layer {
  scaling: number;
  mask: Mask;
  /** Added to the scaled score. */
  bias?: Bias | null;
  /** score = softcap * tanh(score / softcap), after scaling, before bias and mask. */
  softcap?: number | null;
  /** float32 (heads,): one extra logit per head that takes mass and is not a key. */
  sinks?: BufferReference | null;
  /** uint16 | uint8 | float32 (heads, t, s), weight = code * scale. Preferred when both exist. */
  maps?: BufferReference | null;
  /** float32 (heads, t, dim), after rotary. */
  q?: BufferReference | null;
  /** float32 (groups, s, dim), after rotary, not repeated. */
  k?: BufferReference | null;
  /** float32 (groups, s, size), where values were kept. */
  v?: BufferReference | null;
  /** Some heads alone, where a page has a budget or the text is long. */
  pieces?: Piece[];
}

/** The regions of positions in pictures and in a sound. */
export interface PlacesHeader {
  kinds: BufferReference;
  rectangles: BufferReference;
  seconds: BufferReference;
  pictures: BufferReference;
}

export interface PictureHeader extends BufferReference {
  name: string;
  width: number;
  height: number;
}

export interface TimedWord {
  text: string;
  tokens: [number, number];
  start: number;
  end: number;
}

export interface SoundHeader extends BufferReference {
  name: string;
  seconds: number;
  rate: number;
  /** The transcript, each word where dynamic time warping puts it. */
  words: TimedWord[];
}

/** All arrays have one entry per token. */
export interface Tokens {
  text: string[];
  /** 0 CLS, 1 SEP, 2 other special, 3 punctuation, 4 word. */
  class: number[];
  /** 0 sentence A, 1 sentence B. */
  segment: number[];
  /** Word number, -1 for specials. */
  word: number[];
  /** 1: continues the word of the token before. */
  continues: number[];
  /** Each token as it stands in the text, with all that stands between it and the token before. */
  written?: string[];
  /** The first token that the model wrote itself; absent: none. */
  boundary?: number;
  /** Where positions lie in a picture or a sound; absent: they are words. */
  places?: PlacesHeader;
}

export interface Label {
  layer: number;
  head: number;
  text: string;
  score: number;
  /** "12 of 13 queries of this text", or "over 400 texts"; empty where it is not known. */
  evidence?: string;
  /** The head looks where nothing is to be learnt, and does nothing else that was found. */
  rests?: boolean;
}

/** uint8 (layers, heads, rows, columns), max-pooled, 255 = weight 1. */
export interface Thumbnails extends BufferReference {
  /** rows = min(28, t), columns = min(28, s). */
  size: [number, number];
}

/** Tokens from start up to (not including) end that belong to one span of a conversation. */
export interface TokenSpan {
  /** A span that others interrupt stands here several times. */
  name: string;
  start: number;
  end: number;
}

/** One kind of attention in a reading. */
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
  thumbnails?: Thumbnails | null;
  labels?: Label[];
  /** [layer, head] that a picture opens on unless it says otherwise. */
  opening?: [number, number];
  /** A sentence for the neuron view when q and k cannot be read. */
  why_no_qk?: string | null;
  rotary?: Rotary | null;
  /** Of a conversation: the message, document or answer that each token belongs to. */
  spans?: TokenSpan[];
  /** The name of the answer's span. */
  answer?: string | null;
}

/** float32 (layers, heads); NaN = not measured. */
export interface TableColumn extends BufferReference {
  name: string;
  /** What the menu shows; default: name with spaces. */
  title?: string;
  scale: "sequential" | "diverging";
  /** Ends of the colour scale; absent: the data's own. */
  range?: [number, number];
  unit?: string;
  /** One sentence of what the number means. */
  note?: string;
}

/** Layers × heads of numbers for the head map. */
export interface HeadTable {
  kind: Kind;
  layers: number[];
  heads: number;
  columns: TableColumn[];
}

export interface PredictionPart {
  part: "embedding" | "head" | "mlp" | "bias" | "rest";
  kind: Kind | null;
  layer: number | null;
  head: number | null;
  label: string;
  /** What it adds to the logit. */
  value: number;
}

export interface PredictionFlow {
  parts: PredictionPart[];
  edges: [string, number, number][];
  shown: number;
  rest: number;
}

/** The parts that made a predicted token. */
export interface PredictionHeader {
  /** The token explained, and the one it is compared with, if any. */
  target: string[];
  value: number;
  position: number | null;
  query: string[];
  /** The encoder's tokens, where there are two stacks. */
  key: string[] | null;
  /** The model's predictions, with probabilities. */
  likeliest: [string, number][];
  /** Strongest first. */
  parts: PredictionPart[];
  rest: number;
  unexplained: number;
  note: string;
  /** Heads ("decoder.3.1") whose words are known: the rows of `by_key`, (heads, tokens). */
  words: string[];
  by_key: BufferReference;
  /** Tokens that a head raises and lowers. */
  promotes: Record<string, [string[], string[]]>;
  /** Layer by layer: the likeliest tokens and their probabilities. */
  lens: [string[], number[]][];
  flow: PredictionFlow;
}

export interface Evidence {
  label: string;
  pattern: string;
  score: number;
  holds: boolean;
  sentence: string;
}

/** An atlas's data about one head. */
export interface HeadPage {
  evidence: Evidence[];
  /** The measure whose examples come first. */
  shown: string;
  /** offset, position, length: [value, count, expected, weight]; others: [name, other, count, lift, weight]. */
  profiles: Record<string, [number | string, number | string, number, number | null, number | null][]>;
  /** Of each measure: decile, least and largest value, share of the positions drawn. */
  deciles: Record<string, [number, number, number, number][]>;
  /** [layer, head, distance], nearest first. */
  near: [number, number, number][];
  /** What disabling it does, as the header's `ablations`: [score, low, high, p]; low, high and p are of the difference. */
  off: ([number, number | null, number | null, number | null] | null)[];
}

/** A task scored with every head disabled in turn; the differences are a column of the table. */
export interface AblatedTask {
  column: string;
  task: string;
  metric: string;
  mode: string;
  baseline: number;
  examples: number;
  higher_is_better: boolean;
}

export interface NamedMeasure {
  name: string;
  title: string;
}

/** An atlas's examples as columns. */
export interface ExamplesHeader {
  width: number;
  numbers: number[];
  measure: BufferReference;
  decile: BufferReference;
  document: BufferReference;
  query: BufferReference;
  keys: BufferReference;
  value: BufferReference;
  weights: BufferReference;
}

export interface TextsHeader {
  words: string[];
  starts: number[];
  lengths: number[];
  tokens: BufferReference;
  positions: BufferReference;
  flags: BufferReference;
}

/** One of the things that a head does. */
export interface BehaviourHeader {
  /** Of the head's positions. */
  share: number;
  label: string;
  score: number | null;
  /** Attention to the label's targets, over that of uniform attention. */
  lift: number | null;
  weight: number | null;
  /** The most frequent ones. */
  keys: string[];
}

/** The tokens about each position, which all heads share. */
export interface BehaviourTexts {
  starts: number[];
  /** Twice the word's number, plus 1 where a token continues a word. */
  tokens: BufferReference;
  document: BufferReference;
  query: BufferReference;
  start: BufferReference;
}

/** Every head's positions in one plane of queries and keys, in clusters. */
export interface BehavioursHeader {
  axes: string;
  /** Positions that were clustered; fewer may be in the page. */
  total: number;
  /** Layer by layer; empty: the head was not clustered. */
  heads: BehaviourHeader[][];
  /** How many points each head has; they stand in that order. */
  counts: number[];
  position: BufferReference;
  behaviour: BufferReference;
  key: BufferReference;
  key_token: BufferReference;
  /** Query x and y, key x and y, and weight of each point. */
  plane: BufferReference;
  texts: BehaviourTexts;
  words: string[];
}

/** Examples and profiles of every head. */
export interface AtlasHeader {
  tokens: number | null;
  measures: NamedMeasure[];
  ablations: AblatedTask[];
  /** Layer by layer. */
  heads: HeadPage[];
  /** How many examples each head has; they stand in that order. */
  counts: number[];
  examples: ExamplesHeader;
  texts: TextsHeader | null;
  /** Of cross attention: its keys stand in another text than its queries. */
  key_texts: TextsHeader | null;
  /** The kinds of attention that the atlas has; this page shows one. */
  kinds: Kind[];
  behaviours?: BehavioursHeader | null;
}

export interface OtherReading {
  model: string;
  caption: string;
  parts: Part[];
}

/** A span of a document, in characters. */
export interface GroundedSource {
  name: string;
  document: number;
  start: number;
  stop: number;
}

/** A sentence of the answer, in characters, and its verdict in words. */
export interface GroundedSentence {
  start: number;
  stop: number;
  verdict: string;
  gain: number;
  /** With the letters of the documents' words shuffled. */
  by_chance: number;
  /** The share of its surprise that their least expected word loses. */
  least_expected: number;
}

export interface GroundedHead {
  layer: number;
  head: number;
  attention: number;
  /** Share of the answer's tokens that are the head's strongest key in the source. */
  copied: number;
  /** Of the answer's log-probability, with the head's attention to the source cut. */
  lost: number;
}

export interface GroundingMethod {
  name: string;
  title: string;
}

export interface GroundingHeader {
  question: string;
  answer: string;
  titles: string[];
  documents: string[];
  sources: GroundedSource[];
  /** The first is the whole answer. */
  sentences: GroundedSentence[];
  methods: GroundingMethod[];
  /** (methods, sentences, sources), NaN where a source was not measured. */
  scores: BufferReference;
  heads: GroundedHead[];
  /** That the heads' attention goes to. */
  source: string;
  /** Lost with all of these heads cut at once. */
  together: number | null;
}

/** A writer of a query or key; layer and head are a head's. */
export interface ScoreWriter {
  name: string;
  kind: Kind | null;
  layer: number | null;
  head: number | null;
  /** What it adds to the score, with all writers of the other side. */
  value: number;
  /** Its token, or the one that the head read most; empty: not known. */
  word: string;
  /** The key that the head read most, and the weight. */
  read: [number, number] | null;
}

/** The change of weight without a writer. */
export interface RemovedWriter {
  side: "query" | "key";
  writer: string;
  predicted: number;
  rescaled: number;
  measured: number;
}

/** One attention score as writers of the query × writers of the key. */
export interface ScoreHeader {
  title: string;
  value: number;
  weight: number;
  bias: number;
  /** What pairs that are not shown add. */
  rest: number;
  query: ScoreWriter[];
  key: ScoreWriter[];
  /** Positions of the query and the key. */
  at: [number, number];
  tokens: [string, string];
  /** (query, key) writers. */
  parts: BufferReference;
  removed: RemovedWriter[];
}

/** A node of a trace or of a circuit; layer and head are a head's or an MLP's. */
export interface GraphNode {
  name: string;
  part: string;
  /** In nodes, from the left. */
  x: number;
  /** In layers, from below. */
  y: number;
  token: string;
  position: number | null;
  layer: number | null;
  head: number | null;
  kind: Kind | null;
}

/** An arrow between two nodes, by their index. */
export interface GraphLink {
  source: number;
  target: number;
  through: string;
  value: number;
  text: string;
}

/** A trace or a circuit, laid out. */
export interface GraphHeader {
  title: string;
  caption: string;
  nodes: GraphNode[];
  links: GraphLink[];
}

/** A container's contents beside its buffers. */
export interface Header {
  version: 1;
  view: string;
  /** Tabs offered beside `view`; absent: every view the data can fill. */
  views?: string[];
  model: string;
  /** One line under the picture: model, text, what was asked. */
  caption?: string;
  /** What may be wrong with the reading, a sentence each. */
  warnings?: string[];
  theme?: Theme;
  /** Initial selection; anything absent takes its default. */
  state?: Partial<State>;
  parts: Part[];
  /** Tokens of the decoder that were given to it; those after them it wrote itself. */
  prompt_tokens?: number;
  /** A second reading of equal shape: the matrix view shows this one, the other or the difference. */
  other?: OtherReading | null;
  /** What the head map colours by; absent: only the pooled thumbnails' labels. */
  table?: HeadTable | null;
  /** Names of heads of a table that comes without a reading. */
  labels?: Label[];
  atlas?: AtlasHeader | null;
  prediction?: PredictionHeader | null;
  grounding?: GroundingHeader | null;
  score?: ScoreHeader | null;
  graph?: GraphHeader | null;
  /** A sentence for the prediction view when the model predicts nothing of this text. */
  why_no_prediction?: string;
  /** What may be drawn in place of the weight, by name. */
  weightings?: Record<string, Weighting>;
  /** A sentence about what a page with a budget leaves out. */
  left_out?: string;
  pictures?: PictureHeader[];
  sound?: SoundHeader;
  buffers: Record<string, BufferEntry>;
}

/** A document for a question or, with a role, a message before it. */
export interface GivenDocument {
  text: string;
  title?: string;
  role?: "system" | "user" | "assistant" | null;
}

/** POST /api/read and /api/tokens. The answer is a container; status 413 for too long a text. */
export interface ReadRequest {
  model: string;
  text: string;
  text_pair?: string | null;
  off?: OffHead[];
  /** Emphasis and weights set by hand, as the address spells them. */
  edits?: string[];
  /** The layer that travels along; the others are fetched. */
  layer?: number | null;
  /** Read only as many tokens as the model takes. */
  truncate?: boolean;
  /** A text the model wrote, by its id, in place of the text. */
  writing?: string | null;
  /** By which the page asks for its rank in the queue, or cancels the request. */
  ticket?: string | null;
  /** With these the text is a question, and the second text its answer, if any. */
  documents?: GivenDocument[];
}

/** POST /api/media: an example by its name, or a file as base64; the text may be empty. */
export interface MediaReadRequest extends ReadRequest {
  media: "image" | "audio" | "example";
  name: string;
  data?: string;
}

/** POST /api/write: begin a text, or continue the one of that id. */
export interface WriteRequest {
  count: number;
  writing?: string | null;
  model?: string;
  text?: string;
  off?: OffHead[];
  /** Emphasis and weights set by hand, as the address spells them. */
  edits?: string[];
}

/** POST /api/predict and /api/importance. */
export interface HeadsOffRequest {
  id: string;
  off?: OffHead[];
  /** Emphasis and weights set by hand, as the address spells them. */
  edits?: string[];
}

/** POST /api/wanted: the probability of an answer after the text, with and without the edits. */
export interface WantedRequest extends HeadsOffRequest {
  answer: string;
}

/** POST /api/attribute. */
export interface AttributeRequest {
  id: string;
  /** null: the likeliest token; with `token`, the one that stands there. */
  target?: string | null;
  /** The answer it is set against. */
  rather?: string | null;
  /** The token that is explained; null: what the model says next, or at its first mask. */
  token?: number | null;
}

/** POST /api/mask: the text with the word of a token masked. */
export interface MaskRequest {
  id: string;
  token: number;
}

/** POST /api/weigh. */
export interface WeighRequest {
  id: string;
  /** null: the likeliest token. */
  target?: string | null;
  by: "norm" | "logit";
}

/** POST /api/compare. */
export interface CompareRequest {
  id: string;
  other: string;
}

/** POST /api/atlas/nearest: a head's query in a reading. */
export interface NearestRequest {
  id: string;
  kind: Kind;
  layer: number;
  head: number;
  query: number;
}

/** POST /api/writers and /api/score: the writers of a head's query and of a key. */
export interface WritersRequest extends NearestRequest {
  /** null: the key that the query looks at most, special tokens and a decoder's first left out. */
  key?: number | null;
}

/** POST /api/atlas/estimate and /api/atlas/build. */
export interface BuildRequest {
  model: string;
  /** A text a line; "": the novels in the package. */
  text?: string;
  ticket?: string | null;
}

/** POST /api/cancel. */
export interface CancelRequest {
  ticket: string;
}

/** GET /api/reading/{id}/layer/{kind}/{layer}?head= and …/head/{kind}/{layer}/{head}. */
export interface HeadAddress {
  id: string;
  kind: Kind;
  layer: number;
  head?: number | null;
}

/** GET /api/atlas?model=&kind= and /api/atlas/file?model=. */
export interface AtlasAddress {
  model: string;
  /** null: the first kind of its heads. */
  kind?: string | null;
}

/** GET /api/atlas/text/{document}?model=. */
export interface TextAddress {
  model: string;
  document: number;
}
