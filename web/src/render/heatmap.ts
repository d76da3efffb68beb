/** A matrix of numbers as pixels: one cell a block, or the strongest cell of each pixel where cells are smaller. */
import type { Rgb } from "./oklch";
import { packed } from "./scales";

export interface HeatMap {
  values: Float32Array;
  columns: number;
  rows: number;
  /** Value → 0…1. */
  share: (value: number) => number;
  ramp: Rgb[];
}

/** Draws the cells from (x, y), width × height of them, into a box of device pixels. */
export function drawHeatMap(
  context: CanvasRenderingContext2D,
  map: HeatMap,
  from: { x: number; y: number; width: number; height: number },
  box: { x: number; y: number; width: number; height: number },
): void {
  const { values, columns, rows, share } = map;
  const colours = packed(map.ramp);
  const image = context.createImageData(box.width, box.height);
  const pixels = new Uint32Array(image.data.buffer);
  const [stepX, stepY] = [from.width / box.width, from.height / box.height];
  const firstColumn = new Int32Array(box.width);
  const lastColumn = new Int32Array(box.width);
  for (let px = 0; px < box.width; px++) {
    firstColumn[px] = Math.min(columns - 1, Math.floor(from.x + px * stepX + 1e-9));
    lastColumn[px] = Math.min(columns, Math.max(firstColumn[px] + 1, Math.floor(from.x + (px + 1) * stepX + 1e-9)));
  }
  let before = -1;
  for (let py = 0; py < box.height; py++) {
    const top = Math.min(rows - 1, Math.floor(from.y + py * stepY + 1e-9));
    const bottom = Math.min(rows, Math.max(top + 1, Math.floor(from.y + (py + 1) * stepY + 1e-9)));
    const offset = py * box.width;
    // A row of pixels inside the same row of cells is a copy.
    if (top === before && bottom === top + 1 && py > 0) {
      pixels.copyWithin(offset, offset - box.width, offset);
      continue;
    }
    before = bottom === top + 1 ? top : -1;
    for (let px = 0; px < box.width; px++) {
      let strongest = values[top * columns + firstColumn[px]];
      for (let row = top; row < bottom; row++) {
        for (let column = firstColumn[px]; column < lastColumn[px]; column++) {
          const value = values[row * columns + column];
          if (Math.abs(value) > Math.abs(strongest)) strongest = value;
        }
      }
      pixels[offset + px] = colours[Math.max(0, Math.min(255, (share(strongest) * 255 + 0.5) | 0))];
    }
  }
  context.putImageData(image, box.x, box.y);
}
