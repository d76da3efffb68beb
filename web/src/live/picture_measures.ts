/** Numbers of every head on one picture, as statistics/of_media.py defines them. */
import { defined } from "./measures";
import type { Maps } from "./measures";
import type { Positions } from "./pictures";

const [patch, classToken, register] = [2, 4, 5];
/** Patches from middle to middle: the eight around a patch, and itself. */
const near = 1.5;
const least = 1e-12;

type Of = (weight: (query: number, key: number) => number) => number;

export function pictureStatistics({ attention, layers, heads, t }: Maps, { kinds, rectangles }: Positions): Record<string, Float64Array> {
  const are = (kind: number) => [...kinds.keys()].filter((at) => kinds[at] === kind);
  const [patches, classes, registers] = [patch, classToken, register].map(are);
  const all = [...kinds.keys()];
  const middle = (at: number, axis: number) => (rectangles[4 * at + axis] + rectangles[4 * at + axis + 2]) / 2;
  const apart = (axis: number) => (query: number, key: number) => Math.abs(middle(key, axis) - middle(query, axis));
  const [across, down] = [0, 1].map(apart);
  const size = [0, 1].map((axis) => median(patches.map((at) => rectangles[4 * at + axis + 2] - rectangles[4 * at + axis])));
  const isNear = (query: number, key: number) => Number(across(query, key) < near * size[0] && down(query, key) < near * size[1]);
  const share = (keys: number[]): Of => (weight) => (keys.length ? mean(patches.map((query) => sum(keys, (key) => weight(query, key)))) : NaN);
  const onPatches = (value: (query: number, key: number) => number): Of => (weight) => mean(among(patches, weight, value));
  /** For each query that attends to patches, the mean of a value under that attention. */
  const among = (queries: number[], weight: (query: number, key: number) => number, value: (query: number, key: number, share: number) => number) =>
    queries.flatMap((query) => {
      const whole = sum(patches, (key) => weight(query, key));
      return whole > least ? [sum(patches, (key) => (weight(query, key) / whole) * value(query, key, weight(query, key) / whole))] : [];
    });
  const measured: Record<string, Of> = {
    picture_distance: onPatches((query, key) => Math.hypot(across(query, key), down(query, key))),
    picture_entropy: (weight) => mean(among(all, weight, (_, __, part) => (part > 0 ? -Math.log(part) : 0))),
    picture_locality: onPatches(isNear),
    to_class_token: share(classes),
    to_registers: share(registers),
  };
  const of = (measure: Of) => Float64Array.from({ length: layers * heads }, (_, head) => measure((query, key) => attention[(head * t + query) * t + key]));
  return defined(Object.fromEntries(Object.entries(measured).map(([name, measure]) => [name, of(measure)])));
}

function sum(of: number[], value: (at: number) => number): number {
  let total = 0;
  for (const at of of) total += value(at);
  return total;
}

const mean = (values: number[]) => sum(values, (each) => each) / values.length;

function median(values: number[]): number {
  const ordered = [...values].sort((a, b) => a - b);
  const half = ordered.length >> 1;
  return ordered.length % 2 ? ordered[half] : (ordered[half - 1] + ordered[half]) / 2;
}
