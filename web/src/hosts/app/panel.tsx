/** Below the dial: this head. What it does, what it looks at, numbers, why, and what switching it off changes. */
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { Instrument } from "../../instrument/instrument";
import type { AppHeader, HeadFacts } from "../../protocol/app";
import type { Tokens } from "../../protocol/types";
import { valueText, visible } from "../../render/dom";
import { css } from "../../render/oklch";
import { Match } from "./against";
import { useAnswer } from "./server/answer";
import { engine, getJson } from "./server/api";
import type { Session } from "./session";
import { Named, Terms } from "./terms";
import { Why } from "./why";
import { later } from "./later";

const Answers = later<{ session: Session; instrument: Instrument }>(async () => (await import("./later/answers")).Answers);
const Change = later<{ session: Session; instrument: Instrument }>(async () => (await import("./later/change")).Change);
const Nearest = later(async () => (await import("./later/nearest")).Nearest);
const Written = later<{ instrument: Instrument }>(async () => (await import("./later/written")).Written);
const Writers = later(async () => (await import("./later/writers")).Writers);

/** Drawn anew with each reading, so that no answer about one stands beside another. */
export function HeadPanel({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element {
  const { state } = instrument;
  const { id } = session.reading!;
  const part = instrument.reading.part(state.kind);
  const colour = instrument.colours()[state.head];
  const path = `${state.kind}/${state.layer}/${state.head}`;
  const tokens = instrument.reading.tokens(state.kind);
  const facts = useAnswer(`${id} ${path}`, async (signal) => ({ ...(await getJson<HeadFacts>(`api/reading/${encodeURIComponent(id)}/head/${path}`, signal)), tokens }), 120);
  // What is known of the head before stays until this one's is here: faint, and nothing can be done with it.
  const stale = facts?.for !== `${id} ${path}`;
  const reply = facts?.reply ?? null;
  const waiting = <p class="quiet">{(!stale && facts?.error) || (session.opening ? "waiting for the model…" : "measuring…")}</p>;
  return (
    <section class="this-head" aria-label="This head">
      <h2>
        <i class="dot" style={{ background: css(colour) }} />
        Head {state.layer}-{state.head}
        <small>{part.kind}</small>
      </h2>
      <section data-panel="facts" class={stale ? "stale" : ""} aria-busy={stale}>
        <h3>What it does</h3>
        {reply ? <What facts={reply} session={session} off={session.reading!.of.off.some((each) => each.join("/") === path)} /> : waiting}
      </section>
      {session.reading!.other && <Match session={session} instrument={instrument} />}
      <section data-panel="looks" class={stale ? "stale" : ""} inert={stale}>
        <h3>What it looks at most here</h3>
        {reply ? <Looks facts={reply} tokens={reply.tokens} instrument={instrument} /> : waiting}
      </section>
      {reply?.spans?.length ? <Spans spans={reply.spans} stale={stale} /> : null}
      {(instrument.source.header as AppHeader).writing && <Written instrument={instrument} />}
      <section data-panel="numbers" class={stale ? "stale" : ""}>
        <h3>Numbers <small>on this text</small></h3>
        {reply ? <Numbers facts={reply} session={session} /> : waiting}
      </section>
      <section data-panel="why" class={stale ? "stale" : ""} inert={stale}>
        <h3>Why</h3>
        <Why facts={reply} instrument={instrument} session={session} />
        <Writers session={session} instrument={instrument} />
      </section>
      <Nearest session={session} instrument={instrument} />
      <SwitchOff session={session} instrument={instrument} />
      {!engine && <Change session={session} instrument={instrument} />}
      <Answers session={session} instrument={instrument} />
    </section>
  );
}

/** The label, what it means, and how sure it is: here, and over the corpus it was labelled on. */
function What({ facts, session, off }: { facts: HeadFacts; session: Session; off: boolean }): JSX.Element {
  return (
    <>
      <p class="label-line">
        {facts.label ? <><b><Terms session={session}>{facts.label}</Terms></b> {facts.score?.toFixed(2)} <small class="quiet" data-evidence>· {facts.evidence}</small></> : <span class="quiet">{off ? "Off: it attends uniformly." : facts.why_no_patterns ?? `No pattern stands out ${facts.sink ? "besides its sink" : "on this text"}.`}</span>}
      </p>
      {facts.sink && <p class="quiet" data-sink>{facts.label ? "It also" : "It"} {facts.sink.about}: {facts.sink.score.toFixed(2)} · {facts.sink.evidence}</p>}
      {facts.about && <p><Terms session={session}>{facts.about}</Terms></p>}
      <ul class="meters">
        {facts.patterns.slice(0, 4).map((pattern) => (
          <li key={pattern.name}>
            <span class={pattern.labelled ? "" : "quiet"}><Named session={session} text={pattern.name.replaceAll("_", " ")} note={`${pattern.about ? `How much the head ${pattern.about}.` : ""}${pattern.lift ? ` ${valueText(pattern.lift)} times what uniform attention gives.` : ""}${pattern.evidence ? ` ${pattern.evidence}.` : ""}`} /></span>
            <meter min={0} max={1} value={pattern.score} aria-label={`${pattern.name} ${pattern.score.toFixed(3)}`} />
            <b>{pattern.score.toFixed(2)}</b>
          </li>
        ))}
      </ul>
      {facts.corpus && <p class="quiet">Over a corpus: <b>{facts.corpus.label}</b> {facts.corpus.score.toFixed(2)} <Terms session={session}>{facts.corpus.evidence}</Terms></p>}
    </>
  );
}

/** The strongest pairs of words, each a click from its place in the picture. */
function Looks({ facts, tokens, instrument }: { facts: HeadFacts; tokens: { query: Tokens; key: Tokens }; instrument: Instrument }): JSX.Element {
  const { query, key } = tokens;
  const looks = facts.looks ?? [];
  return (
    <>
      <ol class="meters looks">
        {looks.map((look) => (
          <li key={`${look.query}-${look.key}`}>
            <button class="plain" data-look={`${look.query}-${look.key}`} onClick={() => instrument.set({ query: look.query, key: null })}>
              {visible(query.text[look.query] ?? "")} → {visible(key.text[look.key] ?? "")}
            </button>
            <meter min={0} max={1} value={look.weight} aria-label={`weight ${look.weight.toFixed(3)}`} />
            <b>{look.weight.toFixed(2)}</b>
          </li>
        ))}
      </ol>
      {facts.left_out && <p class="quiet">{facts.left_out}</p>}
    </>
  );
}

/** Of a conversation: attention summed over each document and message. */
function Spans({ spans, stale }: { spans: NonNullable<HeadFacts["spans"]>; stale: boolean }): JSX.Element {
  return (
    <section data-panel="spans" class={stale ? "stale" : ""}>
      <h3>By document <small>mean over the answer, or from the last token</small></h3>
      <ul class="meters">
        {spans.map(({ name, share }) => (
          <li key={name}>
            <span>{name}</span>
            <meter min={0} max={1} value={share} aria-label={`${name} ${share.toFixed(3)}`} />
            <b>{share.toFixed(2)}</b>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Numbers({ facts, session }: { facts: HeadFacts; session: Session }): JSX.Element {
  const [all, setAll] = useState(false);
  const shown = all ? facts.statistics : facts.statistics.slice(0, 6);
  return (
    <>
      <dl class="numbers">
        {shown.map((statistic) => (
          <div key={statistic.name}>
            <dt><Named session={session} text={statistic.name.replaceAll("_", " ")} note={statistic.note ?? ""} /></dt>
            <dd>{smallText(statistic.value)}{statistic.unit ? ` ${statistic.unit}` : ""}</dd>
          </div>
        ))}
      </dl>
      {facts.statistics.length > 6 && <button class="plain" data-control="all-numbers" onClick={() => setAll(!all)}>{all ? "fewer" : `all ${facts.statistics.length}`}</button>}
    </>
  );
}

/** A weight of 3e-9 is nothing to anyone who looks at a head. */
export const smallText = (value: number) => (Math.abs(value) < 0.0005 && value !== 0 ? (value < 0 ? ">−0.001" : "<0.001") : valueText(value));

function SwitchOff({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element {
  const { state } = instrument;
  const off = session.isOff(state.kind, state.layer, state.head);
  return (
    <section data-panel="switch">
      <label class="switch">
        <input type="checkbox" data-control="off" checked={off} disabled={session.model !== session.reading!.of.model} onChange={() => void session.switchHead(state.kind, state.layer, state.head)} />
        <span>switch off</span>
      </label>
      <p class="quiet">Off: each token attends uniformly to every token it may see.</p>
    </section>
  );
}
