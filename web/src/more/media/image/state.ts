/** The image view's own entries of the state. */
import type { TextState } from "../../../views/text/state";
import type { State } from "../../../protocol/types";

export interface ImageState extends TextState {
  /** How shading goes over from patch to patch, for the eye alone. */
  smoothing: "nearest" | "smooth";
  /** Of the strongest patch. */
  opacity: string;
}

export const ofImage = (state: State) => state as ImageState;
