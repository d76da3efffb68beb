/** Where one is: all that the address holds, so that a link, a reload, Back and Forward give the same picture. */
import type { OffHead } from "../../protocol/app";
import type { State } from "../../protocol/types";
import { readEdits, readOff, writeOff } from "../../state/off";
import { fromQuery, toQuery } from "../../state/url";

/** The tokens that the model wrote after the text: their number, and the heads off and edits meanwhile. */
export interface Wrote {
  count: number;
  off: OffHead[];
  edits: string[];
}

export type Pairing = "" | "number" | "likeness";

export interface Place {
  model: string;
  text: string;
  pair: string;
  /** Only the beginning was read, because the whole was too long. */
  truncate: boolean;
  /** The name of an example that is a picture or a sound; "": none. */
  media: string;
  off: OffHead[];
  edits: string[];
  wrote: Wrote | null;
  against: string;
  againstText: string;
  pairing: Pairing;
  /** The atlas's own state as a query, where the atlas is open. */
  atlas: string | null;
  /** The step of a tour; null: none. */
  step: number | null;
  state: Partial<State>;
  /** What would open without the address's own state. */
  opened?: Partial<State>;
}

export function placeOf(address: URLSearchParams): Place {
  const said = (name: string) => address.get(name) ?? "";
  const off = readOff(said("off"));
  const edits = readEdits(said("edits"));
  const count = Number(address.get("wrote"));
  return {
    model: said("model"),
    text: said("text"),
    pair: said("pair"),
    truncate: address.has("truncate"),
    media: said("media"),
    off,
    edits,
    wrote: count > 0 && count < 1e4 ? { count, off: address.has("wrote_off") ? readOff(said("wrote_off")) : off, edits: address.has("wrote_edits") ? readEdits(said("wrote_edits")) : edits } : null,
    against: said("against"),
    againstText: said("against_text"),
    pairing: /^(number|likeness)$/.test(said("pairing")) ? (said("pairing") as Pairing) : "",
    atlas: address.get("atlas"),
    step: /^\d{1,4}$/.test(said("step")) ? Number(said("step")) : null,
    state: fromQuery(address),
  };
}

/** The input of the reading, without the selection in it. */
export function readPart(place: Place): URLSearchParams {
  const query = new URLSearchParams({ model: place.model, text: place.text });
  const say = (name: string, value: string, said = value !== "") => said && query.set(name, value);
  say("pair", place.pair, place.pair.trim() !== "");
  say("truncate", "true", place.truncate);
  say("media", place.media);
  say("against", place.against);
  say("against_text", place.againstText, place.against === "another-text");
  say("pairing", place.pairing);
  say("off", writeOff(place.off));
  say("edits", place.edits.join("_"));
  if (place.wrote) {
    say("wrote", String(place.wrote.count));
    say("wrote_off", writeOff(place.wrote.off), writeOff(place.wrote.off) !== writeOff(place.off));
    say("wrote_edits", place.wrote.edits.join("_"), place.wrote.edits.join("_") !== place.edits.join("_"));
  }
  return query;
}

export function addressOf(place: Place): URLSearchParams {
  const query = readPart(place);
  if (place.atlas !== null) query.set("atlas", place.atlas);
  if (place.step !== null) query.set("step", String(place.step));
  for (const [name, value] of toQuery(place.state, place.opened)) query.set(name, value);
  return query;
}

/** How the picture is drawn: a change of these alone is no step to go back over. */
const manner = ["theme", "scale", "unit", "specials", "first", "filter", "minimum", "orientation", "direction", "thumbnails", "order", "find", "sort", "wrap", "column"];

export function isStep(before: string, after: string): boolean {
  const [a, b] = [before, after].map((each) => {
    const query = new URLSearchParams(each.slice(each.search(/[?#]/) + 1));
    for (const name of manner) query.delete(name);
    return query.toString();
  });
  return a !== b;
}
