/** From words through heads to the answer: one line per strong contribution. */
import type { PredictionHeader, PredictionPart } from "../../protocol/types";
import { valueText, visible } from "../../render/dom";
import { css } from "../../render/oklch";
import type { Rgb } from "../../render/oklch";
import { at } from "../../render/scales";

const svgSpace = "http://www.w3.org/2000/svg";
const row = 21;
const widest = 8;
const longest = 40;

export interface FlowHand {
  open(part: PredictionPart): void;
  look(event: MouseEvent, part: PredictionPart, key: number | null, value: number): void;
  leave(): void;
}

export const nameOf = (part: PredictionPart): string => (part.part === "head" ? `${part.kind}.${part.layer}.${part.head}` : part.label);

function svg(name: string, attributes: Record<string, string | number>, text = ""): SVGElement {
  const element = document.createElementNS(svgSpace, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  element.textContent = text;
  return element;
}

/** Shorter columns are spread over the height of the longest. */
const placed = (count: number, height: number) => (index: number) => ((index + 0.5) * height) / Math.max(count, 1);

export function flowPicture(header: PredictionHeader, open: string, ramp: Rgb[], hand: FlowHand): SVGElement {
  const { parts, edges } = header.flow;
  const crossing = (name: string) => name.startsWith("cross");
  // The words that contribute: the encoder's before the decoder's.
  const read = edges.some(([name]) => crossing(name)) ? (header.key ?? header.query) : [];
  const words = [...read, ...(!read.length || edges.some(([name]) => !crossing(name)) ? header.query : [])];
  const wordOf = (name: string, key: number) => (crossing(name) ? key : read.length + key);
  const used = [...new Set(edges.map(([name, key]) => wordOf(name, key)))].sort((a, b) => a - b);
  // In a long text only the words that contribute.
  const shown = words.length > longest ? used : words.map((_, index) => index);
  const height = row * Math.max(shown.length, parts.length, 4);
  const wordRow = placed(shown.length, height);
  const wordAt = (key: number) => wordRow(shown.indexOf(key));
  const partAt = placed(parts.length, height);
  const middle = height / 2;
  const picture = svg("svg", { viewBox: `0 0 640 ${height}`, role: "img", "aria-label": "from words through heads to the answer" });
  const strongest = Math.max(...edges.map(([, , value]) => Math.abs(value)), 1e-9);
  const top = Math.max(...parts.map((part) => Math.abs(part.value)), 1e-9);
  const named = new Map(parts.map((part, index) => [nameOf(part), { part, index }]));
  const line = (from: [number, number], to: [number, number], value: number, most: number, kind: string) => {
    const share = Math.abs(value) / most;
    const half = (from[0] + to[0]) / 2;
    const path = svg("path", {
      class: kind,
      d: `M${from[0]} ${from[1]}C${half} ${from[1]} ${half} ${to[1]} ${to[0]} ${to[1]}`,
      "stroke-width": Math.max(0.6, widest * share),
      "stroke-opacity": 0.3 + 0.55 * share,
    });
    path.style.setProperty("--colour", css(at(ramp, value >= 0 ? 0.95 : 0.05)));
    picture.append(path);
    return path;
  };
  for (const [name, key, value] of [...edges].sort((a, b) => Math.abs(a[2]) - Math.abs(b[2]))) {
    const found = named.get(name);
    if (!found) continue;
    const path = line([128, wordAt(wordOf(name, key))], [318, partAt(found.index)], value, strongest, "edge");
    path.addEventListener("click", () => hand.open(found.part));
    path.addEventListener("mousemove", (event) => hand.look(event, found.part, key, value));
    path.addEventListener("mouseleave", () => hand.leave());
  }
  parts.forEach((part, index) => line([460, partAt(index)], [548, middle], part.value, top, "sum"));
  for (const key of shown) {
    const quiet = used.includes(key) ? "" : "quiet";
    picture.append(svg("text", { x: 122, y: wordAt(key) + 4, "text-anchor": "end", class: quiet }, visible(words[key])));
  }
  parts.forEach((part, index) => {
    const label = svg("text", { x: 324, y: partAt(index) + 4, class: part.part === "head" ? `node${nameOf(part) === open ? " open" : ""}` : "" }, part.label);
    if (part.part === "head") label.addEventListener("click", () => hand.open(part));
    label.addEventListener("mousemove", (event) => hand.look(event, part, null, part.value));
    label.addEventListener("mouseleave", () => hand.leave());
    picture.append(label, svg("text", { x: 456, y: partAt(index) + 4, "text-anchor": "end", class: "quiet" }, valueText(part.value)));
  });
  picture.append(svg("text", { x: 554, y: middle + 5, class: "answer" }, visible(header.target[0])));
  return picture;
}
