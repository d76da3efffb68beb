/** Answers come when they come: an older one never takes the place of a newer. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Session } from "../src/hosts/app/session";
import { Waiting } from "../src/hosts/app/waiting";
import { Painting } from "../src/instrument/painting";
import type { State } from "../src/protocol/types";
import { defaults } from "../src/state/state";

type Question = { path: string; body: Record<string, unknown>; answer(reply: unknown): void };
let asked: Question[] = [];

/** Lets everything happen that waits for nobody. */
const rest = async () => {
  for (let i = 0; i < 30; i++) await Promise.resolve();
};
const last = (path: string): Question => asked.filter((each) => each.path.startsWith(path)).at(-1)!;

function container(id: string): ArrayBuffer {
  const header = JSON.stringify({ version: 1, view: "head", model: "m", parts: [], buffers: {}, id });
  const bytes = new Uint8Array(Math.ceil((8 + header.length) / 8) * 8);
  bytes.set(new TextEncoder().encode("HSV1"));
  new DataView(bytes.buffer).setUint32(4, header.length, true);
  bytes.set(new TextEncoder().encode(header), 8);
  return bytes.buffer;
}

const models = (layers: Record<string, number>) => ({
  default: "m",
  models: ["m", "n"].map((id) => ({ id, title: id, layers: id === "m" ? { encoder: 2 } : layers, examples: [], writes: true })),
  examples: [],
});

beforeEach(() => {
  asked = [];
  vi.useFakeTimers();
  vi.stubGlobal("location", { pathname: "/" });
  vi.stubGlobal("history", { replaceState: () => undefined });
  vi.stubGlobal("fetch", (path: string, init?: { body?: string }) =>
    new Promise((resolve) => {
      const answer = (reply: unknown) => resolve({ ok: true, json: () => Promise.resolve(reply), arrayBuffer: () => Promise.resolve(reply) });
      asked.push({ path, body: JSON.parse(init?.body ?? "{}") as Record<string, unknown>, answer });
    }),
  );
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
});

async function opened(text = "one"): Promise<Session> {
  const session = new Session(new URLSearchParams({ model: "m", text }));
  void session.start();
  last("api/models").answer(models({}));
  await rest();
  last("api/read").answer(container("first"));
  await rest();
  expect([session.phase, session.reading?.id]).toEqual(["ready", "first"]);
  return session;
}
const state = (change: Partial<State>): State => ({ ...defaults, ...change });

describe("the app", () => {
  it("shows what was asked for last, whichever answer comes last", async () => {
    const session = await opened();
    session.text = "two";
    void session.readTyped();
    const slow = last("api/read");
    session.text = "three";
    void session.readTyped();
    last("api/read").answer(container("third"));
    await rest();
    slow.answer(container("second"));
    await rest();
    expect([session.phase, session.reading?.id]).toEqual(["ready", "third"]);
  });

  it("also where the older one still had to learn about its model", async () => {
    const session = await opened();
    void session.choose("n");
    await rest();
    last("api/models").answer(models({}));
    await rest();
    last("api/read").answer(container("of n"));
    await rest();
    const learning = last("api/models");
    void session.choose("m");
    await rest();
    last("api/read").answer(container("of m"));
    await rest();
    learning.answer(models({ encoder: 2 }));
    await rest();
    expect(session.reading?.id).toBe("of m");
  });

  it("no longer writes once something else is read", async () => {
    const session = await opened();
    void session.write();
    await rest();
    const writing = last("api/write");
    session.text = "two";
    void session.readTyped();
    writing.answer({ id: "w", steps: [], done: true });
    last("api/read").answer(container("second"));
    await rest();
    expect([session.isWriting, session.phase, session.reading?.id]).toEqual([false, "ready", "second"]);
  });

  it("opens a text of the atlas at its place, whatever is done to the picture before it", async () => {
    const session = await opened();
    session.follow(state({ layer: 0, head: 0 }));
    void session.readAt("two", null, { layer: 1, head: 3, query: 2 });
    session.follow(state({ layer: 0, head: 0, query: 0, unit: "words" }));
    last("api/read").answer(container("second"));
    await rest();
    // How words are shown means the same on any text; the token in hand does not.
    expect(session.reading?.source.header.state).toMatchObject({ layer: 1, head: 3, query: 2, unit: "words" });
  });

  it("exports the picture that is still on screen while another text is read, and links to the coming one", async () => {
    const session = await opened();
    session.follow(state({ layer: 1, head: 3, heads: [3] }));
    session.text = "two";
    void session.readTyped();
    session.follow(state({ layer: 0, head: 2, heads: [2], scale: "sqrt" }));
    expect(Object.fromEntries(session.shownQuery())).toEqual({ view: "head", kind: "encoder", layer: "0", head: "2", heads: "2", scale: "sqrt" });
    // The heads of the old text mean nothing in the new one.
    expect(session.address()).toBe("/?model=m&text=two");
  });

  it("asks for its place in the queue no longer once its reading is there", async () => {
    const waiting = new Waiting(() => undefined);
    await vi.advanceTimersByTimeAsync(1000);
    waiting.end();
    last("api/queue").answer({ before: 1 });
    await vi.advanceTimersByTimeAsync(10_000);
    expect([asked.length, waiting.before]).toEqual([1, null]);
  });
});

describe("the sign that work is going on", () => {
  it("goes when the work is done, also where newer work was done before older", async () => {
    vi.stubGlobal("requestAnimationFrame", (act: () => void) => setTimeout(act, 16));
    let busy = false;
    const painting = new Painting((on) => (busy = on));
    const older = painting.begin();
    await vi.advanceTimersByTimeAsync(50);
    expect(busy).toBe(false);
    painting.begin()();
    await vi.advanceTimersByTimeAsync(50);
    expect(busy).toBe(true);
    older();
    expect(busy).toBe(false);
    await vi.advanceTimersByTimeAsync(500);
    expect(busy).toBe(false);
  });
});
