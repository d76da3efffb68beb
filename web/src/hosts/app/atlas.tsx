/** The model's atlas over the app: from the sentence in hand to every head over a corpus, and back. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { openContainer } from "../../protocol/container";
import type { Mounted, TextPlace } from "../../protocol/types";
import { sentenceOf } from "../../render/dom";
import { Newest } from "../../state/signal";
import { mountInto } from "../mount";
import { getBytes, getJson, postFile } from "./server/api";
import type { Session } from "./session";

/** Texts that were asked for: only the last is opened. */
const texts = new Newest();

/** A text of the corpus read and opened on a head and a query. */
export async function openText(session: Session, { document, query, kind, layer, head, view }: TextPlace): Promise<void> {
  // Another text may be typed and read meanwhile.
  const signal = AbortSignal.any([texts.begin(), session.work.signal]);
  const found = await getJson<{ text: string; text_pair: string | null }>(`api/atlas/text/${document}`, signal).catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
  if (found) await session.readAt(found.text, found.text_pair, { view, kind, layer, head, heads: [head], query });
}

/** Views that the first screen does without; a name in a variable is left to the browser by the bundler. */
const views = "/static/headscope-heads.js";

/** Whether the model in hand is the one that an atlas is, or may be, open of. */
export const hasAtlas = (session: Session) => !!session.models && (session.models.atlas ?? session.models.default) === session.model;

export function AtlasButton({ session }: { session: Session }): JSX.Element | null {
  if (!hasAtlas(session)) return null;
  return (
    <button class="button" data-control="atlas" aria-pressed={session.inAtlas} onClick={() => session.showAtlas(!session.inAtlas)}>
      {session.inAtlas ? "back" : "atlas"}
    </button>
  );
}

export function AtlasLayer({ session }: { session: Session }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const current = useRef<Mounted | null>(null);
  const [message, setMessage] = useState("Opening the atlas…");
  const [opened, setOpened] = useState(0);
  /** The kind of heads that was asked for, and what is shown. */
  const [asked, setAsked] = useState<string | null>(null);
  const [shown, setShown] = useState<{ kind: string; kinds: string[] } | null>(null);
  const fail = (error: unknown) => setMessage(sentenceOf(error));
  const open = (file: File | undefined) => {
    if (!file) return;
    setMessage(`Opening ${file.name}…`);
    postFile<{ atlas: string }>("api/atlas", file).then(({ atlas }) => {
      session.models = { ...session.models!, atlas };
      setOpened((count) => count + 1);
    }, fail);
  };
  useLayoutEffect(() => {
    let stop = () => undefined as void;
    const showing = new AbortController();
    const { signal } = showing;
    const show = async () => {
      const [bytes] = await Promise.all([getBytes(`api/atlas?kind=${asked ?? session.state.kind ?? ""}`, signal), import(views) as Promise<unknown>]);
      const source = openContainer(bytes);
      if (signal.aborted || !holder.current) return;
      const { layer, head } = session.state;
      const kind = source.header.state!.kind!;
      const inHand = layer !== undefined && head !== undefined && (session.state.kind ?? kind) === kind;
      source.header.state = { ...source.header.state, theme: session.theme, ...(inHand ? { layer, head, heads: [head] } : {}) };
      const options = { fill: true, openText: (place: TextPlace) => void openText(session, place).catch(fail) };
      setShown({ kind, kinds: source.header.atlas!.kinds });
      const { instrument } = mountInto(holder.current, source, options, true);
      current.current = instrument;
      stop = () => instrument.unmount();
      setMessage("");
    };
    show().catch((error: unknown) => signal.aborted || fail(error));
    return () => {
      showing.abort();
      stop();
    };
  }, [opened, asked]);
  // It stays as it was left, but for the head: that in hand.
  useLayoutEffect(() => {
    const { kind, layer, head } = session.state;
    if (!session.inAtlas || !current.current || layer === undefined || head === undefined) return;
    if ((kind ?? shown?.kind) === shown?.kind) current.current.set({ layer, head, heads: [head], theme: session.theme });
  }, [session.inAtlas, session.theme]);
  return (
    <main
      class="app-atlas"
      hidden={!session.inAtlas}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        open(event.dataTransfer?.files[0]);
      }}
    >
      <div class="atlas-bar">
        {shown && shown.kinds.length > 1 && (
          <label class="field">
            <span>heads of</span>
            <select data-control="atlas-kind" value={shown.kind} onChange={(event) => setAsked(event.currentTarget.value)}>
              {shown.kinds.map((each) => <option key={each} value={each}>{each}</option>)}
            </select>
          </label>
        )}
        <label class="button">
          open another atlas
          <input type="file" data-control="atlas-file" accept=".atlas,.zip" onChange={(event) => open(event.currentTarget.files?.[0])} />
        </label>
        {message && <p class="message" role="status">{message}</p>}
      </div>
      <div ref={holder} />
    </main>
  );
}
