/** The part of a state that means the same on any text, and so is kept for the next. */
import type { State } from "../protocol/types";
import { Signal } from "./signal";

export const lasting: (keyof State)[] = ["view", "theme", "unit", "specials", "first", "orientation", "minimum"];

/** Those entries that were set: an absent one must stay absent, so that the default can take its place. */
export function kept(state: Partial<State>, names: (keyof State)[]): Partial<State> {
  return Object.fromEntries(names.filter((name) => state[name] !== undefined).map((name) => [name, state[name]]));
}

/** Follows the picture on screen, which may be about to go. */
export class Following {
  /** Another text or model is being read. */
  coming = false;
  /** The whole state of the picture on screen, once there is one. */
  readonly shown = new Signal<Partial<State>>({});

  /** The next state: only the lasting part of the current picture's. */
  after(state: State, wanted: Partial<State>): Partial<State> {
    const changed = lasting.filter((name) => state[name] !== this.shown.value[name]);
    this.shown.value = state;
    return this.coming ? { ...wanted, ...kept(state, changed) } : state;
  }
}
