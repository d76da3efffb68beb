/** A view's interface and its context. */
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
  /** Announces something to a screen reader. */
  announce(text: string): void;
  /** The largest value that the colour scale must hold: this picture's, or that of the one beside it. */
  together(largest: number): number;
  /** The earlier map of a head that is off; null: the head is on, or unknown. */
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
  /** The picture as data: the same entries as a figure's metadata. */
  picture?(): Record<string, unknown> | null;
  /** The selected token or value as a line of text to copy, or null. */
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
  /** Its own menus: in the state, in the address and in requests to Python. */
  choices?: OwnChoice[];
  /** Its other entries of the state, with defaults. */
  keeps?: Record<string, unknown>;
  /** It shows every head at once: a click or Enter opens one in the head view. */
  overview?: boolean;
  /** Its tab stands there even when the data cannot fill it: it then says why. */
  alwaysOffered?: boolean;
  style?: string;
  /** The head chips' action: switch heads on and off, choose one, or hidden. */
  chips: "many" | "one" | "none";
  /** null when the data can fill this view. */
  missing(reading: Reading): string | null;
  create(context: Context): View;
}
