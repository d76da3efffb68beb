/** A second view that follows the first, with the first one's controls: two models, two texts, or one before and after. */
import type { Instrument } from "../../../instrument/instrument";
import type { Source, State, Tokens } from "../../../protocol/types";
import { mountInto } from "../parts";
import type { Session } from "../session";

export const sameTokens = (a: Tokens, b: Tokens) => a.text.length === b.text.length && a.text.every((text, i) => text === b.text[i]);

export function mountBeside(element: HTMLElement, source: Source, first: Instrument, session: Session): () => void {
  // A change that came from the other side must not go back.
  let following = false;
  const follow = (act: () => void) => {
    if (following) return;
    following = true;
    act();
    following = false;
  };
  // One scale for both pictures: the larger of what each would take alone.
  const largest: [number, number] = [0, 0];
  const scaleOf = (side: 0 | 1) => (own: number) => {
    if (largest[side] !== own) {
      largest[side] = own;
      requestAnimationFrame(() => [instrument, first][side].redraw());
    }
    return Math.max(...largest);
  };
  const { instrument } = mountInto(element, source, { fill: true, follows: true, onState: (state) => follow(() => first.set(pins(state))) }, true);
  first.options.together = scaleOf(0);
  instrument.options.together = scaleOf(1);
  first.options.partner = (layer, head) => session.partner(layer, head);
  // What scrolls in one picture scrolls in the other, by the same share of its way.
  const scrolled = (to: Instrument) => (event: Event) => {
    const moved = event.target as HTMLElement;
    const mate = to.root.querySelector<HTMLElement>(`.${moved.classList[0]}`);
    if (!mate) return;
    const share = (at: number, all: number, seen: number, its: number) => (all > seen ? (at / (all - seen)) * its : 0);
    follow(() => {
      const [top, left] = [share(moved.scrollTop, moved.scrollHeight, moved.clientHeight, mate.scrollHeight - mate.clientHeight), share(moved.scrollLeft, moved.scrollWidth, moved.clientWidth, mate.scrollWidth - mate.clientWidth)];
      if (Math.abs(mate.scrollTop - top) > 1) mate.scrollTop = top;
      if (Math.abs(mate.scrollLeft - left) > 1) mate.scrollLeft = left;
    });
  };
  const listening = new AbortController();
  const during = { capture: true, passive: true, signal: listening.signal };
  first.root.addEventListener("scroll", scrolled(instrument), during);
  instrument.root.addEventListener("scroll", scrolled(first), during);
  const shares = () => {
    const { kind } = first.state;
    return instrument.reading.has(kind) && sameTokens(first.reading.tokens(kind).query, instrument.reading.tokens(kind).query);
  };
  /** Selected words are shared only if both readings have the same tokens. */
  const pins = (state: State): Partial<State> => {
    const held = Object.entries(state).filter(([name]) => ["query", "key", "also"].includes(name));
    return shares() ? Object.fromEntries(held) : {};
  };
  const asFirst = (state: State): Partial<State> => {
    const shared = Object.entries(state).filter(([name]) => !["reading", "query", "key", "also", "layer", "head", "heads"].includes(name));
    const [layer, head] = session.partner(state.layer, state.head);
    const heads = session.pairs === "likeness" ? [head] : state.heads;
    return { ...Object.fromEntries(shared), layer, head, heads, ...pins(state) };
  };
  const align = () => {
    const { style } = element.parentElement!;
    const top = `${Math.max(0, first.stage.getBoundingClientRect().top - element.parentElement!.getBoundingClientRect().top)}px`;
    instrument.set(asFirst(first.state));
    if (style.paddingTop === top) return;
    style.paddingTop = top;
    instrument.redraw(); // the height that remains below it
  };
  const watched = new ResizeObserver(() => follow(align));
  watched.observe(first.stage);
  watched.observe(first.root);
  const stops = [
    first.store.subscribe((state) => follow(() => instrument.set(asFirst(state)))),
    session.changes.subscribe(() => follow(() => instrument.set(asFirst(first.state)))),
  ];
  follow(() => instrument.set(asFirst(first.state)));
  requestAnimationFrame(() => first.redraw()); // the line of titles took of its height
  return () => {
    watched.disconnect();
    listening.abort();
    delete first.options.together;
    delete first.options.partner;
    for (const stop of stops) stop();
    instrument.unmount();
  };
}
