/** The head view's elements: two columns of tokens, the canvas between them, scrolling and pointing. */
import type { Unit } from "../../protocol/units";
import type { Cut } from "../../render/crops";
import { make } from "../../render/dom";
import type { LinePlace } from "../../render/lines";
import type { TooltipSide } from "../../render/tooltip";
import type { Geometry, Spans } from "./geometry";
import type { Hand, Looked } from "./hand";
import { SpanHeadings } from "./span_headings";
import { TokenColumn } from "./tokens";
import type { BarSet, Side } from "./tokens";

interface Events {
  look(looked: Looked | null, event: MouseEvent | null): void;
  pin(side: Side, unit: number): void;
  /** A double click: this token and nothing else. */
  isolate(side: Side, unit: number): void;
  scrolled(): void;
  /** The pointer is over the lines, at canvas pixels. */
  point(x: number, y: number, event: MouseEvent): void;
}

export class Sides {
  readonly headings = make("div", { class: "hv-heads", "aria-hidden": "true" });
  readonly scroller = make("div", { class: "hv-scroll" });
  readonly canvas = make("canvas", { "aria-hidden": "true" });
  private readonly content = make("div", { class: "hv-content" });
  private readonly columns = { query: new TokenColumn("query"), key: new TokenColumn("key") };
  private readonly spans = { query: new SpanHeadings("query"), key: new SpanHeadings("key") };
  private counts = { query: 0, key: 0 };
  private geometry: Geometry | null = null;
  private size = { width: 0, height: 0 };
  /** Pixels by which the keys are shifted, so that a far key is beside its query. */
  private apart = 0;
  private shifted: Float32Array | null = null;

  constructor(private readonly events: Events) {
    this.content.append(this.spans.query.element, this.spans.key.element, this.canvas, this.columns.query.element, this.columns.key.element);
    this.scroller.append(this.content);
    this.scroller.addEventListener("scroll", () => {
      this.window();
      events.scrolled();
    });
    for (const side of ["query", "key"] as const) this.listen(side);
    this.canvas.addEventListener("mousemove", (event) => events.point(event.offsetX, event.offsetY, event));
    this.canvas.addEventListener("mouseleave", () => events.look(null, null));
  }

  destroy(): void {
    this.scroller.remove();
  }

  place(units: Record<Side, Unit[]>, spans: Spans, geometry: Geometry, height: number, cut: Cut | null): void {
    this.geometry = geometry;
    this.standApart(0);
    this.counts = { query: units.query.length, key: units.key.length };
    const { vertical, mirrored, start, gap, text, bars, length, heading } = geometry;
    const { style } = this.content;
    style.setProperty("--text", `${text}px`);
    style.setProperty("--bars", `${bars}px`);
    const visibleHeight = vertical ? Math.min(height, length + 10) : geometry.across;
    this.scroller.style.height = `${visibleHeight + (vertical ? 0 : 16)}px`;
    style.height = `${vertical ? length : geometry.across}px`;
    style.width = vertical ? "100%" : `${length}px`;
    const width = this.scroller.clientWidth || 900;
    this.size = vertical ? { width: gap, height: Math.min(visibleHeight, length) } : { width: Math.min(width, length), height: gap };
    const { canvas } = this;
    canvas.style.marginLeft = vertical ? `${start}px` : "0";
    canvas.style.top = vertical ? "0" : `${start}px`;
    canvas.style.marginTop = vertical ? "0" : `${start}px`;
    // The canvas takes no room of its own: tokens are placed against the whole content.
    canvas.style.marginBottom = `${-this.size.height}px`;

    for (const side of ["query", "key"] as const) {
      const column = this.columns[side];
      const box = column.element.style;
      const first = (side === "query") !== (vertical && mirrored);
      column.element.classList.toggle("mirrored", vertical && mirrored);
      if (vertical) {
        box.left = `${first ? start - text - bars : start + gap}px`;
        box.right = "auto";
        box.width = `${text + bars}px`;
        box.top = "0";
        box.height = `${length}px`;
      } else {
        box.left = "0";
        box.right = "0";
        box.width = "auto";
        box.top = `${side === "query" ? heading : start + gap}px`;
        box.height = `${text + bars}px`;
      }
      column.place(units[side], geometry, cut, spans[side]);
      const { style: beside } = this.spans[side].element;
      Object.assign(beside, { left: box.left, right: box.right, width: box.width, top: box.top, height: box.height });
      if (!vertical) Object.assign(beside, { top: `${side === "query" ? 0 : start + gap + text + bars}px`, height: `${heading}px` });
      this.spans[side].place(spans[side], geometry);
    }
    this.setHeadings(geometry);
    this.window();
  }

  linePlace(geometry: Geometry): LinePlace {
    const { vertical, mirrored, gap } = geometry;
    const flipped = vertical && mirrored;
    return {
      query: geometry.query,
      key: this.shifted ?? geometry.key,
      vertical,
      from: flipped ? gap : 0,
      to: flipped ? 0 : gap,
      scroll: vertical ? this.scroller.scrollTop : this.scroller.scrollLeft,
      ...this.size,
    };
  }

  mark(hand: Hand | null, pinned: Record<Side, number>, bars: (side: Side) => BarSet | null): void {
    for (const side of ["query", "key"] as const) {
      const active = hand ? (hand.side === side ? hand.unit : hand.partner) : -1;
      this.columns[side].select(active, pinned[side]);
      this.columns[side].show(bars(side));
    }
  }

