/** The model view: every head of every layer as a small picture, from the pooled bytes alone. */
import type { Thumbnails } from "../../protocol/reading";
import type { Kind, Label, Part, State } from "../../protocol/types";
import { fit, make } from "../../render/dom";
import { sequential } from "../../render/scales";
import { drawLineThumbnail, thumbnailImage } from "../../render/thumbnails";
import type { Context, View } from "../view";

const gutter = 30;
const labelHeight = 13;

interface Cell {
  layer: number;
  head: number;
  label: Label | null;
  /** Place in the pooled bytes. */
  at: number;
  row: number;
  column: number;
  matches: boolean;
}

export class ModelView implements View {
  readonly element = make("div", { class: "mv-scroll" });
  private drawnFor = "";
  private pooled: (Thumbnails | null)[] = [];

  constructor(private readonly context: Context) {
    this.element.addEventListener("click", (event) => this.open(event));
    this.element.addEventListener("mousemove", (event) => this.look(event));
    this.element.addEventListener("mouseleave", () => context.tooltip.hide());
  }

  update(state: State, before: State | null): void {
    const key = [state.thumbnails, state.order, state.find, state.columns, this.context.shade(), this.element.clientWidth].join("|");
    if (before && key === this.drawnFor) {
      return this.context.show(null, () => {
        this.mark(state);
        this.reveal();
      });
    }
    const { parts } = this.context.reading;
    this.context.show(Promise.all(parts.map((part) => this.context.reading.thumbnails(part.kind))), (pooled) => {
      this.drawnFor = key;
      this.pooled = pooled;
      const scroll = this.element.scrollTop;
      this.element.style.maxHeight = `${this.context.height()}px`;
      this.element.replaceChildren(...parts.flatMap((part, i) => this.grid(part, pooled[i], parts.length > 1)));
      this.element.scrollTop = scroll;
      this.mark(state);
      this.report(parts);
    });
  }

  redraw(): void {
    this.drawnFor = "";
    this.update(this.context.store.state, null);
  }

  picture(): Record<string, unknown> {
    const { parts } = this.context.reading;
    const rows = parts.flatMap((part, i) => {
      const cells = this.cells(part);
      return part.layers.map((layer, row) => ({ part, pooled: this.pooled[i] ?? null, layer, cells: cells.filter((cell) => cell.row === row) }));
    });
    const sum = (pooled: Thumbnails | null, at: number) => {
      if (!pooled) return 0;
      const size = pooled.rows * pooled.columns;
      return pooled.codes.subarray(at * size, (at + 1) * size).reduce((total, code) => total + code, 0) / 255;
    };
    return {
      thumbnails: this.context.store.state.thumbnails,
      layers: rows.map(({ part, layer }) => [part.kind, layer]),
      heads: rows.map(({ cells }) => cells.map((cell) => cell.head)),
      faded: rows.reduce((count, { cells }) => count + cells.filter((cell) => !cell.matches).length, 0),
      sums: rows.map(({ pooled, cells }) => cells.map((cell) => sum(pooled, cell.at))),
    };
  }

  /** The open head stays in sight when arrows move it. */
  private reveal(): void {
    const { element } = this;
    const cell = element.querySelector<HTMLElement>(".mv-cell.open");
    if (!cell) return;
    const [frame, box] = [element.getBoundingClientRect(), cell.getBoundingClientRect()];
    const [up, down] = [box.top - frame.top - 24, box.bottom - frame.bottom + 24];
    if (up < 0) element.scrollTop += up;
    else if (down > 0) element.scrollTop += down;
    const [left, right] = [box.left - frame.left - 24, box.right - frame.right + 24];
    if (left < 0) element.scrollLeft += left;
    else if (right > 0) element.scrollLeft += right;
  }

  /** The heads a model view was made for; all of them, unless some were named. */
  private columns(part: Part): number[] {
    const { columns: asked } = this.context.store.state;
    const all = Array.from({ length: part.heads }, (_, head) => head);
    return asked?.length ? all.filter((head) => asked.includes(head)) : all;
  }

  private cells(part: Part): Cell[] {
    const { order, find } = this.context.store.state;
    const wanted = find.trim().toLowerCase();
    return part.layers.flatMap((layer, row) => {
      const heads = this.columns(part).map((head) => ({ head, label: this.context.reading.label(part.kind, layer, head) }));
      if (order === "label") heads.sort((a, b) => (b.label?.score ?? -1) - (a.label?.score ?? -1) || a.head - b.head);
      return heads.map(({ head, label }, column) => ({
        layer,
        head,
        label,
        at: row * part.heads + head,
        row,
        column,
        matches: wanted === "" || (label?.text.toLowerCase().includes(wanted) ?? false),
      }));
    });
  }

