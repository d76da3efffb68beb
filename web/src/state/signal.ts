/** Observable state: values that notify subscribers, and work of which only the newest counts. */
import { useLayoutEffect, useReducer } from "preact/hooks";

export type Listener<Value> = (now: Value, before: Value) => void;

export class Signal<Value> {
  private readonly listeners = new Set<Listener<Value>>();

  constructor(private current: Value) {}

  get value(): Value {
    return this.current;
  }

  set value(next: Value) {
    const before = this.current;
    if (Object.is(next, before)) return;
    this.current = next;
    for (const listener of [...this.listeners]) listener(next, before);
  }

  /** Calls on every change, until the returned function is called. */
  subscribe(listener: Listener<Value>): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }
}

/** A class whose entries are plain to read and to set, and whose `changes` tell of every one that was set. */
export function signals<Entries extends object>(initial: () => Entries) {
  class Told {
    readonly changes = new Signal(initial());

    set(change: Partial<Entries>): void {
      const now = this.changes.value;
      const changed = (Object.keys(change) as (keyof Entries)[]).some((name) => !Object.is(change[name], now[name]));
      if (changed) this.changes.value = { ...now, ...change };
    }
  }
  for (const name of Object.keys(initial()) as (keyof Entries)[]) {
    Object.defineProperty(Told.prototype, name, {
      get(this: Told) {
        return this.changes.value[name];
      },
      set(this: Told, value: Entries[typeof name]) {
        this.set({ [name]: value } as unknown as Partial<Entries>);
      },
    });
  }
  return Told as new () => Told & Entries;
}

/** Draws a component again when one of these changes: from before its first picture on, so that nothing is missed. */
export function useSignals(...followed: Pick<Signal<unknown>, "subscribe">[]): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useLayoutEffect(() => {
    const stops = followed.map((each) => each.subscribe(() => again(0)));
    again(0);
    return () => stops.forEach((stop) => stop());
  }, followed);
}

/** Work of which only the newest counts: to begin aborts what was begun before, whose answers then go nowhere. */
export class Newest {
  private running = new AbortController();

  get signal(): AbortSignal {
    return this.running.signal;
  }

  begin(): AbortSignal {
    this.running.abort();
    this.running = new AbortController();
    return this.signal;
  }
}
