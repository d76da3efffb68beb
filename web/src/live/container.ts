/** Writes the container that protocol/container.ts opens: a header and its buffers, as they are. */
import type { BufferEntry, BufferReference } from "../protocol/types";

export class Container {
  private readonly entries: Record<string, BufferEntry> = {};
  private readonly stored: Uint8Array[] = [];
  private length = 0;

  add(name: string, numbers: Float32Array | Uint8Array, shape: number[]): BufferReference {
    const bytes = new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
    this.entries[name] = { dtype: numbers instanceof Float32Array ? "float32" : "uint8", shape, offset: this.length, bytes: bytes.length, codec: "raw" };
    this.stored.push(bytes);
    this.length += Math.ceil(bytes.length / 8) * 8;
    return { buffer: name };
  }

  written(header: object): ArrayBuffer {
    const text = new TextEncoder().encode(JSON.stringify({ version: 1, ...header, buffers: this.entries }));
    const start = Math.ceil((8 + text.length) / 8) * 8;
    const made = new Uint8Array(start + this.length);
    made.set(new TextEncoder().encode("HSV1"));
    new DataView(made.buffer).setUint32(4, text.length, true);
    made.set(text, 8);
    let at = start;
    for (const bytes of this.stored) {
      made.set(bytes, at);
      at += Math.ceil(bytes.length / 8) * 8;
    }
    return made.buffer;
  }
}
