/** Where positions lie in pictures and sounds, as the page has it. */
import { decode, toFloats } from "./decode";
import type { BufferReference, PlacesHeader } from "./types";
import type { Source } from "./types";

/** As headscope.media.PlaceKind. */
export const placeKinds = { word: 0, special: 1, patch: 2, frame: 3, class: 4, register: 5, query: 6 } as const;

export interface Places {
  kinds: Uint8Array;
  /** Left, top, right, bottom in the original picture, four a position. */
  rectangles: Float32Array;
  /** From, to, two a position. */
  seconds: Float32Array;
  /** Which picture, -1 for none. */
  pictures: Float32Array;
}

export async function placesOf(source: Source, header: PlacesHeader): Promise<Places> {
  const numbers = async ({ buffer }: BufferReference) => decode(source.header.buffers[buffer], await source.buffer(buffer), buffer);
  const floats = async (one: BufferReference) => toFloats(await numbers(one), 1);
  const [kinds, rectangles, seconds, pictures] = await Promise.all([
    numbers(header.kinds),
    floats(header.rectangles),
    floats(header.seconds),
    floats(header.pictures),
  ]);
  return { kinds: kinds as Uint8Array, rectangles, seconds, pictures };
}

/** A picture's bytes as something a canvas draws: decoded by the browser, never put into the page as markup. */
export async function bitmapOf(source: Source, { buffer }: BufferReference): Promise<ImageBitmap> {
  const bytes = await source.buffer(buffer);
  return createImageBitmap(new Blob([bytes as BlobPart], { type: "image/webp" }));
}
