import { describe, expect, it } from "vitest";
import { bandMask, bitMask, noMask, scoreRow, softmaxRow } from "../src/protocol/softmax";
import type { HeadInputs } from "../src/protocol/softmax";

/** Small deterministic numbers, so that a failure can be repeated. */
function numbers(count: number, seed: number, scale = 1): Float32Array {
  let x = seed;
  return Float32Array.from({ length: count }, () => {
    x = (x * 1103515245 + 12345) % 2147483648;
    return (x / 1073741824 - 1) * scale;
  });
}

/** The definition, written out with plain arrays in double precision and no shortcut. */
function reference(
  inputs: HeadInputs,
  visible: (i: number, j: number) => boolean,
): number[][] {
  const { q, k, dim, t, s, scaling, softcap, sink, bias } = inputs;
  return Array.from({ length: t }, (_, i) => {
    const scores = Array.from({ length: s }, (_, j) => {
      let score = 0;
      for (let n = 0; n < dim; n++) score += q[i * dim + n] * k[j * dim + n];
      score *= scaling;
      if (softcap !== null) score = softcap * Math.tanh(score / softcap);
      if (bias) score += bias(i, j);
      return visible(i, j) ? score : -Infinity;
    });
    const all = sink === null ? scores : [...scores, sink];
    const top = Math.max(...all);
    const sum = all.reduce((total, score) => total + Math.exp(score - top), 0);
    return scores.map((score) => Math.exp(score - top) / sum);
  });
}

function inputs(change: Partial<HeadInputs> = {}): HeadInputs {
  const [t, s, dim] = [change.t ?? 7, change.s ?? 7, change.dim ?? 10];
  return {
    q: numbers(t * dim, 3, 2),
    k: numbers(s * dim, 5, 2),
    dim,
    t,
    s,
    scaling: 0.37,
    softcap: null,
    sink: null,
    mask: noMask(s),
    bias: null,
    ...change,
  };
}

function expectEqual(given: HeadInputs, visible: (i: number, j: number) => boolean): void {
  const truth = reference(given, visible);
  const out = new Float32Array(given.t * given.s).fill(NaN);
  for (let i = 0; i < given.t; i++) softmaxRow(given, i, out, i * given.s);
  let worst = 0;
  for (let i = 0; i < given.t; i++) {
    for (let j = 0; j < given.s; j++) worst = Math.max(worst, Math.abs(truth[i][j] - out[i * given.s + j]));
  }
  expect(worst).toBeLessThan(1e-6);
}

describe("the softmax in the page equals the definition", () => {
  it("with scaling alone", () => expectEqual(inputs(), () => true));
  it("with a causal mask", () => expectEqual(inputs({ mask: bandMask(7, 7, null, true) }), (i, j) => j <= i));
  it("with a causal mask and earlier keys (a cache)", () =>
    expectEqual(inputs({ t: 3, s: 7, mask: bandMask(3, 7, null, true) }), (i, j) => j <= i + 4));
  it("with a causal window", () => expectEqual(inputs({ mask: bandMask(7, 7, 3, true) }), (i, j) => j <= i && i - j < 3));
  it("with a window on both sides", () => expectEqual(inputs({ mask: bandMask(7, 7, 2, false) }), (i, j) => Math.abs(i - j) < 2));
  it("with a mask of bits", () => {
    const visible = (i: number, j: number) => (i * 3 + j * 5) % 4 !== 1;
    const bits = new Uint8Array(Math.ceil((10 + 49) / 8));
    for (let i = 0; i < 7; i++) for (let j = 0; j < 7; j++) if (visible(i, j)) bits[(10 + i * 7 + j) >> 3] |= 1 << ((10 + i * 7 + j) & 7);
    expectEqual(inputs({ mask: bitMask(bits, 10, 7) }), visible);
  });
  it("with a positional bias", () => expectEqual(inputs({ bias: (i, j) => -0.5 * Math.abs(i - j) }), () => true));
  it("with a soft-cap, applied before the bias", () => expectEqual(inputs({ softcap: 1.5, bias: (i, j) => 0.3 * (j - i) }), () => true));
  it("with a sink that takes part of the mass", () => expectEqual(inputs({ sink: 1.2 }), () => true));
  it("with everything at once and a dimension that is no multiple of four", () =>
    expectEqual(
      inputs({ dim: 7, softcap: 4, sink: -0.4, bias: (i, j) => Math.sin(i + 2 * j), mask: bandMask(7, 7, 4, true) }),
      (i, j) => j <= i && i - j < 4,
    ));
  it("with scores so large that a naive exponential overflows", () => expectEqual(inputs({ scaling: 400 }), () => true));
});

describe("the columns of the neuron view", () => {
  it("lead from q·k to the same weights", () => {
    const given = inputs({ softcap: 3, bias: (i, j) => 0.1 * (i - j), mask: bandMask(7, 7, null, true), sink: 0.5 });
    const row = scoreRow(given, 4);
    const scores = row.capped.map((score, j) => (row.visible[j] ? score + (row.bias?.[j] ?? 0) : -Infinity));
    const sum = scores.reduce((total, score) => total + Math.exp(score), Math.exp(0.5));
    scores.forEach((score, j) => expect(row.weight[j]).toBeCloseTo(Math.exp(score) / sum, 6));
    expect(row.sink).toBeCloseTo(Math.exp(0.5) / sum, 6);
    expect(row.visible).toEqual([true, true, true, true, true, false, false]);
  });
});
