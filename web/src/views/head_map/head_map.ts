/** The head map: layers × heads, coloured by a pattern or a statistic. */
import type { State, TableColumn } from "../../protocol/types";
import { make, valueText } from "../../render/dom";
import { diverging, sequential } from "../../render/scales";
import type { Context, View } from "../view";
import { cellAt, headGrid, markOpen, rangeOf } from "./grid";

export class HeadMapView implements View {
  readonly element = make("div", { class: "hm" });
  private values: Float32Array | null = null;
  private column: TableColumn | null = null;
  private range: [number, number] = [0, 1];

  constructor(private readonly context: Context) {
    this.element.addEventListener("click", (event) => this.open(event));
    this.element.addEventListener("mousemove", (event) => this.look(event));
    this.element.addEventListener("mouseleave", () => context.tooltip.hide());
  }

  update(state: State): void {
    const table = this.context.reading.table!;
    const column = table.columns.find((each) => each.name === state.column) ?? table.columns[0];
    this.context.show(this.context.reading.column(column), (values) => {
      [this.values, this.column] = [values, column];
      const shade = this.context.shade();
      const ramp = column.scale === "diverging" ? diverging(shade) : sequential(shade);
      const range = rangeOf(values, column.scale, column.range);
      const room = ((this.element.clientWidth || 900) - 60) / table.heads - 2;
      const tall = (this.context.height() - 70) / (table.layers.length + 1) - 2;
      const size = Math.floor(Math.max(16, Math.min(48, room, Math.max(24, tall))));
      const grid = headGrid({
        layers: table.layers,
        heads: table.heads,
        values,
        range,
        ramp,
        size,
        label: (layer, head) => this.label(layer, head),
      });
      markOpen(grid, state.layer, state.head);
      const focused = (this.element.getRootNode() as ShadowRoot).activeElement;
      const held = focused !== null && this.element.contains(focused);
      this.range = range;
      this.element.replaceChildren(grid, make("p", { class: "hm-note" }, column.note ?? ""));
      // Arrows move the open head; the keyboard goes with it, though the grid is made anew.
      if (held) grid.querySelector<HTMLElement>(".open")?.focus();
      const name = column.title ?? column.name.replaceAll("_", " ");
      this.context.status(`${table.layers.length * table.heads} heads, layers down, heads across; a dot: labelled`, {
        kind: "ramp",
        ramp,
        title: name,
        low: valueText(range[0]),
        high: valueText(range[1]),
      });
    });
  }

  redraw(): void {
    this.update(this.context.store.state);
  }

  picture(): Record<string, unknown> | null {
    const { table } = this.context.reading;
    if (!table || !this.values || !this.column) return null;
    return {
      kind: table.kind,
      column: this.column.name,
      range: this.range,
      layers: table.layers,
      heads: table.heads,
      values: [...this.values].map((value) => (Number.isFinite(value) ? value : null)),
    };
  }

  private label(layer: number, head: number) {
    const { reading } = this.context;
    const kind = reading.table!.kind;
    return reading.has(kind) ? reading.label(kind, layer, head) : null;
  }

  private open(event: Event): void {
    const cell = cellAt(event);
    if (!cell) return;
    const [layer, head] = cell;
    const { reading, store } = this.context;
    const table = reading.table!;
    const change = { layer, head, heads: [head], marked: [] };
    if (reading.has(table.kind)) store.set({ ...change, kind: table.kind, view: "head" });
    else store.set(change);
  }

  private look(event: MouseEvent): void {
    const cell = cellAt(event);
    if (!cell || !this.values || !this.column) return this.context.tooltip.hide();
    const [layer, head] = cell;
    const table = this.context.reading.table!;
    const value = this.values[table.layers.indexOf(layer) * table.heads + head];
    const label = this.label(layer, head);
    const rows = [{ text: this.column.title ?? this.column.name.replaceAll("_", " "), value: Number.isNaN(value) ? "not measured" : valueText(value) }];
    if (label) rows.push({ text: label.text, value: label.score.toFixed(3) });
    this.context.tooltip.show({ title: `head ${layer}-${head}`, rows, note: label ? undefined : "no pattern label" }, event.clientX, event.clientY);
  }
}
