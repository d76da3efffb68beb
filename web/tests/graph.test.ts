/** The graph of a trace or circuit: rows by layer, no boxes that touch, and what a node hangs together with. */
import { describe, expect, it } from "vitest";
import { arrow, boxes, joined, text } from "../src/more/score/graph/layout";
import type { GraphLink, GraphNode } from "../src/protocol/types";

const node = (name: string, x: number, y: number, token = ""): GraphNode => ({ name, part: "head", x, y, token, position: null, layer: null, head: null, kind: null });
const link = (source: number, target: number): GraphLink => ({ source, target, through: "q", value: 1, text: "" });
const nodes = [node("embedding", 1, -1), node("0-1", 0, 0), node("0-2 to 0-5", 1, 0), node("logits", 1, 3)];

describe("the layout of a graph", () => {
  it("has a row for every layer that occurs, later layers above", () => {
    const { boxes: [embedding, first, second, logits], height } = boxes(nodes, 400);
    expect(first.top).toBe(second.top);
    expect(logits.top).toBeLessThan(first.top);
    expect(embedding.top).toBeGreaterThan(first.top);
    expect(embedding.top + embedding.height).toBeLessThanOrEqual(height);
  });

  it("grows wider than the window before boxes of a row touch", () => {
    const many = Array.from({ length: 30 }, (_, i) => node(`1-${i} to 1-${i + 2}`, i, 1));
    const { boxes: found, width } = boxes(many, 300);
    for (let i = 1; i < found.length; i++) expect(found[i].left).toBeGreaterThan(found[i - 1].left + found[i - 1].width);
    expect(found[29].left + found[29].width).toBeLessThanOrEqual(width);
    expect(found[0].left).toBeGreaterThanOrEqual(0);
  });

  it("lets arrows begin and end at the edge of their boxes", () => {
    const { boxes: found } = boxes(nodes, 400);
    const [, x1, y1] = /^M([\d.]+) ([\d.]+)Q/.exec(arrow(found[0], found[3]).path)!;
    expect(Number(y1)).toBeCloseTo(found[0].top, 1);
    expect(Number(x1)).toBeCloseTo(found[0].left + found[0].width / 2, 1);
  });
});

describe("what a node hangs together with", () => {
  it("are the paths into it and out of it, not their side branches", () => {
    const links = [link(0, 1), link(0, 2), link(1, 3), link(2, 3)];
    expect([...joined({ nodes, links }, 1)].sort()).toEqual([0, 1, 3]);
    expect([...joined({ nodes, links }, 0)].sort()).toEqual([0, 1, 2, 3]);
  });

  it("is named with its token, if it has one", () => {
    expect(text(node("0-1 at 2", 0, 0, " cat"))).toBe("0-1 at 2 “cat”");
    expect(text(node("logits", 0, 0))).toBe("logits");
  });
});
