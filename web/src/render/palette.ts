/**
 * One colour a head: hues evenly spaced in OKLCH at equal chroma, each at the lightness that keeps it farthest
 * from the others (an eye that cannot tell red from green still tells light from dark), in an order that keeps
 * neighbouring heads apart for normal sight and for the common deficiencies alike.
 */
import { allDeficiencies, distance, oklch, seenWith } from "./oklch";
import type { Rgb } from "./oklch";

export type Shade = "light" | "dark";

/** Steps of lightness, and chroma, that keep 3:1 against the page in either theme, for every hue. */
const tones: Record<Shade, [number[], number]> = { light: [[0.64, 0.5, 0.36], 0.15], dark: [[0.82, 0.69, 0.56], 0.13] };

const known = new Map<string, Rgb[]>();

/** A head has its hue, and its rank of lightness, in both themes and on paper: they are chosen for light ground. */
export function headColours(heads: number, shade: Shade): Rgb[] {
  const name = `${heads} ${shade}`;
  const found = known.get(name);
  if (found) return found;
  const steps = stepsOf(heads);
  const toned = (to: Shade) => steps.map((step, i) => oklch(tones[to][0][step], tones[to][1], hueOf(i, heads)));
  const wheel = toned(shade);
  const colours = spread(toned("light")).map((i) => wheel[i]);
  known.set(name, colours);
  return colours;
}

const hueOf = (i: number, heads: number) => 255 + (360 * i) / heads;

/** The step of lightness of each hue: the one farthest from the colours before it, to any eye. */
function stepsOf(heads: number): number[] {
  const [levels, chroma] = tones.light;
  const chosen: Rgb[][] = [];
  return Array.from({ length: heads }, (_, i) => {
    const tried = levels.map((level) => sights(oklch(level, chroma, hueOf(i, heads))));
    const nearest = tried.map((seen) =>
      chosen.length ? Math.round(1e6 * Math.min(...chosen.flatMap((other) => seen.map((rgb, sight) => distance(rgb, other[sight]))))) : 0,
    );
    const step = nearest.indexOf(Math.max(...nearest));
    chosen.push(tried[step]);
    return step;
  });
}

const sights = (rgb: Rgb): Rgb[] => [rgb, ...allDeficiencies.map((each) => seenWith(each, rgb))];

/** An order in which the closest neighbours are as far apart as can be, to any eye: greedy, then mended by swaps. */
function spread(wheel: Rgb[]): number[] {
  const n = wheel.length;
  const seen = [wheel, ...allDeficiencies.map((each) => wheel.map((rgb) => seenWith(each, rgb)))];
  const apart = wheel.map((_, i) => wheel.map((_, j) => Math.min(...seen.map((colours) => distance(colours[i], colours[j])))));
  const order = [0];
  const left = new Set(wheel.map((_, i) => i).slice(1));
  while (left.size) {
    const last = order[order.length - 1];
    const next = [...left].reduce((best, each) => (apart[last][each] > apart[last][best] ? each : best));
    order.push(next);
    left.delete(next);
  }
  const gap = (i: number) => (i > 0 && i < n ? apart[order[i - 1]][order[i]] : Infinity);
  const around = (i: number, j: number) => Math.min(gap(i), gap(i + 1), gap(j), gap(j + 1));
  const swap = (i: number, j: number) => ([order[i], order[j]] = [order[j], order[i]]);
  for (let round = 0; round < 4 * n; round++) {
    let weakest = 1;
    for (let i = 2; i < n; i++) if (gap(i) < gap(weakest)) weakest = i;
    let best: [number, number] | null = null;
    let most = gap(weakest);
    for (const i of [weakest - 1, weakest]) {
      for (let j = 0; j < n; j++) {
        if (i === j || i < 0 || i >= n) continue;
        swap(i, j);
        const value = around(i, j);
        swap(i, j);
        if (value > most + 1e-9) [best, most] = [[i, j], value];
      }
    }
    if (!best) break;
    swap(...best);
  }
  return order;
}
