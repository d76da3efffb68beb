import { describe, expect, it } from "vitest";
import type { Header, Part } from "../src/protocol/types";
import { defaults, opening } from "../src/state/state";
import { Store } from "../src/state/store";
import { fromQuery, toQuery } from "../src/state/url";

const tokens = { text: ["a", "b", "c"], class: [4, 4, 4], segment: [0, 0, 0], word: [0, 1, 2], continues: [0, 0, 0] };
const part = (change: Partial<Part> = {}): Part => ({
  kind: "encoder",
  layers: [0, 1, 2, 5],
  heads: 4,
  groups: 4,
  dim: 0,
  query: tokens,
  key: null,
  encoding: "maps",
  per_layer: [],
  labels: [
    { layer: 1, head: 3, text: "next word", score: 0.8 },
    { layer: 2, head: 1, text: "previous word", score: 0.97 },
  ],
  opening: [2, 1],
  ...change,
});
const header = (change: Partial<Header> = {}): Header => ({ version: 1, view: "head", model: "m", parts: [part()], buffers: {}, ...change });

describe("the first picture", () => {
  it("is the head that the sender chose, alone", () => {
    expect(opening(header())).toMatchObject({ layer: 2, head: 1, heads: [1] });
  });
  it("is some head where nobody chose", () => {
    expect(opening(header({ parts: [part({ opening: undefined })] }))).toMatchObject({ layer: 0, head: 0, heads: [0] });
  });
  it("is what was asked for", () => {
    expect(opening(header({ state: { layer: 5, heads: [0, 2], query: 1 } }))).toMatchObject({ layer: 5, heads: [0, 2], head: 0, query: 1 });
    expect(opening(header({ state: { heads: null } })).heads).toBeNull();
  });
  it("is the nearest possible to what was asked for", () => {
    expect(opening(header({ state: { layer: 4, heads: [9, 1], head: 77, query: 40, minimum: 7 } }))).toMatchObject({ layer: 5, heads: [1], head: 3, query: null, minimum: 1 });
  });
  it("needs no reading for a head map", () => {
    const table = { kind: "decoder" as const, layers: [0], heads: 2, columns: [] };
    expect(opening(header({ view: "head_map", parts: [], table }))).toMatchObject({ view: "head_map", kind: "decoder" });
  });
});

describe("the store", () => {
  it("tells listeners once a change, and not when nothing changed", () => {
    const store = new Store(header());
    const seen: number[] = [];
    const stop = store.subscribe((state) => seen.push(state.layer));
    store.set({ layer: 1 });
    store.set({ layer: 1 });
    store.set({ layer: 99 });
    stop();
    store.set({ layer: 0 });
    expect(seen).toEqual([1, 5]);
  });
  it("drops a token that the other kind of attention does not have", () => {
    const short = part({ kind: "cross", query: { ...tokens, text: ["x"] }, key: tokens });
    const store = new Store(header({ parts: [part(), short] }));
    store.set({ query: 2, key: 2 });
    store.set({ kind: "cross" });
    expect(store.state).toMatchObject({ kind: "cross", query: null, key: 2 });
  });
});

describe("a link", () => {
  it("brings back the same state", () => {
    const state = { ...defaults, view: "neuron" as const, layer: 3, heads: [0, 5], head: 5, query: 2, theme: "dark" as const, minimum: 0.25, wrap: true, marked: [3, 7], find: "a & b" };
    expect({ ...defaults, ...fromQuery(new URLSearchParams(toQuery(state).toString())) }).toEqual(state);
  });
  it("always names what is looked at, and of the rest only what differs", () => {
    expect(toQuery({ ...defaults, unit: "words" }).toString()).toBe("view=head&kind=encoder&layer=0&heads=all&head=0&unit=words");
    expect(fromQuery(new URLSearchParams("heads=all")).heads).toBeNull();
    expect(fromQuery(new URLSearchParams("heads=")).heads).toEqual([]);
  });
  it("that was damaged is read as far as it makes sense", () => {
    expect(fromQuery(new URLSearchParams("layer=x&theme=dark&heads=1.z.2&query="))).toEqual({ theme: "dark", heads: [1, 2] });
  });
});