  /** What each span is attended to in all, beside the keys. */
  sum(sums: Map<string, number> | null): void {
    this.spans.key.show(sums);
  }

  /** Where a token's numbers go: beside it, away from the lines and from the other tokens. */
  beside(side: Side, unit: number): { x: number; y: number; side: TooltipSide } {
    const element = this.columns[side].elementOf(unit);
    const box = (element?.firstElementChild ?? this.scroller).getBoundingClientRect();
    if (!this.geometry?.vertical) return { x: box.left, y: side === "query" ? box.top : box.bottom, side: side === "query" ? "above" : "below" };
    const first = (side === "query") !== this.geometry.mirrored;
    const outer = element?.getBoundingClientRect() ?? box;
    const taken = Boolean(element?.querySelector(".bar"));
    if (first) return { x: taken ? outer.left : box.left, y: box.top + box.height / 2, side: "left" };
    return { x: taken ? outer.right : box.right, y: box.top + box.height / 2, side: "right" };
  }

  get isApart(): boolean {
    return this.apart !== 0;
  }

  /** Moves the column of keys against that of queries: 0 puts them together again. */
  standApart(by: number): void {
    this.apart = by;
    this.shifted = by && this.geometry ? this.geometry.key.map((at) => at + by) : null;
    for (const { element } of [this.columns.key, this.spans.key]) element.style.transform = by ? `translateY(${by}px)` : "";
    this.window();
  }

  /** Rows from what is in sight to a unit: 0 in sight, below positive, above negative. */
  away(side: Side, unit: number): number {
    const { geometry, scroller } = this;
    if (!geometry?.vertical) return 0;
    const at = geometry[side][unit] + (side === "key" ? this.apart : 0);
    const row = geometry.queryExtent[0] || 20;
    if (at < scroller.scrollTop) return Math.floor((at - scroller.scrollTop) / row);
    return at > scroller.scrollTop + scroller.clientHeight ? Math.ceil((at - scroller.scrollTop - scroller.clientHeight) / row) : 0;
  }

  /** Brings a unit into sight if it is not. */
  reveal(side: Side, unit: number): void {
    const { geometry, scroller } = this;
    if (!geometry || unit < 0) return;
    const at = geometry[side][unit] + (side === "key" ? this.apart : 0);
    const [scroll, size] = geometry.vertical ? [scroller.scrollTop, scroller.clientHeight] : [scroller.scrollLeft, scroller.clientWidth];
    if (at > scroll + 12 && at < scroll + size - 24) return;
    const to = at - size / 2;
    if (geometry.vertical) scroller.scrollTop = to;
    else scroller.scrollLeft = to;
    this.window();
  }

  private window(): void {
    if (!this.geometry) return;
    const { scroller } = this;
    const [from, size] = this.geometry.vertical ? [scroller.scrollTop, scroller.clientHeight] : [scroller.scrollLeft, scroller.clientWidth];
    for (const side of ["query", "key"] as const) {
      const start = from - (side === "key" ? this.apart : 0);
      this.columns[side].window(start, start + size);
    }
  }

  private setHeadings(geometry: Geometry): void {
    const names = ["query: attends", "key: attended to"];
    if (geometry.vertical && geometry.mirrored) names.reverse();
    const [left, right] = names.map((name) => make("span", {}, name));
    const middle = make("span");
    this.headings.replaceChildren(left, middle, right);
    this.headings.hidden = !geometry.vertical;
    const side = `${geometry.text + geometry.bars}px`;
    left.style.cssText = `flex:none;width:${side};padding-right:9px`;
    middle.style.cssText = `flex:none;width:${geometry.gap}px`;
    right.style.cssText = `flex:none;width:${side};padding-left:9px`;
  }

  private listen(side: Side): void {
    const { element } = this.columns[side];
    const unitAt = (event: Event): number => {
      const token = (event.target as Element).closest?.("[data-unit]");
      return token ? Number(token.getAttribute("data-unit")) : -1;
    };
    // Moves, not enters: a redraw under a resting pointer must not count as looking.
    element.addEventListener("mousemove", (event) => {
      const unit = unitAt(event);
      this.events.look(unit < 0 ? null : { side, unit }, event);
    });
    element.addEventListener("mouseleave", () => this.events.look(null, null));
    element.addEventListener("click", (event) => {
      const unit = unitAt(event);
      if (unit >= 0) this.events.pin(side, unit);
    });
    element.addEventListener("dblclick", (event) => {
      const unit = unitAt(event);
      if (unit >= 0) this.events.isolate(side, unit);
    });
    // A click leaves the keyboard with the instrument; Tab brings it here.
    element.addEventListener("mousedown", (event) => event.preventDefault());
    let at = -1;
    element.addEventListener("keydown", (event) => {
      const steps: Record<string, number> = { ArrowDown: 1, ArrowUp: -1, ArrowRight: 1, ArrowLeft: -1 };
      const along = this.geometry?.vertical ? ["ArrowDown", "ArrowUp"] : ["ArrowRight", "ArrowLeft"];
      if (along.includes(event.key)) {
        at = Math.max(0, Math.min(this.counts[side] - 1, at + steps[event.key]));
        this.reveal(side, at);
        this.events.look({ side, unit: at }, null);
      } else if ((event.key === "Enter" || event.key === " ") && at >= 0) this.events.pin(side, at);
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    element.addEventListener("blur", () => this.events.look(null, null));
  }
}
