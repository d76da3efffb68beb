/** A small panel of exact numbers that follows the pointer or the selected token. */
import { make } from "./dom";
import { css } from "./oklch";
import type { Rgb } from "./oklch";

export interface TooltipRow {
  text: string;
  value: string;
  colour?: Rgb;
  data?: Record<string, string | number>;
}

export type TooltipSide = "left" | "right" | "above" | "below";

export interface TooltipContent {
  title: string;
  rows?: TooltipRow[];
  note?: string;
  picture?: HTMLElement;
  /** The number the panel is about, machine-readable. */
  weight?: number;
}

export class Tooltip {
  readonly element = make("div", { class: "tooltip", role: "tooltip", id: "tooltip", hidden: true });
  /** The name of the numbers, if they are not weights. */
  says = "";
  /** The crops of a query and a key, if they are pieces of a picture. */
  crops: (query: number, key: number) => HTMLElement | null = () => null;
  private text = "";

  constructor(private readonly root: HTMLElement) {
    root.append(this.element);
  }

  /** x and y in window pixels; a side keeps the panel on that side of them. */
  show(content: TooltipContent, x: number, y: number, side: TooltipSide = "below"): void {
    const { element } = this;
    element.replaceChildren(make("h4", {}, content.title));
    for (const row of content.rows ?? []) {
      const line = make("div", { class: "row" }, make("i"), make("span", {}, row.text), make("b", {}, row.value));
      if (row.colour) line.style.setProperty("--colour", css(row.colour));
      for (const [name, value] of Object.entries(row.data ?? {})) line.setAttribute(`data-${name}`, String(value));
      element.append(line);
    }
    const about = content.rows?.find(({ data }) => data && "query" in data && "key" in data)?.data;
    const picture = content.picture ?? (about && this.crops(Number(about.query), Number(about.key)));
    if (picture) element.append(picture);
    if (this.says) element.append(make("div", { class: "note" }, this.says));
    if (content.note) element.append(make("div", { class: "note" }, content.note));
    if (content.weight === undefined) element.removeAttribute("data-weight");
    else element.setAttribute("data-weight", String(content.weight));
    this.text = [content.title, ...(content.rows ?? []).map((row) => `${row.text}\t${row.value}`)].join("\n");
    element.hidden = false;
    const box = this.root.getBoundingClientRect();
    const { offsetWidth: width, offsetHeight: height } = element;
    let left = x - box.left + (side === "left" ? -width - 10 : side === "right" ? 10 : 14);
    let top = y - box.top + (side === "below" ? 16 : side === "above" ? -height - 6 : -16);
    if (side === "above") left = Math.max(4, left - width / 2);
    if (left < 4) left = side === "left" ? x - box.left + 14 : 4;
    if (left + width > box.width - 6) left = Math.max(6, x - box.left - width - 12);
    if (top + height > Math.min(box.height - 4, globalThis.innerHeight - box.top - 4)) top = Math.max(4, y - box.top - height - 10);
    element.style.left = `${left}px`;
    element.style.top = `${top}px`;
  }

  hide(): void {
    this.element.hidden = true;
    this.text = "";
  }

  copy(): string | null {
    return this.element.hidden ? null : this.text;
  }
}

