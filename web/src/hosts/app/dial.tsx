/** The dial: layers × heads coloured by a pattern or statistic of this reading; it shows a head on hover and opens it on a click. */
import type { JSX } from "preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Thumbnail } from "../../instrument/chips";
import type { Instrument } from "../../instrument/instrument";
import { LegendMark } from "../../instrument/legend";
import type { Label } from "../../protocol/types";
import { valueText } from "../../render/dom";
import { diverging, sequential } from "../../render/scales";
import { cellAt, headGrid, markOpen, rangeOf } from "../../views/head_map/grid";
import { ChangeMap } from "./against";
import { smallText } from "./panel";
import { useAnswer } from "./server/answer";
import type { Session } from "./session";

export function Dial({ session, instrument }: { session: Session; instrument: Instrument }): JSX.Element {
  const holder = useRef<HTMLDivElement>(null);
  const [hovered, setHovered] = useState<[number, number] | null>(null);
  const { reading, state } = instrument;
  const table = reading.table;
  const columns = table?.columns ?? [];
  const column = columns.find((each) => each.name === state.column) ?? columns[0];
  const kind = table?.kind ?? state.kind;
  const part = reading.part(kind);
  const shade = instrument.shade();
  const { id } = session.reading!;
  const of = `${id} ${kind} ${column?.name ?? ""}`;
  const found = useAnswer(of, () => (column ? reading.column(column) : Promise.resolve(labelScores(instrument, kind))), 0);
  const pooled = useAnswer(`${id} ${kind}`, () => reading.thumbnails(kind), 0);
  // Numbers of another text or column are not those of this one.
  const values = found?.for === of ? found.reply : null;
  const scale = column?.scale ?? "sequential";
  const ramp = scale === "diverging" ? diverging(shade) : sequential(shade);
  const range = values ? rangeOf(values, scale, column?.range ?? (column ? undefined : [0, 1])) : ([0, 1] as [number, number]);
  const layers = table?.layers ?? part.layers;
  const heads = table?.heads ?? part.heads;
  const ranked = session.importance?.id === id ? session.importance.heads : [];
  useLayoutEffect(() => {
    if (!values || !holder.current) return;
    const room = (holder.current.clientWidth || 228) - 24;
    const grid = headGrid({
      layers,
      heads,
      values,
      range,
      ramp,
      size: Math.max(9, Math.min(layers.length > 16 ? 14 : 26, Math.floor(room / heads) - 2)),
      label: (layer, head) => named(reading.label(kind, layer, head)),
      off: (layer, head) => session.isOff(kind, layer, head),
      ring: (layer, head) => (ranked.find((each) => each.kind === kind && each.layer === layer && each.head === head)?.importance ?? 0) / (ranked[0]?.importance || 1),
    });
    if (state.kind === kind) markOpen(grid, state.layer, state.head);
    holder.current.replaceChildren(grid);
  });
  const [layer, head] = hovered ?? [state.layer, state.head];
  const value = values?.[layers.indexOf(layer) * heads + head];
  const label = reading.label(kind, layer, head);
  const open = (event: Event) => {
    const cell = cellAt(event);
    if (!cell) return;
    instrument.set({ kind, layer: cell[0], head: cell[1], heads: [cell[1]], marked: [], view: instrument.definitionNow().overview ? "head" : state.view });
  };
  return (
    <section class="dial" aria-label="Head map">
      {columns.length > 0 && (
        <label class="field">
          <span>coloured by</span>
          <select data-control="column" value={column?.name} onChange={(event) => instrument.set({ column: event.currentTarget.value })}>
            {columns.map((each) => <option value={each.name} key={each.name}>{each.title ?? each.name.replaceAll("_", " ")}</option>)}
          </select>
        </label>
      )}
      <div
        class="map"
        ref={holder}
        onClick={open}
        onMouseMove={(event) => {
          const cell = cellAt(event);
          if (String(cell) !== String(hovered)) setHovered(cell);
        }}
        onMouseLeave={() => setHovered(null)}
      />
      <LegendMark shade={shade} legend={{ kind: "ramp", ramp, title: "", low: valueText(range[0]), high: valueText(range[1]) }} />
      <div class="read-out" title={`${column?.note ?? ""} A dot marks a labelled head, a stroke one that is off, a ring one that matters to the answer.`}>
        <Thumbnail thumbnails={pooled?.for === `${id} ${kind}` ? pooled.reply : null} at={part.layers.indexOf(layer) * part.heads + head} shade={shade} />
        <p aria-live="polite">
          <b>{layer}-{head}</b> {column?.title ?? column?.name.replaceAll("_", " ")} {value === undefined || Number.isNaN(value) ? "not measured" : smallText(value)}
          <br />
          <span class="quiet">{label ? `${label.rests ? "only a" : "label:"} ${label.text} · ${label.evidence || label.score.toFixed(2)}` : "no label on this text"}</span>
        </p>
      </div>
      {session.reading!.other && <ChangeMap session={session} instrument={instrument} />}
    </section>
  );
}

/** A sink is no name: most heads of a decoder have one. */
const named = (label: Label | null) => (label?.rests ? null : label);

/** Without measurements the map shows how strong each head's label is. */
function labelScores(instrument: Instrument, kind: Parameters<Instrument["reading"]["part"]>[0]): Float32Array {
  const part = instrument.reading.part(kind);
  const values = new Float32Array(part.layers.length * part.heads).fill(NaN);
  part.layers.forEach((layer, row) => {
    for (let head = 0; head < part.heads; head++) {
      const label = instrument.reading.label(kind, layer, head);
      if (label) values[row * part.heads + head] = label.score;
    }
  });
  return values;
}
