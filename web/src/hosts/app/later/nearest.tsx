/** The atlas's examples where the selected head behaves most like at the pinned query. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Instrument } from "../../../instrument/instrument";
import type { NearestReply } from "../../../protocol/app";
import { openText, postJson, useAnswer, visible } from "../parts";
import type { Session } from "../session";

/** The text before or after a token, without the spaces between. */
const around = (text: string) => text && text.replace(/\S(.*\S)?/s, visible);

export function Nearest({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element | null {
  const { kind, layer, head, query, view } = instrument.state;
  const { id } = session.reading!;
  const [wanted, setWanted] = useState(false);
  const [wrong, setWrong] = useState("");
  const question = wanted && query !== null ? `${id} ${kind} ${layer} ${head} ${query}` : null;
  const answer = useAnswer(question, (signal) => postJson<NearestReply>("api/atlas/nearest", { id, kind, layer, head, query }, signal), 200);
  if (!session.hasAtlas || session.senses) return null;
  const reply = answer?.for === question ? answer.reply : null;
  const token = query === null ? "" : visible(instrument.reading.tokens(kind).query.text[query] ?? "");
  const shown = view === "text" || view === "matrix" ? view : "head";
  return (
    <section data-panel="nearest" aria-busy={question !== null && answer?.for !== question}>
      <h3>Similar examples <small>in the atlas</small></h3>
      {query === null && <p class="quiet">Click a token in the picture to find examples in the corpus where this head’s output is most like its output there.</p>}
      {query !== null && !wanted && <button class="button" data-control="nearest" onClick={() => setWanted(true)}>examples like “{token}”</button>}
      {question !== null && answer?.for !== question && <p class="quiet">reading the corpus with this head…</p>}
      {question !== null && answer?.for === question && answer.error && <p class="quiet">{answer.error}</p>}
      <ol class="near-places">
        {reply?.places.map((place) => (
          <li key={`${place.document}-${place.query}`}>
            <button class="plain" data-near-place={`${place.document}-${place.query}`} onClick={() => void openText(session, { ...place, kind, layer, head, view: shown }).then(() => setWrong(""), (error: Error) => setWrong(error.message))}>
              {around(place.text[0])}<b>{visible(place.text[1])}</b>{around(place.text[2])}
            </button>
            <small>{place.likeness.toFixed(2)}</small>
          </li>
        ))}
      </ol>
      {wrong && <p class="quiet" role="alert">{wrong}</p>}
      {reply && <p class="quiet">Like “{token}” by the cosine of what the head takes{reply.by === "index" ? "; looked up in an index, which may miss an example" : ", compared with every position"}.</p>}
    </section>
  );
}
