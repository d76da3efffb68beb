/** The writers of the head's query and of its key; a click follows a writer, with a trail back. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Instrument } from "../../../instrument/instrument";
import type { WriterFacts, WritersReply } from "../../../protocol/app";
import type { State } from "../../../protocol/types";
import { engine, mountInto, openContainer, postBytes, postJson, sentenceOf, takeIn, Terms, useAnswer, valueText, visible, weightText } from "../parts";
import type { Session } from "../session";

type At = Pick<State, "kind" | "layer" | "head" | "query" | "key" | "view">;
const placeOf = ({ kind, layer, head, query, key, view }: State): At => ({ kind, layer, head, query, key, view });
const same = (a: At, b: At) => a.kind === b.kind && a.layer === b.layer && a.head === b.head && a.query === b.query;

export function Writers({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element | null {
  const { kind, layer, head, query, key } = instrument.state;
  const { id } = session.reading!;
  const [trail, setTrail] = useState<{ before: At[]; at: At | null }>({ before: [], at: null });
  const [wanted, setWanted] = useState(false);
  const [whole, setWhole] = useState(false);
  const question = !wanted || query === null ? null : `${id} ${kind} ${layer} ${head} ${query} ${key}`;
  const answer = useAnswer(question, (signal) => postJson<WritersReply>("api/writers", { id, kind, layer, head, query, key }, signal), 200);
  if (session.senses) return null;
  if (engine) return <p class="quiet">Which earlier heads and words led a token there? hs.score_view writes a page that says so.</p>;
  const here = placeOf(instrument.state);
  // Another way to another head ends the trail.
  const before = trail.at && same(trail.at, here) ? trail.before : [];
  const go = (at: At, path: At[]) => {
    setTrail({ before: path, at });
    instrument.set({ ...at, heads: [at.head], marked: [] });
  };
  const tokens = instrument.reading.tokens(kind);
  const reply = answer?.for === question ? answer.reply : null;
  const follow = (writer: WriterFacts, position: number) => {
    const view = here.view === "prediction" || here.view === "score" ? "head" : here.view;
    go({ kind: writer.kind!, layer: writer.layer!, head: writer.head!, query: position, key: null, view }, [...before, here]);
  };
  return (
    <div data-panel="writers" aria-busy={question !== null && answer?.for !== question}>
      {before.length > 0 && (
        <nav class="trail" aria-label="Followed from">
          {before.map((at, i) => (
            <button key={i} class="plain" data-trail={i} onClick={() => go(at, before.slice(0, i))}>
              {at.layer}-{at.head} “{visible(instrument.reading.tokens(at.kind).query.text[at.query ?? 0] ?? "")}” ←
            </button>
          ))}
        </nav>
      )}
      {query === null && <p class="quiet">Click a token in the picture to see which earlier heads and words made this head attend where it does.</p>}
      {query !== null && !wanted && <button class="button" data-control="writers" onClick={() => setWanted(true)}>which earlier heads and words led “{visible(tokens.query.text[query] ?? "")}” there?</button>}
      {question !== null && answer?.for !== question && <p class="quiet">finding the writers…</p>}
      {answer?.for === question && answer?.error && <p class="quiet">{answer.error}</p>}
      {reply && (
        <>
          <p>“{visible(tokens.query.text[query!] ?? "")}” → “{visible(tokens.key.text[reply.key] ?? "")}” {weightText(reply.weight)}</p>
          <Side title={`writers of the query “${visible(tokens.query.text[query!] ?? "")}”`} writers={reply.asks} follow={(writer) => follow(writer, query!)} />
          <Side title={`writers of the key “${visible(tokens.key.text[reply.key] ?? "")}”`} writers={reply.offers} follow={(writer) => follow(writer, reply.key)} />
          <p class="quiet"><Terms session={session}>{`Shares of q·k beyond the mean key (${valueText(reply.value)}), norms held.`}</Terms></p>
          <button class="button" data-control="all-writers" onClick={() => setWhole(true)}>all writers</button>
          {whole && <Whole asked={{ id, kind, layer, head, query, key: reply.key }} theme={session.theme} close={() => setWhole(false)} follow={(at) => go({ ...at, key: null }, [...before, here])} />}
        </>
      )}
    </div>
  );
}

/** Views that the first screen does without; a name in a variable is left to the browser by the bundler. */
const views = "/static/headscope-score.js";

/** The score view over the app: writers of the query × writers of the key. A click on a head follows it. */
function Whole({ asked, theme, close, follow }: { asked: Record<string, unknown>; theme: State["theme"]; close: () => void; follow: (at: At) => void }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const holder = useRef<HTMLDivElement>(null);
  const [message, setMessage] = useState("asking who wrote it…");
  useLayoutEffect(() => {
    dialog.current!.showModal();
    const showing = new AbortController();
    let stop = () => undefined as void;
    const show = async () => {
      const [bytes] = await Promise.all([postBytes("api/score", asked, showing.signal), import(views) as Promise<unknown>]);
      if (showing.signal.aborted || !holder.current) return;
      const source = openContainer(bytes);
      takeIn();
      source.header.state = { ...source.header.state, theme };
      const onState = (state: State) => {
        if (state.view === "score") return;
        close();
        follow(placeOf(state));
      };
      const { instrument } = mountInto(holder.current, source, { onState }, true);
      stop = () => instrument.unmount();
      setMessage("");
    };
    show().catch((error: unknown) => showing.signal.aborted || setMessage(sentenceOf(error)));
    return () => {
      showing.abort();
      stop();
    };
  }, []);
  return (
    <dialog ref={dialog} class="dialog" style={{ width: "min(940px, 94vw)", padding: "10px" }} aria-label="Writers of this score" onClose={close}>
      <button class="button" data-control="close-writers" onClick={close}>close</button>
      {message && <p class="message" role="status">{message}</p>}
      <div ref={holder} />
    </dialog>
  );
}

function Side({ title, writers, follow }: { title: string; writers: WriterFacts[]; follow: (writer: WriterFacts) => void }): JSX.Element {
  return (
    <>
      <p class="quiet">{title}</p>
      <ol class="meters">
        {writers.map((writer) => {
          const name = <>{writer.name}{writer.word && ` “${visible(writer.word)}”`}</>;
          const title = writer.read ? `Follow head ${writer.name}: it attends to “${visible(writer.word)}” there (${weightText(writer.read[1])})` : "";
          return (
            <li key={writer.name}>
              {writer.layer !== null ? <button class="plain" data-writer={writer.name} title={title} onClick={() => follow(writer)}>{name}</button> : <span>{name}</span>}
              <meter class={(writer.share ?? 0) < 0 ? "against" : ""} min={0} max={1} value={Math.min(1, Math.abs(writer.share ?? 0))} aria-label={`share of q·k ${valueText(writer.share ?? 0)}`} />
              <b>{writer.share === null ? "" : `${Math.round(100 * writer.share)} %`.replace("-", "−")}</b>
            </li>
          );
        })}
      </ol>
    </>
  );
}
