/** A tour: saved states of the app, as a file, as a link, and kept in this tab over a reload. */
import { tourOf } from "../../state/tour";
import type { Step } from "../../state/tour";

const name = "headscope tour";

export const tourText = (tour: Step[]): string => `${JSON.stringify(tour, null, 2)}\n`;

async function through(bytes: Uint8Array<ArrayBuffer>, stream: CompressionStream | DecompressionStream): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await new Response(new Blob([bytes]).stream().pipeThrough(stream)).arrayBuffer());
}

/** The part after "#" of a link that opens the tour. */
export async function linkOf(tour: Step[]): Promise<string> {
  const packed = await through(new TextEncoder().encode(JSON.stringify(tour)), new CompressionStream("deflate-raw"));
  const text = btoa(Array.from(packed, (byte) => String.fromCharCode(byte)).join(""));
  return `tour=${text.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "")}`;
}

async function ofLink(): Promise<Step[] | null> {
  const packed = new URLSearchParams(location.hash.slice(1)).get("tour");
  if (!packed) return null;
  const bytes = Uint8Array.from(atob(packed.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
  return tourOf(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
}

/** The tour that the link brings, or that was saved in this tab; null: neither. */
export async function keptTour(): Promise<Step[] | null> {
  try {
    const linked = await ofLink();
    if (linked) keepTour(linked);
    const kept = sessionStorage.getItem(name);
    return linked ?? (kept === null ? null : tourOf(kept));
  } catch {
    return null;
  }
}

export function keepTour(tour: Step[]): void {
  try {
    if (tour.length) sessionStorage.setItem(name, JSON.stringify(tour));
    else sessionStorage.removeItem(name);
  } catch {
    // Nothing can be kept here.
  }
}
