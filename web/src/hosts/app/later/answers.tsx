/** The model's answers: what the selected head writes into one, the predictions, and the heads that matter most for them. */
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Instrument } from "../../../instrument/instrument";
import type { ImportanceReply, Prediction } from "../../../protocol/app";
import type { Prediction as Attributed } from "../../../protocol/reading";
import { engine, explaining, postJson, Terms, useAnswer, valueText, visible } from "../parts";
import type { Session } from "../session";

interface Props {
  session: Session;
  instrument: Instrument;
}

export function Answers(props: Props): JSX.Element {
  return (
    <>
      <Writes {...props} />
      <Predictions {...props} />
      {!engine && <Importance {...props} />}
    </>
  );
}

/** The selected head's contribution to the predicted token, requested when opened. */
function Writes({ session, instrument }: Props): JSX.Element | null {
  const { reading, state } = instrument;
  const [open, setOpen] = useState(false);
  const { id } = session.reading!;
  const found = useAnswer(open ? id : null, () => reading.prediction(), 0);
  if (!reading.canPredict) return null;
  const here = found?.for === id ? found : null;
  return (
    <section data-panel="writes">
      <details open={open} onToggle={(event) => setOpen((event.target as HTMLDetailsElement).open)}>
        <summary>What it writes</summary>
        {here?.reply ? <Written prediction={here.reply} instrument={instrument} session={session} name={`${state.kind}.${state.layer}.${state.head}`} /> : <p class="quiet">{here?.error || "…"}</p>}
      </details>
    </section>
  );
}

function Written({ prediction, instrument, session, name }: { prediction: Attributed; instrument: Instrument; session: Session; name: string }): JSX.Element {
  const { header } = prediction;
  const [, layer, head] = name.split(".").map(Number);
  const part = header.parts.find((each) => each.part === "head" && name === `${each.kind}.${each.layer}.${each.head}`);
  const [up, down] = header.promotes[name] ?? [[], []];
  const listed = (tokens: string[]) => tokens.slice(0, 5).map(visible).join(" · ");
  return (
    <>
      {part ? (
        <p>Adds <b>{valueText(part.value)}</b> to the <Terms session={session}>logit</Terms> of <b>{visible(header.target[0])}</b>.</p>
      ) : (
        <p class="quiet">Head {layer}-{head} is not among the {header.parts.length} parts that matter most for the <Terms session={session}>logit</Terms> of “{visible(header.target[0])}”.</p>
      )}
      {up.length > 0 && <p class="quiet">raises {listed(up)}</p>}
      {down.length > 0 && <p class="quiet">lowers {listed(down)}</p>}
      <button class="plain" onClick={() => instrument.set({ view: "prediction" })}>see the whole prediction</button>
    </>
  );
}

function Predictions({ session, instrument }: Props): JSX.Element | null {
  const { query, kind } = instrument.state;
  const token = kind === "decoder" && query ? instrument.reading.tokens(kind).query.text[query] : undefined;
  const { predictions: reply, reading, entry } = session;
  const { off, edits } = reading!.of;
  const edited = off.length + edits.length > 0;
  if (entry?.predicts === false || session.senses) return null;
  const said = typeof reply === "string" ? reply : session.opening ? "waiting for the model…" : "asking the model…";
  return (
    <section data-panel="predictions" aria-busy={reply === null}>
      <h3><Terms session={session}>Predictions</Terms>{edited && <small> before → after</small>}</h3>
      {(reply === null || typeof reply === "string") && <p class="quiet">{said}</p>}
      {reply !== null && typeof reply !== "string" && (
        <>
          {reply.note && <p class="quiet"><Terms session={session}>{reply.note}</Terms></p>}
          {reply.places.map((place) => (
            <div key={place.position} class="place">
              <p class="quiet">{place.title}: <Terms session={session}>token and probability</Terms></p>
              <table>
                <tbody>{place.before.slice(0, 5).map((before, i) => <Row key={i} before={before} after={edited ? place.after[i] : null} was={place.before} />)}</tbody>
              </table>
            </div>
          ))}
          {token !== undefined && <button class="plain" data-control="why-query" onClick={() => instrument.set({ view: "prediction", ...explaining(query!) })}>why “{visible(token)}” here?</button>}
        </>
      )}
    </section>
  );
}

/** A word before, and beside it the word of that rank after, with how much its own probability changed. */
function Row({ before, after, was }: { before: Prediction; after: Prediction | null | undefined; was: Prediction[] }): JSX.Element {
  const own = after && was.find((each) => each.token === after.token);
  const change = after && own ? after.probability - own.probability : null;
  return (
    <tr>
      <td><span class="token-text">{visible(before.token)}</span> <small>{before.probability.toFixed(3)}</small></td>
      {after && (
        <td class={after.token === before.token ? "" : "changed"}>
          <span class="token-text">{visible(after.token)}</span> <small>{after.probability.toFixed(3)}</small>
          {change !== null && <i class={change < 0 ? "bar less" : "bar"} style={{ width: `${Math.min(100, 100 * Math.abs(change))}%` }} title={`${change < 0 ? "−" : "+"}${Math.abs(change).toFixed(3)}`} />}
        </td>
      )}
    </tr>
  );
}

function Importance({ session, instrument }: Props): JSX.Element {
  const { id, of: { off, edits } } = session.reading!;
  const question = session.ranked ? id : null;
  const answer = useAnswer(question, (signal) => postJson<ImportanceReply>("api/importance", { id, off, edits }, signal), 200);
  useEffect(() => void (answer?.reply && (session.importance = { id: answer.for, heads: answer.reply.heads })), [answer]);
  const waiting = question !== null && !answer;
  const most = answer?.reply?.heads[0]?.importance || 1;
  return (
    <section data-panel="importance" aria-busy={waiting}>
      <h3>Most important heads for this input</h3>
      {question === null && <button class="button" data-control="rank" onClick={() => (session.ranked = true)}>rank the heads</button>}
      {waiting && <p class="quiet">ranking every head…</p>}
      {answer?.error && <p class="quiet">{answer.error}</p>}
      <ol class="meters">
        {answer?.reply?.heads.slice(0, 8).map(({ kind, layer, head, importance }) => (
          <li key={`${kind}${layer}-${head}`}>
            <button class="plain" data-important={`${layer}-${head}`} onClick={() => instrument.set({ kind, layer, head, heads: [head], marked: [] })}>
              {layer}-{head}{instrument.reading.parts.length > 1 ? ` ${kind}` : ""} {instrument.reading.label(kind, layer, head)?.text ?? ""}
            </button>
            <meter min={0} max={most} value={importance} aria-label={`importance ${valueText(importance)}`} />
            <b>{valueText(importance)}</b>
          </li>
        ))}
      </ol>
      {answer?.reply && <p class="quiet"><Terms session={session}>{answer.reply.note}</Terms></p>}
    </section>
  );
}
