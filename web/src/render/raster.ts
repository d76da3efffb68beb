/**
 * A small line rasteriser. Thousands of long translucent strokes through the canvas API cost tens of
 * microseconds each; here a line costs a few multiplications a pixel, so hover stays within a frame.
 *
 * Lines of one colour need one number a pixel (what of the background still shows); lines of several
 * need their mixed colour, three numbers a pixel.
 */
import type { Rgb } from "./oklch";

export class Raster {
  private readonly pixels: Float32Array;
  private readonly channels: 1 | 3;

  constructor(
    readonly width: number,
    readonly height: number,
    private readonly background: Rgb,
    /** The one colour of all lines, or null when they differ. */
    private readonly only: Rgb | null,
  ) {
    this.channels = only ? 1 : 3;
    this.pixels = new Float32Array(width * height * this.channels);
    if (only) this.pixels.fill(1);
    else for (let i = 0; i < this.pixels.length; i++) this.pixels[i] = background[i % 3];
  }

  /** A straight line of the given width, laid over what is there with the given opacity. */
  line(x0: number, y0: number, x1: number, y1: number, thickness: number, colour: Rgb, alpha: number): void {
    const { width, height, channels } = this;
    const dx = Math.abs(x1 - x0);
    const dy = Math.abs(y1 - y0);
    if (dx === 0 && dy === 0) return;
    const row = channels * width;
    if (dx >= dy) {
      if (x0 <= x1) this.run(x0, y0, x1, y1, thickness, colour, alpha, width, height, channels, row);
      else this.run(x1, y1, x0, y0, thickness, colour, alpha, width, height, channels, row);
    } else if (y0 <= y1) this.run(y0, x0, y1, x1, thickness, colour, alpha, height, width, row, channels);
    else this.run(y1, x1, y0, x0, thickness, colour, alpha, height, width, row, channels);
  }

  /** u runs along the line's longer side, v across; each step fills the span of v the line covers there. */
  private run(
    u0: number,
    v0: number,
    u1: number,
    v1: number,
    thickness: number,
    colour: Rgb,
    alpha: number,
    uSize: number,
    vSize: number,
    uStep: number,
    vStep: number,
  ): void {
    const { pixels } = this;
    const mono = this.channels === 1;
    const [r, g, b] = colour;
    const slope = (v1 - v0) / (u1 - u0);
    const half = (thickness / 2) * Math.sqrt(1 + slope * slope);
    let from = u0;
    let to = u1;
    if (slope !== 0) {
      const near = u0 + (-half - v0) / slope;
      const far = u0 + (vSize + half - v0) / slope;
      from = Math.max(from, Math.min(near, far));
      to = Math.min(to, Math.max(near, far));
    }
    const first = Math.max(0, Math.floor(from));
    const last = Math.min(uSize - 1, Math.ceil(to) - 1);
    for (let u = first; u <= last; u++) {
      const centre = v0 + slope * (u + 0.5 - u0);
      const low = centre - half;
      const high = centre + half;
      // Ends are cut square to the axis: their partial column counts partly.
      const strength = u < u0 || u + 1 > u1 ? alpha * (Math.min(u + 1, u1) - Math.max(u, u0)) : alpha;
      const start = low < 0 ? 0 : low | 0;
      const end = Math.min(vSize - 1, Math.ceil(high) - 1);
      let at = u * uStep + start * vStep;
      for (let v = start; v <= end; v++, at += vStep) {
        const a = strength * ((v + 1 < high ? v + 1 : high) - (v > low ? v : low));
        if (mono) pixels[at] *= 1 - a;
        else {
          pixels[at] += (r - pixels[at]) * a;
          pixels[at + 1] += (g - pixels[at + 1]) * a;
          pixels[at + 2] += (b - pixels[at + 2]) * a;
        }
      }
    }
  }

  copyTo(data: Uint8ClampedArray): void {
    const { pixels, background, only } = this;
    if (only) {
      const [r, g, b] = only;
      const [R, G, B] = background;
      for (let i = 0, at = 0; i < pixels.length; i++, at += 4) {
        const shows = pixels[i];
        data[at] = r + (R - r) * shows;
        data[at + 1] = g + (G - g) * shows;
        data[at + 2] = b + (B - b) * shows;
        data[at + 3] = 255;
      }
      return;
    }
    for (let i = 0, at = 0; i < pixels.length; i += 3, at += 4) {
      data[at] = pixels[i];
      data[at + 1] = pixels[i + 1];
      data[at + 2] = pixels[i + 2];
      data[at + 3] = 255;
    }
  }
}
