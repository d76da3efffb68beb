/** Patches cut out of their picture: in tooltips, beside the names of tokens, along the axes of a map. */
import type { Kind } from "../protocol/types";
import type { Reading } from "../protocol/reading";
import { make } from "./dom";

/** Draws the patch at a position as a square; false where that lies in no picture. */
export type Cut = (context: CanvasRenderingContext2D, which: "query" | "key", at: number, x: number, y: number, size: number) => boolean;

const side = 40;

async function cutter(reading: Reading, kind: Kind): Promise<Cut> {
  const pictures = reading.header.pictures!;
  const places = { query: await reading.places(kind, "query"), key: await reading.places(kind, "key") };
  const bitmaps = await Promise.all(pictures.map((_, at) => reading.picture(at)));
  return (context, which, at, x, y, size) => {
    const found = places[which];
    const picture = found?.pictures[at] ?? -1;
    if (picture < 0) return false;
    const scale = bitmaps[picture].width / pictures[picture].width;
    const [left, top, right, bottom] = found!.rectangles.subarray(4 * at, 4 * at + 4).map((one) => one * scale);
    context.imageSmoothingEnabled = right - left > 2 * size;
    context.drawImage(bitmaps[picture], left, top, right - left, bottom - top, x, y, size, size);
    return true;
  };
}

/** Two squares and an arrow, filled as soon as the picture is there; null where nothing was seen. */
export function crops(reading: Reading, kind: Kind, query: number, key: number): HTMLElement | null {
  if (!reading.header.pictures) return null;
  const [from, to] = ([["query", query], ["key", key]] as const).map(([which, at]) => {
    const canvas = square(side);
    void cutter(reading, kind).then((cut) => {
      if (cut(canvas.getContext("2d")!, which, at, 0, 0, side)) canvas.dataset.drawn = String(at);
    });
    return canvas;
  });
  return make("div", { class: "crops" }, from, "→", to);
}

export const square = (size: number): HTMLCanvasElement => make("canvas", { width: size, height: size });

/** What cuts patches out for a view, which is drawn again once the picture is there. */
export class Crops {
  private kind: Kind | null = null;
  private cut: Cut | null = null;

  constructor(
    private readonly reading: Reading,
    private readonly again: () => void,
  ) {}

  of(kind: Kind): Cut | null {
    if (this.reading.header.pictures && kind !== this.kind) {
      this.kind = kind;
      this.cut = null;
      void cutter(this.reading, kind).then((cut) => {
        if (kind !== this.kind) return;
        this.cut = cut;
        this.again();
      });
    }
    return this.cut;
  }
}
