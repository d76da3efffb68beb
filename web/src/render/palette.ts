/**
 * One colour a head: hues evenly spaced in OKLCH at equal lightness and chroma, in an order that keeps
 * neighbouring heads apart for normal sight and for the common deficiencies alike.
 */
import { allDeficiencies, distance, oklch, seenWith } from "./oklch";
import type { Rgb } from "./oklch";

export type Shade = "light" | "dark";

/** Lightness and chroma that keep 3:1 against the page in either theme, for every hue. */
const tones: Record<Shade, [number, number]> = { light: [0.6, 0.15], dark: [0.76, 0.13] };

const known = new Map<string, Rgb[]>();

export function headColours(heads: number, shade: Shade): Rgb[] {
  const name = `${heads} ${shade}`;
  const found = known.get(name);
  if (found) return found;
  const [lightness, chroma] = tones[shade];
  const wheel = Array.from({ length: heads }, (_, i) => oklch(lightness, chroma, 255 + (360 * i) / heads));
  const colours = bestStep(wheel).map((i) => wheel[i]);
  known.set(name, colours);
  return colours;
}

/** Walk round the wheel in the step that leaves the closest neighbours farthest apart to any eye. */
function bestStep(wheel: Rgb[]): number[] {
  const n = wheel.length;
  const seen = [wheel, ...allDeficiencies.map((each) => wheel.map((rgb) => seenWith(each, rgb)))];
  let best = Array.from({ length: n }, (_, i) => i);
  let bestGap = -1;
  for (let step = 1; step < n; step++) {
    if (gcd(step, n) !== 1) continue;
    const order = Array.from({ length: n }, (_, i) => (i * step) % n);
    let gap = Infinity;
    for (const colours of seen) {
      for (let i = 1; i < n; i++) gap = Math.min(gap, distance(colours[order[i - 1]], colours[order[i]]));
    }
    if (gap > bestGap) [best, bestGap] = [order, gap];
  }
  return best;
}

function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b);
}
