/** The controls a view asks for, one line, each with its name. */
import type { JSX } from "preact";
import type { State } from "../protocol/types";
import { hasPair, isRightToLeft } from "../protocol/units";
import { layersOf, own } from "../state/state";
import type { Control } from "../views/view";
import type { Instrument } from "./instrument";

const named = (entries: [string, string][]) => entries;

interface Choice {
  control: Control;
  title: string;
  entries: [string, string][];
  /** Shown only where it makes sense. */
  when?(instrument: Instrument): boolean;
}

const choices: Choice[] = [
  {
    control: "filter",
    title: "sentences",
    entries: named([["all", "all"], ["aa", "A→A"], ["ab", "A→B"], ["ba", "B→A"], ["bb", "B→B"]]),
    when: ({ reading, state }) => hasPair(reading.tokens(state.kind).query) || hasPair(reading.tokens(state.kind).key),
  },
  {
    control: "specials",
    title: "specials",
    entries: named([["shown", "shown"], ["hidden", "hidden"], ["renormalised", "renormalised"]]),
    when: ({ reading, state }) => reading.tokens(state.kind).key.class.some((each) => each <= 2),
  },
  {
    control: "first",
    title: "first token",
    entries: named([["shown", "shown"], ["hidden", "hidden"]]),
    when: ({ state }) => state.kind === "decoder",
  },
  {
    control: "unit",
    title: "by",
    entries: named([["tokens", "tokens"], ["words", "words"]]),
    when: ({ reading, state }) => {
      const { query, key } = reading.tokens(state.kind);
      return [query, key].some((tokens) => tokens.word.some((word, i) => word >= 0 && word === tokens.word[i - 1]));
    },
  },
  { control: "scale", title: "scale", entries: named([["linear", "linear"], ["sqrt", "square root"]]) },
  { control: "layout", title: "layout", entries: named([["vertical", "vertical"], ["horizontal", "horizontal"]]) },
  {
    control: "direction",
    title: "direction",
    entries: named([["auto", "auto"], ["ltr", "left to right"], ["rtl", "right to left"]]),
    when: ({ reading, state }) => state.layout === "horizontal" || state.direction !== "auto" || isRightToLeft(reading.tokens(state.kind).query),
  },
  { control: "thumbnails", title: "show", entries: named([["maps", "heat maps"], ["lines", "lines"]]) },
  { control: "order", title: "order", entries: named([["number", "by number"], ["label", "strongest label first"]]) },
  { control: "sort", title: "neurons", entries: named([["number", "in their order"], ["contribution", "by contribution"]]) },
  {
    control: "weighting",
    title: "draw",
    entries: named([["weight", "weight"], ["norm", "norm"], ["logit", "towards the logit"]]),
    when: ({ reading, other }) => reading.canWeigh && !other,
  },
  {
    control: "reading",
    title: "reading",
    entries: named([["this", "this"], ["other", "other"], ["difference", "this − other"]]),
    when: ({ other }) => other !== null,
  },
];

export function Options({ instrument }: { instrument: Instrument }): JSX.Element {
  const { state, store } = instrument;
  const definition = instrument.definitionNow();
  const set = (change: Partial<State>) => store.set(change);
  return (
    <div class="options" role="group" aria-label="Options">
      {definition.controls.includes("layer") && <LayerControl instrument={instrument} />}
      {definition.controls.includes("head") && instrument.reading.parts.length > 0 && <HeadControl instrument={instrument} />}
      {definition.controls.includes("column") && <ColumnControl instrument={instrument} />}
      {instrument.reading.parts.length > 0 &&
        choices
          .filter((choice) => definition.controls.includes(choice.control) && (choice.when?.(instrument) ?? true))
          .map((choice) => (
            <label class="field" key={choice.control}>
              <span>{choice.title}</span>
              <select
                data-control={choice.control}
                value={String(state[choice.control as keyof State])}
                onChange={(event) => set({ [choice.control]: event.currentTarget.value })}
              >
                {choice.entries.map(([value, text]) => (
                  <option value={value} key={value}>{text}</option>
                ))}
              </select>
            </label>
          ))}
      {definition.choices
        ?.filter((choice) => choice.when?.(instrument.reading, state) ?? true)
        .map((choice) => (
          <label class="field" key={choice.name}>
            <span>{choice.title}</span>
            <select data-control={choice.name} value={own(state, choice.name)} onChange={(event) => set({ [choice.name]: event.currentTarget.value })}>
              {choice.entries.map(([value, text]) => (
                <option value={value} key={value}>{text}</option>
              ))}
            </select>
          </label>
        ))}
      {definition.controls.includes("minimum") && (
        <label class="field">
          <span>weight ≥</span>
          <input
            type="range"
            data-control="minimum"
            min="0"
            max="1"
            step="0.01"
            value={Math.sqrt(state.minimum)}
            aria-label="Minimum weight"
            aria-valuetext={state.minimum.toFixed(3)}
            onInput={(event) => set({ minimum: Number((event.currentTarget.valueAsNumber ** 2).toFixed(4)) })}
          />
          <output>{state.minimum === 0 ? "0" : state.minimum.toFixed(state.minimum < 0.1 ? 3 : 2)}</output>
        </label>
      )}
      {definition.controls.includes("find") && (
        <label class="field">
          <span>label</span>
          <input type="search" data-control="find" value={state.find} placeholder="any" onInput={(event) => set({ find: event.currentTarget.value })} />
        </label>
      )}
      {definition.controls.includes("wrap") && (
        <label class="field">
          <input type="checkbox" data-control="wrap" checked={state.wrap} onChange={(event) => set({ wrap: event.currentTarget.checked })} />
          <span>wrap</span>
        </label>
      )}
    </div>
  );
}

