/** From the current sentence to the model's atlas, and from a text of the atlas back. */
import type { JSX } from "preact";
import type { TextPlace } from "../../protocol/types";
import { Newest } from "../../state/signal";
import { later } from "./later";
import { getJson } from "./server/api";
import type { Session } from "./session";

export const AtlasLayer = later<{ session: Session }>(async () => (await import("./later/atlas")).AtlasLayer);

/** Requested texts: only the last one is opened. */
const texts = new Newest();

/** A text of the corpus read and opened on a head and a query. */
export async function openText(session: Session, { document, query, kind, layer, head, view }: TextPlace): Promise<void> {
  // Another text may be typed and read meanwhile.
  const signal = AbortSignal.any([texts.begin(), session.work.signal]);
  const found = await getJson<{ text: string; text_pair: string | null }>(`api/atlas/text/${document}?model=${encodeURIComponent(session.model)}`, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (found) await session.readAt(found.text, found.text_pair, { view, kind, layer, head, heads: [head], query });
}

export function AtlasButton({ session }: { session: Session }): JSX.Element | null {
  if (!session.entry?.reads) return null;
  return (
    <button class="icon" data-control="atlas" aria-pressed={session.inAtlas} onClick={() => session.showAtlas(!session.inAtlas)}>
      {session.inAtlas ? "back" : session.hasAtlas ? "atlas" : "Build an atlas"}
    </button>
  );
}
