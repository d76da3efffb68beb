/** Runs the model away from the page, so that it stays responsive. */
import { fromBase64, inflate } from "../protocol/decode";
import type { Known } from "./known";
import { Model } from "./model";
import { Server, failure } from "./server";
import type { Answer } from "./server";
import { Reader } from "./tokens";

/** A part of the page: its compressed bytes, in the page itself or behind an address. */
export interface Payload {
  bytes: number;
  base64?: string;
  url?: string;
}

export interface Opening {
  known: Known;
  parts: Record<"model" | "wasm" | "tokenizer", Payload | null>;
}

export type ToWorker = { open: Opening } | { id: number; path: string; body: unknown };
export type FromWorker = { doing: string | null; failed: string | null; share: number | null } | { id: number; answer: Answer };

let server: Promise<Server> | null = null;

const say = (message: FromWorker, transfer: Transferable[] = []) => postMessage(message, { transfer });

async function open({ known, parts }: Opening): Promise<Server> {
  if (typeof WebAssembly === "undefined") throw new Error("This browser runs no WebAssembly, which the model needs; use a current one.");
  const wasm = await bytesOf(parts.wasm!, "the engine");
  const weights = await bytesOf(parts.model!, "the model");
  const tokenizer = parts.tokenizer && (JSON.parse(new TextDecoder().decode(await bytesOf(parts.tokenizer, "the tokenizer"))) as { json: object; config: object } | null);
  say({ doing: "opening the model", failed: null, share: null });
  const model = await Model.open(known, weights, wasm.buffer as ArrayBuffer).catch((error: unknown) => {
    throw new Error(`The model could not be opened in this browser: ${error instanceof Error ? error.message : String(error)}`);
  });
  const opened = new Server(known, model, tokenizer && new Reader(known, tokenizer.json, tokenizer.config));
  await opened.readFirst();
  say({ doing: null, failed: null, share: null });
  return opened;
}

async function bytesOf(part: Payload, name: string): Promise<Uint8Array> {
  const stored = part.base64 === undefined ? await fetched(part, name) : fromBase64(part.base64);
  part.base64 = undefined;
  if (stored.length !== part.bytes) throw new Error(`This page is damaged: ${name} has ${stored.length} bytes instead of ${part.bytes}. Reload the page, or make it again.`);
  return inflate(stored).catch(() => {
    throw new Error(`This page is damaged: ${name} in it cannot be unpacked. Reload the page, or make it again.`);
  });
}

/** From the browser's cache where it was loaded before; the name in the address holds its checksum. */
async function fetched({ url, bytes }: Payload, name: string): Promise<Uint8Array> {
  const cache = await globalThis.caches?.open("headscope live").catch(() => null);
  const kept = await cache?.match(url!);
  const response = kept ?? (await fetch(url!).catch(() => null));
  if (!response?.ok || !response.body) throw new Error(`${name[0].toUpperCase()}${name.slice(1)} could not be loaded; a live folder is opened from a web server, and needs all its files.`);
  const made = new Uint8Array(bytes);
  let reached = 0;
  const reader = response.body.getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (reached + value.length > bytes) throw new Error(`This page is damaged: ${name} has more than ${bytes} bytes. Reload the page, or make it again.`);
    made.set(value, reached);
    reached += value.length;
    say({ doing: `loading ${name}: ${megabytes(reached)} of ${megabytes(bytes)} MB`, failed: null, share: reached / bytes });
  }
  const whole = made.subarray(0, reached);
  if (!kept && reached === bytes) await cache?.put(url!, new Response(whole)).catch(() => undefined);
  return whole;
}

const megabytes = (bytes: number) => (bytes / 1e6).toFixed(1);

async function answered(path: string, body: unknown): Promise<Answer> {
  try {
    return await (await server!).answer(path, body);
  } catch (error) {
    return failure(error);
  }
}

addEventListener("message", ({ data }: MessageEvent<ToWorker>) => {
  if ("open" in data) {
    server = open(data.open);
    server.catch((error: unknown) => say({ doing: null, failed: error instanceof Error ? error.message : String(error), share: null }));
    return;
  }
  const { id, path, body } = data;
  void answered(path, body).then((answer) => say({ id, answer }, answer.body instanceof ArrayBuffer ? [answer.body] : []));
});
