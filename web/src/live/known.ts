/** A live page's data about its model beside the weights, written by src/headscope/live/known.py. */
import type { ModelsReply } from "../protocol/app";
import type { Spelling } from "./align";
import type { Kind, Label, Mask, Rotary, Tokens } from "../protocol/types";

export interface Measure {
  name: string;
  title: string;
  note: string;
  unit: string;
  is_share: boolean;
  origin: "statistic" | "pattern" | "picture";
}

export interface Pattern {
  label: string;
  about: string;
}

/** A head's label over a corpus, as shipped with the model: on one text alone the page names no head. */
export interface CorpusLabel extends Label {
  pattern: string;
}

export interface LessonOf {
  title: string;
  text: string;
  text_pair: string | null;
  measure: string;
  says: string;
  unclear: string;
  tries: string;
  view: string;
}

/** For a model that takes pictures: src/headscope/live/pictures.py. */
export interface PicturesKnown {
  /** Sizes as rows and columns; `resample`: Pillow's number of a filter. */
  steps: { size: [number, number]; resample: number; crop: [number, number]; factor: number; mean: number[]; std: number[] };
  tokens: Tokens;
  kinds: number[];
  /** Shares of the picture: left, top, right, bottom. */
  rectangles: (number[] | null)[];
  most_pixels: number;
  examples: Record<string, string>;
}

export interface Known {
  version: 1;
  /** The model's name, and its id in the app. */
  model: string;
  welcome: ModelsReply;
  kind: Kind;
  causal: boolean;
  heads: number;
  groups: number;
  dim: number;
  rotary: Rotary | null;
  layers: { scaling: number; softcap: number | null; mask: Mask }[];
  inputs: string[];
  outputs: string[];
  max_tokens: number | null;
  vocabulary: { labels: string[]; spaced: string; classes: number[]; spells: Spelling; stops: number[] } | null;
  pictures: PicturesKnown | null;
  /** Numbers of tokens with a role of their own. */
  unknown: number | null;
  mask: number | null;
  mask_token: string | null;
  ends: number[];
  /** Tokens that the tokenizer may add after a text. */
  closes: number | null;
  names_of_classes: string[] | null;
  measures: Measure[];
  patterns: Record<string, Pattern>;
  /** The text (or the name of the example) of the first picture, which comes with the page, and the reading's id. */
  first: { id: string; text: string; text_pair: string | null; media?: string };
  lessons: LessonOf[];
  corpus: CorpusLabel[];
}
