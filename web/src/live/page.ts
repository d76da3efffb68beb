/** In a live page: starts the worker, and answers the app's questions by it instead of by a server. */
import type { MediaRequest, ReadRequest, StartReply } from "../protocol/app";
import { inflate, fromBase64 } from "../protocol/decode";
import type { Known } from "./known";
import type { Answer } from "./server";
import type { FromWorker, Opening, Payload, ToWorker } from "./worker";

/** Where the parts are: in script elements of the page, or beside it by their addresses. */
type Manifest = Record<"known" | "first" | "model" | "wasm" | "tokenizer" | "worker", (Payload & { inside: boolean }) | null>;

class Engine {
  private readonly waiting = new Map<number, (answer: Answer) => void>();
  private number = 0;
  private turn: Promise<unknown> = Promise.resolve();
  private start: StartReply = { doing: "opening the page", failed: null, seconds: 0, share: null };
  private readonly opened: Promise<{ known: Known; worker: Worker }>;
  private readonly first: Promise<Uint8Array>;

  constructor(private readonly manifest: Manifest) {
    this.first = whole(manifest.first!);
    this.first.catch(() => undefined);
    this.opened = this.open();
    this.opened.catch((error: unknown) => (this.start = { ...this.start, doing: null, failed: error instanceof Error ? error.message : String(error) }));
  }

  private async open(): Promise<{ known: Known; worker: Worker }> {
    const { known: stored, model, wasm, tokenizer, worker: script } = this.manifest;
    const known = JSON.parse(new TextDecoder().decode(await inflate(await whole(stored!)))) as Known;
    if (known.version !== 1) throw new Error(`This page's model has version ${String(known.version)}; this script reads version 1.`);
    const source = script!.inside ? URL.createObjectURL(new Blob([await inflate(await whole(script!)) as BlobPart], { type: "text/javascript" })) : script!.url!;
    const worker = new Worker(source);
    worker.addEventListener("message", ({ data }: MessageEvent<FromWorker>) => this.hear(data));
    worker.addEventListener("error", (event) => (this.start = { ...this.start, doing: null, failed: `The model's worker could not start: ${event.message || "the browser refused it"}` }));
    const parts: Opening["parts"] = { model: sent(model), wasm: sent(wasm), tokenizer: sent(tokenizer) };
    worker.postMessage({ open: { known, parts } } satisfies ToWorker);
    return { known, worker };
  }

  private hear(data: FromWorker): void {
    if ("doing" in data) this.start = { ...this.start, ...data };
    else {
      this.waiting.get(data.id)?.(data.answer);
      this.waiting.delete(data.id);
    }
  }

  /** As `fetch`, for the app's routes alone. */
  async fetch(path: string, init: RequestInit = {}): Promise<Response> {
    if (path === "api/start") return Response.json(this.start);
    if (path.startsWith("api/queue/") || path === "api/cancel") return Response.json({ before: null, cancelled: false });
    const { known, worker } = await this.opened;
    if (path === "api/models") return Response.json(known.welcome);
    if (this.start.failed) return Response.json({ error: this.start.failed }, { status: 503 });
    if ((path === "api/read" || path === "api/media") && this.start.doing !== null && isFirst(known, init.body as string)) return new Response((await inflate(await this.first)) as BodyInit);
    const { status, body } = await this.inTurn(() => {
      init.signal?.throwIfAborted();
      const id = this.number++;
      const asked: ToWorker = { id, path, body: init.body ? JSON.parse(init.body as string) : null };
      return new Promise<Answer>((resolve) => {
        this.waiting.set(id, resolve);
        worker.postMessage(asked);
      });
    });
    return new Response(body, { status });
  }

  /** One question after another; one that was called off meanwhile never reaches the worker. */
  private inTurn(ask: () => Promise<Answer>): Promise<Answer> {
    const answer = this.turn.then(ask);
    this.turn = answer.catch(() => undefined);
    return answer;
  }
}

/** Whether this requests the page's own first picture. */
function isFirst({ first }: Known, body: string): boolean {
  const { text, text_pair, off = [], truncate = false, writing, media, name } = JSON.parse(body) as ReadRequest & Partial<MediaRequest>;
  if (first.media) return media === "example" && name === first.media && !off.length;
  return text === first.text && (text_pair || null) === first.text_pair && !off.length && !truncate && !writing;
}

/** The bytes in the page, in one element or several, which are let go of once they were taken. */
function taken(name: string): string {
  const found = [...document.querySelectorAll(`script[data-live="${name}"]`)];
  const text = found.map((each) => each.textContent.trim()).join("");
  for (const each of found) each.remove();
  return text;
}

async function whole(part: Payload & { inside: boolean; name?: string }): Promise<Uint8Array> {
  if (part.inside) return fromBase64(taken(part.name!));
  const response = await fetch(part.url!).catch(() => null);
  if (!response?.ok) throw new Error("A live folder is opened from a web server; this one cannot be read here.");
  return new Uint8Array(await response.arrayBuffer());
}

function sent(part: (Payload & { inside: boolean; name?: string }) | null): Payload | null {
  if (!part) return null;
  return part.inside ? { bytes: part.bytes, base64: taken(part.name!) } : { bytes: part.bytes, url: new URL(part.url!, location.href).href };
}

const manifest = taken("manifest");
if (manifest) {
  const parts = JSON.parse(manifest) as Manifest;
  for (const [name, part] of Object.entries(parts)) if (part) Object.assign(part, { name });
  (globalThis as { headscopeEngine?: Engine }).headscopeEngine = new Engine(parts);
}
