/** A head's profiles as small charts: bars for positions, rows for tokens. */
import type { HeadPage } from "../../../protocol/atlas";
import { make, number, valueText } from "../../../render/dom";
import { svg } from "../head_scatter/geometry";
import { spelled } from "./spelled";

const [width, height] = [260, 54];

type Offset = [number, number, number | null];

const total = (rows: Offset[]) => rows.reduce((sum, [, count]) => sum + count, 0);

/** What the chart leaves out, in words; empty if it shows all. */
export function leftOut(rows: Offset[], reach: number): string {
  const further = total(rows.filter(([offset]) => Math.abs(offset) > reach));
  return further ? `${Math.round((100 * further) / total(rows)) || "< 1"} % are further away than ${reach}` : "";
}

/** Offsets: how often the heaviest key is there, with a line for uniform attention. */
export function offsetChart(page: HeadPage, large = true): HTMLElement | null {
  const rows = (page.profiles["offset"] ?? []) as unknown as Offset[];
  if (!rows.length) return null;
  const reach = large ? 24 : 12;
  const left = leftOut(rows, reach);
  const shown = rows.filter(([offset]) => Math.abs(offset) <= reach);
  const most = Math.max(...shown.map(([, count]) => count), 1);
  const step = width / (2 * reach + 1);
  const picture = svg("svg", { width, height: height + 14, class: "at-bars", role: "img", "aria-label": "Distance from the query to its heaviest key" });
  for (const [offset, count, expected] of shown) {
    const x = (offset + reach) * step;
    const tall = (count / most) * height;
    const bar = svg("rect", { x: x + 0.5, width: step - 1, y: height - tall, height: tall, class: offset === 0 ? "zero" : "" });
    bar.append(svg("title", {}, `${offset > 0 ? "+" : ""}${offset}: ${number(count)} times${expected === null ? "" : `, uniform attention ${valueText(expected)}`}`));
    picture.append(bar);
    if (expected !== null) picture.append(svg("line", { x1: x, x2: x + step, y1: height - (expected / most) * height, y2: height - (expected / most) * height, class: "even" }));
  }
  for (const offset of [-reach, 0, reach]) {
    picture.append(svg("text", { x: (offset + reach + 0.5) * step, y: height + 11, "text-anchor": offset < 0 ? "start" : offset ? "end" : "middle", class: "sc-tick" }, offset > 0 ? `+${offset}` : String(offset).replace("-", "−")));
  }
  return make("div", { class: large ? "at-chart" : "" }, ...(large ? [make("h3", {}, "Key before or after the query")] : []), picture as unknown as HTMLElement, ...(large && left ? [make("p", {}, left)] : []));
}

/** How strongly it attends, by the query's position in the text and by the text's length. */
export function placeCharts(page: HeadPage): HTMLElement[] {
  const named: [string, string, (value: number) => string][] = [
    ["position", "By position in the text", (tenth) => `${10 * tenth}–${10 * tenth + 10} % of the text`],
    ["length", "By length of the text", (least) => `${number(least)} to ${number(2 * least - 1)} tokens`],
  ];
  return named.flatMap(([name, title, text]) => {
    const rows = ((page.profiles[name] ?? []) as unknown as [number, number, number | null, number | null][]).filter(([, count, , weight]) => count && weight !== null);
    if (rows.length < 2) return [];
    rows.sort((a, b) => a[0] - b[0]);
    const [wide, tall] = [130, 44];
    const step = wide / rows.length;
    const picture = svg("svg", { width: wide, height: tall + 14, class: "at-bars", role: "img", "aria-label": `${title}: mean largest weight` });
    rows.forEach(([value, count, , weight], i) => {
      const bar = svg("rect", { x: i * step + 0.5, width: step - 1, y: tall * (1 - weight!), height: Math.max(0.5, tall * weight!) });
      bar.append(svg("title", {}, `${text(value)}: mean largest weight ${valueText(weight!)}, ${number(count)} queries`));
      picture.append(bar);
    });
    picture.append(svg("line", { x1: 0, x2: wide, y1: 0.5, y2: 0.5, class: "whole" }), svg("line", { x1: 0, x2: wide, y1: tall + 0.5, y2: tall + 0.5, class: "whole" }));
    const ends = name === "position" ? ["start", "end"] : [rows[0][0], rows[rows.length - 1][0]].map((least) => `${number(least)}+`);
    picture.append(svg("text", { x: 0, y: tall + 12, class: "sc-tick" }, ends[0]), svg("text", { x: wide, y: tall + 12, "text-anchor": "end", class: "sc-tick" }, ends[1]));
    return [make("div", { class: "at-chart", "data-profile": name }, make("h3", {}, title), picture as unknown as HTMLElement, make("p", {}, "mean largest weight, 0 to 1"))];
  });
}

const titles: [string, string, string][] = [
  ["key_token", "Attends to", "times it was the heaviest key; × more than uniform attention would"],
  ["query_token", "From", "queries; × heavier than this head's usual"],
  ["pair", "From → to", "times; × more than query and key by themselves would"],
  ["speech", "Parts of speech", "of up to 1,024 queries drawn; × more than uniform attention would"],
  ["relation", "What the key is to the query", "of up to 1,024 queries drawn; × more than uniform attention would"],
  ["writes", "Writes", "tokens it raises most at its usual keys"],
];

/** Its bar is as long as its count. */
function row(part: number, ...cells: HTMLElement[]): HTMLElement {
  const line = make("tr", {}, ...cells);
  line.style.setProperty("--part", `${Math.round(100 * part)}%`);
  return line;
}

export function tokenLists(page: HeadPage): HTMLElement[] {
  return titles.flatMap(([name, title, note]) => {
    const rows = page.profiles[name] ?? [];
    if (!rows.length) return [];
    const most = Math.max(...rows.map(([, , count]) => count), 1);
    const lines = rows.map(([token, other, count, lift]) =>
      row(count / most, make("td", {}, spelled(String(token)) + (other ? ` → ${spelled(String(other))}` : "")), make("td", {}, count ? number(count) : ""), make("td", {}, lift === null ? "" : `× ${valueText(lift)}`)),
    );
    return [make("div", { class: "at-chart", "data-profile": name }, make("h3", { title: note }, title), make("table", {}, make("tbody", {}, ...lines)), make("p", {}, note))];
  });
}
