/** What each neuron does for one query: its part in the scores of the keys that are attended to. */
import type { HeadInputs } from "../../protocol/softmax";
import type { Rotary } from "../../protocol/types";

/**
 * What a neuron adds to the score of the attended keys above what it adds to the average visible key:
 * Σ_j w_j q_n k_jn − mean_j q_n k_jn.
 */
export function contributions(inputs: HeadInputs, query: number, weight: Float32Array, visible: boolean[]): Float64Array {
  const { q, k, dim, s } = inputs;
  const out = new Float64Array(dim);
  const count = visible.reduce((sum, each) => sum + (each ? 1 : 0), 0) || 1;
  const mass = weight.reduce((sum, each) => sum + each, 0) || 1;
  for (let j = 0; j < s; j++) {
    if (!visible[j]) continue;
    const share = weight[j] / mass - 1 / count;
    for (let n = 0; n < dim; n++) out[n] += share * q[query * dim + n] * k[j * dim + n];
  }
  return out;
}

/** Neurons that belong together: pairs that turn, and every other one alone. */
export function groupsOf(width: number, rotary?: Rotary | null): number[][] {
  const { start, dim, pairing } = rotary ?? { start: 0, dim: 0, pairing: "halves" };
  const half = (dim ?? width) / 2;
  const [step, apart] = pairing === "halves" ? [1, half] : [2, 1];
  const groups: number[][] = [];
  for (let i = 0; i < half; i++) groups.push([start + step * i, start + step * i + apart]);
  for (let n = 0; n < width; n++) if (n < start || n >= start + 2 * half) groups.push([n]);
  return groups;
}

export function groupSums(groups: number[][], values: Float64Array): number[] {
  return groups.map((group) => group.reduce((sum, n) => sum + values[n], 0));
}

/** Indices of the groups, largest sum first. */
export function byContribution(sums: number[]): number[] {
  return sums.map((_, i) => i).sort((a, b) => sums[b] - sums[a] || a - b);
}

/** Share of all positive contributions carried by the first, first two, … groups of an order. */
export function cumulativeShare(sums: number[], order: number[]): number[] {
  const total = sums.reduce((sum, each) => sum + Math.max(0, each), 0) || 1;
  let sum = 0;
  return order.map((i) => (sum += Math.max(0, sums[i]) / total));
}
