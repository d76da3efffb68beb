/** The plane of heads with its menus, and the layer × head map beside it, with a shared selection. */
import type { HeadTable, Label, TableColumn } from "../../../protocol/types";
import { make, valueText } from "../../../render/dom";
import { css } from "../../../render/oklch";
import type { Rgb } from "../../../render/oklch";
import { at, diverging, sequential } from "../../../render/scales";
import type { TooltipRow } from "../../../render/tooltip";
import { cellAt, headGrid, rangeOf, share } from "../../../views/head_map/grid";
import type { Context } from "../../../views/view";
import { drawPlane } from "./drawing";
import { inside, menu, rectangle, span, svg } from "./geometry";
import type { Point } from "./geometry";
import { groupChips, groupsOf, steps, writeNumbers } from "./groups";
import type { Group } from "./groups";
import { clusterColumns, hasClusters, headOf, numberOf, ofPlane, placeOf, planeChoices } from "./state";
import type { PlaneState } from "./state";

const palest = 0.18;
/** Columns that repeat a head's name, or without useful numbers. */
export const unsaid = new Set(["layer", "head", clusterColumns.x, clusterColumns.y]);
/** A spreadsheet takes a cell that begins so for a formula. */
export const asText = (text: string) => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
export const titleOf = (column: TableColumn) => column.title ?? column.name.replaceAll("_", " ");

export interface Hooks {
  /** A picture of a head for the panel under the pointer, where there is one. */
  thumbnail?(layer: number, head: number): HTMLElement | null;
  /** A head was selected. */
  opened?(layer: number, head: number): void;
}

export class HeadPlane {
  readonly element = make("div", { class: "sc" });
  readonly table: HeadTable;
  private readonly menus = make("div", { class: "sc-menus" });
  private readonly plot = make("div", { class: "sc-plot", tabindex: 0, role: "group" });
  private readonly side = make("div", { class: "sc-map" });
  private readonly chips = make("div");
  private readonly labels = new Map<string, Label>();
  private readonly values = new Map<string, Float32Array>();
  private points: (Point | null)[] = [];
  private dots: (SVGElement | null)[] = [];
  private cells: HTMLElement[] = [];
  private grouped: Group[] | null = null;
  private lasso = false;
  private drawn = "";

  constructor(
    private readonly context: Context,
    private readonly hooks: Hooks = {},
  ) {
    this.table = context.reading.table!;
    for (const label of context.reading.header.labels ?? []) this.labels.set(`${label.layer}-${label.head}`, label);
    this.element.append(this.menus, make("div", { class: "sc-both" }, this.plot, this.side), this.chips);
    this.plot.addEventListener("pointerdown", (event) => this.brush(event));
    this.plot.addEventListener("pointermove", (event) => this.look(event, this.dotAt(event)));
    this.side.addEventListener("pointerdown", (event) => this.brushMap(event));
    this.side.addEventListener("pointermove", (event) => this.look(event, this.cellIn(event)));
    for (const part of [this.plot, this.side]) part.addEventListener("pointerleave", () => context.tooltip.hide());
  }

  label(layer: number, head: number): Label | null {
    return this.labels.get(`${layer}-${head}`) ?? null;
  }

  column(name: string): TableColumn | null {
    return this.table.columns.find((each) => each.name === name) ?? null;
  }

  /** The numbers of a column, once `load` has run. */
  of(name: string): Float32Array | null {
    return this.values.get(name) ?? null;
  }

  /** A head's number as text; groups are whole numbers. */
  written(name: string, place: number): string {
    const value = this.of(name)![place];
    if (!Number.isFinite(value)) return "–";
    return name === clusterColumns.colour || name === "behaviours" ? String(value) : valueText(value);
  }

  /** The coordinates of the first few heads, for tests that compare pictures. */
  lie(x: string, y: string): (number | null)[][] {
    const [across, up] = [this.of(x)!, this.of(y)!];
    return Array.from(across.subarray(0, 12), (value, i) => [value, up[i]].map((each) => (Number.isFinite(each) ? each : null)));
  }

  async load(): Promise<void> {
    const { reading } = this.context;
    await Promise.all(this.table.columns.map(async (column) => this.values.set(column.name, await reading.column(column))));
  }

