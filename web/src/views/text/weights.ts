/** The selected words' attention from or to every other word: combined rows or columns of the heads that are on. */
import { HeadRows } from "../../protocol/rows";
import type { Reading } from "../../protocol/reading";
import { passes } from "../../protocol/units";
import type { Unit } from "../../protocol/units";
import type { TextState } from "./state";

export type Side = "query" | "key";
export type Units = Record<Side, Unit[]>;

export interface Hand {
  side: Side;
  /** Units of that side; none: the mean of queries spread over the text. */
  units: number[];
}

export interface Shading {
  /** One number a unit of the other side. */
  weights: Float32Array;
  /** The head each came from, where the strongest is shown. */
  heads: Int16Array | null;
  /** Queries averaged without a selection. */
  sampled: number;
}

/** The most weights to average without a selected word. */
const mostWeights = 2 ** 21;
/** Weights this near to a sampled query, in tokens, are shared among the words between the samples. */
const nearby = 16;

/** Queries without a selected word: all if that is quick, else spread over the text. The figure follows the same rule. */
export function spread(count: number, heads: number, weights = mostWeights): number[] {
  const taken = Math.min(count, Math.max(8, Math.floor(weights / Math.max(1, count * heads))));
  return Array.from({ length: taken }, (_, i) => Math.floor(((2 * i + 1) * count) / (2 * taken)));
}

/** The mean of each value and those around it; the farthest count half, so that no rhythm of `reach` is left. */
export function shared(values: Float32Array, reach: number): Float32Array {
  return values.map((_, at) => {
    let [sum, count] = [0, 0];
    for (let i = Math.max(0, at - reach); i <= Math.min(values.length - 1, at + reach); i++) {
      const part = Math.abs(i - at) === reach ? 0.5 : 1;
      sum += part * values[i];
      count += part;
    }
    return sum / count;
  });
}

export class Weights {
  private known = new Map<number, HeadRows>();
  private of = "";

  constructor(private readonly reading: Reading) {}

  async shade(state: TextState, heads: number[], units: Units, hand: Hand): Promise<Shading> {
    const each = await this.each(state, heads, units, hand);
    const count = each.length ? each[0].length : units[hand.side === "query" ? "key" : "query"].length;
    const sampled = hand.units.length ? 0 : spread(units.query.length, heads.length).length;
    const weights = new Float32Array(count);
    if (each.length > 1 && state.merge === "strongest") {
      const strongest = new Int16Array(count);
      each.forEach((values, at) => values.forEach((value, i) => value > weights[i] && ((weights[i] = value), (strongest[i] = heads[at]))));
      return { weights, heads: strongest, sampled };
    }
    for (const values of each) for (let i = 0; i < count; i++) weights[i] += values[i] / each.length;
    return { weights, heads: null, sampled };
  }

  /** One array a head, in the order of the heads. */
  async each(state: TextState, heads: number[], units: Units, hand: Hand): Promise<Float32Array[]> {
    const of = `${this.reading.by} ${state.kind} ${state.layer}`;
    if (of !== this.of) [this.known, this.of] = [new Map<number, HeadRows>(), of];
    // Cached by name: while a head is fetched, the user may change the layer.
    const known = this.known;
    const found: Float32Array[] = [];
    for (const head of heads) {
      const rows = known.get(head) ?? (await this.rows(state, head));
      known.set(head, rows);
      const chosen = hand.units.length ? hand.units : spread(units.query.length, heads.length);
      const whole = hand.side === "query" || !hand.units.length ? this.fromQueries(rows, state, units, chosen, hand.units.length ? 1 : units.query.length / chosen.length) : await this.toKeys(rows, state, units, chosen);
      const share = hand.units.length && state.combine === "sum" ? 1 : 1 / chosen.length;
      found.push(whole.map((value) => value * share));
    }
    return found;
  }

  private async rows({ kind, layer }: TextState, head: number): Promise<HeadRows> {
    const [data, factor] = await Promise.all([this.reading.layer(kind, layer, head), this.reading.factor(kind, layer, head)]);
    return new HeadRows(data, head, factor);
  }

  /** `step`: from one chosen query to the next. A head that looks at neighbours would otherwise shade every step-th word. */
  private fromQueries(rows: HeadRows, state: TextState, units: Units, chosen: number[], step: number): Float32Array {
    const total = new Float32Array(units.key.length);
    const near = new Float32Array(units.key.length);
    const reach = step > 1 && state.kind !== "cross" ? Math.max(nearby, 4 * step) : -1;
    for (const at of chosen) {
      const query = units.query[at];
      const one = new Float32Array(units.key.length);
      let sum = 0;
      for (let token = query.start; token < query.end; token++) {
        const row = rows.row(token);
        units.key.forEach((key, j) => {
          for (let column = key.start; column < key.end; column++) one[j] += row[column];
        });
      }
      for (const value of one) sum += value;
      const scale = state.specials === "renormalised" ? (sum > 0 ? 1 / sum : 0) : 1 / (query.end - query.start);
      units.key.forEach((key, j) => {
        if (passes(state.filter, query, key)) (Math.abs(key.start - query.start) <= reach ? near : total)[j] += one[j] * scale;
      });
    }
    return reach < 0 ? total : shared(near, Math.ceil(step)).map((value, j) => value + total[j]);
  }

  private async toKeys(rows: HeadRows, state: TextState, units: Units, chosen: number[]): Promise<Float32Array> {
    const total = new Float32Array(units.query.length);
    let shown: Uint8Array | null = null;
    if (state.specials === "renormalised") {
      shown = new Uint8Array(this.reading.tokens(state.kind).key.text.length);
      for (const key of units.key) shown.fill(1, key.start, key.end);
    }
    for (const at of chosen) {
      const key = units.key[at];
      for (let token = key.start; token < key.end; token++) {
        const column = await rows.column(token, shown);
        units.query.forEach((query, i) => {
          if (!passes(state.filter, query, key)) return;
          for (let row = query.start; row < query.end; row++) total[i] += column[row] / (query.end - query.start);
        });
      }
    }
    return total;
  }
}