  private grid(part: Part, thumbnails: Thumbnails | null, named: boolean): HTMLElement[] {
    const { state } = this.context.store;
    const cells = this.cells(part);
    const room = (this.element.clientWidth || 900) - 28 - gutter;
    const columns = this.columns(part);
    const size = Math.floor(Math.max(36, Math.min(part.layers.length > 12 ? 84 : 116, room / columns.length - 6)));
    const labelled = size >= 56;
    const [stepX, stepY] = [size + 6, size + 6 + (labelled ? labelHeight : 0)];
    const [width, height] = [gutter + columns.length * stepX, 20 + part.layers.length * stepY];
    const canvas = make("canvas", { "aria-hidden": "true" });
    const context = fit(canvas, width, height);
    const grid = make("div", { class: "mv-grid", role: "group", "aria-label": `${part.kind}: layers by heads` }, canvas);
    const shade = this.context.shade();
    const colours = this.context.colours(part.heads);
    const frame = shade === "dark" ? "#31363d" : "#dfe1e5";
    const small = document.createElement("canvas");
    context.imageSmoothingEnabled = false;
    for (const cell of cells) {
      const [x, y] = [gutter + cell.column * stepX, 20 + cell.row * stepY];
      if (thumbnails && state.thumbnails === "maps") {
        const image = thumbnailImage(thumbnails, cell.at, shade);
        if (small.width !== image.width) small.width = image.width;
        if (small.height !== image.height) small.height = image.height;
        small.getContext("2d")!.putImageData(image, 0, 0);
        context.drawImage(small, x, y, size, size);
      } else if (thumbnails) drawLineThumbnail(context, thumbnails, cell.at, { x, y, size }, colours[cell.head]);
      context.strokeStyle = frame;
      context.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
      grid.append(this.button(part.kind, cell, x, y, size));
      if (labelled && (cell.label || state.order === "label")) grid.append(this.caption(cell, x, y + size, size));
    }
    for (const [row, layer] of part.layers.entries()) grid.append(placed("mv-name", String(layer), 0, 20 + row * stepY + size / 2 - 7, gutter - 6));
    if (state.order === "number") {
      columns.forEach((head, at) => grid.append(placed("mv-name", String(head), gutter + at * stepX, 3, size)));
    }
    return named ? [make("div", { class: "mv-kind" }, `${part.kind} attention`), grid] : [grid];
  }

  private button(kind: Kind, cell: Cell, x: number, y: number, size: number): HTMLElement {
    const name = `Layer ${cell.layer}, head ${cell.head}${cell.label ? `, ${cell.label.text} ${cell.label.score.toFixed(2)}` : ""}`;
    const button = make("button", {
      class: cell.matches ? "mv-cell" : "mv-cell faded",
      "data-cell": `${cell.layer}-${cell.head}`,
      "data-kind": kind,
      "aria-label": `${name}. Open`,
      tabindex: -1,
    });
    Object.assign(button.style, { left: `${x}px`, top: `${y}px`, width: `${size}px`, height: `${size}px` });
    return button;
  }

  private caption(cell: Cell, x: number, y: number, size: number): HTMLElement {
    const { order } = this.context.store.state;
    return placed("mv-label", [order === "label" ? cell.head : "", cell.label?.text ?? ""].join(" ").trim(), x, y + 1, size);
  }

  private mark(state: State): void {
    const focused = (this.element.getRootNode() as ShadowRoot).activeElement;
    for (const cell of this.element.querySelectorAll<HTMLElement>("[data-cell]")) {
      const open = cell.dataset["cell"] === `${state.layer}-${state.head}` && cell.dataset["kind"] === state.kind;
      cell.classList.toggle("open", open);
      cell.tabIndex = open ? 0 : -1;
      if (open && focused && this.element.contains(focused)) cell.focus();
    }
    if (!this.element.querySelector('[tabindex="0"]')) this.element.querySelector<HTMLElement>("[data-cell]")?.setAttribute("tabindex", "0");
  }

  private open(event: Event): void {
    const cell = cellOf(event);
    if (!cell) return;
    this.context.store.set({ view: "head", kind: cell.kind, layer: cell.layer, head: cell.head, heads: [cell.head], query: null, key: null, marked: [] });
  }

  private look(event: MouseEvent): void {
    const cell = cellOf(event);
    if (!cell) return this.context.tooltip.hide();
    const label = this.context.reading.label(cell.kind, cell.layer, cell.head);
    this.context.tooltip.show(
      {
        title: `head ${cell.layer}-${cell.head}`,
        rows: label ? [{ text: label.evidence ? `${label.text} · ${label.evidence}` : label.text, value: label.score.toFixed(3) }] : [],
        note: label ? "click to open it large" : "no pattern label · click to open it large",
      },
      event.clientX,
      event.clientY,
    );
  }

  private report(parts: Part[]): void {
    const { state } = this.context.store;
    const heads = parts.reduce((sum, part) => sum + part.layers.length * this.columns(part).length, 0);
    const found = state.find ? `, ${parts.reduce((sum, part) => sum + this.cells(part).filter((cell) => cell.matches).length, 0)} labelled “${state.find}”` : "";
    const pooled = parts.some((part) => part.query.text.length > 28) ? "; each cell the largest weight of its group of tokens" : "";
    this.context.status(
      `${heads} heads, layers down, heads across${found}${pooled}`,
      state.thumbnails === "maps" ? { kind: "ramp", ramp: sequential(this.context.shade()), title: "√weight", low: "0", high: "1" } : null,
    );
  }
}

function placed(name: string, text: string, x: number, y: number, width: number): HTMLElement {
  const element = make("div", { class: name }, text);
  Object.assign(element.style, { left: `${x}px`, top: `${y}px`, width: `${width}px` });
  return element;
}

function cellOf(event: Event): { kind: Kind; layer: number; head: number } | null {
  const cell = (event.target as Element).closest<HTMLElement>("[data-cell]");
  if (!cell) return null;
  const [layer, head] = cell.dataset["cell"]!.split("-").map(Number);
  return { kind: cell.dataset["kind"] as Kind, layer, head };
}
