/** The points' positions in the plane, round numbers along its sides, and the points inside a gesture. */
import { make } from "../../../render/dom";

export type Point = [number, number];
type Attributes = Record<string, string | number>;

export function svg<Name extends keyof SVGElementTagNameMap>(name: Name, attributes: Attributes = {}, ...children: (Node | string)[]): SVGElementTagNameMap[Name] {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.append(...children);
  return element;
}

/** The ends of an axis with a margin, so that no point is on the frame. */
export function span(values: Float32Array): Point {
  let [low, high] = [Infinity, -Infinity];
  for (const value of values) if (Number.isFinite(value)) [low, high] = [Math.min(low, value), Math.max(high, value)];
  if (low > high) return [0, 1];
  const room = 0.04 * (high - low || Math.abs(high) || 1);
  return [low - room, high + room];
}

/** About `count` round numbers inside the span. */
export function ticks([low, high]: Point, count: number): number[] {
  const rough = (high - low) / Math.max(1, count);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10);
  const found: number[] = [];
  for (let at = Math.ceil(low / step) * step; at <= high + step * 1e-9; at += step) found.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return found;
}

export const tickText = (value: number) => String(Number(value.toPrecision(4))).replace("-", "−");

/** Whether a point lies in a closed line: it is crossed an odd number of times on the way out. */
export function inside([x, y]: Point, line: Point[]): boolean {
  let odd = false;
  for (let i = 0, j = line.length - 1; i < line.length; j = i++) {
    const [[ax, ay], [bx, by]] = [line[i], line[j]];
    if (ay > y !== by > y && x < ((bx - ax) * (y - ay)) / (by - ay) + ax) odd = !odd;
  }
  return odd;
}

export const rectangle = ([ax, ay]: Point, [bx, by]: Point): Point[] => [[ax, ay], [bx, ay], [bx, by], [ax, by]];

export function menu(name: string, title: string, entries: [string, string][], value: string, onChange: (value: string) => void): HTMLElement {
  const select = make("select", { "data-control": name });
  for (const [each, text] of entries) select.append(make("option", { value: each, selected: each === value }, text));
  select.addEventListener("change", () => onChange(select.value));
  return make("label", { class: "field" }, make("span", {}, title), select);
}
