/** Building the atlas of a model that has none: over which texts, how long it takes, how far it is. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { AtlasesReply, EstimateReply, Queued } from "../../../protocol/app";
import { number, postJson, sentenceOf, Waiting } from "../parts";
import type { Session } from "../session";

/** A text file; null: the novels in the package. */
type Given = { name: string; text: string } | null;

/** "40 s", "12 min", "3 h", rounded up: an estimate that is kept is worth more than a close one. */
export function duration(seconds: number): string {
  if (seconds < 60) return `${Math.max(1, Math.ceil(seconds))} s`;
  return seconds < 5400 ? `${Math.ceil(seconds / 60)} min` : `${Math.ceil(seconds / 3600)} h`;
}

export function Build({ session, onBuilt }: { session: Session; onBuilt: (reply: AtlasesReply) => void }): JSX.Element {
  const { model } = session;
  const [given, setGiven] = useState<Given>(null);
  const [estimate, setEstimate] = useState<EstimateReply | null>(null);
  const [message, setMessage] = useState("");
  const [queued, setQueued] = useState<Queued | null>(null);
  const building = useRef<{ waiting: Waiting; asking: AbortController } | null>(null);
  const [isBuilding, setBuilding] = useState(false);
  const request = { model, text: given?.text ?? "" };
  useLayoutEffect(() => {
    const asking = new AbortController();
    setEstimate(null);
    postJson<EstimateReply>("api/atlas/estimate", request, asking.signal).then(setEstimate, (error: unknown) => asking.signal.aborted || setMessage(sentenceOf(error)));
    return () => asking.abort();
  }, [given]);
  // Leaving the app's page cancels it too: the server sees that nobody waits.
  const end = () => {
    building.current?.waiting.end();
    building.current?.asking.abort();
    building.current = null;
    setBuilding(false);
    setQueued(null);
  };
  useLayoutEffect(() => end, []);
  const build = () => {
    const now = { waiting: new Waiting(setQueued), asking: new AbortController() };
    building.current = now;
    setBuilding(true);
    setMessage("");
    postJson<AtlasesReply>("api/atlas/build", { ...request, ticket: now.waiting.ticket }, now.asking.signal).then(onBuilt, (error: unknown) => now.asking.signal.aborted || setMessage(sentenceOf(error))).finally(() => building.current === now && end());
  };
  const cancel = () => {
    void building.current?.waiting.cancel();
    end();
    setMessage("Cancelled.");
  };
  const give = (file: File | undefined) => void file?.text().then((text) => (setMessage(""), setGiven({ name: file.name, text })));
  const done = queued?.done ?? null;
  return (
    <section class="message" data-build aria-label="Build an atlas">
      <strong>{session.titleOf(model)} has no atlas yet</strong>
      <p>An atlas measures every head over many texts and keeps the examples behind its numbers.</p>
      <p>
        Texts: <b>{given ? given.name : "passages of four novels, in English"}</b>{" "}
        <label class="button">
          {given ? "another file" : "a text file instead, one text a line"}
          <input type="file" data-control="build-file" accept=".txt,text/plain" disabled={isBuilding} onChange={(event) => give(event.currentTarget.files?.[0])} />
        </label>
      </p>
      <p role="status" data-estimate={estimate?.seconds}>
        {estimate ? <>{number(estimate.texts)} {estimate.texts === 1 ? "text" : "texts"}, about <b>{duration(estimate.seconds)}</b> on this machine.</> : message ? "" : "Estimating: the model reads a few of the texts…"}
      </p>
      <p>
        {isBuilding ? <button class="button" data-control="build-cancel" onClick={cancel}>cancel</button> : <button class="button primary" data-control="build" disabled={!estimate} onClick={build}>Build an atlas</button>}
        {isBuilding && <span role="status"> {done === null ? "Waiting for the model…" : `${Math.round(100 * done)} %${queued!.left === null ? "" : `, about ${duration(queued!.left)} left`}`}</span>}
      </p>
      {isBuilding && <meter min={0} max={1} value={done ?? 0} aria-label="share of the texts that are read" />}
      {isBuilding && <p class="quiet">Other readings of this model wait meanwhile. Closing the page cancels it.</p>}
      {message && <p role="alert">{message}</p>}
      <p class="quiet">For a large corpus: <code>headscope atlas corpus.txt -m {model} -o model.atlas</code>, then open the file here.</p>
    </section>
  );
}
