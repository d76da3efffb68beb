/** The matrix view: one head's map, tokens on both axes, zoom and pan, numbers on hover; two readings and their difference. */
import { groupsOf, spanOf, sumsBySpan, sumsFrom } from "../../protocol/spans";
import type { Group } from "../../protocol/spans";
import type { State } from "../../protocol/types";
import { project, unitOf, unitsOf } from "../../protocol/units";
import type { Unit } from "../../protocol/units";
import { Crops } from "../../render/crops";
import { fit, make, number, pixelRatio, valueText, visible, weightText } from "../../render/dom";
import { drawHeatMap } from "../../render/heatmap";
import { at, diverging, inkOn, sequential } from "../../render/scales";
import type { Context, View } from "../view";
import { axisLabels, labelRoom, overviewMark } from "./axes";
import type { Plot } from "./axes";
import { bandRoom, spanBands } from "./span_bands";
import { inside, whole, zoomed } from "./window";
import type { Window } from "./window";

/** Few tokens get large cells, so that the map fills its room. */
const largestCell = 112;

export class MatrixView implements View {
  readonly element = make("div", { class: "xv" });
  private readonly canvas = make("canvas", { role: "application", "aria-roledescription": "attention map", tabindex: 0 });
  private query: Unit[] = [];
  private key: Unit[] = [];
  private spans: { query: Group[]; key: Group[] } = { query: [], key: [] };
  private values: Float32Array | null = null;
  private largest = 1;
  private window: Window = whole(1, 1);
  private plot: Plot = { x: 0, y: 0, width: 1, height: 1 };
  private hover: [number, number] | null = null;
  private unitsFor = "";
  private readonly crops: Crops;

  constructor(private readonly context: Context) {
    this.crops = new Crops(context.reading, () => this.draw());
    const tool = (text: string, title: string, act: () => void) => {
      const button = make("button", { class: "step", title, "aria-label": title }, text);
      button.addEventListener("click", act);
      return button;
    };
    const tools = make(
      "div",
      { class: "xv-tools" },
      tool("+", "Zoom in", () => this.zoom(0.6)),
      tool("−", "Zoom out", () => this.zoom(1 / 0.6)),
      tool("⤢", "Show the whole map", () => this.zoom(1e9)),
    );
    this.element.append(this.canvas, tools);
    this.listen();
  }

  update(state: State, before: State | null): void {
    const { reading, other } = this.context;
    const tokens = reading.tokens(state.kind);
    const key = [state.kind, state.unit, state.specials, state.first].join("|");
    if (key !== this.unitsFor) {
      this.unitsFor = key;
      this.query = unitsOf(tokens.query, state.unit, state.specials);
      this.key = unitsOf(tokens.key, state.unit, state.specials, state.first);
      const part = reading.part(state.kind);
      this.spans = { query: groupsOf(this.query, part), key: groupsOf(this.key, part) };
      this.window = whole(this.key.length, this.query.length);
    }
    const both = state.reading !== "this" && other;
    const wanted = [
      state.reading === "other" && other ? Promise.resolve(null) : reading.map(state.kind, state.layer, state.head),
      both ? other.map(state.kind, ...this.context.partner(state.layer, state.head)) : Promise.resolve(null),
    ];
    const draw = ([mine, theirs]: (Float32Array | null)[]) => {
      const renormalise = state.specials === "renormalised";
      const units = (map: Float32Array) => project(map, tokens.key.text.length, this.query, this.key, renormalise);
      if (mine && theirs && mine.length !== theirs.length) throw new Error("The two readings differ in length, so there is no difference to show.");
      const [a, b] = [mine ? units(mine) : null, theirs ? units(theirs) : null];
      this.values = a && b ? a.map((value, i) => value - b[i]) : (a ?? b);
      this.largest = this.values!.reduce((most, value) => Math.max(most, Math.abs(value)), 0) || 1;
      if (before && (before.query !== state.query || before.key !== state.key)) this.reveal(state);
      this.draw();
    };
    this.context.show(Promise.all(wanted), draw, (sentence) => {
      this.values = null;
      this.canvas.width = 0;
      this.context.status(sentence, null);
    });
  }

  redraw(): void {
    this.draw();
  }

  copy(): string | null {
    const { state } = this.context.store;
    const [i, j] = this.hover ?? [unitOf(this.query, state.query), unitOf(this.key, state.key)];
    if (i < 0 || j < 0 || !this.values) return null;
    return `head ${state.layer}-${state.head}\t${this.query[i].text} → ${this.key[j].text}\t${this.text(this.values[i * this.key.length + j])}`;
  }

