/** A view's controls: what to show and, behind a button, how to draw it. */
import type { JSX } from "preact";
import type { State } from "../protocol/types";
import { hasPair, isRightToLeft } from "../protocol/units";
import { layersOf, opening, own } from "../state/state";
import type { Control } from "../views/view";
import type { Instrument } from "./instrument";
import { Menu } from "./menu";

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
  { control: "orientation", title: "orientation", entries: named([["vertical", "vertical"], ["horizontal", "horizontal"]]) },
  {
    control: "direction",
    title: "direction",
    entries: named([["auto", "auto"], ["ltr", "left to right"], ["rtl", "right to left"]]),
    when: ({ reading, state }) => state.orientation === "horizontal" || state.direction !== "auto" || isRightToLeft(reading.tokens(state.kind).query),
  },
  { control: "thumbnails", title: "show", entries: named([["maps", "heat maps"], ["lines", "lines"]]) },
  { control: "order", title: "order", entries: named([["number", "by number"], ["label", "strongest label first"]]) },
  { control: "sort", title: "neurons", entries: named([["number", "by index"], ["contribution", "by contribution"]]) },
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

/** The layer and the head, if there is no dial. */
export function Where({ instrument }: { instrument: Instrument }): JSX.Element {
  const { controls } = instrument.definitionNow();
  const { dial } = instrument.options;
  return (
    <>
      {controls.includes("layer") && <KindControl instrument={instrument} />}
      {!dial && controls.includes("layer") && <LayerControl instrument={instrument} />}
      {!dial && controls.includes("head") && instrument.reading.parts.length > 0 && <HeadControl instrument={instrument} />}
      {controls.includes("column") && <ColumnControl instrument={instrument} />}
    </>
  );
}

/** A menu, or a number, of how the picture is drawn. */
interface Field {
  name: string;
  title: string;
  value: string;
  usual: string;
  control: JSX.Element;
}

/** Display options behind one button; beside it, changed options, each reset by a click. */
export function Display({ instrument }: { instrument: Instrument }): JSX.Element | null {
  const fields = fieldsOf(instrument);
  if (!fields.length) return null;
  const usual = opening({ ...instrument.source.header, state: {} });
  return (
    <>
      <Menu name="display" title="How the picture is drawn" label="Display" stays>
        {fields.map((field) => field.control)}
      </Menu>
      {fields
        .filter((field) => field.value !== field.usual)
        .map((field) => (
          <button class="tag" key={field.name} data-unusual={field.name} title="Back to the default" onClick={() => instrument.set({ [field.name]: own(usual, field.name) })}>
            {field.title} {field.value} ×
          </button>
        ))}
    </>
  );
}

function fieldsOf(instrument: Instrument): Field[] {
  const { state, store, reading } = instrument;
  const definition = instrument.definitionNow();
  const usual = opening({ ...instrument.source.header, state: {} });
  const set = (change: Partial<State>) => store.set(change);
  const has = (control: Control) => definition.controls.includes(control);
  const common = reading.parts.length ? choices.filter((choice) => has(choice.control) && (choice.when?.(instrument) ?? true)).map((choice) => ({ ...choice, name: choice.control })) : [];
  const its = definition.choices?.filter((choice) => choice.when?.(reading, state) ?? true) ?? [];
  const fields: Field[] = [...common, ...its].map(({ name, title, entries }) => {
    const text = (of: State) => entries.find(([value]) => value === String(own(of, name)))?.[1] ?? "";
    return {
      name,
      title,
      value: text(state),
      usual: text(usual),
      control: (
        <label class="field" key={name}>
          <span>{title}</span>
          <select data-control={name} value={String(own(state, name))} onChange={(event) => set({ [name]: event.currentTarget.value })}>
            {entries.map(([value, entry]) => (
              <option value={value} key={value}>{entry}</option>
            ))}
          </select>
        </label>
      ),
    };
  });
  if (has("minimum")) {
    const said = (minimum: number) => (minimum === 0 ? "0" : minimum.toFixed(minimum < 0.1 ? 3 : 2));
    fields.push({
      name: "minimum",
      title: "weight ≥",
      value: said(state.minimum),
      usual: said(usual.minimum),
      control: (
        <label class="field" key="minimum">
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
          <output>{said(state.minimum)}</output>
        </label>
      ),
    });
  }
  if (has("find")) {
    fields.push({
      name: "find",
      title: "label",
      value: state.find,
      usual: "",
      control: (
        <label class="field" key="find">
          <span>label</span>
          <input type="search" data-control="find" value={state.find} placeholder="any" onInput={(event) => set({ find: event.currentTarget.value })} />
        </label>
      ),
    });
  }
  if (has("wrap")) {
    fields.push({
      name: "wrap",
      title: "wrap",
      value: state.wrap ? "on" : "",
      usual: usual.wrap ? "on" : "",
      control: (
        <label class="field" key="wrap">
          <span>wrap</span>
          <input type="checkbox" data-control="wrap" checked={state.wrap} onChange={(event) => set({ wrap: event.currentTarget.checked })} />
        </label>
      ),
    });
  }
  return fields;
}

function KindControl({ instrument: { state, store, reading } }: { instrument: Instrument }): JSX.Element | null {
  if (reading.parts.length < 2) return null;
  return (
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
  );
}

function LayerControl({ instrument }: { instrument: Instrument }): JSX.Element {
  const { state, store } = instrument;
  const layers = layersOf(store.header, state.kind);
  const at = layers.indexOf(state.layer);
  const to = (index: number) => layers[index] !== undefined && store.set({ layer: layers[index], marked: [] });
  return (
      <span class="field layer">
        <span id="layer-name">layer</span>
        <button class="step" aria-label="Previous layer" disabled={at <= 0} onClick={() => to(at - 1)}>‹</button>
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
        <button class="step" aria-label="Next layer" disabled={at >= layers.length - 1} onClick={() => to(at + 1)}>›</button>
        <select data-control="layer-menu" aria-label="Layer" value={String(state.layer)} onChange={(event) => store.set({ layer: Number(event.currentTarget.value), marked: [] })}>
          {layers.map((layer) => (
            <option value={String(layer)} key={layer}>{layer}</option>
          ))}
        </select>
      </span>
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
