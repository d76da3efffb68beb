/** Clusters of heads: a colour and a number each, and what most of their heads are labelled. */
import { make } from "../../../render/dom";
import { css } from "../../../render/oklch";
import type { Rgb } from "../../../render/oklch";
import { svg } from "./geometry";
import type { Point } from "./geometry";

export interface Group {
  number: number;
  places: number[];
  /** The label that most of its labelled heads have. */
  mostly: string;
}

export function groupsOf(values: Float32Array, label: (place: number) => string): Group[] {
  const found = new Map<number, number[]>();
  values.forEach((value, place) => Number.isFinite(value) && found.set(value, [...(found.get(value) ?? []), place]));
  return [...found].sort(([a], [b]) => a - b).map(([number, places]) => {
    const counts = new Map<string, number>();
    for (const text of places.map(label)) if (text) counts.set(text, (counts.get(text) ?? 0) + 1);
    const [most] = [...counts].sort((a, b) => b[1] - a[1]);
    return { number, places, mostly: !most ? "no pattern label" : most[1] === places.length ? most[0] : `${most[1]} of them ${most[0]}` };
  });
}

/** As a ramp of 256 steps, so that whatever takes a scale of colours takes this one. */
export const steps = (colours: Rgb[]): Rgb[] => Array.from({ length: 256 }, (_, i) => colours[Math.round((i / 255) * (colours.length - 1))]);

/** The numbers of the groups in the middle of their points: colour is never the only sign. */
export function writeNumbers(picture: SVGElement, groups: Group[], points: (Point | null)[]): void {
  const written: Point[] = [];
  for (const { number, places } of groups) {
    const own = places.map((place) => points[place]).filter((point) => point !== null);
    if (!own.length) continue;
    const [x, y] = [0, 1].map((side) => own.reduce((sum, point) => sum + point[side], 0) / own.length);
    // A few points would be hidden under their own number: it stands beside them.
    const aside = own.length < 4 && own.some((point) => Math.hypot(point[0] - x, point[1] - y) < 12) ? 14 : 0;
    let at: Point = [x + aside, y + 6 - aside / 2];
    while (written.some((other) => Math.abs(other[0] - at[0]) < 16 && Math.abs(other[1] - at[1]) < 15)) at = [at[0], at[1] + 3];
    written.push(at);
    picture.append(svg("text", { class: "sc-group", x: at[0], y: at[1], "text-anchor": "middle" }, String(number)));
  }
}

export function groupChips(groups: Group[], colours: Rgb[], choose: (places: number[]) => void): HTMLElement {
  const chips = groups.map(({ number, places, mostly }, i) => {
    const mark = make("i", { "aria-hidden": "true" });
    mark.style.background = css(colours[i]);
    const chip = make("button", { class: "button", "data-group": number, title: "Choose its heads" }, mark, `${number} · ${places.length} ${places.length === 1 ? "head" : "heads"}, ${mostly}`);
    chip.addEventListener("click", () => choose(places));
    return chip;
  });
  return make("div", { class: "sc-groups", role: "group", "aria-label": "Clusters of heads that attend alike" }, ...chips);
}
