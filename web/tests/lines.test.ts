import { describe, expect, it } from "vitest";
import { Raster } from "../src/render/raster";
import { ofToken, strongest } from "../src/render/strongest";

const matrix = (rows: number, columns: number, seed: number) => {
  let x = seed;
  return Float32Array.from({ length: rows * columns }, () => {
    x = (x * 1103515245 + 12345) % 2147483648;
    return (x / 2147483648) ** 6;
  });
};

describe("the strongest lines", () => {
  const maps = [
    { head: 2, matrix: matrix(40, 30, 7) },
    { head: 5, matrix: matrix(40, 30, 9) },
  ];
  const all = maps.flatMap(({ head, matrix: values }) => [...values].map((weight, i) => ({ head, query: Math.floor(i / 30), key: i % 30, weight })));

  it("are those a full sort would choose, up to one bucket's width", () => {
    const lines = strongest(maps, 30, 100, 0, null);
    const sorted = all.map((each) => each.weight).sort((a, b) => b - a);
    expect(lines.count).toBeGreaterThan(80);
    expect(lines.count).toBeLessThanOrEqual(101);
    expect(lines.weight[0]).toBeGreaterThan(sorted[lines.count - 1] - 0.002);
    expect(lines.weight[lines.count - 1]).toBe(sorted[0]);
  });

  it("report honestly how many there are and how much of the mass they carry", () => {
    const lines = strongest(maps, 30, 100, 0, null);
    const total = all.reduce((sum, each) => sum + each.weight, 0);
    const drawn = lines.weight.reduce((sum, weight) => sum + weight, 0);
    expect(lines.possible).toBe(2400);
    expect(lines.mass).toBeCloseTo(drawn / total, 5);
  });

  it("carry the right head, query and key", () => {
    const lines = strongest(maps, 30, 50, 0, null);
    for (let i = 0; i < lines.count; i++) {
      const map = maps.find((each) => each.head === lines.head[i])!;
      expect(map.matrix[lines.query[i] * 30 + lines.key[i]]).toBe(lines.weight[i]);
    }
  });

  it("obey the minimum weight and the filter", () => {
    const lines = strongest(maps, 30, 5000, 0.2, (query, key) => query < 10 && key >= 20);
    const truth = all.filter((each) => each.weight >= Math.fround(0.2) && each.query < 10 && each.key >= 20);
    expect(lines.count).toBe(truth.length);
    expect(lines.possible).toBe(2 * 10 * 10);
  });

  it("of equal weights are spread evenly, not taken from the first rows", () => {
    const lines = strongest([{ head: 0, matrix: new Float32Array(10000).fill(0.01) }], 100, 500, 0, null);
    expect(lines.count).toBeLessThanOrEqual(500);
    expect(lines.count).toBeGreaterThan(400);
    expect(Math.max(...lines.query)).toBeGreaterThan(90);
  });

  it("of the token in hand are all there", () => {
    const row = ofToken(maps, 30, "query", 4, 0, null);
    expect(row.count).toBe(60);
    const column = ofToken(maps, 30, "key", 4, 0, null);
    expect(column.count).toBe(80);
    expect(column.mass).toBeCloseTo(1, 5);
  });
});

describe("a drawn line", () => {
  const ink = (raster: Raster) => {
    const data = new Uint8ClampedArray(raster.width * raster.height * 4);
    raster.copyTo(data);
    let sum = 0;
    for (let i = 0; i < data.length; i += 4) sum += (255 - data[i]) / 255;
    return { sum, data };
  };

  it.each([
    [10, 20, 90, 20],
    [10, 20, 90, 70],
    [10, 20, 30, 90],
    [90, 80, 10, 20],
  ])("from (%i, %i) to (%i, %i) covers its length times its width", (x0, y0, x1, y1) => {
    for (const only of [[0, 0, 0] as const, null]) {
      const raster = new Raster(100, 100, [255, 255, 255], only);
      raster.line(x0, y0, x1, y1, 2, [0, 0, 0], 1);
      const area = 2 * Math.hypot(x1 - x0, y1 - y0);
      expect(Math.abs(ink(raster).sum - area) / area).toBeLessThan(0.03);
    }
  });

  it("that leaves the picture is cut at its edge", () => {
    const raster = new Raster(100, 50, [255, 255, 255], null);
    raster.line(0, -5000, 100, 5000, 1, [0, 0, 0], 1);
    expect(ink(raster).sum).toBeGreaterThan(45);
    expect(ink(raster).sum).toBeLessThan(56);
  });

  it("laid over another darkens it as opacity says", () => {
    for (const only of [[0, 0, 0] as const, null]) {
      const raster = new Raster(20, 20, [255, 255, 255], only);
      raster.line(0, 10, 20, 10, 4, [0, 0, 0], 0.5);
      raster.line(0, 10, 20, 10, 4, [0, 0, 0], 0.5);
      expect(Math.abs(ink(raster).data[(10 * 20 + 10) * 4] - 64)).toBeLessThanOrEqual(1);
    }
  });
});
