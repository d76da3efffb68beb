/** The state on screen: defaults, and rules that keep a selection valid. */
import { choices, defaults } from "../protocol/types";
import type { Header, Kind, Part, State } from "../protocol/types";

export { choices, defaults };

/** A view's own entry of the state: its default, and, where it is a choice, what may be chosen. */
export function addOwn(name: string, value: unknown, values?: readonly unknown[]): void {
  if (name in defaults && JSON.stringify((defaults as unknown as Record<string, unknown>)[name]) !== JSON.stringify(value)) {
    throw new Error(`Two views keep something else under the name ${name}.`);
  }
  Object.assign(defaults, { [name]: value });
  if (values) Object.assign(choices, { [name]: values });
}

export function own<Value = string>(state: State, name: string): Value {
  return (state as unknown as Record<string, Value>)[name];
}

/** The first picture shows one clear head: the requested one, else the sender's choice. */
export function opening(header: Header): State {
  const asked = header.state ?? {};
  const state: State = { ...defaults, view: header.view, theme: header.theme ?? "auto", ...asked };
  const part = header.parts.find((each) => each.kind === asked.kind) ?? header.parts[0];
  if (!part) return { ...state, kind: header.table?.kind ?? state.kind };
  state.kind = part.kind;
  // Many keys share the mass, so that on a linear scale most lines of a long text would be too faint to see.
  if (asked.scale === undefined && (part.key ?? part.query).text.length > 64) state.scale = "sqrt";
  const [layer, head] = part.opening ?? [part.layers[0] ?? 0, 0];
  if (asked.layer === undefined) state.layer = layer;
  if (asked.heads === undefined) {
    state.head = asked.head ?? head;
    state.heads = [state.head];
  } else if (asked.head === undefined) {
    state.head = asked.heads?.[0] ?? 0;
  }
  return possible(state, header);
}

const clamp = (value: number, low: number, high: number) => Math.min(high, Math.max(low, value));

/** Existing layers, heads and tokens: the nearest ones to a link's or script's. */
export function possible(state: State, header: Header): State {
  const part = header.parts.find((each) => each.kind === state.kind) ?? header.parts[0];
  if (!part) return state;
  const t = part.query.text.length;
  const s = (part.key ?? part.query).text.length;
  const heads = state.heads === null ? null : [...new Set(state.heads)].filter((head) => head >= 0 && head < part.heads).sort((a, b) => a - b);
  return {
    ...state,
    kind: part.kind,
    layer: nearest(part.layers, state.layer),
    head: clamp(Math.round(state.head), 0, part.heads - 1),
    heads,
    query: inside(state.query, t),
    key: inside(state.key, s),
    minimum: clamp(state.minimum, 0, 1),
  };
}

function nearest(layers: number[], layer: number): number {
  if (layers.includes(layer) || layers.length === 0) return layer;
  return layers.reduce((best, each) => (Math.abs(each - layer) < Math.abs(best - layer) ? each : best));
}

const inside = (token: number | null, length: number) => (token !== null && token >= 0 && token < length ? token : null);

export function headsOn(state: State, part: Part): number[] {
  return state.heads ?? Array.from({ length: part.heads }, (_, head) => head);
}

export function layersOf(header: Header, kind: Kind): number[] {
  return header.parts.find((part) => part.kind === kind)?.layers ?? header.table?.layers ?? [];
}
