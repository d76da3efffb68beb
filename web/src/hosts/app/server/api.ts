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

async function ask(path: string, init?: RequestInit): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(path, init);
  } catch {
    throw new ApiError("The headscope server does not answer: is it still running?", null, 0);
  }
  if (response.ok) return response;
  const detail = (await response.json().catch(() => null)) as ReadError | null;
  throw new ApiError(detail?.error ?? `The server answered ${response.status}.`, detail, response.status);
}

export async function getJson<Reply>(path: string): Promise<Reply> {
  return (await ask(path)).json() as Promise<Reply>;
}

const posted = (body: unknown): RequestInit => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

export async function postJson<Reply>(path: string, body: unknown): Promise<Reply> {
  return (await ask(path, posted(body))).json() as Promise<Reply>;
}

export async function postFile<Reply>(path: string, body: Blob): Promise<Reply> {
  return (await ask(path, { method: "POST", body })).json() as Promise<Reply>;
}

export async function postBytes(path: string, body: unknown): Promise<ArrayBuffer> {
  return (await ask(path, posted(body))).arrayBuffer();
}

export async function getBytes(path: string): Promise<ArrayBuffer> {
  return (await ask(path)).arrayBuffer();
}
