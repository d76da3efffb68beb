/** What the text view keeps in the state beside what all views share. */
import type { State } from "../../protocol/types";

export interface TextState extends State {
  /** The words in hand look (query), or are looked at (key). */
  side: "query" | "key";
  /** Tokens in hand together with the one pinned. */
  also: number[];
  /** What several words in hand give together. */
  combine: "mean" | "sum";
  /** What several heads give together. */
  merge: "mean" | "strongest";
}

export const ofText = (state: State) => state as TextState;
