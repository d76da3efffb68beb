/** Two readings beside each other: their titles, the second picture, how much each head changed, which head is which. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { LegendMark, Terms, allOn, anotherText, cellAt, headGrid, markOpen, sequential, useInstrument } from "../parts";
import type { Instrument } from "../../../instrument/instrument";
import type { Comparison } from "../../../protocol/app";
import type { Session } from "../session";
import { mountBeside, sameTokens } from "./beside";

/** Both titles, the choice between both pictures and their difference, and the second picture. */
export function Compared({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element | null {
  const holder = useRef<HTMLDivElement>(null);
  const state = useInstrument(instrument);
  const other = session.reading?.other;
  useLayoutEffect(() => (other && holder.current ? mountBeside(holder.current, other.source, instrument, session) : undefined), [other]);
  if (!other) return null;
  const { layer, head, kind, heads } = state;
  const [theirLayer, theirHead] = session.partner(layer, head);
  const match = session.comparison?.matches.find((each) => each.layer === layer && each.head === head);
  const one = session.pairs === "likeness" || heads?.length === 1;
  const differs = state.view === "matrix" && state.reading !== "this";
  const { against, wasRead, off, edits } = session.reading!.of;
  const mine = against === anotherText ? `“${wasRead.text.slice(0, 40)}${wasRead.text.length > 40 ? "…" : ""}”` : against === allOn ? [off.length ? `${off.map((each) => each.slice(1).join("-")).join(", ")} off` : "", edits.length ? "with edits" : ""].filter(Boolean).join(", ") : session.titleOf(session.model);
  const theirs = instrument.other?.has(kind) ? instrument.other.tokens(kind) : null;
  const comparable = theirs !== null && sameTokens(instrument.reading.tokens(kind).query, theirs.query);
  return (
    <>
      <p class="pair-name" data-side-title="this">
        {mine} {one && <small>head {layer}-{head}</small>}
        <span class="spring" />
        <button class="plain" data-control="side-by-side" aria-pressed={!differs} onClick={() => instrument.set({ reading: "this" })}>side by side</button>
        <button class="plain" data-control="difference" aria-pressed={differs} disabled={!comparable} title={comparable ? "This map minus the other" : "The two readings have different tokens, so their maps cannot be subtracted"} onClick={() => instrument.set({ view: "matrix", reading: "difference" })}>difference</button>
      </p>
      <p class="pair-name" data-side-title="other">
        {other.title} <small>{one && `head ${theirLayer}-${theirHead}`}{session.pairs === "likeness" && match ? `, likeness ${match.likeness.toFixed(2)}` : ""}</small>
      </p>
      <div class="app-beside" hidden={differs}>
        <div class="app-other" ref={holder} />
      </div>
    </>
  );
}

/** 1 − likeness of each head and the one beside it, by number or by likeness; NaN where there is none. */
export function changes({ layers, heads, change, matches }: Comparison, pairs: "number" | "likeness"): Float32Array {
  if (pairs === "number") return Float32Array.from(change, (value) => (value < 0 ? NaN : value));
  const found = new Float32Array(layers.length * heads).fill(NaN);
  for (const { layer, head, likeness } of matches) found[layers.indexOf(layer) * heads + head] = 1 - likeness;
  return found;
}

/** Layers × heads by how much each changed; a click opens the head on both sides. */
export function ChangeMap({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element | null {
  const holder = useRef<HTMLDivElement>(null);
  const { comparison } = session;
  const { state } = instrument;
  const shade = instrument.shade();
  const values = comparison && changes(comparison, session.pairs);
  useLayoutEffect(() => {
    if (!comparison || !values || !holder.current) return;
    const room = (holder.current.clientWidth || 228) - 24;
    const grid = headGrid({
      layers: comparison.layers,
      heads: comparison.heads,
      values,
      range: [0, 1],
      ramp: sequential(shade),
      size: Math.max(9, Math.min(22, Math.floor(room / comparison.heads) - 2)),
      label: () => null,
    });
    if (state.kind === comparison.kind) markOpen(grid, state.layer, state.head);
    holder.current.replaceChildren(grid);
  });
  if (!comparison || !values) return <section data-panel="change"><h3>What changed</h3><p class="quiet">{session.uncompared || "comparing every head…"}</p></section>;
  const change = values[comparison.layers.indexOf(state.layer) * comparison.heads + state.head] ?? NaN;
  const [theirLayer, theirHead] = session.partner(state.layer, state.head);
  const none = session.pairs === "number" ? `The other model has no head ${state.layer}-${state.head}.` : "The other model has no head left to pair.";
  return (
    <section data-panel="change">
      <h3>What changed</h3>
      <div
        class="map"
        ref={holder}
        onClick={(event) => {
          const cell = cellAt(event);
          if (cell) instrument.set({ kind: comparison.kind, layer: cell[0], head: cell[1], heads: [cell[1]], marked: [] });
        }}
      />
      <LegendMark shade={shade} legend={{ kind: "ramp", ramp: sequential(shade), title: "1 − likeness", low: "0", high: "1" }} />
      <p class="quiet">
        {isNaN(change) ? none : `Head ${state.layer}-${state.head} and ${theirLayer}-${theirHead} of the other: likeness ${(1 - change).toFixed(2)}.`}
      </p>
      <p class="quiet"><Terms session={session}>{comparison.note}</Terms></p>
    </section>
  );
}

/** The head of the other reading that attends most like the selected one. */
export function Match({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element | null {
  const { comparison } = session;
  const { state } = instrument;
  if (!comparison || !session.reading?.other) return null;
  const match = comparison.matches.find((each) => each.layer === state.layer && each.head === state.head);
  return (
    <section data-panel="match">
      <h3>In {session.reading.other.title}</h3>
      {match ? (
        <p>
          paired with head <b>{match.to[0]}-{match.to[1]}</b>, likeness <b>{match.likeness.toFixed(2)}</b>
        </p>
      ) : (
        <p class="quiet">The other model has no head left to pair.</p>
      )}
      <label class="field">
        <span>beside it</span>
        <select
          data-control="pairing"
          value={session.pairs}
          onChange={(event) => {
            session.pairing = event.currentTarget.value as "number" | "likeness";
            session.note();
          }}
        >
          <option value="likeness">the head it is paired with</option>
          <option value="number">the same number</option>
        </select>
      </label>
      <p class="quiet">Heads are paired one to one so that their total likeness is the largest possible.</p>
    </section>
  );
}
