/** Spans beside a column of tokens, each with a heading and its total attention. */
import type { Group } from "../../protocol/spans";
import { make, visible, weightText } from "../../render/dom";
import type { Geometry } from "./geometry";
import type { Side } from "./tokens";

export class SpanHeadings {
  readonly element: HTMLElement;
  private sums: { name: string; holder: HTMLElement }[] = [];

  constructor(private readonly side: Side) {
    this.element = make("div", { class: `hv-spans ${side}`, "aria-hidden": "true" });
  }

  place(groups: Group[], geometry: Geometry): void {
    const [centres, extents] = this.side === "query" ? [geometry.query, geometry.queryExtent] : [geometry.key, geometry.keyExtent];
    this.element.classList.toggle("across", !geometry.vertical);
    this.element.classList.toggle("mirrored", geometry.vertical && geometry.mirrored);
    this.sums = [];
    const found = groups.map(({ name, start, end }) => {
      const ends = [centres[start] - extents[start] / 2, centres[start] + extents[start] / 2, centres[end - 1] - extents[end - 1] / 2, centres[end - 1] + extents[end - 1] / 2];
      const [from, to] = [Math.min(...ends), Math.max(...ends)];
      const holder = make("span", { class: "sum" });
      this.sums.push({ name, holder });
      const element = make("div", { class: "hv-span", "data-span": name }, make("b", { dir: "auto" }, visible(name)), holder);
      const { style } = element;
      if (geometry.vertical) {
        style.top = `${from - geometry.heading}px`;
        style.height = `${to - from + geometry.heading - 3}px`;
        style.lineHeight = `${geometry.heading}px`;
      } else {
        style.left = `${from + 2}px`;
        style.width = `${to - from - 4}px`;
      }
      return element;
    });
    this.element.replaceChildren(...found);
  }

  show(sums: Map<string, number> | null): void {
    for (const { name, holder } of this.sums) holder.textContent = sums?.has(name) ? weightText(sums.get(name)!) : "";
  }
}
