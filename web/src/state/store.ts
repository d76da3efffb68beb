/** One state, changed in one place; whoever cares is told once a change. */
import type { Header, State } from "../protocol/types";
import { opening, possible } from "./state";

export type Listener = (state: State, before: State) => void;

export class Store {
  private current: State;
  private readonly listeners = new Set<Listener>();

  constructor(readonly header: Header) {
    this.current = opening(header);
  }

  get state(): State {
    return this.current;
  }

  set(change: Partial<State>): void {
    const before = this.current;
    const after = possible({ ...before, ...change }, this.header);
    if (JSON.stringify(after) === JSON.stringify(before)) return;
    this.current = after;
    for (const listener of [...this.listeners]) listener(after, before);
  }

  subscribe(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}
