/** The text view's own entries of the state. */
import type { State } from "../../protocol/types";

export interface TextState extends State {
  /** Whether the selected words are queries or keys. */
  side: "query" | "key";
  /** Selected tokens beside the pinned one. */
  also: number[];
  /** How several selected words combine. */
  combine: "mean" | "sum";
  /** What several heads give together. */
  merge: "mean" | "strongest";
}

export const ofText = (state: State) => state as TextState;
