/** Answers come when they come: an older one never takes the place of a newer. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { openText } from "../src/hosts/app/atlas";
import { anotherText } from "../src/hosts/app/placed";
import { Session } from "../src/hosts/app/session";
import { reading, Waiting } from "../src/hosts/app/waiting";
import { Painting } from "../src/instrument/painting";
import type { State } from "../src/protocol/types";
import { defaults } from "../src/state/state";

type Question = { path: string; body: Record<string, unknown>; answer(reply: unknown): void; refuse(status: number, error: string): void };
let asked: Question[] = [];

/** Lets everything happen that waits for nobody. */
const rest = async () => {
  for (let i = 0; i < 30; i++) await Promise.resolve();
};
const all = (path: string): Question[] => asked.filter((each) => each.path.startsWith(path));
const last = (path: string): Question => all(path).at(-1)!;

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
      const refuse = (status: number, error: string) => resolve({ ok: false, status, json: () => Promise.resolve({ error }) });
      asked.push({ path, body: JSON.parse(init?.body ?? "{}") as Record<string, unknown>, answer, refuse });
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

  it("shows no reading of the model before under the name of the one that was chosen", async () => {
    const session = await opened();
    session.follow(state({ layer: 1, head: 3, heads: [3] }));
    session.text = "two";
    void session.readTyped();
    const older = last("api/read");
    void session.choose("n");
    older.answer(container("second, of m"));
    await rest();
    expect([session.phase, session.reading?.id]).toEqual(["loading", "first"]);
    session.follow(state({ layer: 1, head: 2, heads: [2] }));
    last("api/models").answer(models({ encoder: 2 }));
    await rest();
    last("api/read").answer(container("second, of n"));
    await rest();
    expect([session.phase, session.reading?.id, session.reading?.of.model]).toEqual(["ready", "second, of n", "n"]);
    expect(session.reading?.source.header.state?.layer).toBeUndefined();
  });

  it("says so where nothing could be learnt of a model that was chosen", async () => {
    const session = await opened();
    const chosen = session.choose("n");
    last("api/models").refuse(500, "Something went wrong.");
    await chosen;
    expect([session.phase, session.message, all("api/read").length]).toEqual(["error", "Something went wrong.", 1]);
  });

  it("asks nothing more for a reading that nobody waits for", async () => {
    const session = await opened();
    session.against = "n";
    void session.read();
    const older = last("api/read");
    session.text = "two";
    void session.readTyped();
    older.answer(container("older"));
    await rest();
    expect(all("api/read").map(({ body }) => [body["model"], body["text"]])).toEqual([["m", "one"], ["m", "one"], ["m", "two"]]);
  });

  it("names what a reading is compared with as it was when it was asked for", async () => {
    const session = await opened();
    session.against = "n";
    void session.read();
    last("api/read").answer(container("one by m"));
    await rest();
    session.against = anotherText; // whose text is still to be typed
    last("api/read").answer(container("one by n"));
    await rest();
    expect(session.reading?.other?.title).toBe("n");
  });

  it("goes on from what is on screen when a reading is taken back", async () => {
    const session = await opened();
    void session.switchHead("encoder", 1, 0);
    last("api/read").answer(container("off"));
    await rest();
    session.follow(state({ layer: 1, head: 3, heads: [3] }));
    const before = session.address();
    session.text = "two";
    void session.choose("n");
    await rest();
    last("api/models").answer(models({ encoder: 2 }));
    await rest();
    last("api/read").refuse(409, "The reading was cancelled.");
    await rest();
    expect([session.phase, session.reading?.id, session.model, session.off]).toEqual(["ready", "off", "m", [["encoder", 1, 0]]]);
    expect([session.address(), session.text, session.changed]).toEqual([before, "two", true]);
  });

  it("reads once more what the server has let go, unless something is being read", async () => {
    const session = await opened();
    const { source } = session.reading!;
    const layers = [0, 1].map((layer) => source.fetchLayer!("encoder", layer, 0).catch(() => undefined));
    for (const each of all("api/reading")) each.refuse(404, "This reading is no longer kept.");
    await Promise.all(layers);
    expect([session.phase, all("api/read").length - all("api/reading").length]).toEqual(["loading", 2]);
  });

  it("compares what is on screen, also where another reading was begun and taken back meanwhile", async () => {
    const session = await opened();
    session.against = "n";
    void session.read();
    last("api/read").answer(container("one by m"));
    await rest();
    last("api/read").answer(container("one by n"));
    await rest();
    void session.readTyped();
    last("api/read").refuse(409, "The reading was cancelled.");
    await rest();
    last("api/compare").answer({ kind: "encoder" });
    await rest();
    expect(session.comparison).toEqual({ kind: "encoder" });
    void session.read();
    last("api/read").answer(container("again by m"));
    await rest();
    last("api/read").answer(container("again by n"));
    await rest();
    last("api/compare").refuse(400, "The other reading has no encoder attention.");
    await rest();
    expect([session.comparison, session.uncompared]).toEqual([null, "The other reading has no encoder attention."]);
  });

  it("leaves a text that was typed and read alone when one of the atlas comes late", async () => {
    const session = await opened();
    void openText(session, { document: 3, query: 1, kind: "encoder", layer: 0, head: 0, view: "head" });
    session.text = "two";
    void session.readTyped();
    last("api/atlas/text").answer({ text: "of the corpus", text_pair: null });
    await rest();
    expect([session.text, last("api/read").body["text"]]).toEqual(["two", "two"]);
  });

  it("writes no longer when an empty text is read, and keeps the picture", async () => {
    const session = await opened();
    void session.write();
    await rest();
    session.text = "";
    await session.readTyped();
    last("api/write").answer({ id: "w", steps: [], done: true });
    await rest();
    expect([session.isWriting, session.phase, session.reading?.id, all("api/read").length]).toEqual([false, "ready", "first", 1]);
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
    expect([asked.length, waiting.queued]).toEqual([1, null]);
  });
});

describe("a long reading", () => {
  it("says per cent and the time left once both are known", () => {
    expect(reading(null, null)).toBe("Reading…");
    expect(reading(0.02, null)).toBe("Reading: 2 %");
    expect(reading(0.434, 12.3)).toBe("Reading: 43 %, about 12 s left");
    expect(reading(0.999, 0.01)).toBe("Reading: 100 %, about 1 s left");
    expect(reading(0.1, 300)).toBe("Reading: 10 %, about 5 min left");
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
