/** Paints the neuron view: strips of cells, signed bars, the head with q and the ruler. */
import type { HeadInputs, ScoreRow } from "../../protocol/softmax";
import type { Unit } from "../../protocol/units";
import { valueText, visible, weightText } from "../../render/dom";
import { css } from "../../render/oklch";
import type { Rgb } from "../../render/oklch";
import { at } from "../../render/scales";
import type { BarColumn, Columns } from "./columns";
import { hidden } from "./motion";
import type { Strips } from "./strips";

type Ends = Record<"dot" | "scaled" | "capped" | "bias", number>;

export interface Scene {
  strips: Strips;
  columns: Columns;
  units: { query: Unit[]; key: Unit[] };
  inputs: HeadInputs;
  query: number;
  row: ScoreRow;
  /** Left edge of every neuron's cell within a strip, and its line. */
  place: { x: Float32Array; line: Uint8Array };
  sums: number[];
  groups: number[][];
  order: number[];
  share: number[] | null;
  marked: Set<number>;
  /** Neurons without a cell of their own. */
  others: number[];
  /** Largest absolute value of each strip; ends of each column of bars. */
  limits: { q: number; k: number; product: number; low: Ends; high: Ends };
  ramp: Rgb[];
  style: CSSStyleDeclaration;
  colour: Rgb;
  hover: { row: number; neuron: number };
  /** Left edge of the weights, which may lie over the columns before them. */
  weightX: number;
}

const signed = (ramp: Rgb[], value: number, limit: number) => css(at(ramp, 0.5 + value / (2 * limit)));

function strip(context: CanvasRenderingContext2D, scene: Scene, left: number, top: number, height: number, value: (n: number) => number, limit: number): void {
  const { columns, place, strips, ramp } = scene;
  const each = height / columns.lines;
  for (let n = 0; n < strips.dim; n++) {
    if (place.line[n] === hidden) continue;
    context.fillStyle = signed(ramp, value(n), limit);
    context.fillRect(left + place.x[n], top + place.line[n] * each, columns.cell - 1, each - 1);
  }
}

export function drawRows(context: CanvasRenderingContext2D, scene: Scene, first: number, last: number, scroll: number): void {
  const { columns, units, strips, row, limits, style } = scene;
  const font = style.fontFamily;
  const [ink, quiet, hover] = ["--ink", "--quiet", "--hover"].map((name) => style.getPropertyValue(name));
  context.textBaseline = "middle";
  for (let j = first; j < last; j++) {
    const unit = units.key[j];
    const top = j * columns.row - scroll;
    const middle = top + columns.row / 2;
    const token = unit.start;
    if (j === scene.hover.row) {
      context.fillStyle = hover;
      context.fillRect(columns.key.x - 4, top, columns.width - columns.key.x, columns.row);
    }
    const seen = row.visible[token];
    context.globalAlpha = seen ? 1 : 0.45;
    context.textAlign = "right";
    context.fillStyle = unit.special || unit.class === 3 ? quiet : ink;
    context.font = `${unit.special ? 11 : 13}px ${font}`;
    context.fillText(clipped(context, visible(unit.text), columns.key.width - 4), columns.key.x + columns.key.width - 4, middle);
    const height = columns.row - 5;
    strip(context, scene, columns.k.x, top + 2, height, (n) => strips.left(token, n), limits.k);
    strip(context, scene, columns.product.x, top + 2, height, (n) => strips.product(token, n), limits.product);
    if (scene.others.length) {
      const rest = scene.others.reduce((sum, n) => sum + strips.product(token, n), 0);
      context.fillStyle = signed(scene.ramp, Math.max(-1, Math.min(1, rest / limits.product)), 1);
      context.fillRect(columns.product.x + columns.product.width - columns.cell, top + 2, columns.cell - 1, height);
    }
    for (const column of columns.bars) if (column.name !== "weight" && !covered(scene, column)) bar(context, scene, column, token, middle, ink, quiet, font);
    context.globalAlpha = 1;
  }
  weights(context, scene, first, last, scroll, ink, font);
}