  picture(): Record<string, unknown> | null {
    const { values, query, key } = this;
    if (!values) return null;
    const { state } = this.context.store;
    const [i, j] = [unitOf(query, state.query), unitOf(key, state.key)];
    const order = Array.from(values, (_, at) => at).sort((a, b) => Math.abs(values[b]) - Math.abs(values[a]) || a - b);
    return {
      kind: state.kind,
      layer: state.layer,
      head: state.head,
      reading: this.context.other ? state.reading : "this",
      scale: this.signed ? "linear" : state.scale,
      rows: query.length,
      columns: key.length,
      query: i < 0 ? null : query[i].start,
      key: j < 0 ? null : key[j].start,
      largest: this.largest,
      strongest: order.slice(0, 8).map((at) => [query[Math.floor(at / key.length)].start, key[at % key.length].start, values[at]]),
    };
  }

  press(key: string): boolean {
    const factor = { "+": 0.6, "=": 0.6, "-": 1 / 0.6, "0": 1e9 }[key];
    if (factor !== undefined) this.zoom(factor);
    return factor !== undefined;
  }

  step(by: number): void {
    const { state } = this.context.store;
    const now = unitOf(this.query, state.query);
    const next = (now + by + this.query.length) % this.query.length;
    this.context.store.set({ query: this.query[now < 0 ? 0 : next].start });
  }

  private get signed(): boolean {
    return this.context.store.state.reading === "difference" && this.context.other !== null;
  }

  private text(value: number): string {
    return this.signed ? (value > 0 ? "+" : "") + valueText(value) : weightText(value);
  }

  private draw(): void {
    const { values, canvas, window } = this;
    if (!values) return;
    const { state } = this.context.store;
    const shade = this.context.shade();
    const ratio = pixelRatio();
    const [rows, columns] = [this.query.length, this.key.length];
    const cut = this.crops.of(state.kind);
    const room = labelRoom(this.query, this.key, cut !== null);
    const band = this.spans.key.length ? bandRoom : 0;
    const [fullWidth, fullHeight] = [(this.element.clientWidth || 900) - 24 - band, Math.max(260, this.context.height() - 18) - band];
    const [across, down] = [Math.min(largestCell, (fullWidth - room.left - (fullWidth > 500 ? 120 : 50)) / columns), Math.min(largestCell, (fullHeight - room.top - 4) / rows)];
    // Cells are square, but where one side is many times the other: a strip would not be a picture.
    const side = Math.min(across, down);
    const long = Math.max(rows, columns) > 4 * Math.min(rows, columns);
    const [wide, tall] = long ? [Math.min(across, Math.max(side, 18)), Math.min(down, Math.max(side, 18))] : [side, side];
    // The map keeps its place while it is zoomed; device pixels are whole, so that cells have crisp edges.
    this.plot = {
      x: room.left,
      y: room.top,
      width: Math.max(40, Math.round(wide * columns * ratio) / ratio),
      height: Math.max(40, Math.round(tall * rows * ratio) / ratio),
    };
    const { plot } = this;
    const cell = Math.min(plot.width / window.width, plot.height / window.height);
    const context = fit(canvas, plot.x + plot.width + 44 + band / 2, plot.y + plot.height + 2 + band);
    context.clearRect(0, 0, canvas.width, canvas.height);
    const { signed } = this;
    const largest = signed ? this.largest : this.context.together(this.largest);
    const ramp = signed ? diverging(shade) : sequential(shade);
    const share = signed
      ? (value: number) => 0.5 + value / (2 * largest)
      : state.scale === "sqrt"
        ? (value: number) => Math.sqrt(value / largest)
        : (value: number) => value / largest;
    const box = { x: Math.round(plot.x * ratio), y: Math.round(plot.y * ratio), width: Math.round(plot.width * ratio), height: Math.round(plot.height * ratio) };
    drawHeatMap(context, { values, columns, rows, share, ramp }, window, box);
    const style = getComputedStyle(this.element);
    const pinned: [number, number] = [unitOf(this.query, state.query), unitOf(this.key, state.key)];
    axisLabels(context, this.query, this.key, window, plot, style, this.hover ?? pinned, cut);
    if (cell >= 33) this.numbers(context, ramp, share);
    this.frame(context, style);
    if (band) spanBands(context, this.spans, this.sums((this.hover ?? pinned)[0]), window, plot, style);
    overviewMark(context, window, columns, rows, plot, style);
    canvas.setAttribute("aria-label", `Attention of head ${state.layer}-${state.head}: ${rows} queries down, ${columns} keys across`);
    this.context.status(`${number(rows)} × ${number(columns)} weights, queries down, keys across · drag to pan, Ctrl and wheel to zoom${band ? sumsFrom((this.hover ?? pinned)[0], this.answer()) : ""}`, {
      kind: "ramp",
      ramp,
      title: signed ? "this − other" : state.scale === "sqrt" ? "√weight" : "weight",
      low: signed ? valueText(-largest) : "0",
      high: signed ? valueText(largest) : weightText(largest),
    });
  }

