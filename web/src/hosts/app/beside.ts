/** A second view that follows the first, with the first one's controls: two models, two texts, or one before and after. */
import type { Instrument } from "../../instrument/instrument";
import type { Source, State, Tokens } from "../../protocol/types";
import { mountInto } from "../mount";
import type { Session } from "./session";

const sameTokens = (a: Tokens, b: Tokens) => a.text.length === b.text.length && a.text.every((text, i) => text === b.text[i]);

export function mountBeside(element: HTMLElement, source: Source, first: Instrument, session: Session): () => void {
  // A change that came from the other side must not go back.
  let following = false;
  const follow = (act: () => void) => {
    if (following) return;
    following = true;
    act();
    following = false;
  };
  const { instrument } = mountInto(element, source, { fill: true, follows: true, onState: (state) => follow(() => first.set(pins(state))) }, true);
  const shares = () => {
    const { kind } = first.state;
    return instrument.reading.has(kind) && sameTokens(first.reading.tokens(kind).query, instrument.reading.tokens(kind).query);
  };
  /** Words held in hand mean the same only where both read the same tokens. */
  const pins = (state: State): Partial<State> => {
    const held = Object.entries(state).filter(([name]) => ["query", "key", "also"].includes(name));
    return shares() ? Object.fromEntries(held) : {};
  };
  const asFirst = (state: State): Partial<State> => {
    const shared = Object.entries(state).filter(([name]) => !["reading", "query", "key", "also", "layer", "head", "heads"].includes(name));
    const [layer, head] = session.partner(state.layer, state.head);
    const heads = session.pairing === "likeness" ? [head] : state.heads;
    return { ...Object.fromEntries(shared), layer, head, heads, ...pins(state) };
  };
  const align = () => {
    const top = first.stage.getBoundingClientRect().top - element.parentElement!.getBoundingClientRect().top;
    const name = element.previousElementSibling;
    element.parentElement!.style.paddingTop = `${Math.max(0, top - (name?.clientHeight ?? 0))}px`;
    instrument.set(asFirst(first.state));
  };
  const watched = new ResizeObserver(() => follow(align));
  watched.observe(first.stage);
  watched.observe(first.root);
  const stops = [
    first.store.subscribe((state) => follow(() => instrument.set(asFirst(state)))),
    session.changes.subscribe(() => follow(() => instrument.set(asFirst(first.state)))),
  ];
  follow(() => instrument.set(asFirst(first.state)));
  return () => {
    watched.disconnect();
    for (const stop of stops) stop();
    instrument.unmount();
  };
}
