/** The positions of the neuron view's columns. */
import type { ScoreRow } from "../../protocol/softmax";
import type { Unit } from "../../protocol/units";
import { textWidth } from "../../render/text";

export interface BarColumn {
  name: "dot" | "scaled" | "capped" | "bias" | "mask" | "weight";
  title: string;
  note: string;
  x: number;
  width: number;
}

export interface Columns {
  row: number;
  /** Lines a strip takes. */
  lines: number;
  /** Neurons that have a cell of their own; the others share one. */
  shown: number;
  cell: number;
  query: { x: number; width: number };
  key: { x: number; width: number };
  k: { x: number; width: number };
  product: { x: number; width: number };
  bars: BarColumn[];
  width: number;
  /** Height of the head with q, the ruler and the contributions. */
  top: number;
}

const fontSize = 13;
/** Pixels of width below which bars give way to numbers, and lines of cells at most. */
const narrow = 700;
const mostLines = 6;
/** Pixels between rotary pairs. */
export const gap = 1;

export function columnsOf(
  units: { query: Unit[]; key: Unit[] },
  dim: number,
  gaps: number,
  row: ScoreRow,
  extras: { softcap: number | null; mask: string | null; scaling: number },
  wrap: boolean,
  available: number,
  values = false,
): Columns {
  const longest = (list: Unit[]) =>
    [...new Set(list.map((unit) => unit.text))].sort((a, b) => b.length - a.length).slice(0, 20).reduce((most, text) => Math.max(most, textWidth(text, fontSize)), 0);
  const compact = available < narrow;
  const name = (list: Unit[]) => Math.round(Math.min(compact ? 64 : 120, Math.max(compact ? 40 : 54, longest(list) + 16)));
  const query = { x: 8, width: name(units.query) };
  const key = { x: query.x + query.width + 10, width: name(units.key) };
  const wanted: [BarColumn["name"], string, string][] = values ? [["dot", "‖α·v‖", "length of α·v"]] : [
    ["dot", "q·k", "sum of q×k over the neurons"],
    ["scaled", "scaled", `q·k × ${Number(extras.scaling.toPrecision(4))}`],
  ];
  if (!values && extras.softcap !== null) wanted.push(["capped", "capped", `soft-cap: ${extras.softcap} · tanh(score / ${extras.softcap})`]);
  if (!values && row.bias) wanted.push(["bias", "bias", "positional bias, added to the score"]);
  if (!values && extras.mask !== null) wanted.push(["mask", "mask", extras.mask]);
  if (compact) wanted.length = 1;
  wanted.push(["weight", "softmax", "attention weight"]);
  const start = key.x + key.width + 10;
  const masked = wanted.some(([each]) => each === "mask") ? 36 : 0;
  const count = wanted.length - (masked ? 1 : 0);
  const room = available - start - 62 - masked;
  const least = compact ? 4 : 6;
  const slim = compact ? 52 : 80;
  const even = gaps ? 2 : 1; // pairs stay together
  const whole = (cells: number, round: (value: number) => number) => even * round(cells / even);
  const inLine = whole(Math.max(4, (room - count * slim) / 2 / (least + (gaps / dim) * gap) - 1), Math.floor);
  // As many lines as the strips need to fit; beyond the most of them, only the strongest neurons.
  const lines = Math.min(mostLines, Math.max(wrap ? 2 : 1, Math.ceil(dim / inLine)));
  const shown = Math.min(dim, lines * inLine);
  const perLine = whole(shown / lines, Math.ceil) + (shown < dim ? 1 : 0);
  const strips = (size: number) => 2 * (perLine * size + Math.ceil((gaps * shown) / dim / lines) * gap);
  const cell = Math.max(least, Math.min(14, Math.floor((room - count * slim - strips(0)) / 2 / perLine)));
  // Bars take the width that the strips leave, within limits.
  const bar = Math.max(slim, Math.min(130, Math.floor((room - strips(cell)) / count)));
  const strip = strips(cell) / 2;
  const k = { x: start, width: strip };
  const product = { x: k.x + strip + 18, width: strip };
  let x = product.x + strip + 18;
  const bars = wanted.map(([each, title, note]) => {
    const width = each === "mask" ? 36 : bar;
    const column = { name: each, title, note, x, width: width - 10 };
    x += width;
    return column;
  });
  return { row: lines > 1 ? 12 + 10 * lines : 22, lines, shown, cell, query, key, k, product, bars, width: x + 6, top: 78 };
}
