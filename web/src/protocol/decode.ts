/** Stored bytes of one buffer → typed array of numbers. */
import type { BufferEntry } from "./types";

export type Numbers = Float32Array | Uint16Array | Uint8Array | Int8Array;

export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
  // not by way of a Blob: WebKit's workers cannot read one in a page opened from disk
  const stream = new Response(bytes as BodyInit).body!.pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export function fromBase64(text: string): Uint8Array {
  const native = Uint8Array as typeof Uint8Array & { fromBase64?(text: string): Uint8Array };
  if (native.fromBase64) return native.fromBase64(text);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
}

/** Planes (all first bytes, then all second bytes, …) → items in order. */
export function joinPlanes(bytes: Uint8Array, itemSize: number): Uint8Array {
  const count = bytes.length / itemSize;
  const joined = new Uint8Array(bytes.length);
  for (let plane = 0; plane < itemSize; plane++) {
    const start = plane * count;
    for (let i = 0, at = plane; i < count; i++, at += itemSize) joined[at] = bytes[start + i];
  }
  return joined;
}

const itemSizes = { uint16: 2, float32: 4, uint8: 1, int8: 1, bit: 1 } as const;

export function expectedBytes(entry: BufferEntry): number {
  const items = entry.shape.reduce((product, side) => product * side, 1);
  return entry.dtype === "bit" ? Math.ceil(items / 8) : items * itemSizes[entry.dtype];
}

/** Codes as stored: uint16 and uint8 stay codes (value = code * entry.scale). */
export async function decode(entry: BufferEntry, stored: Uint8Array, name = "a buffer"): Promise<Numbers> {
  let bytes = entry.codec === "deflate" ? await inflate(stored) : stored;
  if (bytes.length !== expectedBytes(entry)) {
    throw new Error(`This view's data is damaged: ${name} holds ${bytes.length} bytes, not ${expectedBytes(entry)}.`);
  }
  const size = itemSizes[entry.dtype];
  if (entry.planes && size > 1) bytes = joinPlanes(bytes, size);
  else if (bytes.byteOffset % size !== 0) bytes = bytes.slice();
  const { buffer, byteOffset } = bytes;
  switch (entry.dtype) {
    case "uint16":
      return new Uint16Array(buffer, byteOffset, bytes.length / 2);
    case "float32":
      return new Float32Array(buffer, byteOffset, bytes.length / 4);
    case "int8":
      return new Int8Array(buffer, byteOffset, bytes.length);
    default:
      return bytes;
  }
}

/** Numbers as float32, scale applied. */
export function toFloats(numbers: Numbers, scale = 1): Float32Array {
  if (numbers instanceof Float32Array && scale === 1) return numbers;
  const values = new Float32Array(numbers.length);
  for (let i = 0; i < numbers.length; i++) values[i] = numbers[i] * scale;
  return values;
}
