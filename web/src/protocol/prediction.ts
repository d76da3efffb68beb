/** What made a predicted token, as it travels to the page. */
import type { Kind } from "./types";

export interface PredictionPart {
  part: "embedding" | "head" | "mlp" | "bias" | "rest";
  kind: Kind | null;
  layer: number | null;
  head: number | null;
  label: string;
  /** What it adds to the logit. */
  value: number;
}

export interface PredictionHeader {
  /** The token explained, and the one it is told from, if any. */
  target: string[];
  value: number;
  position: number | null;
  query: string[];
  /** The encoder's tokens, where there are two stacks. */
  key: string[] | null;
  /** What the model says, with probabilities. */
  likeliest: [string, number][];
  /** Strongest first. */
  parts: PredictionPart[];
  rest: number;
  unexplained: number;
  note: string;
  /** Heads ("decoder.3.1") whose words are known: the rows of `by_key`, (heads, tokens). */
  words: string[];
  by_key: { buffer: string };
  /** Tokens that a head raises and lowers. */
  promotes: Record<string, [string[], string[]]>;
  flow: { parts: PredictionPart[]; edges: [string, number, number][]; shown: number; rest: number };
}
