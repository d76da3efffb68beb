/** The two pictures of the neuron view: from q and k to the weights, and from the weights to the head's output. */
import type { HeadInputs } from "../../protocol/softmax";

/** The strips' content: how q and k make the scores, or the weighted values. */
export interface Strips {
  /** Cells of a strip. */
  dim: number;
  above: (n: number) => number;
  left: (token: number, n: number) => number;
  product: (token: number, n: number) => number;
  names: { above: string; left: string; product: string };
}

/** From two vectors to a weight, each step with its sentence. */
export const steps: [string, string][] = [
  ["q", "is the query: what the selected token asks for."],
  ["k", "is the key: what each token offers."],
  ["q×k", "multiplies them neuron by neuron."],
  ["q·k", "sums the products to a score and scales it."],
  ["softmax", "turns the scores into weights that sum to 1."],
];
export const valueSteps: [string, string][] = [
  ["softmax", "says how strongly the selected token attends to each key."],
  ["v", "is what each key has to give."],
  ["α·v", "is the weight times v: what the key adds."],
  ["output", "is their sum over the keys; the output projection writes it into the stream."],
];

export function scoreStrips({ q, k, dim }: HeadInputs, query: number): Strips {
  const above = (n: number) => q[query * dim + n];
  const left = (token: number, n: number) => k[token * dim + n];
  return { dim, above, left, product: (token, n) => above(n) * left(token, n), names: { above: "q", left: "k", product: "q×k" } };
}

/** One query's weighted values, and their sum. */
export function valueStrips(v: Float32Array, weight: Float32Array): Strips & { output: Float64Array; sizes: Float64Array } {
  const dim = v.length / weight.length;
  const left = (token: number, n: number) => v[token * dim + n];
  const product = (token: number, n: number) => weight[token] * left(token, n);
  const [output, sizes] = [new Float64Array(dim), new Float64Array(weight.length)];
  weight.forEach((_, token) => {
    for (let n = 0; n < dim; n++) {
      output[n] += product(token, n);
      sizes[token] += product(token, n) ** 2;
    }
    sizes[token] = Math.sqrt(sizes[token]);
  });
  return { dim, above: (n) => output[n], left, product, output, sizes, names: { above: "output", left: "v", product: "α·v" } };
}

/** Keys that are masked have no part in the picture's scale. */
export function largestProduct({ product, dim }: Strips, visible: boolean[]): number {
  let most = 0;
  visible.forEach((seen, j) => {
    for (let n = 0; seen && n < dim; n++) most = Math.max(most, Math.abs(product(j, n)));
  });
  return most || 1;
}

export function largest(values: Float32Array | Float64Array): number {
  let most = 0;
  for (let i = 0; i < values.length; i++) if (Math.abs(values[i]) > most) most = Math.abs(values[i]);
  return most || 1;
}
