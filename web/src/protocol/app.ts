/** The app's routes: requests and replies. Errors are {error: "one sentence"} with status 4xx or 5xx. */
import type { Header, Kind, MediaReadRequest, ScoreWriter, ViewName } from "./types";

export type { GivenDocument, OffHead, ReadRequest } from "./types";


/** GET /api/start: the server's current step until it can answer; null: ready. */
export interface StartReply {
  doing: string | null;
  failed: string | null;
  seconds: number;
  /** In a live page: how much of the file that is being loaded has arrived. */
  share?: number | null;
}

/** POST /api/tokens, with a ReadRequest: counted while it is typed; null while the model is busy. */
export interface TokensReply {
  tokens: number | null;
  /** null: the model has no limit. */
  limit: number | null;
  /** Tokens unknown to the model. */
  unknown: number;
}

/** GET /api/queue/TICKET */
export interface Queued {
  /** Requests that are served before it; null when it is done. */
  before: number | null;
  /** The finished share of its work, and the seconds left. */
  done: number | null;
  left: number | null;
}

/** GET /api/models */
export interface ModelsReply {
  models: ModelEntry[];
  /** Id of the model to open with. */
  default: string;
  examples: Example[];
  media_examples: MediaExample[];
  /** Longest text accepted, in characters. */
  max_characters: number;
  /** What words of the panel mean. */
  glossary: Record<string, string>;
  /** Ids of the models that an atlas is open of. */
  atlases?: string[];
  /** Saved states to show one by one; `address`: the part after "?" of the app's address. */
  tour?: { title: string; text: string; address: string }[];
  /** The model that the first picture is compared with. */
  against?: string;
}
/** POST /api/atlas/estimate: how many texts, and how long an atlas of them takes. */
export interface EstimateReply {
  texts: number;
  seconds: number;
}
/** POST /api/atlas and /api/atlas/build: the models that have an atlas now. */
export type AtlasesReply = Required<Pick<ModelsReply, "atlases">>;

/** Examples in an atlas's corpus, the most similar first; text: before the token, the token, after it. */
export interface NearestReply {
  places: { document: number; query: number; likeness: number; text: [string, string, string] }[];
  by: "every position" | "index";
}

/** A writer of a query or a key: `share` of the score beyond the mean key's, `word` the token behind it. */
export type WriterFacts = ScoreWriter & { share: number | null };
/** POST /api/writers: the writers of a query and of a key, the strongest first. */
export interface WritersReply {
  key: number;
  weight: number;
  value: number;
  asks: WriterFacts[];
  offers: WriterFacts[];
}

export interface ModelEntry {
  id: string;
  title: string;
  layers: Partial<Record<Kind, number>>;
  heads: Partial<Record<Kind, number>>;
  causal: boolean;
  encoder_decoder: boolean;
  max_length: number | null;
  /** Can name masked words, the next token or a class. */
  predicts: boolean;
  /** Can write on from a beginning; can name masked words. */
  writes: boolean;
  masks: boolean;
  /** Takes pictures; takes sounds; takes texts (with a picture, or alone). */
  sees: boolean;
  hears: boolean;
  reads: boolean;
  /** Those that make sense for it. */
  examples: number[];
}
export interface MediaExample {
  name: string;
  kind: "image" | "audio";
  title: string;
}
/** What POST /api/media takes beside the fields of a ReadRequest. */
export type MediaRequest = Pick<MediaReadRequest, "media" | "name" | "data">;
export interface Example {
  title: string;
  text: string;
  /** For encoder–decoder models: the decoder's text. */
  text_pair?: string | null;
  view: ViewName;
  /** The model continues the text. */
  writes: boolean;
}

/** An example's lesson on the selected model. */
export interface Lesson {
  title: string;
  says: string;
  tries: string;
  /** The head it speaks of, where it speaks of one. */
  layer?: number;
  head?: number;
}

/** POST /api/write {model, text, off, count} begins a text, {writing, count} continues it. */
export interface Writing {
  id: string;
  prompt_tokens: number;
  done: boolean;
  /** The tokens written, each with the model's choices, likeliest first. */
  steps: { token: string; choices: Prediction[] }[];
}

