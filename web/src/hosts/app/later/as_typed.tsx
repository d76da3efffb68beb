/** In a live page, whose model is at hand, a text is read whenever the user pauses. */
import { useEffect, useRef } from "preact/hooks";
import type { State } from "../../../protocol/types";
import type { Session } from "../session";

const pause = 300;
/** What a text that grows keeps of the picture, beside what every next text keeps. */
const ofHead: (keyof State)[] = ["kind", "layer", "head", "heads"];

export function AsTyped({ session }: { session: Session }): null {
  const { text, pair } = session;
  const last = useRef<object | null>(null);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (!session.models || !session.changed || session.tooMany || !text.trim()) return;
      const shown = session.following.shown.value;
      // A sentence typed with pauses is one step of the history, not one per pause.
      session.landing = session.wasRead === last.current;
      session.forget();
      session.state = { ...session.state, ...Object.fromEntries(ofHead.map((name) => [name, shown[name]])) };
      void session.read(false, true);
      last.current = session.wasRead;
    }, pause);
    return () => clearTimeout(timer);
  }, [text, pair]);
  return null;
}
