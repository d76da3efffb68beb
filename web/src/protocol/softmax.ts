/**
 * Attention weights from q and k, exactly as the model defines them: scaling, soft-cap, bias, mask,
 * sinks, grouped queries. Sums run in double precision.
 */
export interface HeadInputs {
  /** Query rows of this head, t × dim. */
  q: Float32Array;
  /** Key rows of the head's group, s × dim. */
  k: Float32Array;
  /** Value rows of the head's group, s × their size; null where they were not kept. */
  v?: Float32Array | null;
  dim: number;
  t: number;
  s: number;
  scaling: number;
  softcap: number | null;
  /** Logit of this head's sink, or null. */
  sink: number | null;
  mask: MaskOf;
  bias: BiasOf | null;
}

/** First and one past the last key a query may see, and a finer test where the range does not say it all. */
export interface MaskOf {
  /** "none", "causal", … in words for the neuron view; null when every key is visible. */
  name: string | null;
  range(query: number): [number, number];
  visible: ((query: number, key: number) => boolean) | null;
}

export type BiasOf = (query: number, key: number) => number;

export function noMask(s: number): MaskOf {
  return { name: null, range: () => [0, s], visible: null };
}

export function bandMask(t: number, s: number, window: number | null, causal: boolean): MaskOf {
  const shift = s - t;
  return {
    name: window === null ? "causal mask" : `window of ${window}`,
    range(query) {
      const at = query + shift;
      const from = window === null ? 0 : Math.max(0, at - window + 1);
      const to = causal ? at + 1 : window === null ? s : at + window;
      return [Math.min(s, from), Math.max(0, Math.min(s, to))];
    },
    visible: null,
  };
}

/** Packed bits, little end first; `start` is the first bit of this head's t × s. */
export function bitMask(bits: Uint8Array, start: number, s: number): MaskOf {
  return {
    name: "mask",
    range: () => [0, s],
    visible(query, key) {
      const at = start + query * s + key;
      return ((bits[at >> 3] >> (at & 7)) & 1) === 1;
    },
  };
}

export function dot(a: Float32Array, aStart: number, b: Float32Array, bStart: number, dim: number): number {
  let s0 = 0;
  let s1 = 0;
  let i = 0;
  for (; i + 3 < dim; i += 4) {
    s0 += a[aStart + i] * b[bStart + i] + a[aStart + i + 1] * b[bStart + i + 1];
    s1 += a[aStart + i + 2] * b[bStart + i + 2] + a[aStart + i + 3] * b[bStart + i + 3];
  }
  for (; i < dim; i++) s0 += a[aStart + i] * b[bStart + i];
  return s0 + s1;
}

export function cap(score: number, softcap: number | null): number {
  return softcap === null ? score : softcap * Math.tanh(score / softcap);
}

/** Fills out[offset … offset + s) with the weights of one query. A query that sees nothing gets zeros. */
export function softmaxRow(inputs: HeadInputs, query: number, out: Float32Array, offset: number): void {
  const { q, k, dim, s, scaling, softcap, sink, mask, bias } = inputs;
  const [from, to] = mask.range(query);
  const { visible } = mask;
  let top = sink ?? -Infinity;
  for (let j = from; j < to; j++) {
    if (visible && !visible(query, j)) {
      out[offset + j] = -Infinity;
      continue;
    }
    let score = cap(scaling * dot(q, query * dim, k, j * dim, dim), softcap);
    if (bias) score += bias(query, j);
    out[offset + j] = score;
    if (score > top) top = score;
  }
  out.fill(0, offset, offset + from);
  out.fill(0, offset + to, offset + s);
  let sum = sink === null ? 0 : Math.exp(sink - top);
  for (let j = from; j < to; j++) {
    const e = out[offset + j] === -Infinity ? 0 : Math.exp(out[offset + j] - top);
    out[offset + j] = e;
    sum += e;
  }
  if (sum > 0) for (let j = from; j < to; j++) out[offset + j] /= sum;
}

/** Everything between q·k and the weight, for one query and every key: the neuron view's columns. */
export interface ScoreRow {
  dot: Float64Array;
  scaled: Float64Array;
  /** After the soft-cap; the same array as scaled when there is none. */
  capped: Float64Array;
  bias: Float64Array | null;
  visible: boolean[];
  weight: Float32Array;
  /** Mass the sink takes, or null. */
  sink: number | null;
}

export function scoreRow(inputs: HeadInputs, query: number): ScoreRow {
  const { q, k, dim, s, scaling, softcap, mask, bias } = inputs;
  const weight = new Float32Array(s);
  softmaxRow(inputs, query, weight, 0);
  const [from, to] = mask.range(query);
  const dots = new Float64Array(s).map((_, j) => dot(q, query * dim, k, j * dim, dim));
  const scaled = dots.map((value) => value * scaling);
  return {
    dot: dots,
    scaled,
    capped: softcap === null ? scaled : scaled.map((value) => cap(value, softcap)),
    bias: bias ? new Float64Array(s).map((_, j) => bias(query, j)) : null,
    visible: Array.from({ length: s }, (_, j) => j >= from && j < to && (!mask.visible || mask.visible(query, j))),
    weight,
    sink: inputs.sink === null ? null : 1 - weight.reduce((sum, value) => sum + value, 0),
  };
}
