import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { allDeficiencies, contrast, css, distance, oklabFromRgb, seenWith } from "../src/render/oklch";
import type { Rgb } from "../src/render/oklch";
import { headColours } from "../src/render/palette";
import { at, diverging, sequential, surfaces } from "../src/render/scales";

const shades = ["light", "dark"] as const;

describe("head colours", () => {
  it.each([1, 2, 8, 12, 16, 32])("do not repeat among %i heads", (heads) => {
    for (const shade of shades) {
      const colours = headColours(heads, shade);
      expect(new Set(colours.map(css)).size).toBe(heads);
    }
  });

  it("stand out 3:1 against the page in both themes", () => {
    for (const shade of shades) {
      for (const colour of headColours(32, shade)) expect(contrast(colour, surfaces[shade])).toBeGreaterThanOrEqual(3);
    }
  });

  it.each([1, 2, 8, 12, 16, 32])("of %i heads have the same hue in both themes", (heads) => {
    const [light, dark] = shades.map((shade) => headColours(heads, shade).map(oklabFromRgb));
    const turned = light.map(([, a, b], i) => Math.abs(Math.atan2(a * dark[i][2] - b * dark[i][1], a * dark[i][1] + b * dark[i][2])));
    expect(Math.max(...turned)).toBeLessThan(0.05); // radians: what whole steps of red, green and blue leave
  });

  it.each([2, 4, 8])("of %i heads are all told apart by every common colour vision", (heads) => {
    for (const shade of shades) {
      for (const deficiency of allDeficiencies) {
        const seen = headColours(heads, shade).map((colour) => seenWith(deficiency, colour));
        const nearest = Math.min(...seen.flatMap((a, i) => seen.slice(i + 1).map((b) => distance(a, b))));
        expect(nearest).toBeGreaterThan(0.05);
      }
    }
  });

  it.each([4, 8, 12, 16])("keep neighbours among %i apart for every common colour vision", (heads) => {
    const nearest = (colours: Rgb[]) => Math.min(...colours.slice(1).map((colour, i) => distance(colour, colours[i])));
    for (const shade of shades) {
      const colours = headColours(heads, shade);
      expect(nearest(colours)).toBeGreaterThan(0.08);
      for (const deficiency of allDeficiencies) expect(nearest(colours.map((colour) => seenWith(deficiency, colour)))).toBeGreaterThan(0.02);
    }
  });
});

describe("scales", () => {
  it("run evenly from the page away from it", () => {
    for (const shade of shades) {
      const lightness = sequential(shade).map((colour) => oklabFromRgb(colour)[0]);
      const steps = lightness.slice(2).map((value, i) => (shade === "light" ? lightness[i + 1] - value : value - lightness[i + 1]));
      expect(Math.min(...steps)).toBeGreaterThan(-0.004);
      expect(Math.abs(lightness[255] - lightness[0])).toBeGreaterThan(0.6);
    }
  });

  it("are blue above zero, orange below, and the page at zero", () => {
    for (const shade of shades) {
      const scale = diverging(shade);
      const [positive, negative] = [at(scale, 1), at(scale, 0)];
      expect(positive[2]).toBeGreaterThan(positive[0]);
      expect(negative[0]).toBeGreaterThan(negative[2]);
      expect(at(scale, 0.5)).toEqual(surfaces[shade]);
      for (const deficiency of allDeficiencies) expect(distance(seenWith(deficiency, positive), seenWith(deficiency, negative))).toBeGreaterThan(0.1);
    }
  });
});

describe("text", () => {
  const sheet = readFileSync(new URL("../src/style.css", import.meta.url), "utf8");
  const block = (selector: string) => {
    const start = sheet.indexOf(`${selector} {`);
    const text = sheet.slice(start, sheet.indexOf("}", start));
    return Object.fromEntries([...text.matchAll(/--(\w[\w-]*): (#[0-9a-f]{6});/g)].map(([, name, hex]) => [name, hex]));
  };
  const rgb = (hex: string): Rgb => [1, 3, 5].map((i) => parseInt(hex.slice(i, i + 2), 16)) as unknown as Rgb;

  it.each([[".hs"], ['.hs[data-shade="dark"]']])("reads 4.5:1 on every surface of %s", (selector) => {
    const colours = block(selector);
    expect(Object.keys(colours)).toEqual(expect.arrayContaining(["ink", "quiet", "accent", "warn", "page", "panel", "hover"]));
    for (const text of ["ink", "quiet", "accent", "warn"]) {
      for (const ground of ["page", "panel", "hover"]) expect(contrast(rgb(colours[text]), rgb(colours[ground]))).toBeGreaterThanOrEqual(4.5);
    }
    expect(contrast(rgb(colours["accent"]), rgb(colours["accent-soft"]))).toBeGreaterThanOrEqual(4.5);
    expect(contrast(rgb(colours["faint"]), rgb(colours["panel"]))).toBeGreaterThanOrEqual(3);
  });

  it("surfaces on canvas are those of the page", () => {
    expect(rgb(block(".hs")["panel"])).toEqual(surfaces.light);
    expect(rgb(block('.hs[data-shade="dark"]')["panel"])).toEqual(surfaces.dark);
  });
});
