/** Beside a long text: the whole of both columns, as dark as each token takes part, with the window on it. */
import { make } from "../../render/dom";
import type { Rgb } from "../../render/oklch";
import { at } from "../../render/scales";
import type { Geometry } from "./geometry";

export const overviewRoom = 38;
const width = 30;

export class Overview {
  readonly element = make("div", { class: "hv-overview", "aria-hidden": "true", title: "The whole text: queries left, keys right" });
  private readonly canvas = make("canvas", {});
  private readonly window = make("div", { class: "hv-window" });
  private length = 1;

  constructor(jump: (y: number) => void) {
    this.element.append(this.canvas, this.window);
    const go = (event: PointerEvent) => {
      const box = this.element.getBoundingClientRect();
      jump(((event.clientY - box.top) / box.height) * this.length);
    };
    this.element.addEventListener("pointerdown", (event) => {
      this.element.setPointerCapture(event.pointerId);
      event.preventDefault();
      go(event);
    });
    this.element.addEventListener("pointermove", (event) => {
      if (event.buttons) go(event);
    });
  }

  /** `shares` of each side's units from 0 to 1; the strongest of a pixel is seen. */
  draw(shares: [Float32Array, Float32Array], { query, key, queryExtent, length }: Geometry, ramp: Rgb[], height: number): void {
    this.length = length;
    const row = queryExtent[0] / 2;
    const tall = Math.max(1, Math.floor(height));
    this.element.style.height = `${tall}px`;
    [this.canvas.width, this.canvas.height] = [width, tall];
    const image = this.canvas.getContext("2d")!.createImageData(width, tall);
    shares.forEach((values, side) => {
      const half = width / 2;
      const centres = side ? key : query;
      const most = new Float32Array(tall);
      values.forEach((value, i) => {
        const from = Math.floor(((centres[i] - row) * tall) / length);
        const to = Math.max(from + 1, Math.floor(((centres[i] + row) * tall) / length));
        for (let y = from; y < to; y++) most[y] = Math.max(most[y], value);
      });
      for (let y = 0; y < tall; y++) {
        const [r, g, b] = at(ramp, most[y]);
        for (let x = side * half + 1; x < (side + 1) * half - 1; x++) image.data.set([r, g, b, 255], 4 * (y * width + x));
      }
    });
    this.canvas.getContext("2d")!.putImageData(image, 0, 0);
  }

  follow(scroll: number, visible: number): void {
    this.window.style.top = `${(100 * scroll) / this.length}%`;
    this.window.style.height = `${Math.max(1, (100 * visible) / this.length)}%`;
  }
}
