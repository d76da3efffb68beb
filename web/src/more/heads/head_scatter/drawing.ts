/** The plane as a picture: axes, and a point for every head, in one frame or in a small one for each layer. */
import type { TableColumn } from "../../../protocol/types";
import { share } from "../../../views/head_map/grid";
import { span, svg, tickText, ticks } from "./geometry";
import type { Point } from "./geometry";

export interface Axis {
  column: TableColumn;
  title: string;
  values: Float32Array;
}

interface Frame {
  left: number;
  top: number;
  width: number;
  height: number;
  title: string;
  /** Whether it has numbers below and beside it. */
  below: boolean;
  beside: boolean;
}

export interface Asked {
  x: Axis;
  y: Axis;
  width: number;
  /** Titles of small frames; none: one frame holds all heads. */
  titles: string[];
  /** Without numbers along the sides: only distances mean something. */
  bare: boolean;
  frameOf: (place: number) => number;
  dot: (place: number) => { radius: number; fill: string | null; name: string };
}

export interface Drawn {
  picture: SVGSVGElement;
  points: (Point | null)[];
  dots: (SVGElement | null)[];
}

const margin = { left: 46, right: 12, top: 10, bottom: 34 };
const [gap, least, most, tallest] = [12, 64, 190, 560];

/** Small frames side by side, as many in a row as keep the whole from growing too tall. */
function frames(width: number, titles: string[]): { frames: Frame[]; height: number } {
  const inner = width - margin.left - margin.right;
  if (!titles.length) {
    const height = Math.round(Math.max(220, Math.min(440, 0.62 * width)));
    return { frames: [{ left: margin.left, top: margin.top, width: inner, height: height - margin.top - margin.bottom, title: "", below: true, beside: true }], height };
  }
  const wide = (columns: number) => (inner - gap * (columns - 1)) / columns;
  const tall = (columns: number) => Math.round(0.62 * wide(columns)) + 18;
  let columns = Math.max(1, Math.ceil((inner + gap) / (most + gap)));
  while (wide(columns + 1) >= least && Math.ceil(titles.length / columns) * tall(columns) > tallest) columns++;
  columns = Math.min(columns, titles.length);
  const found = titles.map((title, i) => ({
    left: margin.left + (i % columns) * (wide(columns) + gap),
    top: 18 + Math.floor(i / columns) * tall(columns),
    width: wide(columns),
    height: tall(columns) - 18,
    title,
    below: i + columns >= titles.length,
    beside: i % columns === 0,
  }));
  return { frames: found, height: 18 + Math.ceil(titles.length / columns) * tall(columns) - 18 + margin.bottom };
}

export function drawPlane({ x, y, width, titles, bare, frameOf, dot }: Asked): Drawn {
  const laid = frames(width, titles);
  const [spanX, spanY] = [span(x.values), span(y.values)];
  const toX = (value: number, frame: Frame) => frame.left + share(value, spanX) * frame.width;
  const toY = (value: number, frame: Frame) => frame.top + (1 - share(value, spanY)) * frame.height;
  const label = `${y.title} against ${x.title}, a point for every head${titles.length ? ", a frame for every layer" : ""}`;
  const picture = svg("svg", { width, height: laid.height, role: "img", "aria-label": label });
  for (const frame of laid.frames) {
    if (titles.length || bare) picture.append(svg("rect", { class: "sc-frame", x: frame.left, y: frame.top, width: frame.width, height: frame.height }));
    if (frame.title) picture.append(svg("text", { class: "sc-tick", x: frame.left + 1, y: frame.top - 4 }, frame.title));
    if (bare) continue;
    for (const value of ticks(spanX, frame.width / (titles.length ? 55 : 90))) {
      picture.append(svg("line", { class: "sc-grid", x1: toX(value, frame), x2: toX(value, frame), y1: frame.top, y2: frame.top + frame.height }));
      if (frame.below) picture.append(svg("text", { class: "sc-tick", x: toX(value, frame), y: frame.top + frame.height + 14, "text-anchor": "middle" }, tickText(value)));
    }
    for (const value of ticks(spanY, frame.height / (titles.length ? 34 : 60))) {
      picture.append(svg("line", { class: "sc-grid", x1: frame.left, x2: frame.left + frame.width, y1: toY(value, frame), y2: toY(value, frame) }));
      if (frame.beside) picture.append(svg("text", { class: "sc-tick", x: frame.left - 5, y: toY(value, frame) + 4, "text-anchor": "end" }, tickText(value)));
    }
  }
  const middle = (laid.height - margin.bottom) / 2;
  picture.append(svg("text", { class: "sc-title", x: (width + margin.left) / 2, y: laid.height - 4, "text-anchor": "middle" }, bare ? "near: heads that attend alike" : x.title));
  if (!bare) picture.append(svg("text", { class: "sc-title", x: 0, y: 0, transform: `translate(11 ${middle}) rotate(-90)`, "text-anchor": "middle" }, y.title));
  const group = svg("g");
  const points = [...x.values].map((value, i): Point | null => {
    const frame = laid.frames[titles.length ? frameOf(i) : 0];
    return Number.isFinite(value) && Number.isFinite(y.values[i]) ? [toX(value, frame), toY(y.values[i], frame)] : null;
  });
  const dots = points.map((point, i) => {
    if (!point) return null;
    const { radius, fill, name } = dot(i);
    const circle = svg("circle", { cx: point[0].toFixed(1), cy: point[1].toFixed(1), r: radius.toFixed(1), "data-point": name, "data-at": i });
    if (fill) circle.style.fill = fill;
    group.append(circle);
    return circle;
  });
  picture.append(group);
  return { picture, points, dots };
}
