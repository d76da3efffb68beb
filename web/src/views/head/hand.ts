/** The selected token: the one under the pointer, else the pinned one; and its description. */
import type { Unit } from "../../protocol/units";
import { visible, weightText } from "../../render/dom";
import type { Rgb } from "../../render/oklch";
import type { HeadMatrix } from "../../render/strongest";
import type { TooltipContent, TooltipRow } from "../../render/tooltip";
import type { Side } from "./tokens";

export interface Hand {
  side: Side;
  unit: number;
  /** A unit on the other side that is looked at or pinned together with it. */
  partner: number;
  /** Both ends are pinned: only the lines between them are drawn. */
  only: boolean;
}

export interface Looked {
  side: Side;
  unit: number;
}

export const otherSide = (side: Side): Side => (side === "query" ? "key" : "query");

export function inHand(hover: Looked | null, pinned: Record<Side, number>): Hand | null {
  if (hover) {
    const far = pinned[otherSide(hover.side)];
    if (far >= 0) return { side: otherSide(hover.side), unit: far, partner: hover.unit, only: false };
    return { side: hover.side, unit: hover.unit, partner: -1, only: false };
  }
  if (pinned.query >= 0) return { side: "query", unit: pinned.query, partner: pinned.key, only: pinned.key >= 0 };
  if (pinned.key >= 0) return { side: "key", unit: pinned.key, partner: -1, only: false };
  return null;
}

interface Scene {
  units: Record<Side, Unit[]>;
  matrices: HeadMatrix[];
  colours: Rgb[];
  layer: number;
}

export function weightAt(scene: Scene, matrix: Float32Array, query: number, key: number): number {
  return matrix[query * scene.units.key.length + key];
}

/** One pair of tokens: the exact weight of every head that is on. */
export function pairContent(scene: Scene, query: number, key: number): TooltipContent {
  const [q, k] = [scene.units.query[query], scene.units.key[key]];
  const rows: TooltipRow[] = scene.matrices.map(({ head, matrix }) => {
    const weight = weightAt(scene, matrix, query, key);
    return {
      text: `head ${scene.layer}-${head}`,
      value: weightText(weight),
      colour: scene.colours[head],
      data: { head, query: q.start, key: k.start, weight },
    };
  });
  const weights = scene.matrices.map(({ matrix }) => weightAt(scene, matrix, query, key));
  return { title: `${visible(q.text)} → ${visible(k.text)}`, rows: strongestRows(rows, weights, 16), weight: Math.max(...weights) };
}

/** One token: with one head its strongest partners, with several each head's strongest. */
export function tokenContent(scene: Scene, side: Side, unit: number): TooltipContent {
  const far = scene.units[otherSide(side)];
  const arrow = side === "query" ? "→" : "←";
  const here = scene.units[side][unit];
  const weightOf = (matrix: Float32Array, j: number) => (side === "query" ? weightAt(scene, matrix, unit, j) : weightAt(scene, matrix, j, unit));
  const rowOf = (head: number, matrix: Float32Array, j: number, name: string): TooltipRow => ({
    text: `${name}${arrow} ${visible(far[j].text)}`,
    value: weightText(weightOf(matrix, j)),
    colour: scene.colours[head],
    data: {
      head,
      query: side === "query" ? here.start : far[j].start,
      key: side === "query" ? far[j].start : here.start,
      weight: weightOf(matrix, j),
    },
  });
  let rows: TooltipRow[];
  if (scene.matrices.length === 1) {
    const [{ head, matrix }] = scene.matrices;
    rows = topOf(far.length, (j) => weightOf(matrix, j), 6).map((j) => rowOf(head, matrix, j, ""));
  } else {
    const best = scene.matrices.map(({ head, matrix }) => {
      const j = topOf(far.length, (each) => weightOf(matrix, each), 1)[0];
      return { row: rowOf(head, matrix, j, `head ${head} `), weight: weightOf(matrix, j) };
    });
    rows = strongestRows(best.map((each) => each.row), best.map((each) => each.weight), 12);
  }
  const most = Math.max(0, ...rows.map((row) => Number(row.data?.["weight"] ?? 0)));
  const role = side === "query" ? "attends to" : "is attended to by";
  return { title: `${visible(here.text)} ${role}`, rows, weight: most, note: "click to pin" };
}

function strongestRows(rows: TooltipRow[], weights: number[], limit: number): TooltipRow[] {
  if (rows.length <= limit) return rows;
  return topOf(rows.length, (i) => weights[i], limit)
    .sort((a, b) => a - b)
    .map((i) => rows[i]);
}

function topOf(count: number, value: (i: number) => number, limit: number): number[] {
  return Array.from({ length: count }, (_, i) => i)
    .sort((a, b) => value(b) - value(a) || a - b)
    .slice(0, limit);
}
