/** Numbers → colours: one sequential scale, one diverging, in both themes; 256 steps each. */
import { contrast, oklch } from "./oklch";
import type { Rgb } from "./oklch";
import type { Shade } from "./palette";

export const surfaces: Record<Shade, Rgb> = { light: [255, 255, 255], dark: [23, 26, 30] };

type Ramp = Rgb[];
const ramps = new Map<string, Ramp>();

function ramp(name: string, make: (x: number) => Rgb): Ramp {
  const found = ramps.get(name);
  if (found) return found;
  const made = Array.from({ length: 256 }, (_, i) => make(i / 255));
  ramps.set(name, made);
  return made;
}

const mix = (a: number, b: number, x: number) => a + (b - a) * x;

/** Light theme: white to deep blue. Dark theme: the page to pale gold-white. Lightness is linear, so equal steps look equal. */
export function sequential(shade: Shade): Ramp {
  return ramp(`sequential ${shade}`, (x) =>
    shade === "light"
      ? x === 0
        ? surfaces.light
        : oklch(mix(0.99, 0.26, x), 0.115 * Math.sin(Math.PI * Math.min(1, 0.06 + 0.78 * x)), mix(238, 268, x))
      : x === 0
        ? surfaces.dark
        : oklch(mix(0.22, 0.96, x), 0.115 * Math.sin(Math.PI * Math.min(1, 0.06 + 0.86 * x)), mix(268, 225, x)),
  );
}

/** Blue positive, orange negative; white (dark theme: the page) at zero. Index 0 = -1, 255 = +1. */
export function diverging(shade: Shade): Ramp {
  return ramp(`diverging ${shade}`, (x) => {
    const signed = 2 * x - 1;
    const strength = Math.abs(signed);
    if (strength < 1 / 255) return surfaces[shade];
    const hue = signed > 0 ? 255 : 55;
    const chroma = 0.15 * Math.min(1, strength * 1.4);
    return shade === "light" ? oklch(mix(1, 0.5, strength), chroma, hue) : oklch(mix(0.215, 0.74, strength), chroma, hue);
  });
}

export function at(ramp: Ramp, x: number): Rgb {
  return ramp[Math.max(0, Math.min(255, Math.round(255 * x)))];
}

/** A ramp as packed pixels for ImageData on a little-endian machine. */
export function packed(ramp: Ramp): Uint32Array {
  return Uint32Array.from(ramp, ([r, g, b]) => (255 << 24) | (b << 16) | (g << 8) | r);
}

/** Black or white, whichever reads better on a colour: never below 4.5:1. */
export function inkOn(rgb: Rgb): "dark" | "light" {
  return contrast(rgb, [0, 0, 0]) > contrast(rgb, [255, 255, 255]) ? "dark" : "light";
}
