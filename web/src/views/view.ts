/** What every view is made of, and what it is given. */
import type { Reading } from "../protocol/reading";
import type { State, ViewName } from "../protocol/types";
import type { Shade } from "../render/palette";
import type { Rgb } from "../render/oklch";
import type { Store } from "../state/store";
import type { Tooltip } from "../render/tooltip";
import type { Painting } from "../instrument/painting";

export type Control =
  | "filter" | "specials" | "unit" | "minimum" | "scale" | "layout" | "direction"
  | "thumbnails" | "order" | "find" | "sort" | "wrap" | "column" | "reading" | "layer" | "head";

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
  shade(): Shade;
  colours(heads: number): Rgb[];
  /** Pixels of height the stage may take. */
  height(): number;
  /** The line under the picture, and its legend. */
  status(text: string, legend?: Legend | null): void;
  /** Says something to a screen reader. */
  announce(text: string): void;
  /** Shows (or, with null, takes away) the sign that work is going on. */
  busy(on: boolean): void;
}

export interface View {
  element: HTMLElement;
  update(state: State, before: State | null): void;
  /** Size or theme changed. */
  redraw(): void;
  /** The token or value in hand as a line of text to copy, or null. */
  copy?(): string | null;
  /** A key only this view knows; true when it was used. */
  press?(key: string): boolean;
  /** Moves to the next or the previous token. */
  step?(by: number): void;
  destroy(): void;
}

export interface ViewDefinition {
  name: ViewName;
  title: string;
  /** Position among the tabs. */
  place: number;
  controls: Control[];
  style?: string;
  /** What the head chips do: switch heads on and off, choose one, or stay away. */
  chips: "many" | "one" | "none";
  /** null when the data can fill this view. */
  missing(reading: Reading): string | null;
  create(context: Context): View;
}
