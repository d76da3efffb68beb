/** Attention lines on a canvas that covers only the visible part, and the line under the pointer. */
import { fit, pixelRatio } from "./dom";
import { css } from "./oklch";
import type { Rgb } from "./oklch";
import { Raster } from "./raster";
import type { Lines } from "./strongest";

export interface LinePlace {
  /** Centres of units along the main axis, in content pixels. */
  query: Float32Array;
  key: Float32Array;
  /** Main axis runs down (rows) or across (a line of text). */
  vertical: boolean;
  /** Where lines begin (query) and end (key) on the other axis, in canvas pixels. */
  from: number;
  to: number;
  /** Main-axis pixels scrolled past. */
  scroll: number;
  width: number;
  height: number;
}

export type WeightScale = "linear" | "sqrt";

export function strength(weight: number, scale: WeightScale): number {
  return Math.min(1, scale === "sqrt" ? Math.sqrt(weight) : weight);
}

/** Opacity is the strength; width grows from 1 to 3 pixels with it. */
export const thickness = (s: number) => 1 + 2 * s;

/** Draws the lines with at least one end in sight; the answer is how many end out of it. */
export function drawLines(
  canvas: HTMLCanvasElement,
  lines: Lines,
  place: LinePlace,
  colours: Rgb[],
  background: Rgb,
  scale: WeightScale,
  /** Draw lines paler whose other end is out of sight, so that they do not bury those that can be read. */
  pale: boolean,
): number {
  const ratio = pixelRatio();
  const context = fit(canvas, place.width, place.height);
  const single = lines.count > 0 && lines.head.every((head) => head === lines.head[0]);
  const raster = new Raster(canvas.width, canvas.height, background, single ? colours[lines.head[0]] : null);
  const end = (place.vertical ? place.height : place.width) * ratio;
  const [from, to] = [place.from * ratio, place.to * ratio];
  let leaving = 0;
  for (let i = 0; i < lines.count; i++) {
    const a = (place.query[lines.query[i]] - place.scroll) * ratio;
    const b = (place.key[lines.key[i]] - place.scroll) * ratio;
    const [aSeen, bSeen] = [a > -4 && a < end + 4, b > -4 && b < end + 4];
    if (!aSeen && !bSeen) continue;
    if (!aSeen || !bSeen) leaving++;
    const s = strength(lines.weight[i], scale) * (pale && !(aSeen && bSeen) ? 0.3 : 1);
    if (s < 0.004) continue;
    const width = thickness(s) * ratio;
    if (place.vertical) raster.line(from, a, to, b, width, colours[lines.head[i]], s);
    else raster.line(a, from, b, to, width, colours[lines.head[i]], s);
  }
  const image = context.createImageData(canvas.width, canvas.height);
  raster.copyTo(image.data);
  context.putImageData(image, 0, 0);
  return leaving;
}

/** Dashed lines: the weights of heads before they were switched off. */
export function drawGhosts(canvas: HTMLCanvasElement, lines: Lines, place: LinePlace, colours: Rgb[], scale: WeightScale): void {
  const context = canvas.getContext("2d")!;
  context.save();
  context.setLineDash([5, 4]);
  for (let i = 0; i < lines.count; i++) {
    const s = strength(lines.weight[i], scale);
    const [a, b] = [place.query[lines.query[i]] - place.scroll, place.key[lines.key[i]] - place.scroll];
    context.globalAlpha = 0.6 * s;
    context.lineWidth = thickness(s);
    context.strokeStyle = css(colours[lines.head[i]]);
    context.beginPath();
    const [start, stop] = place.vertical ? [[place.from, a], [place.to, b]] : [[a, place.from], [b, place.to]];
    context.moveTo(start[0], start[1]);
    context.lineTo(stop[0], stop[1]);
    context.stroke();
  }
  context.restore();
}

/** The strongest line within 4 pixels of a point, or -1. */
export function lineAt(lines: Lines, place: LinePlace, x: number, y: number): number {
  const [along, across] = place.vertical ? [y, x] : [x, y];
  const share = (across - place.from) / (place.to - place.from);
  if (share < 0 || share > 1) return -1;
  for (let i = lines.count - 1; i >= 0; i--) {
    const a = place.query[lines.query[i]] - place.scroll;
    const b = place.key[lines.key[i]] - place.scroll;
    const off = a + (b - a) * share - along;
    const slope = (b - a) / (place.to - place.from);
    if (Math.abs(off) / Math.sqrt(1 + slope * slope) <= 4 && lines.weight[i] >= 0.01) return i;
  }
  return -1;
}