function weights(context: CanvasRenderingContext2D, scene: Scene, first: number, last: number, scroll: number, ink: string, font: string): void {
  const { columns, row, units, weightX: left } = scene;
  const column = columns.bars[columns.bars.length - 1];
  const height = Math.min(12, columns.row - 9);
  if (left < column.x) {
    context.fillStyle = scene.style.getPropertyValue("--panel");
    context.fillRect(left - 8, 0, columns.width, 1e5);
    context.fillStyle = scene.style.getPropertyValue("--line");
    context.fillRect(left - 8, 0, 1, 1e5);
  }
  context.font = `11px ${font}`;
  context.textAlign = "right";
  for (let j = first; j < last; j++) {
    const token = units.key[j].start;
    const middle = j * columns.row - scroll + columns.row / 2;
    const weight = row.weight[token];
    context.fillStyle = css(scene.colour);
    context.fillRect(left, middle - height / 2, Math.max(weight > 0 ? 0.6 : 0, Math.max(8, column.width - 40) * weight), height);
    context.fillStyle = ink;
    context.globalAlpha = row.visible[token] ? 1 : 0.45;
    context.fillText(row.visible[token] ? weightText(weight) : "0", left + column.width, middle);
    context.globalAlpha = 1;
  }
  if (row.sink !== null && last === units.key.length) sinkRow(context, scene, row.sink, last * columns.row - scroll + columns.row / 2, height, font);
}

/** Below the keys: the logit that is no key, and the mass it takes. */
function sinkRow(context: CanvasRenderingContext2D, scene: Scene, mass: number, middle: number, height: number, font: string): void {
  const { columns, weightX, style, inputs } = scene;
  const { width } = columns.bars[columns.bars.length - 1];
  const scaled = columns.bars.find((column) => column.name === "scaled");
  context.fillStyle = style.getPropertyValue("--quiet");
  context.fillRect(weightX, middle - height / 2, (width - 40) * mass, height);
  context.textAlign = "right";
  context.font = `11px ${font}`;
  context.fillText("sink, no key", columns.key.x + columns.key.width - 4, middle);
  if (scaled && !covered(scene, scaled)) context.fillText(valueText(inputs.sink ?? 0), scaled.x + scaled.width, middle);
  context.fillText(weightText(mass), weightX + width, middle);
}

/** A column that the weights lie over, even in part: a number cut at its end would look like another number. */
function covered(scene: Scene, column: BarColumn): boolean {
  return column.x + column.width > scene.weightX - 6;
}

function bar(context: CanvasRenderingContext2D, scene: Scene, column: BarColumn, token: number, middle: number, ink: string, quiet: string, font: string): void {
  const { row, limits, ramp, columns } = scene;
  const height = Math.min(12, columns.row - 9);
  context.font = `11px ${font}`;
  context.textAlign = "right";
  const right = column.x + column.width;
  if (column.name === "mask") {
    context.fillStyle = quiet;
    context.textAlign = "center";
    context.fillText(row.visible[token] ? "·" : "−∞", column.x + column.width / 2, middle);
    return;
  }
  if (column.name === "weight") return;
  const values = { dot: row.dot, scaled: row.scaled, capped: row.capped, bias: row.bias! }[column.name];
  const value = values[token];
  const room = Math.max(0, column.width - 44);
  const low = Math.min(0, limits.low[column.name]);
  const high = Math.max(0, limits.high[column.name]);
  const zero = column.x + room * (-low / (high - low || 1));
  context.fillStyle = signed(ramp, Math.sign(value) * 0.85, 1);
  const length = room * (Math.abs(Math.max(low, Math.min(high, value))) / (high - low || 1));
  context.fillRect(value >= 0 ? zero : zero - length, middle - height / 2, length, height);
  context.fillStyle = quiet;
  context.fillRect(zero - 0.5, middle - height / 2 - 1, 1, height + 2);
  context.fillStyle = ink;
  context.fillText(valueText(value), right, middle);
}

