/** The model itself, run by onnxruntime-web: tokens or pixels and head switches in, q, k, attention and logits out. */
import { InferenceSession, Tensor, env } from "onnxruntime-web/wasm";
import type { OffHead } from "../protocol/types";
import type { Known } from "./known";

export interface Pass {
  /** (layers, heads, t, dim), (layers, groups, t, dim), (layers, heads, t, t). */
  q: Float32Array;
  k: Float32Array;
  attention: Float32Array;
  t: number;
  /** One row per requested position; for classes, one row. */
  logits: Float32Array[];
  follows: Float32Array | null;
}

const wanted = ["q", "k", "attention", "logits", "follows"];

export class Model {
  private constructor(private readonly known: Known, private readonly session: InferenceSession) {}

  static async open(known: Known, weights: Uint8Array, wasm: ArrayBuffer): Promise<Model> {
    // Threads share memory, which a page opened from disk may not.
    env.wasm.numThreads = 1;
    env.wasm.wasmBinary = wasm;
    return new Model(known, await InferenceSession.create(weights, { executionProviders: ["wasm"] }));
  }

  /** `positions`: positions whose words to predict. */
  async text(ids: number[], types: number[], positions: number[], off: OffHead[]): Promise<Pass> {
    const whole = (numbers: number[], shape: number[]) => new Tensor("int64", BigInt64Array.from(numbers, BigInt), shape);
    const t = ids.length;
    return this.run({ ids: whole(ids, [1, t]), types: whole(types, [1, t]), positions: whole(positions.length ? positions : [t - 1], [positions.length || 1]) }, off);
  }

  /** `data`: (3, rows, columns). */
  async picture(data: Float32Array, rows: number, columns: number, off: OffHead[]): Promise<Pass> {
    return this.run({ pixels: new Tensor("float32", data, [1, 3, rows, columns]) }, off);
  }

  private async run(given: Record<string, Tensor>, off: OffHead[]): Promise<Pass> {
    const { inputs, outputs, heads, layers } = this.known;
    const switches = new Float32Array(layers.length * heads).fill(1);
    for (const [, layer, head] of off) switches[layer * heads + head] = 0;
    const feeds = { ...given, switches: new Tensor("float32", switches, [layers.length, heads]) } as Record<string, Tensor>;
    const fed = Object.fromEntries(inputs.map((name) => [name, feeds[name]]));
    const made = await this.session.run(fed, wanted.filter((name) => outputs.includes(name)));
    const floats = (name: string) => made[name].data as Float32Array;
    const t = made["attention"].dims[2];
    const [rows, width] = made["logits"].dims;
    const pass: Pass = {
      q: floats("q"),
      k: floats("k"),
      attention: floats("attention"),
      t,
      logits: Array.from({ length: rows }, (_, row) => floats("logits").subarray(row * width, (row + 1) * width)),
      follows: outputs.includes("follows") ? floats("follows") : null,
    };
    for (const tensor of Object.values(fed)) tensor.dispose();
    return pass;
  }
}