/** POST /api/compare {id, other}: how much heads changed, and which head is which. */
export interface Comparison {
  kind: Kind;
  layers: number[];
  heads: number;
  /** (layers, heads), 1 − likeness of the heads of one number; −1 where the other has none. */
  change: number[];
  matches: { layer: number; head: number; to: [layer: number, head: number]; likeness: number }[];
  note: string;
}

/** POST /api/read → a container whose header is this; too long: status 413 and ReadError with `tokens` and `limit`. */
export interface AppHeader extends Header {
  id: string;
  lesson?: Lesson | null;
  writing?: Writing | null;
}
export interface ReadError {
  error: string;
  tokens?: number;
  limit?: number;
}

/** GET /api/reading/{id}/layer/{kind}/{layer} → container with that layer: q and k where they can be read, else maps. */

export interface PatternFacts {
  name: string;
  score: number;
  lift?: number | null;
  labelled?: boolean;
  about?: string;
  evidence?: string;
}

/** GET /api/reading/{id}/head/{kind}/{layer}/{head} */
export interface HeadFacts {
  /** Its label on this text, else over a corpus; null: none, or not measured (`why_no_patterns`). */
  label: string | null;
  score: number | null;
  /** The label's evidence: "12 of 13 queries of this text", or "over 400 texts". */
  evidence?: string | null;
  /** Its sink, beside its label. */
  sink?: PatternFacts | null;
  /** Every pattern measured on this input, strongest first. */
  patterns: PatternFacts[];
  /** Why no pattern was measured. */
  why_no_patterns?: string | null;
  /** Name, value, and a sentence about its meaning. */
  statistics: { name: string; value: number; unit?: string; note?: string }[];
  /** The meaning of the label, in a sentence. */
  about?: string | null;
  /** Its label over a corpus, for models with labels. */
  corpus?: { label: string; score: number; evidence: string } | null;
  /** The pairs of words with the most attention, strongest first; `left_out` says which were skipped. */
  looks?: { query: number; key: number; weight: number }[];
  left_out?: string | null;
  /** For a conversation: the share of attention on each document and message, from the answer or the last token. */
  spans?: { name: string; share: number }[];
  why: {
    /** All the numbers, in words. */
    text: string;
    /** One plain sentence. */
    sentence?: string;
    /** The largest contributions, for the chart. */
    neurons?: { name: string; contribution: number; share: number }[];
    marked: number[];
    share?: number | null;
  } | null;
  /** Why there is no explanation, when why is null. */
  why_not?: string | null;
}

/** POST /api/wanted {id, off, edits, answer}: log-probabilities of the whole answer, in nats. */
export interface WantedReply {
  before: number;
  after: number;
}

/** POST /api/predict with { id: string; off: OffHead[] } */
export interface PredictReply {
  /** One entry a masked word, or one for the next token, the class or the next sentence. */
  places: {
    title: string;
    /** Token position predicted at (next token: the last); null for the whole input. */
    position: number | null;
    before: Prediction[];
    after: Prediction[];
  }[];
  /** A sentence if the model has no such output or the text no mask. */
  note?: string | null;
}
export interface Prediction {
  token: string;
  probability: number;
}

/** POST /api/mask {id, token}: the text with the word of that token masked. */
export interface Masked {
  text: string;
  text_pair: string | null;
}

/** POST /api/importance with { id: string; off: OffHead[] } */
export interface ImportanceReply {
  /** Strongest first. */
  heads: { kind: Kind; layer: number; head: number; importance: number }[];
  /** What importance means here, one sentence. */
  note: string;
}

/**
 * GET /api/reading/{id}/export?format=svg|png|pdf|html|safetensors&<state as in the URL>
 * answers with Content-Disposition: attachment. State in the URL: see state/url.ts (view, kind,
 * layer, heads=0.3.5, head, query, key, …).
 */
export type ExportFormat = "svg" | "pdf" | "png" | "html" | "csv" | "safetensors";
