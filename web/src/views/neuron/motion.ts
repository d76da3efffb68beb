/** Cells slide into their new order, unless the user prefers stillness. */
import type { Scene } from "./draw";

type Place = Scene["place"];

/** The line of a neuron that has no cell. */
export const hidden = 255;

/** Left edge and line of every neuron's cell for an order of groups, which may leave some out; `gap` pixels follow each group. */
export function layOut(groups: number[][], order: number[], cell: number, lines: number, gap: number): Place {
  const dim = groups.reduce((sum, group) => sum + group.length, 0);
  const place: Place = { x: new Float32Array(dim), line: new Uint8Array(dim) };
  place.line.fill(hidden);
  const shown = order.reduce((sum, group) => sum + groups[group].length, 0);
  const together = Math.max(...groups.map((group) => group.length));
  const perLine = together * Math.ceil(shown / lines / together);
  let count = 0;
  let x = 0;
  let line = 0;
  for (const group of order) {
    if (count >= perLine * (line + 1)) {
      line++;
      x = 0;
    }
    for (const neuron of groups[group]) {
      place.x[neuron] = x;
      place.line[neuron] = line;
      x += cell;
      count++;
    }
    x += gap;
  }
  return place;
}

export function reducedMotion(): boolean {
  return globalThis.matchMedia?.("(prefers-reduced-motion: reduce)").matches ?? false;
}

const duration = 170;

export function moved(from: Place, to: Place, show: (now: Place) => void): () => void {
  const begun = performance.now();
  let frame = 0;
  const step = () => {
    const x = Math.min(1, (performance.now() - begun) / duration);
    const eased = x * x * (3 - 2 * x);
    show(x < 1 ? { x: from.x.map((start, n) => start + (to.x[n] - start) * eased), line: to.line } : to);
    if (x < 1) frame = requestAnimationFrame(step);
  };
  step();
  return () => cancelAnimationFrame(frame);
}
