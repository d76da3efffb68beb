/** One chip a head: number, colour, thumbnail, label. */
import type { JSX } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Thumbnails } from "../protocol/reading";
import { css } from "../render/oklch";
import type { Shade } from "../render/palette";
import { drawThumbnail } from "../render/thumbnails";
import { headsOn } from "../state/state";
import type { Instrument } from "./instrument";

export function Chips({ instrument }: { instrument: Instrument }): JSX.Element {
  const { state, reading, store } = instrument;
  const part = reading.part(state.kind);
  const colours = instrument.colours();
  const many = instrument.definitionNow().chips === "many";
  const on = headsOn(state, part);
  const { switches } = instrument.notice;
  const [pooled, setPooled] = useState<{ kind: string; thumbnails: Thumbnails | null }>({ kind: "", thumbnails: null });
  useEffect(() => {
    let current = true;
    void reading.thumbnails(state.kind).then((thumbnails) => current && setPooled({ kind: state.kind, thumbnails }));
    return () => void (current = false);
  }, [state.kind]);
  const all = Array.from({ length: part.heads }, (_, head) => head);
  const toggle = (head: number) => {
    const on = headsOn(store.state, part);
    if (!many) return store.set({ head, heads: [head], marked: [] });
    const next = on.includes(head) ? on.filter((each) => each !== head) : [...on, head];
    store.set({ heads: next.length === part.heads ? null : next, head: next.includes(head) || !next.length ? head : next[0], marked: [] });
  };
  /** A double click follows two clicks that toggled twice, so the selection is as before them. */
  const solo = (head: number) => {
    if (!many) return;
    const on = headsOn(store.state, part);
    const alone = on.length === 1 && on[0] === head;
    store.set({ heads: alone ? null : [head], head, marked: [] });
  };
  const layerAt = part.layers.indexOf(state.layer);
  const rail = useRef<HTMLElement>(null);
  // In a row that is too long for its window the open head is in sight.
  useLayoutEffect(() => {
    const [row, chip] = [rail.current!, rail.current!.querySelector(`[data-head="${state.head}"]`)!].map((each) => each.getBoundingClientRect());
    rail.current!.scrollLeft += Math.min(0, chip.left - row.left - 8) || Math.max(0, chip.right + 36 - row.right);
  }, [state.head, part]);
  return (
    <nav class="rail" ref={rail} aria-label="Heads" style={{ maxHeight: `${instrument.railHeight()}px` }}>
      <div class="rail-head">
        <span>{many ? `${on.length} of ${part.heads} shown` : `head ${state.layer}-${state.head}`}</span>
        {many && (
          <>
            <button data-control="all-heads" onClick={() => store.set({ heads: null })}>all</button>
            <button data-control="one-head" onClick={() => store.set({ heads: [state.head] })}>one</button>
          </>
        )}
      </div>
      <div class="chips" role={many ? "group" : "radiogroup"} aria-label={`Heads of layer ${state.layer}`}>
        {all.map((head) => {
          const label = reading.label(state.kind, state.layer, head);
          const pressed = many ? on.includes(head) : state.head === head;
          const off = switches?.isOff(state.kind, state.layer, head) ?? false;
          const chip = (
            <button
              key={head}
              class={off ? "chip off" : "chip"}
              data-head={head}
              role={many ? undefined : "radio"}
              aria-pressed={many ? pressed : undefined}
              aria-checked={many ? undefined : pressed}
              aria-label={`Head ${head}${label ? ` ${label.text} ${label.score.toFixed(2)}` : ""}`}
              title={`Head ${state.layer}-${head}${label ? `: ${label.text} ${label.score.toFixed(3)}${label.evidence ? ` · ${label.evidence}` : ""}` : ""}${many ? "\nclick: on or off · double-click: alone" : ""}`}
              style={{ "--colour": css(colours[head]) }}
              onClick={() => toggle(head)}
              onDblClick={() => solo(head)}
              onKeyDown={(event) => {
                if (event.key !== "Enter" || !event.shiftKey) return;
                event.preventDefault();
                solo(head);
              }}
            >
              <span class="swatch" />
              <Thumbnail thumbnails={pooled.kind === state.kind ? pooled.thumbnails : null} at={layerAt * part.heads + head} shade={instrument.shade()} />
              <span>
                <b>{head}</b>{" "}
                {label && <span class={label.rests ? "label rests" : "label"}>{label.text}</span>}
              </span>
              {(label || off) && " "}
              {off ? <span class="score">OFF</span> : label && <span class="score">{label.score.toFixed(2)}</span>}
            </button>
          );
          if (!switches) return chip;
          const says = off ? `Switch head ${state.layer}-${head} on again` : `Switch head ${state.layer}-${head} off`;
          return (
            <span class="chip-row" key={head}>
              {chip}
              <button class="flip" role="switch" data-flip={head} aria-checked={!off} aria-label={says} title={says} onClick={() => switches.flip(state.kind, state.layer, head)} />
            </span>
          );
        })}
      </div>
    </nav>
  );
}

export function Thumbnail({ thumbnails, at, shade }: { thumbnails: Thumbnails | null; at: number; shade: Shade }): JSX.Element {
  const canvas = useRef<HTMLCanvasElement>(null);
  useLayoutEffect(() => {
    if (canvas.current) drawThumbnail(canvas.current, thumbnails, at, shade);
  }, [thumbnails, at, shade]);
  return <canvas ref={canvas} width={28} height={28} aria-hidden="true" />;
}
