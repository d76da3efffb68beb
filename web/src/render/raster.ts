/**
 * A small line rasteriser. Thousands of long translucent strokes through the canvas API cost tens of
 * microseconds each; here a line costs one addition a pixel, so hover stays within a frame.
 */
import type { Rgb } from "./oklch";

export class Raster {
  private pixels: Float32Array; // r, g, b a pixel, 0…255

  constructor(
    readonly width: number,
    readonly height: number,
    background: Rgb,
  ) {
    this.pixels = new Float32Array(width * height * 3);
    this.clear(background);
  }

  clear([r, g, b]: Rgb): void {
    const { pixels } = this;
    for (let i = 0; i < pixels.length; i += 3) {
      pixels[i] = r;
      pixels[i + 1] = g;
      pixels[i + 2] = b;
    }
  }

  /** A straight line of the given width, laid over what is there with the given opacity. */
  line(x0: number, y0: number, x1: number, y1: number, thickness: number, colour: Rgb, alpha: number): void {
    const dx = Math.abs(x1 - x0);
    const dy = Math.abs(y1 - y0);
    if (dx === 0 && dy === 0) return;
    if (dx >= dy) {
      if (x0 <= x1) this.run(x0, y0, x1, y1, thickness, colour, alpha, this.width, this.height, 3, 3 * this.width);
      else this.run(x1, y1, x0, y0, thickness, colour, alpha, this.width, this.height, 3, 3 * this.width);
    } else if (y0 <= y1) this.run(y0, x0, y1, x1, thickness, colour, alpha, this.height, this.width, 3 * this.width, 3);
    else this.run(y1, x1, y0, x0, thickness, colour, alpha, this.height, this.width, 3 * this.width, 3);
  }

  /** u runs along the line's longer side, v across; each step fills the span of v the line covers there. */
  private run(
    u0: number,
    v0: number,
    u1: number,
    v1: number,
    thickness: number,
    [r, g, b]: Rgb,
    alpha: number,
    uSize: number,
    vSize: number,
    uStep: number,
    vStep: number,
  ): void {
    const { pixels } = this;
    const slope = (v1 - v0) / (u1 - u0);
    const half = (thickness / 2) * Math.sqrt(1 + slope * slope);
    let from = u0;
    let to = u1;
    if (slope !== 0) {
      const enter = u0 + ((slope > 0 ? -half - v0 : vSize + half - v0) / slope);
      const leave = u0 + ((slope > 0 ? vSize + half - v0 : -half - v0) / slope);
      from = Math.max(from, enter);
      to = Math.min(to, leave);
    }
    const first = Math.max(0, Math.floor(from));
    const last = Math.min(uSize - 1, Math.ceil(to) - 1);
    for (let u = first; u <= last; u++) {
      const centre = v0 + slope * (u + 0.5 - u0);
      const low = centre - half;
      const high = centre + half;
      // Ends are cut square to the axis: their partial column counts partly.
      const along = Math.min(u + 1, u1) - Math.max(u, u0);
      const start = Math.max(0, Math.floor(low));
      const end = Math.min(vSize - 1, Math.ceil(high) - 1);
      for (let v = start; v <= end; v++) {
        const covered = Math.min(v + 1, high) - Math.max(v, low);
        const a = alpha * along * covered;
        const at = u * uStep + v * vStep;
        pixels[at] += (r - pixels[at]) * a;
        pixels[at + 1] += (g - pixels[at + 1]) * a;
        pixels[at + 2] += (b - pixels[at + 2]) * a;
      }
    }
  }

  toImage(): ImageData {
    const image = new ImageData(this.width, this.height);
    this.copyTo(image.data);
    return image;
  }

  copyTo(data: Uint8ClampedArray): void {
    const { pixels } = this;
    for (let i = 0, at = 0; i < pixels.length; i += 3, at += 4) {
      data[at] = pixels[i];
      data[at + 1] = pixels[i + 1];
      data[at + 2] = pixels[i + 2];
      data[at + 3] = 255;
    }
  }
}