  show(state: PlaneState, anew = false): void {
    const name = [state.panels, state.x, state.y, state.colour, state.size, state.theme, this.plot.clientWidth].join(" ");
    if (anew || name !== this.drawn) this.draw(state);
    this.drawn = name;
    this.mark(new Set(state.chosen));
    const hand = placeOf(this.table, state.layer, state.head);
    for (const dot of this.plot.querySelectorAll(".hand")) dot.classList.remove("hand");
    const dot = this.dots[hand];
    if (dot) {
      dot.classList.add("hand");
      dot.parentNode?.append(dot); // over the others
    }
    this.cells.forEach((cell, i) => cell.classList.toggle("open", i === hand));
  }

  say(state: PlaneState): void {
    const colour = this.column(state.colour);
    const count = state.chosen.length;
    const names = state.chosen.slice(0, 12).map((each) => `${Math.floor(each / this.table.heads)}-${each % this.table.heads}`);
    const text = count ? `${count} of ${this.dots.length} heads chosen: ${names.join(", ")}${count > 12 ? ", …" : ""}` : `${this.dots.length} heads; drag over points or cells to choose some`;
    if (!colour || colour.name === clusterColumns.colour) return this.context.status(text, null);
    const range = this.range(colour);
    const told = (value: number) => (Number.isInteger(value) ? String(value) : valueText(value));
    this.context.status(text, { kind: "ramp", ramp: this.ramp(colour), title: titleOf(colour), low: told(range[0]), high: told(range[1]) });
  }

