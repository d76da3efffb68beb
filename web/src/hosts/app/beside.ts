/** A second view that follows the first, and the first it: two models, or one before and after. */
import type { Instrument } from "../../instrument/instrument";
import type { Source, State } from "../../protocol/types";
import { mountInto } from "../mount";

/** What both have in common: everything but which of two readings a matrix shows. */
function shared(state: State): Partial<State> {
  return Object.fromEntries(Object.entries(state).filter(([name]) => name !== "reading"));
}

export function mountBeside(element: HTMLElement, source: Source, first: Instrument): () => void {
  // A change that came from the other side must not go back: the models may differ in depth.
  let following = false;
  const follow = (act: () => void) => {
    if (following) return;
    following = true;
    act();
    following = false;
  };
  const onState = (state: State) => follow(() => first.set(shared(state)));
  const { instrument } = mountInto(element, source, { fill: true, onState }, true);
  const stop = first.store.subscribe((state) => follow(() => instrument.set(shared(state))));
  return () => {
    stop();
    instrument.unmount();
  };
}
