/** The patches that a number is about, cut out of their picture: seen beside their names. */
import type { Kind } from "../protocol/types";
import type { Reading } from "../protocol/reading";
import { make } from "./dom";

const side = 40;

/** Two squares and an arrow, filled as soon as the picture is there; null where nothing was seen. */
export function crops(reading: Reading, kind: Kind, query: number, key: number): HTMLElement | null {
  if (!reading.header.pictures) return null;
  const [from, to] = [make("canvas", { width: side, height: side }), make("canvas", { width: side, height: side })];
  void Promise.all([cut(reading, kind, "query", query, from), cut(reading, kind, "key", key, to)]);
  return make("div", { class: "crops" }, from, "→", to);
}

async function cut(reading: Reading, kind: Kind, which: "query" | "key", at: number, canvas: HTMLCanvasElement): Promise<void> {
  const places = await reading.places(kind, which);
  const picture = places?.pictures[at] ?? -1;
  if (picture < 0) return;
  const bitmap = await reading.picture(picture);
  const scale = bitmap.width / reading.header.pictures![picture].width;
  const [left, top, right, bottom] = places!.rectangles.subarray(4 * at, 4 * at + 4).map((one) => one * scale);
  const context = canvas.getContext("2d")!;
  context.imageSmoothingEnabled = false;
  context.drawImage(bitmap, left, top, right - left, bottom - top, 0, 0, side, side);
  canvas.dataset.drawn = String(at);
}
