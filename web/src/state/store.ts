/** A mounted view's state, with a single way to change it. */
import type { Header, State } from "../protocol/types";
import { Signal } from "./signal";
import { opening, possible } from "./state";

export class Store extends Signal<State> {
  constructor(readonly header: Header) {
    super(opening(header));
  }

  get state(): State {
    return this.value;
  }

  set(change: Partial<State>): void {
    const after = possible({ ...this.value, ...change }, this.header);
    if (JSON.stringify(after) !== JSON.stringify(this.value)) this.value = after;
  }
}
