/** One side's tokens: only those in sight are elements; each can carry the bars of the heads. */
import { spanOf } from "../../protocol/spans";
import type { Group } from "../../protocol/spans";
import type { Unit } from "../../protocol/units";
import { square } from "../../render/crops";
import type { Cut } from "../../render/crops";
import { make, visible, weightText } from "../../render/dom";
import { css } from "../../render/oklch";
import type { Rgb } from "../../render/oklch";
import type { Geometry } from "./geometry";

export type Side = "query" | "key";

export interface BarSet {
  heads: number[];
  colours: Rgb[];
  /** Weight of head (by its place in `heads`) at a unit of this side; NaN: none is shown there. */
  weight: (place: number, unit: number) => number;
}

const margin = 12;

export class TokenColumn {
  readonly element: HTMLElement;
  private units: Unit[] = [];
  private geometry: Geometry | null = null;
  private cut: Cut | null = null;
  private spans: Group[] = [];
  private shown = new Map<number, HTMLElement>();
  private bars: BarSet | null = null;
  private active = -1;
  private pinned = -1;

  constructor(readonly side: Side) {
    this.element = make("div", {
      class: `tokens ${side}`,
      role: "listbox",
      tabindex: 0,
      "aria-label": side === "query" ? "Query tokens: they attend" : "Key tokens: they are attended to",
    });
  }

  place(units: Unit[], geometry: Geometry, cut: Cut | null, spans: Group[]): void {
    this.units = units;
    this.spans = spans;
    this.cut = cut;
    this.geometry = geometry;
    this.element.classList.toggle("across", !geometry.vertical);
    this.element.style.fontSize = `${geometry.fontSize}px`;
    this.shown.clear();
    this.element.replaceChildren();
  }

  /** Shows the units between two content positions. */
  window(from: number, to: number): void {
    const geometry = this.geometry;
    if (!geometry) return;
    const centres = geometry[this.side];
    const extents = this.side === "query" ? geometry.queryExtent : geometry.keyExtent;
    const wanted = new Set<number>();
    for (let i = 0; i < this.units.length; i++) {
      if (centres[i] + extents[i] * margin >= from && centres[i] - extents[i] * margin <= to) wanted.add(i);
    }
    for (const [i, element] of this.shown) {
      if (wanted.has(i)) continue;
      element.remove();
      this.shown.delete(i);
    }
    for (const i of wanted) {
      if (this.shown.has(i)) continue;
      const element = this.token(i, centres[i], extents[i]);
      this.shown.set(i, element);
      this.element.append(element);
      this.mark(i, element);
      this.drawBars(i, element);
    }
  }

  select(active: number, pinned: number): void {
    const changed = [this.active, this.pinned, active, pinned];
    this.active = active;
    this.pinned = pinned;
    for (const i of changed) {
      const element = this.shown.get(i);
      if (element) this.mark(i, element);
    }
    this.element.classList.toggle("in-hand", active >= 0 || pinned >= 0);
    if (active >= 0) this.element.setAttribute("aria-activedescendant", this.id(active));
    else this.element.removeAttribute("aria-activedescendant");
  }

  show(bars: BarSet | null): void {
    this.bars = bars;
    for (const [i, element] of this.shown) this.drawBars(i, element);
  }

  elementOf(unit: number): HTMLElement | null {
    return this.shown.get(unit) ?? null;
  }

  private id(unit: number): string {
    return `${this.side}-${this.units[unit]?.start ?? unit}`;
  }

  private token(i: number, centre: number, extent: number): HTMLElement {
    const unit = this.units[i];
    const geometry = this.geometry!;
    const classes = ["token"];
    if (unit.special) classes.push("special");
    if (unit.continues) classes.push("continues");
    if (unit.class === 3) classes.push("punctuation");
    if (i > 0 && (this.units[i - 1].segment !== unit.segment || unit.begins)) classes.push("new-sentence");
    if (unit.begins) classes.push("begins");
    const span = spanOf(this.spans, i);
    const text = make("span", { class: "text", dir: "auto" }, visible(unit.text));
    const crop = this.cut && square(2 * extent);
    if (crop && this.cut!(crop.getContext("2d")!, this.side, unit.start, 0, 0, 2 * extent)) {
      crop.style.width = `${extent - 3}px`;
      text[this.side === "query" ? "prepend" : "append"](crop);
    }
    const element = make(
      "div",
      {
        class: classes.join(" "),
        role: "option",
        id: this.id(i),
        "data-side": this.side,
        "data-token": unit.start,
        "data-unit": i,
        "aria-label": `${unit.text}, ${this.side} ${unit.start}${span && `, ${span}`}`,
        title: visible(unit.text).length > 18 ? visible(unit.text) : null,
      },
      text,
      make("span", { class: "bars" }),
    );
    const { style } = element;
    if (geometry.vertical) {
      style.top = `${centre - extent / 2}px`;
      style.height = `${extent}px`;
      style.lineHeight = `${extent}px`;
    } else {
      style.left = `${centre - extent / 2}px`;
      style.width = `${extent}px`;
    }
    return element;
  }

  private mark(i: number, element: HTMLElement): void {
    element.classList.toggle("active", i === this.active);
    element.classList.toggle("pinned", i === this.pinned);
    element.setAttribute("aria-selected", String(i === this.pinned));
  }

  private drawBars(i: number, element: HTMLElement): void {
    const holder = element.lastElementChild as HTMLElement;
    if (!this.bars) {
      if (holder.firstChild) holder.replaceChildren();
      return;
    }
    const { heads, colours, weight } = this.bars;
    const bars: HTMLElement[] = [];
    const single = heads.length === 1;
    for (let place = 0; place < heads.length; place++) {
      const value = weight(place, i);
      if (Number.isNaN(value) || (value < 0.005 && !single)) continue;
      const bar = make("i", { class: "bar", "data-head": heads[place], "data-weight": value.toFixed(6) });
      const share = `${Math.max(1, 100 * Math.min(1, value)).toFixed(1)}%`;
      bar.style.background = css(colours[heads[place]]);
      const vertical = this.geometry!.vertical;
      if (single && vertical) bar.style.width = share;
      else {
        bar.style.height = share;
        if (!single) {
          bar.style.left = `${(100 * place) / heads.length}%`;
          bar.style.width = `${Math.min(22, 86 / heads.length)}%`;
        }
      }
      bars.push(bar);
      if (single && vertical) bars.push(make("span", { class: "value" }, value >= 0.0005 ? weightText(value) : "·"));
    }
    holder.classList.toggle("single", single);
    holder.replaceChildren(...bars);
  }
}
