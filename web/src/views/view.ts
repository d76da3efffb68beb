/** What every view is made of, and what it is given. */
import type { Reading } from "../protocol/reading";
import type { Kind, State, TextPlace, ViewName } from "../protocol/types";
import type { Shade } from "../render/palette";
import type { Rgb } from "../render/oklch";
import type { Store } from "../state/store";
import type { Tooltip } from "../render/tooltip";
import type { Painting } from "../instrument/painting";

export type Control =
  | "filter" | "specials" | "unit" | "minimum" | "scale" | "orientation" | "direction"
  | "thumbnails" | "order" | "find" | "sort" | "wrap" | "column" | "reading" | "layer" | "head" | "first" | "weighting";

export interface Legend {
  /** Colour ramp with its ends, or line samples. */
  kind: "ramp" | "lines";
  ramp?: Rgb[];
  /** Text before, and at the two ends. */
  title: string;
  low: string;
  high: string;
}

export interface Context {
  store: Store;
  reading: Reading;
  /** The second reading of a container that holds two. */
  other: Reading | null;
  tooltip: Tooltip;
  painting: Painting;
  /**
   * Draws what `work` brings, at once where it is here. Newer work takes its place, and so does another view:
   * an answer that comes later goes nowhere. `refuse` is told why nothing came; by default the status line says it.
   */
  show<Value>(work: Value | Promise<Value>, draw: (value: Value) => void, refuse?: (sentence: string) => void): void;
  shade(): Shade;
  colours(heads: number): Rgb[];
  /** Pixels of height the stage may take. */
  height(): number;
  /** The line under the picture, and its legend. */
  status(text: string, legend?: Legend | null): void;
  /** Says something to a screen reader. */
  announce(text: string): void;
  /** The largest value that the colour scale must hold: this picture's, or that of the one beside it. */
  together(largest: number): number;
  /** The map of a head that is off as it was before; null: the head is on, or nobody knows. */
  was(kind: Kind, layer: number, head: number): Promise<Float32Array> | null;
  /** The head of `other` that is compared with one of this reading. */
  partner(layer: number, head: number): [number, number];
  /** Reads a text of the atlas's corpus and opens a head on it; null in a file, which has no model. */
  openText: ((place: TextPlace) => void) | null;
}

export interface View {
  element: HTMLElement;
  update(state: State, before: State | null): void;
  /** Size or theme changed. */
  redraw(): void;
  /** What is drawn, as data: the same entries a figure of this state carries in its metadata. */
  picture?(): Record<string, unknown> | null;
  /** The token or value in hand as a line of text to copy, or null. */
  copy?(): string | null;
  /** A key only this view knows; true when it was used. */
  press?(key: string): boolean;
  /** Esc: lets go of what only this view has chosen. */
  clear?(): void;
  /** Moves to the next or the previous token. */
  step?(by: number): void;
  destroy?(): void;
}

/** A menu that only this view has; its entries are [value, text], the first is the default. */
export interface OwnChoice {
  name: string;
  title: string;
  entries: [string, string][];
  when?(reading: Reading, state: State): boolean;
}

export interface ViewDefinition {
  name: ViewName;
  title: string;
  /** Position among the tabs. */
  place: number;
  controls: Control[];
  /** Menus of its own: kept in the state, in the address and in what Python is asked to draw. */
  choices?: OwnChoice[];
  /** What else it keeps in the state under names of its own, with the defaults. */
  keeps?: Record<string, unknown>;
  /** It shows every head at once: a click or Enter opens one in the head view. */
  overview?: boolean;
  /** Its tab stands there even when the data cannot fill it: it then says why. */
  alwaysOffered?: boolean;
  style?: string;
  /** What the head chips do: switch heads on and off, choose one, or stay away. */
  chips: "many" | "one" | "none";
  /** null when the data can fill this view. */
  missing(reading: Reading): string | null;
  create(context: Context): View;
}