  /** What each span gets from this query, or from the answer where none is selected. */
  private sums(query: number): Map<string, number> {
    return sumsBySpan(this.values!, this.key.length, this.spans.key, query, this.answer());
  }

  private answer(): Group[] {
    const { answer } = this.context.reading.part(this.context.store.state.kind);
    return this.spans.query.filter(({ name }) => name === answer);
  }

  /** Cells large enough to be read carry their number. */
  private numbers(context: CanvasRenderingContext2D, ramp: ReturnType<typeof sequential>, share: (value: number) => number): void {
    const { window, plot } = this;
    const [cell, tall] = [plot.width / window.width, plot.height / window.height];
    context.textAlign = "center";
    context.textBaseline = "middle";
    context.font = `${cell > 60 ? 15 : 11}px ${getComputedStyle(this.element).fontFamily}`;
    context.save();
    context.beginPath();
    context.rect(plot.x, plot.y, plot.width, plot.height);
    context.clip();
    for (let i = Math.floor(window.y); i < Math.min(this.query.length, window.y + window.height); i++) {
      for (let j = Math.floor(window.x); j < Math.min(this.key.length, window.x + window.width); j++) {
        const value = this.values![i * this.key.length + j];
        if (Math.abs(value) < 0.005) continue;
        context.fillStyle = inkOn(at(ramp, share(value))) === "dark" ? "#000000" : "#ffffff";
        const text = Math.abs(value).toFixed(2).replace(/^0/, "");
        context.fillText(value < 0 ? `−${text}` : text, plot.x + (j - window.x + 0.5) * cell, plot.y + (i - window.y + 0.5) * tall);
      }
    }
    context.restore();
  }

  private frame(context: CanvasRenderingContext2D, style: CSSStyleDeclaration): void {
    const { plot, window } = this;
    const { state } = this.context.store;
    context.strokeStyle = style.getPropertyValue("--line");
    context.strokeRect(plot.x - 0.5, plot.y - 0.5, plot.width + 1, plot.height + 1);
    const pinned: [number, number] = [unitOf(this.query, state.query), unitOf(this.key, state.key)];
    const [i, j] = this.hover ?? pinned;
    const [sizeX, sizeY] = [plot.width / window.width, plot.height / window.height];
    context.save();
    context.beginPath();
    context.rect(plot.x - 1, plot.y - 1, plot.width + 2, plot.height + 2);
    context.clip();
    context.strokeStyle = style.getPropertyValue("--accent");
    if (i >= 0) context.strokeRect(plot.x, plot.y + (i - window.y) * sizeY, plot.width, sizeY);
    if (j >= 0) context.strokeRect(plot.x + (j - window.x) * sizeX, plot.y, sizeX, plot.height);
    context.restore();
  }

  private cellAt(event: MouseEvent): [number, number] | null {
    const { plot, window } = this;
    const j = window.x + ((event.offsetX - plot.x) / plot.width) * window.width;
    const i = window.y + ((event.offsetY - plot.y) / plot.height) * window.height;
    const outside = event.offsetX < plot.x || event.offsetY < plot.y || i >= window.y + window.height || j >= window.x + window.width;
    return outside ? null : [Math.floor(i), Math.floor(j)];
  }

  /** What was found or stepped to is brought into the part that is in sight. */
  private reveal(state: State): void {
    const { window } = this;
    const [i, j] = [unitOf(this.query, state.query), unitOf(this.key, state.key)];
    const into = (at: number, from: number, size: number) => (at < 0 || (at >= from && at + 1 <= from + size) ? from : at + 0.5 - size / 2);
    const moved = { ...window, x: into(j, window.x, window.width), y: into(i, window.y, window.height) };
    this.window = inside(moved, this.key.length, this.query.length);
  }

  private zoom(factor: number, atX = 0.5, atY = 0.5): void {
    this.hover = null;
    this.context.tooltip.hide();
    this.window = zoomed(this.window, factor, atX, atY, this.key.length, this.query.length);
    const end = this.context.painting.begin();
    this.draw();
    end();
  }

