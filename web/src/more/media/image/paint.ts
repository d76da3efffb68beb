/** One picture with its patches shaded: what a panel of the image view draws. */
import type { Places } from "../../../protocol/places";
import { fit } from "../../../render/dom";
import type { Scale } from "./image";

export const heat: [number, number, number] = [232, 89, 12];

export interface Shaded {
  places: Places;
  /** Which picture is drawn. */
  picture: number;
  /** One number a position, 1 for the strongest. */
  shares: Float32Array;
  /** Selected positions, with the regions of their side. */
  hand: number[];
  own: Places | null;
  opacity: number;
  smooth: boolean;
}

export function paint(canvas: HTMLCanvasElement, bitmap: CanvasImageSource, size: { width: number; height: number }, scale: Scale, shaded: Shaded): void {
  const { width, height } = size;
  const context = fit(canvas, width * scale.x, height * scale.y);
  context.imageSmoothingEnabled = scale.x < 1;
  context.drawImage(bitmap, 0, 0, width * scale.x, height * scale.y);
  const { places, shares, opacity } = shaded;
  if (shaded.smooth) context.drawImage(smoothed(shaded, width, height), 0, 0, width * scale.x, height * scale.y);
  else {
    for (let i = 0; i < shares.length; i++) {
      if (places.pictures[i] !== shaded.picture || shares[i] <= 0) continue;
      const [left, top, right, bottom] = places.rectangles.subarray(4 * i, 4 * i + 4);
      context.fillStyle = `rgb(${heat.join(" ")} / ${shares[i] * opacity})`;
      context.fillRect(left * scale.x, top * scale.y, (right - left) * scale.x, (bottom - top) * scale.y);
    }
  }
  outline(context, shaded, scale);
}

function outline(context: CanvasRenderingContext2D, { own, hand, picture }: Shaded, scale: Scale): void {
  if (!own) return;
  for (const at of hand) {
    if (own.pictures[at] !== picture) continue;
    const [left, top, right, bottom] = own.rectangles.subarray(4 * at, 4 * at + 4);
    for (const [colour, thick] of [["#fff", 4], ["#1971c2", 2]] as const) {
      context.strokeStyle = colour;
      context.lineWidth = thick;
      context.strokeRect(left * scale.x, top * scale.y, (right - left) * scale.x, (bottom - top) * scale.y);
    }
  }
}

/** Patches as the pixels of a small picture, which the browser enlarges smoothly: for the eye, not for numbers. */
function smoothed({ places, shares, picture, opacity }: Shaded, width: number, height: number): HTMLCanvasElement {
  const here = Array.from(shares.keys()).filter((i) => places.pictures[i] === picture);
  const widest = Math.max(1, ...here.map((i) => places.rectangles[4 * i + 2] - places.rectangles[4 * i]));
  const tallest = Math.max(1, ...here.map((i) => places.rectangles[4 * i + 3] - places.rectangles[4 * i + 1]));
  const small = document.createElement("canvas");
  [small.width, small.height] = [Math.max(1, Math.round(width / widest)), Math.max(1, Math.round(height / tallest))];
  const context = small.getContext("2d")!;
  for (const i of here) {
    const [left, top, right, bottom] = places.rectangles.subarray(4 * i, 4 * i + 4);
    context.fillStyle = `rgb(${heat.join(" ")} / ${shares[i] * opacity})`;
    context.fillRect(Math.floor((left + right) / 2 / widest), Math.floor((top + bottom) / 2 / tallest), 1, 1);
  }
  const large = document.createElement("canvas");
  const enlarge = 512 / Math.max(width, height);
  [large.width, large.height] = [Math.round(width * enlarge), Math.round(height * enlarge)];
  const out = large.getContext("2d")!;
  out.imageSmoothingQuality = "high";
  out.drawImage(small, 0, 0, large.width, large.height);
  return large;
}

/** The patch under a point of the original picture, or -1. */
export function patchAt(places: Places, picture: number, x: number, y: number): number {
  for (let i = 0; i < places.kinds.length; i++) {
    if (places.pictures[i] !== picture) continue;
    const [left, top, right, bottom] = places.rectangles.subarray(4 * i, 4 * i + 4);
    if (x >= left && x < right && y >= top && y < bottom) return i;
  }
  return -1;
}
