/** The whole text beside the visible lines: every word is a few pixels, as dark as its attention. */
import { make } from "../../render/dom";
import type { Rgb } from "../../render/oklch";
import type { Layout } from "./layout";

const width = 64;

export class Minimap {
  readonly element = make("div", { class: "tx-map", "aria-hidden": "true" });
  private readonly canvas = make("canvas", {});
  private readonly window = make("div", { class: "tx-window" });
  private layout: Layout | null = null;
  private height = 1;
  private scale = 1;
  private room = 1;
  private mirrored = false;

  /** `jump` receives the height in the text under the pointer. */
  constructor(jump: (y: number) => void) {
    this.element.append(this.canvas, this.window);
    const go = (event: PointerEvent) => jump((event.clientY - this.element.getBoundingClientRect().top) / this.scale);
    this.element.addEventListener("pointerdown", (event) => {
      this.element.setPointerCapture(event.pointerId);
      event.preventDefault();
      go(event);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons) go(event);
    });
  }

  place(layout: Layout, room: number, height: number, mirrored: boolean): void {
    this.layout = layout;
    [this.room, this.height, this.mirrored] = [room, Math.floor(height), mirrored];
    // A short text is not stretched: at most a ninth of its size, so that a line is three pixels.
    this.scale = Math.min(1 / 9, height / Math.max(1, layout.height));
    this.element.hidden = layout.height <= height;
    this.element.style.height = `${height}px`;
    if (this.canvas.width !== width) this.canvas.width = width;
    if (this.canvas.height !== this.height) this.canvas.height = this.height;
  }

  /** `share` of each piece from 0 to 1 in one colour scale; the strongest of a pixel is seen. */
  draw(share: (piece: number) => number, colour: (piece: number, share: number) => Rgb, ink: Rgb): void {
    const { layout, scale } = this;
    if (!layout || this.element.hidden) return;
    const best = new Float32Array(width * this.height).fill(-1);
    const owner = new Int32Array(width * this.height);
    const across = width / this.room;
    const tall = Math.max(1, Math.floor(layout.type.line * scale * 0.6));
    for (let piece = 0; piece < layout.line.length; piece++) {
      const top = Math.floor(layout.lines[layout.line[piece]].top * scale);
      const value = share(piece);
      const from = Math.floor(layout.x[piece] * across);
      const to = Math.min(width, Math.max(from + 1, Math.floor((layout.x[piece] + layout.width[piece]) * across)));
      for (let y = top; y < Math.min(this.height, top + tall); y++) {
        for (let column = from; column < to; column++) {
          const at = y * width + (this.mirrored ? width - 1 - column : column);
          if (value > best[at]) [best[at], owner[at]] = [value, piece];
        }
      }
    }
    const context = this.canvas.getContext("2d")!;
    const image = context.createImageData(width, this.height);
    for (let at = 0; at < best.length; at++) {
      if (best[at] < 0) continue;
      const strong = best[at] > 0.04;
      const [r, g, b] = strong ? colour(owner[at], best[at]) : ink;
      image.data.set([r, g, b, strong ? 255 : 46], 4 * at);
    }
    context.putImageData(image, 0, 0);
  }

  follow(scrollTop: number, visible: number): void {
    this.window.style.top = `${scrollTop * this.scale}px`;
    this.window.style.height = `${Math.max(6, visible * this.scale)}px`;
  }
}