function LayerControl({ instrument }: { instrument: Instrument }): JSX.Element {
  const { state, store, reading } = instrument;
  const layers = layersOf(store.header, state.kind);
  const at = layers.indexOf(state.layer);
  const to = (index: number) => layers[index] !== undefined && store.set({ layer: layers[index], marked: [] });
  return (
    <>
      {reading.parts.length > 1 && (
        <label class="field">
          <span>attention</span>
          <select
            data-control="kind"
            value={state.kind}
            onChange={(event) => store.set({ kind: event.currentTarget.value as State["kind"], query: null, key: null, marked: [] })}
          >
            {reading.parts.map((part) => (
              <option value={part.kind} key={part.kind}>{part.kind}</option>
            ))}
          </select>
        </label>
      )}
      <span class="field layer">
        <span id="layer-name">layer</span>
        <button class="step" aria-label="Layer before" disabled={at <= 0} onClick={() => to(at - 1)}>‹</button>
        <input
          type="range"
          data-control="layer"
          aria-labelledby="layer-name"
          aria-valuetext={`layer ${state.layer}`}
          min="0"
          max={Math.max(0, layers.length - 1)}
          step="1"
          value={at}
          onInput={(event) => to(event.currentTarget.valueAsNumber)}
        />
        <button class="step" aria-label="Layer after" disabled={at >= layers.length - 1} onClick={() => to(at + 1)}>›</button>
        <select data-control="layer-menu" aria-label="Layer" value={String(state.layer)} onChange={(event) => store.set({ layer: Number(event.currentTarget.value), marked: [] })}>
          {layers.map((layer) => (
            <option value={String(layer)} key={layer}>{layer}</option>
          ))}
        </select>
      </span>
    </>
  );
}

function HeadControl({ instrument }: { instrument: Instrument }): JSX.Element {
  const { state, store, reading } = instrument;
  const { heads } = reading.part(state.kind);
  return (
    <label class="field">
      <span>head</span>
      <select
        data-control="head"
        value={String(state.head)}
        onChange={(event) => store.set({ head: Number(event.currentTarget.value), heads: [Number(event.currentTarget.value)], marked: [] })}
      >
        {Array.from({ length: heads }, (_, head) => {
          const label = reading.label(state.kind, state.layer, head);
          return <option value={String(head)} key={head}>{label ? `${head} · ${label.text} ${label.score.toFixed(2)}` : head}</option>;
        })}
      </select>
    </label>
  );
}

function ColumnControl({ instrument }: { instrument: Instrument }): JSX.Element | null {
  const columns = instrument.reading.table?.columns ?? [];
  if (!columns.length) return null;
  return (
    <label class="field">
      <span>coloured by</span>
      <select data-control="column" value={instrument.state.column || columns[0].name} onChange={(event) => instrument.set({ column: event.currentTarget.value })}>
        {columns.map((column) => (
          <option value={column.name} key={column.name}>{column.title ?? column.name.replaceAll("_", " ")}</option>
        ))}
      </select>
    </label>
  );
}