export function drawHead(context: CanvasRenderingContext2D, scene: Scene): void {
  const { columns, strips, limits, style } = scene;
  const { names } = strips;
  const font = style.fontFamily;
  const [ink, quiet, line, accent] = ["--ink", "--quiet", "--line", "--accent"].map((name) => style.getPropertyValue(name));
  const base = columns.top;
  context.textBaseline = "alphabetic";
  context.font = `11px ${font}`;
  context.fillStyle = quiet;
  context.textAlign = "right";
  context.fillText("query", columns.query.x + columns.query.width - 4, base - 8);
  context.fillText("key", columns.key.x + columns.key.width - 4, base - 8);
  context.textAlign = "left";
  // Strips too narrow for their scales leave them to the tooltip's numbers.
  if (columns.k.width > 130) {
    context.fillText(`${names.above}  ±${valueText(limits.q)}   ${names.left}  ±${valueText(limits.k)}`, columns.k.x, 12);
    context.fillText(`${names.product}  ±${valueText(limits.product)}`, columns.product.x, 12);
  }
  // q stands above the k strips, neuron over neuron.
  strip(context, scene, columns.k.x, 24, columns.lines > 1 ? 24 : 18, (n) => strips.above(n), limits.q);
  ruler(context, scene, columns.k.x, base - 18, quiet, accent, font);
  ruler(context, scene, columns.product.x, base - 18, quiet, accent, font);
  contributionMarks(context, scene, ink, line);
  context.font = `11px ${font}`;
  context.fillStyle = quiet;
  context.textAlign = "left";
  for (const column of columns.bars) {
    if (column.name === "weight" && scene.weightX < column.x) {
      context.fillStyle = style.getPropertyValue("--panel");
      context.fillRect(scene.weightX - 8, 0, columns.width, base);
      context.fillStyle = quiet;
    }
    if (column.name !== "weight" && covered(scene, column)) continue;
    context.fillText(column.title, column.name === "weight" ? scene.weightX : column.x, base - 8);
  }
  context.fillStyle = line;
  context.fillRect(0, base - 1, columns.width, 1);
}

function ruler(context: CanvasRenderingContext2D, scene: Scene, left: number, top: number, quiet: string, accent: string, font: string): void {
  const { place, groups, order, columns, marked } = scene;
  context.font = `11px ${font}`;
  context.textAlign = "center";
  let free = -Infinity;
  order.forEach((group, at) => {
    const first = groups[group][0];
    if (place.line[first] > 0) return;
    const x = left + place.x[first] + (columns.cell * groups[group].length) / 2;
    const isMarked = groups[group].some((n) => marked.has(n));
    if (isMarked) {
      context.fillStyle = accent;
      context.beginPath();
      context.moveTo(x - 3.5, top + 11);
      context.lineTo(x + 3.5, top + 11);
      context.lineTo(x, top + 16);
      context.fill();
    }
    const text = groups[group].length > 1 ? `${first}·${groups[group][1]}` : String(first);
    const half = text.length * 2.9;
    const due = isMarked || at % 8 === 0;
    if (!due || x - half < free) return;
    context.fillStyle = isMarked ? accent : quiet;
    context.fillText(text, x, top + 9);
    free = x + half + 3;
  });
}

/** Above q×k: each neuron's contribution as a bar; sorted, also the share the first ones carry. */
function contributionMarks(context: CanvasRenderingContext2D, scene: Scene, ink: string, line: string): void {
  const { place, sums, groups, order, columns, share, ramp } = scene;
  const [top, height, left] = [18, 34, columns.product.x];
  const most = sums.reduce((largest, value) => Math.max(largest, Math.abs(value)), 0) || 1;
  const zero = top + height * 0.72;
  context.fillStyle = line;
  context.fillRect(left, zero, columns.product.width, 1);
  sums.forEach((sum, group) => {
    const first = groups[group][0];
    if (place.line[first] > 0) return;
    const length = (Math.abs(sum) / most) * (sum >= 0 ? height * 0.72 : height * 0.28);
    context.fillStyle = signed(ramp, Math.sign(sum) * 0.8, 1);
    context.fillRect(left + place.x[first], sum >= 0 ? zero - length : zero, columns.cell * groups[group].length - 1, length);
  });
  if (!share) return;
  context.strokeStyle = ink;
  context.lineWidth = 1.2;
  context.beginPath();
  order.forEach((group, at) => {
    const first = groups[group][0];
    if (place.line[first] > 0) return;
    const x = left + place.x[first] + columns.cell / 2;
    const y = zero - share[at] * height * 0.72;
    if (at === 0) context.moveTo(x, y);
    else context.lineTo(x, y);
  });
  context.stroke();
  context.lineWidth = 1;
}

function clipped(context: CanvasRenderingContext2D, text: string, room: number): string {
  if (context.measureText(text).width <= room) return text;
  let short = text;
  while (short.length > 1 && context.measureText(`${short}…`).width > room) short = short.slice(0, -1);
  return `${short}…`;
}
