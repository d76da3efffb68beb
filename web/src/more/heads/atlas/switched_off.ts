/** What disabling a head does to tasks: its difference among those of all heads, with its interval, and in words. */
import type { AblatedTask, HeadPage } from "../../../protocol/atlas";
import { make, number, valueText } from "../../../render/dom";
import { svg } from "../head_scatter/geometry";

const [width, height] = [260, 34];
type Measured = NonNullable<HeadPage["off"][number]>;

export function switchedOff(tasks: AblatedTask[], off: HeadPage["off"], place: number, values: (column: string) => Float32Array | null): HTMLElement | null {
  if (!tasks.length) return null;
  const charts = tasks.map((task, i) => {
    const [measured, all] = [off[i], values(task.column)];
    const title = make("h3", {}, `With heads off: ${task.task}, ${task.metric}`);
    if (!measured || !all) return make("div", { class: "at-chart" }, title, make("p", {}, "This head was not disabled."));
    return make("div", { class: "at-chart", "data-off": task.task }, title, strip(all, place, measured), make("p", {}, inWords(task, all[place], measured)));
  });
  return make("div", { class: "at-off at-charts" }, ...charts);
}

/** A tick for every head, a dot for this one, a line for where its difference may lie. */
function strip(all: Float32Array, place: number, [, low, high]: Measured): HTMLElement {
  const known = [...all].filter(Number.isFinite);
  const [from, to] = [Math.min(0, low ?? 0, ...known), Math.max(0, high ?? 0, ...known)];
  const at = (value: number) => 6 + ((value - from) / (to - from || 1)) * (width - 12);
  const picture = svg("svg", { width, height: height + 14, class: "at-strip", role: "img", "aria-label": "Its effect among those of all heads" });
  for (const value of known) picture.append(svg("line", { x1: at(value), x2: at(value), y1: 12, y2: 24, class: "each" }));
  picture.append(svg("line", { x1: at(0), x2: at(0), y1: 4, y2: 30, class: "zero" }));
  if (low !== null && high !== null) picture.append(svg("line", { x1: at(low), x2: at(high), y1: 18, y2: 18, class: "range" }));
  picture.append(svg("circle", { cx: at(all[place]), cy: 18, r: 5 }));
  for (const [value, anchor] of [[from, "start"], [0, "middle"], [to, "end"]] as const) {
    if (value === 0 || Math.abs(at(value) - at(0)) > 46) picture.append(svg("text", { x: at(value), y: height + 10, "text-anchor": value === 0 ? (at(0) < 20 ? "start" : at(0) > width - 20 ? "end" : "middle") : anchor, class: "sc-tick" }, valueText(value)));
  }
  return picture as unknown as HTMLElement;
}

function inWords({ baseline, mode, examples, higher_is_better: higher }: AblatedTask, difference: number, [score, low, high, p]: Measured): string {
  const harm = difference === 0 ? "no difference" : difference < 0 === higher ? "worse" : "better";
  const range = low === null || high === null ? "" : `, 95 % interval ${valueText(low)} to ${valueText(high)}`;
  const sure = p === null ? "too few for a test" : `${p < 0.05 ? "more than chance" : "may be chance"} (p ${p < 0.001 ? "< 0.001" : p.toFixed(3)}, corrected for all heads)`;
  return `${valueText(baseline)} with all heads, ${valueText(score)} without it (${mode}): ${harm} by ${valueText(Math.abs(difference))}${range} over ${number(examples)} examples; ${sure}. Grey: the other heads.`;
}
