/** What a reading is compared with, how much each head changed, and which head is which. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { useInstrument } from "../../instrument/chrome";
import type { Instrument } from "../../instrument/instrument";
import { LegendMark } from "../../instrument/legend";
import { sequential } from "../../render/scales";
import { cellAt, headGrid, markOpen } from "../../views/head_map/grid";
import { allOn, anotherText } from "./session";
import type { Session } from "./session";
import { Terms } from "./terms";

/** Another model, another text, or this model before heads were switched off. */
export function Against({ session }: { session: Session }): JSX.Element | null {
  const others = session.models?.models.filter((each) => each.id !== session.model) ?? [];
  return (
    <label class="field">
      <span class="sr">Compare with</span>
      <select
        data-control="against"
        class={session.against ? "" : "icon"}
        value={session.against}
        onChange={(event) => {
          session.against = event.currentTarget.value;
          if (session.against !== anotherText || session.againstText.trim()) void session.read();
        }}
      >
        <option value="">{session.against ? "compare with nothing" : "compare"}</option>
        {session.off.length > 0 && <option value={allOn}>every head on</option>}
        <option value={anotherText}>another text…</option>
        {others.map((model) => <option value={model.id} key={model.id}>{model.title}</option>)}
      </select>
    </label>
  );
}

/** The other text, where one is compared with. */
export function AgainstText({ session }: { session: Session }): JSX.Element | null {
  const [typed, setTyped] = useState(session.againstText);
  if (session.against !== anotherText) return null;
  return (
    <input
      type="text"
      class="against-text"
      data-control="against-text"
      placeholder="the other text; Enter compares"
      aria-label="Text to compare with"
      value={typed}
      onInput={(event) => setTyped(event.currentTarget.value)}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key !== "Enter") return;
        session.againstText = typed;
        void session.read();
      }}
    />
  );
}

/** Layers × heads by how much each changed; a click opens the head on both sides. */
export function ChangeMap({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element | null {
  const holder = useRef<HTMLDivElement>(null);
  const { comparison } = session;
  const { state } = instrument;
  const shade = instrument.shade();
  useLayoutEffect(() => {
    if (!comparison || !holder.current) return;
    const room = (holder.current.clientWidth || 228) - 24;
    const grid = headGrid({
      layers: comparison.layers,
      heads: comparison.heads,
      values: Float32Array.from(comparison.change, (value) => (value < 0 ? NaN : value)),
      range: [0, 1],
      ramp: sequential(shade),
      size: Math.max(9, Math.min(22, Math.floor(room / comparison.heads) - 2)),
      label: () => null,
    });
    if (state.kind === comparison.kind) markOpen(grid, state.layer, state.head);
    holder.current.replaceChildren(grid);
  });
  if (!session.reading?.other) return null;
  if (!comparison) return <section data-panel="change"><h3>What changed</h3><p class="quiet">{session.uncompared || "comparing every head…"}</p></section>;
  const here = comparison.layers.indexOf(state.layer) * comparison.heads + state.head;
  const change = comparison.change[here];
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
        {change === undefined || change < 0 ? `The other model has no head ${state.layer}-${state.head}.` : `Head ${state.layer}-${state.head} and ${state.layer}-${state.head} of the other: likeness ${(1 - change).toFixed(2)}.`}
      </p>
      <p class="quiet"><Terms session={session}>{comparison.note}</Terms></p>
    </section>
  );
}

/** Which head of the other reading stands beside the one in hand, and how alike the two are. */
export function Partner({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element {
  const { layer, head } = useInstrument(instrument);
  const match = session.comparison?.matches.find((each) => each.layer === layer && each.head === head);
  return <small>{` head ${session.partner(layer, head).join("-")}${session.pairing === "likeness" && match ? `, likeness ${match.likeness.toFixed(2)}` : ""}`}</small>;
}

/** The head of the other reading that attends most like the one in hand. */
export function Match({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element | null {
  const { comparison } = session;
  const { state } = instrument;
  if (!session.reading?.other || !comparison) return null;
  const match = comparison.matches.find((each) => each.layer === state.layer && each.head === state.head);
  return (
    <section data-panel="match">
      <h3>In {session.reading.other.title}</h3>
      {match ? (
        <p>
          paired with head <b>{match.to[0]}-{match.to[1]}</b>, likeness <b>{match.likeness.toFixed(2)}</b>
        </p>
      ) : (
        <p class="quiet">No head of the other is left to pair with this one.</p>
      )}
      <label class="field">
        <span>beside it</span>
        <select
          data-control="pairing"
          value={session.pairing}
          onChange={(event) => {
            session.pairing = event.currentTarget.value as Session["pairing"];
            session.note();
          }}
        >
          <option value="number">the same number</option>
          <option value="likeness">the head it is paired with</option>
        </select>
      </label>
      <p class="quiet">Heads are paired one to one so that the likeness of all pairs together is the largest there is.</p>
    </section>
  );
}
