/** One layer's decoded numbers, and the weights of any of its heads. */
import { decode, toFloats } from "./decode";
import type { Numbers } from "./decode";
import { bandMask, bitMask, noMask, softmaxRow } from "./softmax";
import type { BiasOf, HeadInputs, MaskOf } from "./softmax";
import type { Layer, Part, Piece, Source } from "./types";

export interface LayerData {
  t: number;
  s: number;
  /** Codes (heads, t, s) and their scale, where the maps themselves were sent. */
  maps: { codes: Numbers; scale: number } | null;
  /** Whether that head is decoded, and its index among the decoded ones. */
  has(head: number): boolean;
  place(head: number): number;
  /** The inputs of one head's softmax; null if q and k were not sent. */
  inputs(head: number): HeadInputs | null;
  bytes: number;
}

export function isHere(layer: Layer): boolean {
  return Boolean(layer.maps) || Boolean(layer.q && layer.k);
}

/** The whole layer, or a piece of it. */
export async function decodeLayer(source: Source, part: Part, layer: Layer, piece: Piece | null = null): Promise<LayerData> {
  const t = part.query.text.length;
  const s = (part.key ?? part.query).text.length;
  const { heads, groups, dim } = part;
  const floats = async (ref: { buffer: string } | null | undefined) => {
    if (!ref) return null;
    const entry = source.header.buffers[ref.buffer];
    return toFloats(await decode(entry, await source.buffer(ref.buffer), ref.buffer), entry.scale ?? 1);
  };
  const codes = async (ref: { buffer: string } | null | undefined) => {
    if (!ref) return null;
    const entry = source.header.buffers[ref.buffer];
    return { codes: await decode(entry, await source.buffer(ref.buffer), ref.buffer), scale: entry.scale ?? 1, entry };
  };
  const maskRef = typeof layer.mask === "object" && "buffer" in layer.mask ? layer.mask : null;
  const [maps, q, k, v, bias, sinks, bits] = await Promise.all([
    codes((piece ?? layer).maps),
    floats((piece ?? layer).q),
    floats((piece ?? layer).k),
    floats((piece ?? layer).v),
    floats(layer.bias),
    floats(layer.sinks),
    codes(maskRef),
  ]);

  const maskOf = (head: number): MaskOf => {
    if (bits) return bitMask(bits.codes as Uint8Array, bits.entry.shape.length === 3 ? head * t * s : 0, s);
    if (layer.mask === "causal") return bandMask(t, s, null, true);
    if (typeof layer.mask === "object" && "window" in layer.mask) return bandMask(t, s, layer.mask.window, layer.mask.causal);
    return noMask(s);
  };
  const biasOf = (head: number): BiasOf | null => {
    if (!bias || !layer.bias) return null;
    const width = layer.bias.form === "dense" ? t * s : t + s - 1;
    const start = bias.length === width ? 0 : head * width;
    return layer.bias.form === "dense"
      ? (query, key) => bias[start + query * s + key]
      : (query, key) => bias[start + key - query + t - 1];
  };
  const place = (head: number) => (piece ? piece.heads.indexOf(head) : head);
  const has = (head: number) => place(head) >= 0;
  const inputs = (head: number): HeadInputs | null => {
    if (!q || !k || !has(head)) return null;
    const at = place(head);
    const group = piece ? 0 : Math.floor(head / (heads / groups));
    return {
      q: q.subarray(at * t * dim, (at + 1) * t * dim),
      k: k.subarray(group * s * dim, (group + 1) * s * dim),
      v: v && v.subarray((group * v.length) / (piece ? 1 : groups), ((group + 1) * v.length) / (piece ? 1 : groups)),
      dim,
      t,
      s,
      scaling: layer.scaling,
      softcap: layer.softcap ?? null,
      sink: sinks ? sinks[head] : null,
      mask: maskOf(head),
      bias: biasOf(head),
    };
  };
  const bytes = [maps?.codes, q, k, v, bias].reduce((sum, each) => sum + (each?.byteLength ?? 0), 0);
  return { t, s, maps, has, place, inputs, bytes };
}

/** Lets the page breathe between slices of arithmetic. */
export const breathe = (): Promise<void> =>
  new Promise((resolve) => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => {
      channel.port1.close();
      resolve();
    };
    channel.port2.postMessage(0);
  });

/** The whole map of one head, t × s. Long maps are computed in slices of about 40 ms. */
export async function headMap(layer: LayerData, head: number): Promise<Float32Array> {
  const { t, s, maps } = layer;
  const at = layer.place(head);
  if (maps) return toFloats(maps.codes.subarray(at * t * s, (at + 1) * t * s), maps.scale);
  const inputs = layer.inputs(head);
  if (!inputs) throw new Error("This layer carries neither maps nor q and k.");
  const map = new Float32Array(t * s);
  let until = performance.now() + 40;
  for (let query = 0; query < t; query++) {
    softmaxRow(inputs, query, map, query * s);
    if ((query & 15) === 15 && performance.now() > until) {
      await breathe();
      until = performance.now() + 40;
    }
  }
  return map;
}
