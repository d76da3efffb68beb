/** Rows and columns of a head's map without the whole map, for long texts. */
import { toFloats } from "./decode";
import { breathe } from "./layer";
import type { LayerData } from "./layer";
import { cap, dot, softmaxRow } from "./softmax";
import type { HeadInputs } from "./softmax";

/** Per query: the logarithm of its softmax's sum, and how much of its mass falls on keys that are shown. */
interface Norms {
  logSum: Float64Array;
  kept: Float64Array;
}

export class HeadRows {
  private readonly norms = new Map<string, Promise<Norms>>();
  private readonly inputs: HeadInputs | null;

  constructor(
    private readonly layer: LayerData,
    private readonly head: number,
    private readonly factor: Float32Array | null = null,
  ) {
    this.inputs = layer.maps ? null : layer.inputs(head);
    if (!layer.maps && !this.inputs) throw new Error("This layer carries neither maps nor q and k.");
  }

  /** The drawn values of one query, one number per key. */
  row(query: number): Float32Array {
    const row = this.weights(query);
    return this.factor ? row.map((weight, key) => weight * this.factor![key]) : row;
  }

  private weights(query: number): Float32Array {
    const { t, s, maps } = this.layer;
    if (maps) {
      const start = (this.layer.place(this.head) * t + query) * s;
      return toFloats(maps.codes.subarray(start, start + s), maps.scale);
    }
    const row = new Float32Array(s);
    softmaxRow(this.inputs!, query, row, 0);
    return row;
  }

  /**
   * The weights on one key, one number a query. `shown` says which keys count when rows are made to sum to one
   * over them; null: rows stay as they are.
   */
  async column(key: number, shown: Uint8Array | null): Promise<Float32Array> {
    const { t, s, maps } = this.layer;
    const column = new Float32Array(t);
    const norms = maps && !shown ? null : await this.normsFor(shown);
    for (let query = 0; query < t; query++) {
      const weight = maps ? maps.codes[(this.layer.place(this.head) * t + query) * s + key] * maps.scale : this.weight(query, key, norms!.logSum[query]);
      const share = shown ? norms!.kept[query] : 1;
      column[query] = share > 0 ? (weight * (this.factor?.[key] ?? 1)) / share : 0;
    }
    return column;
  }

  private weight(query: number, key: number, logSum: number): number {
    const score = this.score(query, key);
    return score === -Infinity ? 0 : Math.exp(score - logSum);
  }

  private score(query: number, key: number): number {
    const { q, k, dim, scaling, softcap, mask, bias } = this.inputs!;
    const [from, to] = mask.range(query);
    if (key < from || key >= to || (mask.visible && !mask.visible(query, key))) return -Infinity;
    const score = cap(scaling * dot(q, query * dim, k, key * dim, dim), softcap);
    return bias ? score + bias(query, key) : score;
  }

  private normsFor(shown: Uint8Array | null): Promise<Norms> {
    const name = shown ? shown.join("") : "";
    const found = this.norms.get(name);
    if (found) return found;
    const made = this.measure(shown);
    this.norms.set(name, made);
    return made;
  }

  /** Every row once, in slices of about 40 ms: afterwards any column is quick. */
  private async measure(shown: Uint8Array | null): Promise<Norms> {
    const { t, s } = this.layer;
    const norms: Norms = { logSum: new Float64Array(t), kept: new Float64Array(t) };
    let until = performance.now() + 40;
    for (let query = 0; query < t; query++) {
      const row = this.weights(query);
      let top = 0;
      let kept = 0;
      for (let key = 0; key < s; key++) {
        if (row[key] > row[top]) top = key;
        if (!shown || shown[key]) kept += row[key] * (this.factor?.[key] ?? 1);
      }
      norms.kept[query] = kept;
      if (this.inputs) norms.logSum[query] = this.score(query, top) - Math.log(row[top]);
      if ((query & 15) === 15 && performance.now() > until) {
        await breathe();
        until = performance.now() + 40;
      }
    }
    return norms;
  }
}