  private listen(): void {
    const { canvas } = this;
    let drag: { x: number; y: number; window: Window; moved: boolean } | null = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY, window: this.window, moved: false };
      canvas.setPointerCapture(event.pointerId);
    });
    canvas.addEventListener("pointermove", (event) => {
      if (drag) {
        const [dx, dy] = [event.clientX - drag.x, event.clientY - drag.y];
        drag.moved ||= Math.hypot(dx, dy) > 4;
        if (!drag.moved) return;
        canvas.classList.add("drag");
        const { window } = drag;
        this.window = inside(
          { ...window, x: window.x - (dx / this.plot.width) * window.width, y: window.y - (dy / this.plot.height) * window.height },
          this.key.length,
          this.query.length,
        );
        this.hover = null;
        this.context.tooltip.hide();
        return this.draw();
      }
      this.look(event);
    });
    canvas.addEventListener("pointerup", (event) => {
      const cell = drag && !drag.moved ? this.cellAt(event) : null;
      drag = null;
      canvas.classList.remove("drag");
      if (cell) this.pin(cell);
    });
    canvas.addEventListener("pointerleave", () => {
      this.hover = null;
      this.context.tooltip.hide();
      this.draw();
    });
    canvas.addEventListener("dblclick", () => this.zoom(1e9));
    canvas.addEventListener("keydown", (event) => this.walk(event));
    canvas.addEventListener("blur", () => {
      this.hover = null;
      this.context.tooltip.hide();
      this.draw();
    });
    canvas.addEventListener(
      "wheel",
      (event) => {
        // A page must stay scrollable: the wheel alone pans only what is zoomed in.
        const zoomedIn = this.window.width < this.key.length || this.window.height < this.query.length;
        if (!event.ctrlKey && !event.metaKey && !zoomedIn) return;
        event.preventDefault();
        const { plot, window } = this;
        if (event.ctrlKey || event.metaKey) {
          return this.zoom(Math.exp(event.deltaY * 0.002), (event.offsetX - plot.x) / plot.width, (event.offsetY - plot.y) / plot.height);
        }
        this.window = inside(
          { ...window, x: window.x + (event.deltaX / plot.width) * window.width, y: window.y + (event.deltaY / plot.height) * window.height },
          this.key.length,
          this.query.length,
        );
        this.draw();
      },
      { passive: false },
    );
  }

  private look(event: MouseEvent): void {
    const cell = this.cellAt(event);
    const changed = String(cell) !== String(this.hover);
    this.hover = cell;
    if (changed) {
      const end = this.context.painting.begin();
      this.draw();
      end();
    }
    if (!cell || !this.values) return this.context.tooltip.hide();
    const [i, j] = cell;
    const value = this.values[i * this.key.length + j];
    const { state } = this.context.store;
    const span = spanOf(this.spans.key, j);
    this.context.tooltip.show(
      {
        title: `${visible(this.query[i].text)} → ${visible(this.key[j].text)}`,
        rows: [
          { text: this.signed ? "this − other" : `head ${state.layer}-${state.head}`, value: this.text(value), data: { query: this.query[i].start, key: this.key[j].start, weight: value } },
          ...(span ? [{ text: `all of ${visible(span)}`, value: this.text(this.sums(i).get(span)!) }] : []),
        ],
        note: `query ${this.query[i].start}, key ${this.key[j].start}`,
        weight: value,
      },
      event.clientX,
      event.clientY,
    );
  }

  /** Arrows go from cell to cell while the map has the focus, Enter pins the cell; each is spoken. */
  private walk(event: KeyboardEvent): void {
    const step = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    const { state } = this.context.store;
    const [i, j] = this.hover ?? [Math.max(0, unitOf(this.query, state.query)), Math.max(0, unitOf(this.key, state.key))];
    if (step && this.values) {
      const first = this.hover === null;
      const clamp = (at: number, count: number) => Math.max(0, Math.min(count - 1, at));
      this.hover = first ? [i, j] : [clamp(i + step[0], this.query.length), clamp(j + step[1], this.key.length)];
      const [query, key] = [this.query[this.hover[0]], this.key[this.hover[1]]];
      this.reveal({ ...state, query: query.start, key: key.start });
      this.draw();
      const value = this.values[this.hover[0] * this.key.length + this.hover[1]];
      this.context.announce(`${query.text} to ${key.text}: ${this.text(value)}`);
    } else if ((event.key === "Enter" || event.key === " ") && this.hover) this.pin(this.hover);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  private pin([i, j]: [number, number]): void {
    const { state } = this.context.store;
    const again = unitOf(this.query, state.query) === i && unitOf(this.key, state.key) === j;
    this.context.store.set(again ? { query: null, key: null } : { query: this.query[i].start, key: this.key[j].start });
    this.context.announce(this.copy() ?? "");
  }
}
