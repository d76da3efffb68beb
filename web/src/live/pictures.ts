/** A picture as the model is given it: decoded by the browser, resized as Pillow does, scaled; and where its patches lie. */
import type { PicturesKnown } from "./known";

export interface Picture {
  name: string;
  width: number;
  height: number;
  /** The file's own bytes, which the image view decodes again. */
  bytes: Uint8Array;
}

export interface Positions {
  kinds: Uint8Array;
  /** Left, top, right, bottom in the picture, four a position; NaN where it lies nowhere. */
  rectangles: Float32Array;
}

/** Pillow's filters: their radius, and their weight at a distance. */
const filters: Record<number, [reach: number, weight: (x: number) => number]> = {
  1: [3, (x) => (x < 3 ? sinc(x) * sinc(x / 3) : 0)],
  2: [1, (x) => Math.max(0, 1 - x)],
  3: [2, (x) => (x < 1 ? (1.5 * x - 2.5) * x * x + 1 : x < 2 ? ((-0.5 * x + 2.5) * x - 4) * x + 2 : 0)],
};
const sinc = (x: number) => (x === 0 ? 1 : Math.sin(x * Math.PI) / (x * Math.PI));
/** Pillow's weights are whole numbers of this many bits. */
const bits = 22;

/** Red, green and blue of every pixel, on white where the picture is transparent. */
export async function decoded(bytes: Uint8Array, name: string, most: number): Promise<{ picture: Picture; pixels: Uint8Array }> {
  const bitmap = await createImageBitmap(new Blob([bytes as BlobPart]), { colorSpaceConversion: "none" }).catch(() => {
    throw new Error(`${name} is not a picture that this browser reads, or it is damaged.`);
  });
  const { width, height } = bitmap;
  if (width * height > most) throw new Error(`${name} has ${Math.round((width * height) / 1e6)} million pixels; reduce it to at most ${most / 1e6} million pixels.`);
  const context = new OffscreenCanvas(width, height).getContext("2d")!;
  context.fillStyle = "white";
  context.fillRect(0, 0, width, height);
  context.drawImage(bitmap, 0, 0);
  bitmap.close();
  const { data } = context.getImageData(0, 0, width, height);
  const pixels = new Uint8Array(width * height * 3);
  for (let at = 0, to = 0; at < data.length; at += 4) for (let colour = 0; colour < 3; colour++) pixels[to++] = data[at + colour];
  return { picture: { name, width, height, bytes }, pixels };
}

/** (3, rows, columns) as the model takes them. */
export function prepared(pixels: Uint8Array, { width, height }: Picture, { steps }: PicturesKnown): { data: Float32Array; rows: number; columns: number } {
  const [tall, wide] = steps.size;
  const [rows, columns] = steps.crop;
  const across = resized(pixels, height, width, 3, wide, steps.resample);
  const small = resized(across, 1, height, wide * 3, tall, steps.resample);
  const [top, left] = [Math.floor((tall - rows) / 2), Math.floor((wide - columns) / 2)];
  const data = new Float32Array(3 * rows * columns);
  for (let colour = 0; colour < 3; colour++) {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < columns; column++) {
        const value = small[((top + row) * wide + left + column) * 3 + colour];
        data[(colour * rows + row) * columns + column] = (value * steps.factor - steps.mean[colour]) / steps.std[colour];
      }
    }
  }
  return { data, rows, columns };
}

/** Resize the middle axis of (lines, from, width) from `from` to `to` entries. */
function resized(pixels: Uint8Array, lines: number, from: number, width: number, to: number, filter: number): Uint8Array {
  if (from === to) return pixels;
  const [reach, weigh] = filters[filter];
  const scale = from / to;
  const stretch = Math.max(scale, 1);
  const made = new Uint8Array(lines * to * width);
  for (let at = 0; at < to; at++) {
    const middle = (at + 0.5) * scale;
    const first = Math.max(0, Math.trunc(middle - reach * stretch + 0.5));
    const last = Math.min(from, Math.trunc(middle + reach * stretch + 0.5));
    const weights = Array.from({ length: last - first }, (_, i) => weigh(Math.abs((first + i - middle + 0.5) / stretch)));
    const all = weights.reduce((sum, each) => sum + each, 0);
    const whole = weights.map((each) => Math.trunc((each / all) * 2 ** bits + (each < 0 ? -0.5 : 0.5)));
    for (let line = 0; line < lines; line++) {
      for (let column = 0; column < width; column++) {
        let sum = 2 ** (bits - 1);
        for (let i = 0; i < whole.length; i++) sum += whole[i] * pixels[(line * from + first + i) * width + column];
        made[(line * to + at) * width + column] = Math.max(0, Math.min(255, sum >> bits));
      }
    }
  }
  return made;
}

/** Where the positions lie in a picture of this size. */
export function positionsIn({ kinds, rectangles }: PicturesKnown, { width, height }: Picture): Positions {
  const sides = rectangles.flatMap((each) => (each ? [each[0] * width, each[1] * height, each[2] * width, each[3] * height] : [NaN, NaN, NaN, NaN]));
  return { kinds: Uint8Array.from(kinds), rectangles: Float32Array.from(sides) };
}
