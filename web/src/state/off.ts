/** Heads that are switched off, in the address's spelling: encoder.1.0_encoder.2.3. */
import type { OffHead } from "../protocol/app";
import type { Kind } from "../protocol/types";

export const writeOff = (off: OffHead[]): string => off.map((each) => each.join(".")).join("_");

export function readOff(text: string): OffHead[] {
  return text
    .split("_")
    .map((each) => each.split("."))
    .filter(([kind, layer, head]) => ["encoder", "decoder", "cross"].includes(kind) && /^\d+$/.test(layer ?? "") && /^\d+$/.test(head ?? ""))
    .map(([kind, layer, head]) => [kind as Kind, Number(layer), Number(head)]);
}

/** Emphasis and weights set by hand (edits/spelled.py); what is none of them is left out. */
export const readEdits = (text: string): string[] => text.split("_").filter((each) => /^(emphasis|weight)-(encoder|decoder|cross)-[\d.]+(-[\d.]+){2,4}$/.test(each));
