import { deflateRawSync } from "node:zlib";
import { describe, expect, it } from "vitest";
import { openContainer } from "../src/protocol/container";
import { decode, fromBase64, joinPlanes } from "../src/protocol/decode";
import type { BufferEntry } from "../src/protocol/types";

const entry = (change: Partial<BufferEntry>): BufferEntry => ({ dtype: "uint8", shape: [1], offset: 0, bytes: 0, codec: "raw", ...change });

describe("buffers", () => {
  it("come back from planes and deflate", async () => {
    const codes = Uint16Array.from({ length: 300 }, (_, i) => i * 217);
    const bytes = new Uint8Array(codes.buffer);
    const planes = new Uint8Array(600);
    for (let i = 0; i < 300; i++) {
      planes[i] = bytes[2 * i];
      planes[300 + i] = bytes[2 * i + 1];
    }
    expect([...joinPlanes(planes, 2)]).toEqual([...bytes]);
    const stored = new Uint8Array(deflateRawSync(planes));
    const decoded = await decode(entry({ dtype: "uint16", shape: [3, 100], codec: "deflate", planes: true }), stored);
    expect([...decoded]).toEqual([...codes]);
  });

  it("decode from an odd offset", async () => {
    const values = Float32Array.of(1.5, -2.25);
    const shifted = new Uint8Array(9);
    shifted.set(new Uint8Array(values.buffer), 1);
    const decoded = await decode(entry({ dtype: "float32", shape: [2] }), shifted.subarray(1));
    expect([...decoded]).toEqual([1.5, -2.25]);
  });

  it("of the wrong length are refused in one sentence", async () => {
    await expect(decode(entry({ shape: [5] }), new Uint8Array(4), "w0")).rejects.toThrow("damaged: w0 holds 4 bytes, not 5");
  });

  it("travel as base64", () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, i) => i);
    expect([...fromBase64(Buffer.from(bytes).toString("base64"))]).toEqual([...bytes]);
  });
});

describe("a container", () => {
  const header = { version: 1, view: "head", model: "m", parts: [], buffers: { a: entry({ shape: [3], offset: 0, bytes: 3 }), b: entry({ shape: [2], offset: 8, bytes: 2 }) } };
  const pack = (json: object) => {
    const text = new TextEncoder().encode(JSON.stringify(json));
    const start = Math.ceil((8 + text.length) / 8) * 8;
    const bytes = new Uint8Array(start + 16);
    bytes.set([72, 83, 86, 49]);
    new DataView(bytes.buffer).setUint32(4, text.length, true);
    bytes.set(text, 8);
    bytes.set([1, 2, 3], start);
    bytes.set([4, 5], start + 8);
    return bytes;
  };

  it("gives its header and its buffers by name", async () => {
    const source = openContainer(pack(header));
    expect(source.header.model).toBe("m");
    expect([...(await source.buffer("b"))]).toEqual([4, 5]);
    await expect(source.buffer("c")).rejects.toThrow("no buffer named c");
  });

  it("opens from a view into a larger buffer, as a notebook sends it", async () => {
    const bytes = pack(header);
    const larger = new Uint8Array(bytes.length + 24);
    larger.set(bytes, 16);
    const source = openContainer(new DataView(larger.buffer, 16, bytes.length));
    expect([...(await source.buffer("a"))]).toEqual([1, 2, 3]);
  });

  it("of another kind or version is refused in one sentence", () => {
    expect(() => openContainer(new Uint8Array(16))).toThrow("does not begin with HSV1");
    expect(() => openContainer(pack({ ...header, version: 2 }))).toThrow("version 2; this page reads version 1");
  });
});
