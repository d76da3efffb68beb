/** The app's routes. A failure is one sentence, the server's own where it gave one. */
import type { ReadError } from "../../../protocol/app";

export class ApiError extends Error {
  constructor(
    message: string,
    readonly detail: ReadError | null,
    readonly status: number,
  ) {
    super(message);
  }
}

/** A live page's engine, which answers instead of a server; set before this script runs. */
export const engine = (globalThis as { headscopeEngine?: { fetch(path: string, init: RequestInit): Promise<Response> } }).headscopeEngine;

/** Once `signal` is aborted nothing is answered, however late or soon the server is. */
async function ask<Reply>(read: (response: Response) => Promise<Reply>, path: string, init: RequestInit): Promise<Reply> {
  let response: Response;
  try {
    response = await (engine ? engine.fetch(path, init) : fetch(path, init));
  } catch (error) {
    init.signal?.throwIfAborted();
    if (engine) throw error;
    throw new ApiError("The headscope server does not answer: is it still running?", null, 0);
  }
  const reply = response.ok ? await read(response) : ((await response.json().catch(() => null)) as ReadError | null);
  init.signal?.throwIfAborted();
  if (response.ok) return reply as Reply;
  const detail = reply as ReadError | null;
  throw new ApiError(detail?.error ?? `The server answered ${response.status}.`, detail, response.status);
}

const json = (response: Response) => response.json();
const bytes = (response: Response) => response.arrayBuffer();
const posted = (body: unknown, signal?: AbortSignal): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
  signal,
});

export const getJson = <Reply>(path: string, signal?: AbortSignal) => ask<Reply>(json, path, { signal });
export const postJson = <Reply>(path: string, body: unknown, signal?: AbortSignal) => ask<Reply>(json, path, posted(body, signal));
export const postFile = <Reply>(path: string, body: Blob) => ask<Reply>(json, path, { method: "POST", body });
export const getBytes = (path: string, signal?: AbortSignal) => ask(bytes, path, { signal });
export const postBytes = (path: string, body: unknown, signal?: AbortSignal) => ask(bytes, path, posted(body, signal));
