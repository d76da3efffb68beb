import { describe, expect, it, vi } from "vitest";
import { spanBands } from "../src/views/matrix/span_bands";

vi.mock("../src/render/text", () => ({ textWidth: (text: string) => 6 * text.length }));

const groups = {
  key: [
    { name: "document 1", start: 0, end: 10 },
    { name: "document 2", start: 10, end: 30 },
    { name: "user 1", start: 30, end: 40 },
  ],
  query: [{ name: "answer", start: 35, end: 40 }],
};
const sums = new Map([["document 2", 0.25]]);
const style = { fontFamily: "x", getPropertyValue: () => "grey" } as unknown as CSSStyleDeclaration;
const plot = { x: 100, y: 50, width: 400, height: 400 };

/** What is drawn: bars as [from, to] along the edge, the names with their middle, and the moves between. */
function drawn(window: { x: number; y: number; width: number; height: number }) {
  const bars: [number, number][] = [];
  const names: [string, number][] = [];
  const moves: number[][] = [];
  const context = {
    save: () => {},
    restore: () => {},
    rotate: (angle: number) => moves.push([angle]),
    translate: (x: number, y: number) => moves.push([x, y]),
    fillRect: (x: number, _y: number, length: number) => bars.push([x - 0.5, x + 0.5 + length]),
    fillText: (text: string, x: number) => names.push([text, x]),
  };
  spanBands(context as unknown as CanvasRenderingContext2D, groups, sums, window, plot, style);
  return { bars, names, moves };
}

describe("span bands of the matrix", () => {
  it("lie under their keys and beside their queries, with the attention they get", () => {
    const { bars, names, moves } = drawn({ x: 0, y: 0, width: 40, height: 40 });
    expect(bars).toEqual([[0, 100], [100, 300], [300, 400], [350, 400]]);
    expect(names.map(([, x]) => x)).toEqual([50, 200, 350, 375]);
    expect(names[1][0]).toMatch(/^document 2 {2}0?\.25/);
    expect(names[3][0]).toBe("answer");
    expect(moves[0]).toEqual([plot.x, plot.y + plot.height]); // the lower edge
    expect(moves[1][0]).toBeGreaterThan(plot.width); // then the right one, from its top
    expect(moves[1][1]).toBe(-plot.height);
  });

  it("are cut at the edge of what is in sight, and left out beyond it", () => {
    const { bars } = drawn({ x: 20, y: 0, width: 10, height: 20 });
    expect(bars).toEqual([[0, 400]]);
  });

  it("shorten a name for which there is no room", () => {
    const { names } = drawn({ x: 0, y: 0, width: 160, height: 40 });
    expect(names[0][0]).not.toContain("document 1");
    for (const [text, x] of names.slice(0, 3)) expect(6 * text.length, text).toBeLessThanOrEqual(2 * Math.min(x, 400 - x));
  });
});
