/** The model's atlas over the app: from the current sentence to every head over a corpus, and back. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { fromQuery, getBytes, mountInto, openContainer, openText, opening, postFile, sentenceOf, takeIn, toQuery } from "../parts";
import type { AtlasesReply } from "../../../protocol/app";
import type { State, TextPlace } from "../../../protocol/types";
import type { Instrument } from "../../../instrument/instrument";
import type { Session } from "../session";
import { Build } from "./build";

/** Views that the first screen does without; a name in a variable is left to the browser by the bundler. */
const views = "/static/headscope-heads.js";

export function AtlasLayer({ session }: { session: Session }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const current = useRef<Instrument | null>(null);
  /** The atlas's own opening state. */
  const own = useRef<Partial<State>>({});
  const [message, setMessage] = useState("");
  const [opened, setOpened] = useState(0);
  /** The requested kind of heads, and the shown one. */
  const [asked, setAsked] = useState<string | null>(null);
  const [shown, setShown] = useState<{ kind: string; kinds: string[] } | null>(null);
  const fail = (error: unknown) => setMessage(sentenceOf(error));
  const open = (file: File | undefined) => {
    if (!file) return;
    setMessage(`Opening ${file.name}…`);
    postFile<AtlasesReply>(`api/atlas?${named}`, file).then(take, fail);
  };
  const named = `model=${encodeURIComponent(session.model)}`;
  const take = ({ atlases }: AtlasesReply) => {
    session.models = { ...session.models!, atlases };
    setOpened((count) => count + 1);
  };
  const { atlas, theme, hasAtlas } = session;
  useLayoutEffect(() => {
    if (!hasAtlas) return;
    setMessage("Opening the atlas…");
    let stop = () => undefined as void;
    const showing = new AbortController();
    const { signal } = showing;
    const show = async () => {
      const linked = new URLSearchParams(session.atlas ?? "");
      const [bytes] = await Promise.all([getBytes(`api/atlas?${named}&kind=${asked ?? linked.get("kind") ?? session.state.kind ?? ""}`, signal), import(views) as Promise<unknown>]);
      const source = openContainer(bytes);
      if (signal.aborted || !holder.current) return;
      takeIn();
      const { header } = source;
      own.current = { ...header.state };
      const kind = header.state!.kind!;
      header.state = { ...header.state, ...(session.atlas ? fromQuery(linked) : inHand(kind)), kind, theme: session.theme };
      setShown({ kind, kinds: header.atlas!.kinds });
      const options = {
        fill: true,
        openText: (place: TextPlace) => void openText(session, place).catch(fail),
        onState: (state: State) => {
          if (session.atlas === null) return;
          session.atlas = addressOf(state);
          session.note();
        },
      };
      const { instrument } = mountInto(holder.current, source, options, true);
      current.current = instrument;
      if (session.atlas !== null) options.onState(instrument.state);
      stop = () => instrument.unmount();
      setMessage("");
    };
    show().catch((error: unknown) => signal.aborted || fail(error));
    return () => {
      showing.abort();
      stop();
    };
  }, [opened, asked]);
  /** The atlas's state in the address. */
  const addressOf = (state: State) => toQuery({ ...state, theme: "auto" }, own.current).toString();
  const inHand = (kind: string): Partial<State> => {
    const { layer, head } = session.state;
    return layer === undefined || head === undefined || (session.state.kind ?? kind) !== kind ? {} : { layer, head, heads: [head] };
  };
  // It keeps its state except the head, which is the selected one; Back and Forward restore its state.
  useLayoutEffect(() => {
    const instrument = current.current;
    if (atlas === null || !instrument || !shown) return;
    if (atlas === "") instrument.set({ ...inHand(shown.kind), theme });
    else if (atlas !== addressOf(instrument.state)) instrument.set(opening({ ...instrument.source.header, state: { ...own.current, ...fromQuery(new URLSearchParams(atlas)), theme } }));
    else instrument.set({ theme });
    if (session.atlas === "") session.atlas = addressOf(instrument.state);
  }, [atlas, theme]);
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
          {hasAtlas ? "open another atlas" : "open an atlas file"}
          <input type="file" data-control="atlas-file" accept=".atlas,.zip" onChange={(event) => open(event.currentTarget.files?.[0])} />
        </label>
        {hasAtlas && <a class="button" data-control="atlas-save" download href={`api/atlas/file?${named}`}>save this atlas</a>}
        {message && <p class="message" role="status">{message}</p>}
      </div>
      {!hasAtlas && <Build session={session} onBuilt={take} />}
      <div ref={holder} />
    </main>
  );
}
