/** Small pictures of a head's map from the pooled bytes: no arithmetic on the maps themselves. */
import type { Thumbnails } from "../protocol/reading";
import type { Rgb } from "./oklch";
import type { Shade } from "./palette";
import { packed, sequential } from "./scales";

/** Pooled weights are shown on a square-root scale, so that a thumbnail is never an empty square. */
const root = Uint8Array.from({ length: 256 }, (_, code) => Math.round(Math.sqrt(code / 255) * 255));

export function thumbnailImage(thumbnails: Thumbnails, at: number, shade: Shade): ImageData {
  const { rows, columns, codes } = thumbnails;
  const image = new ImageData(columns, rows);
  const pixels = new Uint32Array(image.data.buffer);
  const colours = packed(sequential(shade));
  const start = at * rows * columns;
  for (let i = 0; i < pixels.length; i++) pixels[i] = colours[root[codes[start + i]]];
  return image;
}

/** The canvas takes the pooled map's own pixels; CSS scales it up, cell by cell. */
export function drawThumbnail(canvas: HTMLCanvasElement, thumbnails: Thumbnails | null, at: number, shade: Shade): void {
  const context = canvas.getContext("2d")!;
  if (!thumbnails || at < 0) return context.clearRect(0, 0, canvas.width, canvas.height);
  const image = thumbnailImage(thumbnails, at, shade);
  canvas.width = image.width;
  canvas.height = image.height;
  context.putImageData(image, 0, 0);
}

/** The same bytes as lines between groups of tokens, queries left, keys right. */
export function drawLineThumbnail(
  context: CanvasRenderingContext2D,
  thumbnails: Thumbnails,
  at: number,
  box: { x: number; y: number; size: number },
  colour: Rgb,
): void {
  const { rows, columns, codes } = thumbnails;
  const start = at * rows * columns;
  const groups: [number, number, number][][] = [[], [], [], [], []];
  for (let i = 0; i < rows * columns; i++) {
    const weight = codes[start + i] / 255;
    if (weight < 0.04) continue;
    groups[Math.min(4, Math.floor(weight * 5))].push([Math.floor(i / columns), i % columns, weight]);
  }
  context.strokeStyle = `rgb(${colour.join(" ")})`;
  groups.forEach((group, strength) => {
    context.globalAlpha = [0.16, 0.32, 0.5, 0.72, 0.95][strength];
    context.lineWidth = strength > 2 ? 1.2 : 0.9;
    context.beginPath();
    // Within a level the strongest few say what there is to see.
    for (const [query, key] of group.sort((a, b) => b[2] - a[2]).slice(0, 60)) {
      context.moveTo(box.x + 3, box.y + ((query + 0.5) / rows) * box.size);
      context.lineTo(box.x + box.size - 3, box.y + ((key + 0.5) / columns) * box.size);
    }
    context.stroke();
  });
  context.globalAlpha = 1;
}
