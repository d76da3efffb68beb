/** Edits of attention in the address's spelling (edits/spelled.py): emphasis of a span, and weights set by hand. */
import type { Kind } from "../../../protocol/types";

export interface Emphasis {
  kind: Kind;
  start: number;
  stop: number;
  factor: number;
  /** null: all heads. */
  head: [layer: number, head: number] | null;
}

export interface SetWeight {
  kind: Kind;
  layer: number;
  head: number;
  query: number;
  key: number;
  weight: number;
}

const emphasis = /^emphasis-(encoder|decoder|cross)-(\d{1,6})-(\d{1,6})-(\d{1,6}(?:\.\d{1,6})?)(?:-(\d+)\.(\d+))?$/;
const weight = /^weight-(encoder|decoder|cross)-(\d{1,6})\.(\d{1,6})-(\d{1,6})-(\d{1,6})-(\d{1,6}(?:\.\d{1,6})?)$/;
const short = (value: number) => String(Number(value.toFixed(4)));

export const spellEmphasis = ({ kind, start, stop, factor, head }: Emphasis): string =>
  `emphasis-${kind}-${start}-${stop}-${short(factor)}${head ? `-${head.join(".")}` : ""}`;

export const spellWeight = ({ kind, layer, head, query, key, weight: value }: SetWeight): string =>
  `weight-${kind}-${layer}.${head}-${query}-${key}-${short(value)}`;

export function emphasisOf(edit: string): Emphasis | null {
  const found = emphasis.exec(edit);
  if (!found) return null;
  const [start, stop, factor] = [found[2], found[3], found[4]].map(Number);
  return { kind: found[1] as Kind, start, stop, factor, head: found[5] === undefined ? null : [Number(found[5]), Number(found[6])] };
}

export function weightOf(edit: string): SetWeight | null {
  const found = weight.exec(edit);
  if (!found) return null;
  const [layer, head, query, key, value] = found.slice(2).map(Number);
  return { kind: found[1] as Kind, layer, head, query, key, weight: value };
}

/** An edit in a few words. */
export function inWords(edit: string, token: (at: number, side: "query" | "key") => string): string {
  const one = weightOf(edit);
  if (one) return `${one.layer}-${one.head}: ${token(one.query, "query")} → ${token(one.key, "key")} ${short(one.weight)}`;
  const found = emphasisOf(edit);
  if (!found) return edit;
  const { start, stop, factor, head } = found;
  const span = Array.from({ length: stop - start }, (_, i) => token(start + i, "key")).join(" ");
  return `“${span}” × ${short(factor)}${head ? ` in ${head.join("-")}` : ""}`;
}

/** The edits as a scope takes them in Python. */
export function inPython(model: string, { text, pair }: { text: string; pair: string }, off: [Kind, number, number][], edits: string[]): string {
  const lines = ["import headscope as hs", "", `scope = hs.load(${model === "bundled" ? "" : JSON.stringify(model)})`];
  const kinds = [...new Set(off.map(([kind]) => kind))];
  for (const kind of kinds) lines.push(`scope = scope.without(heads=[${off.filter((each) => each[0] === kind).map((each) => `(${each[1]}, ${each[2]})`).join(", ")}], kind="${kind}")`);
  for (const one of edits.map(emphasisOf)) {
    if (one) lines.push(`scope = scope.emphasise((${one.start}, ${one.stop}), factor=${one.factor}${one.head ? `, heads=[(${one.head.join(", ")})]` : ""}, kind="${one.kind}")`);
  }
  const set = edits.map(weightOf).filter((one) => one !== null);
  for (const name of new Set(set.map((one) => `kind="${one.kind}", heads=[(${one.layer}, ${one.head})]`))) {
    const own = set.filter((one) => name === `kind="${one.kind}", heads=[(${one.layer}, ${one.head})]`);
    lines.push(`scope = scope.without(${name}, mode="weight", weights=(${own.map((one) => `(${one.query}, ${one.key}, ${one.weight}),`).join(" ")}))`);
  }
  return [...lines, `reading = scope.read(${[text, ...(pair.trim() ? [pair] : [])].map((each) => JSON.stringify(each)).join(", ")})`, ""].join("\n");
}