  /** Space adds or removes the current head; arrows move by layer and head. */
  press(key: string): boolean {
    const { store } = this.context;
    const state = ofPlane(store.state, this.table);
    const here = placeOf(this.table, state.layer, state.head);
    if (key === " ") {
      const number = numberOf(this.table, here);
      this.choose(state.chosen.includes(number) ? state.chosen.filter((each) => each !== number) : [...state.chosen, number]);
      return true;
    }
    const by = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -this.table.heads, ArrowDown: this.table.heads }[key];
    if (by === undefined) return false;
    if (here + by >= 0 && here + by < this.dots.length) this.open(here + by);
    return true;
  }

  choose(chosen: Iterable<number>): void {
    this.context.store.set({ chosen: [...new Set(chosen)].sort((a, b) => a - b) } as Partial<PlaneState>);
  }

  /** The chosen heads as lines of text, or the current one. */
  copy(state: PlaneState): string {
    const of = [state.x, state.y, state.colour, state.size].filter((name, i, all) => name && all.indexOf(name) === i);
    const heads = state.chosen.length ? state.chosen : [state.layer * this.table.heads + state.head];
    const rows = heads.map((each) => {
      const [layer, head] = [Math.floor(each / this.table.heads), each % this.table.heads];
      const place = placeOf(this.table, layer, head);
      return [`${layer}-${head}`, ...of.map((name) => String(this.of(name)![place])), asText(this.label(layer, head)?.text ?? "")].join("\t");
    });
    return [["head", ...of.map(asText), "label"].join("\t"), ...rows].join("\n");
  }

  private ramp(column: TableColumn) {
    if (column.name === clusterColumns.colour) return steps(this.hues());
    return column.scale === "diverging" ? diverging(this.context.shade()) : sequential(this.context.shade());
  }

  private range(column: TableColumn): [number, number] {
    const values = this.of(column.name)!;
    return column.name === clusterColumns.colour ? [Math.min(...values), Math.max(...values)] : rangeOf(values, column.scale, column.range);
  }

  private draw(state: PlaneState): void {
    this.drawMenus(state);
    const x = this.column(state.x) ?? this.table.columns[0];
    const y = this.column(state.y) ?? this.table.columns[1] ?? x;
    const colour = this.column(state.colour);
    this.drawMap(colour ?? y); // first: the plane takes the room that it leaves
    const sizes = state.size ? this.of(state.size) : null;
    const sizeSpan = sizes ? span(sizes) : ([0, 1] as Point);
    const axis = (column: TableColumn) => ({ column, title: titleOf(column), values: this.of(column.name)! });
    const ramp = colour && this.ramp(colour);
    const small = state.panels === "layers";
    const drawn = drawPlane({
      x: axis(x),
      y: axis(y),
      width: Math.max(240, this.plot.clientWidth || 520),
      titles: small ? this.table.layers.map((layer) => `layer ${layer}`) : [],
      bare: state.panels === "clusters",
      frameOf: (place) => Math.floor(place / this.table.heads),
      dot: (place) => ({
        radius: sizes ? 2.5 + (small ? 5 : 8) * Math.sqrt(Math.max(0, share(sizes[place], sizeSpan)) || 0) : small ? 4 : 5,
        fill: colour && ramp ? this.fill(colour, ramp, place) : null,
        name: headOf(this.table, place).join("-"),
      }),
    });
    [this.points, this.dots] = [drawn.points, drawn.dots];
    this.plot.setAttribute("aria-label", "Heads as points: arrows move by layer and head, Space chooses, Enter opens, Esc clears");
    this.plot.replaceChildren(drawn.picture);
    if (state.panels === "clusters") {
      const groups = this.groups();
      writeNumbers(drawn.picture, groups, drawn.points);
      this.chips.replaceChildren(groupChips(groups, this.hues(), (places) => this.choose(places.map((place) => numberOf(this.table, place)))));
    } else this.chips.replaceChildren();
  }

  private groups(): Group[] {
    return (this.grouped ??= groupsOf(this.of(clusterColumns.colour)!, (place) => this.label(...headOf(this.table, place))?.text ?? ""));
  }

  /** The groups' colours: those of eight heads, which differ clearly to any eye, unless there are more. */
  private hues(): Rgb[] {
    const count = this.groups().length;
    return this.context.colours(Math.max(8, count)).slice(0, count);
  }

  private fill(colour: TableColumn, ramp: Rgb[], place: number): string | null {
    const value = this.of(colour.name)![place];
    if (!Number.isFinite(value)) return null;
    const part = share(value, this.range(colour));
    const plain = colour.scale === "sequential" && colour.name !== clusterColumns.colour;
    return css(at(ramp, plain ? palest + (1 - palest) * part : part));
  }

  private drawMap(column: TableColumn): void {
    const { layers, heads } = this.table;
    const values = this.of(column.name)!;
    const size = Math.max(7, Math.min(16, Math.floor(240 / heads) - 2, Math.floor(340 / layers.length) - 2));
    const grid = headGrid({
      layers,
      heads,
      values,
      range: this.range(column),
      ramp: this.ramp(column),
      size,
      label: (layer, head) => this.label(layer, head),
    });
    this.cells = [...grid.querySelectorAll<HTMLElement>("[data-map]")];
    this.side.replaceChildren(grid);
  }

  private drawMenus(state: PlaneState): void {
    const focus = (this.menus.getRootNode() as ShadowRoot).activeElement?.getAttribute("data-control");
    const entries = this.table.columns.map((column): [string, string] => [column.name, titleOf(column)]);
    const set = (name: string) => (value: string) => this.context.store.set({ [name]: value });
    const lasso = make("button", { class: "button", "data-control": "lasso", "aria-pressed": String(this.lasso), title: "Select heads by drawing a loop" }, "lasso");
    lasso.addEventListener("click", () => lasso.setAttribute("aria-pressed", String((this.lasso = !this.lasso))));
    const clear = make("button", { class: "button", "data-control": "clear" }, "clear selection");
    clear.addEventListener("click", () => this.choose([]));
    const [{ name, title, entries: shown }] = planeChoices;
    const offered = shown.filter(([value]) => value !== "clusters" || hasClusters(this.table));
    const placed = [menu("x", "across", entries, state.x, set("x")), menu("y", "up", entries, state.y, set("y")), menu("colour", "colour", entries, state.colour, set("colour"))];
    this.menus.replaceChildren(
      menu(name, title, offered, state.panels, set(name)),
      ...(state.panels === "clusters" ? [] : placed),
      menu("size", "size", [["", "even"], ...entries], state.size, set("size")),
      lasso,
      clear,
    );
    if (focus) this.menus.querySelector<HTMLElement>(`[data-control="${focus}"]`)?.focus();
  }

  private mark(chosen: Set<number>): void {
    this.element.classList.toggle("choosing", chosen.size > 0);
    this.dots.forEach((dot, i) => dot?.classList.toggle("in", chosen.has(numberOf(this.table, i))));
    this.cells.forEach((cell, i) => cell.classList.toggle("in", chosen.has(numberOf(this.table, i))));
  }

  private open(place: number): void {
    const [layer, head] = headOf(this.table, place);
    this.context.store.set({ layer, head, heads: [head] });
    this.hooks.opened?.(layer, head);
  }

  private dotAt(event: Event): number | null {
    const dot = (event.target as Element).closest("[data-at]");
    return dot ? Number(dot.getAttribute("data-at")) : null;
  }

  private cellIn(event: Event): number | null {
    const cell = cellAt(event);
    return cell ? placeOf(this.table, ...cell) : null;
  }

  private look(event: PointerEvent, place: number | null): void {
    if (place === null || event.buttons) return this.context.tooltip.hide();
    const state = ofPlane(this.context.store.state, this.table);
    const [layer, head] = headOf(this.table, place);
    const label = this.label(layer, head);
    const shown = [state.x, state.y, state.colour, state.size].filter((name, i, all) => this.column(name) && all.indexOf(name) === i && !unsaid.has(name));
    const rows: TooltipRow[] = shown.map((name) => {
      const value = this.written(name, place);
      return { text: titleOf(this.column(name)!), value: value === "–" ? "not measured" : value };
    });
    if (label) rows.unshift({ text: label.text, value: label.score.toFixed(3) });
    const picture = this.hooks.thumbnail?.(layer, head) ?? undefined;
    this.context.tooltip.show({ title: `head ${layer}-${head}`, rows, note: label ? undefined : "no pattern label", picture }, event.clientX, event.clientY);
  }

  /** A drag selects the enclosed heads, with Shift in addition; a click opens a head. */
  private brush(down: PointerEvent): void {
    const picture = this.plot.querySelector("svg");
    if (!picture || down.button !== 0) return;
    const box = picture.getBoundingClientRect();
    const place = (event: PointerEvent): Point => [event.clientX - box.left, event.clientY - box.top];
    const first = place(down);
    const line: Point[] = [first];
    const shape = svg("polygon", { class: "sc-brush" });
    picture.append(shape);
    const enclosed = (event: PointerEvent): Set<number> => {
      const now = place(event);
      line.push(now);
      const round = this.lasso ? line : rectangle(first, now);
      shape.setAttribute("points", round.map((point) => point.join(",")).join(" "));
      const found = new Set(this.kept(down));
      this.points.forEach((point, i) => point && inside(point, round) && found.add(numberOf(this.table, i)));
      return found;
    };
    this.drag(down, this.plot, enclosed, this.dotAt(down), () => shape.remove());
  }

  private brushMap(down: PointerEvent): void {
    const first = this.cellIn(down);
    if (first === null || down.button !== 0) return;
    const { heads } = this.table;
    const root = this.side.getRootNode() as ShadowRoot;
    const enclosed = (event: PointerEvent): Set<number> => {
      const cell = root.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-map]");
      const last = cell && this.side.contains(cell) ? this.cells.indexOf(cell) : first;
      const found = new Set(this.kept(down));
      const [low, high] = [Math.min, Math.max];
      for (let row = Math.floor(low(first, last) / heads); row <= Math.floor(high(first, last) / heads); row++) {
        for (let head = low(first % heads, last % heads); head <= high(first % heads, last % heads); head++) found.add(numberOf(this.table, row * heads + head));
      }
      return found;
    };
    this.drag(down, this.side, enclosed, first, () => undefined);
  }

  private kept(down: PointerEvent): number[] {
    return down.shiftKey ? ofPlane(this.context.store.state, this.table).chosen : [];
  }

  private drag(down: PointerEvent, on: HTMLElement, enclosed: (event: PointerEvent) => Set<number>, clicked: number | null, done: () => void): void {
    const stop = new AbortController();
    const { signal } = stop;
    let moved = false;
    const move = (event: PointerEvent) => {
      moved ||= Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) > 4;
      if (moved) this.mark(enclosed(event));
    };
    const up = (event: PointerEvent) => {
      stop.abort();
      const found = moved ? enclosed(event) : null;
      done();
      if (found) this.choose(found);
      else if (clicked !== null) this.open(clicked);
      if (event.type === "pointercancel" || found) this.mark(new Set(ofPlane(this.context.store.state, this.table).chosen));
    };
    on.setPointerCapture?.(down.pointerId);
    on.addEventListener("pointermove", move, { signal });
    on.addEventListener("pointerup", up, { signal });
    on.addEventListener("pointercancel", up, { signal });
  }
}
