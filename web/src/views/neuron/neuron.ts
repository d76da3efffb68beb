/** The neuron view: how q and k make the weights of one query, neuron by neuron. */
import type { LayerData } from "../../protocol/layer";
import { scoreRow } from "../../protocol/softmax";
import type { ScoreRow } from "../../protocol/softmax";
import type { Part, State } from "../../protocol/types";
import { unitsOf } from "../../protocol/units";
import { fit, make, valueText, visible, weightText } from "../../render/dom";
import { diverging } from "../../render/scales";
import type { Context, View } from "../view";
import { byContribution, contributions, cumulativeShare, groupSums, groupsOf } from "./contribution";
import { columnsOf, gap } from "./columns";
import { drawHead, drawRows } from "./draw";
import type { Scene } from "./draw";
import { layOut, moved, reducedMotion } from "./motion";
import { NeuronRows } from "./rows";
import { largest, largestProduct, scoreStrips, steps, valueSteps, valueStrips } from "./strips";

const ofValues = (state: State) => (state as State & { shows?: string }).shows === "values";

export class NeuronView implements View {
  readonly element = make("div");
  private readonly scroller = make("div", { class: "nv" });
  private readonly content = make("div", { class: "nv-content" });
  private readonly steps = make("ol", { class: "nv-steps" });
  private readonly canvas = make("canvas", { class: "nv-picture", "aria-hidden": "true" });
  private readonly rows: NeuronRows;
  private scene: Scene | null = null;
  private looked: number | null = null;
  private revealed: number | null = null;
  private stopMotion: (() => void) | null = null;
  private layer: LayerData | null = null;

  constructor(private readonly context: Context) {
    this.rows = new NeuronRows({
      look: (query) => this.look(query),
      pin: (query) => context.store.set({ query: context.store.state.query === query ? null : query, marked: context.store.state.marked }),
      point: (row, x, event) => this.point(row, x, event),
      walk: (row, neuron) => this.walk(row, neuron),
    });
    this.content.append(this.canvas, this.rows.element);
    this.scroller.append(this.content);
    this.element.append(this.steps, this.scroller);
    this.scroller.addEventListener("scroll", () => this.paint());
  }

  update(state: State, before: State | null): void {
    const part = this.context.reading.part(state.kind);
    const draw = (layer: LayerData) => {
      this.layer = layer;
      const sorted = before !== null && (before.sort !== state.sort || (state.sort === "contribution" && before.query !== state.query));
      this.compose(part, layer, sorted && !reducedMotion());
    };
    this.context.show(this.context.reading.layer(state.kind, state.layer, state.head), draw, (sentence) => this.refuse(sentence));
  }

  redraw(): void {
    if (this.layer) this.compose(this.context.reading.part(this.context.store.state.kind), this.layer, false);
  }

  copy(): string | null {
    const { scene } = this;
    if (!scene) return null;
    const { row, units } = scene;
    const lines = units.key.map((unit) => [unit.text, valueText(row.dot[unit.start]), valueText(row.scaled[unit.start]), weightText(row.weight[unit.start])].join("\t"));
    return ["key\tq·k\tscaled\tsoftmax", ...lines].join("\n");
  }

  step(by: number): void {
    const length = this.context.reading.tokens(this.context.store.state.kind).query.text.length;
    this.context.store.set({ query: (this.queryNow() + by + length) % length });
  }

  destroy(): void {
    this.stopMotion?.();
  }

  picture(): Record<string, unknown> | null {
    const { scene } = this;
    if (!scene) return null;
    const { state } = this.context.store;
    const { row, units, groups, order, strips } = scene;
    const keys = units.key.slice(0, 8).map((unit) => unit.start);
    const { kind, layer, head } = state;
    if (strips.names.above === "output") {
      const output = Array.from({ length: Math.min(8, strips.dim) }, (_, n) => strips.above(n));
      return { kind, layer, head, query: scene.query, output, size: keys.map((key) => row.dot[key]), weight: keys.map((key) => row.weight[key]) };
    }
    return {
      kind,
      layer,
      head,
      query: scene.query,
      neurons: (state.sort === "contribution" ? order.flatMap((group) => groups[group]) : groups.flat().sort((a, b) => a - b)).slice(0, 8),
      dot: keys.map((key) => row.dot[key]),
      scaled: keys.map((key) => row.scaled[key]),
      weight: keys.map((key) => row.weight[key]),
    };
  }

  /** The token looked at, else the one pinned, else the middle one of the words. */
  private queryNow(): number {
    const { state } = this.context.store;
    if (this.looked !== null) return this.looked;
    if (state.query !== null) return state.query;
    return middleWord(this.context.reading.tokens(state.kind).query.class);
  }

  private refuse(sentence: string): void {
    this.scene = null;
    this.scroller.replaceChildren(make("div", { class: "message" }, make("strong", {}, sentence), make("p", {}, "The head, model and matrix views show this head's weights.")));
    this.context.status("", null);
  }

  private compose(part: Part, layer: LayerData, animate: boolean): void {
    const { state } = this.context.store;
    const inputs = layer.inputs(state.head);
    if (!inputs) {
      return this.refuse(part.why_no_qk ?? "This file carries the attention weights without the query and key vectors they were made from.");
    }
    if (!this.content.isConnected || this.content.parentElement !== this.scroller) this.scroller.replaceChildren(this.content);
    const tokens = this.context.reading.tokens(state.kind);
    const units = { query: unitsOf(tokens.query, "tokens", "shown"), key: unitsOf(tokens.key, "tokens", "shown") };
    const query = this.queryNow();
    const scores = scoreRow(inputs, query);
    const taken = ofValues(state) && inputs.v ? valueStrips(inputs.v, scores.weight) : null;
    const strips = taken ?? scoreStrips(inputs, query);
    const row = taken ? { ...scores, dot: taken.sizes } : scores;
    const values = taken ? taken.output : contributions(inputs, query, row.weight, row.visible);
    const rotary = taken ? null : part.rotary;
    const groups = taken ? Array.from(taken.output, (_, n) => [n]) : groupsOf(inputs.dim, rotary);
    this.steps.replaceChildren(...(taken ? valueSteps : steps).map(([name, says]) => make("li", {}, make("b", {}, name), ` ${says}`)));
    const sums = groupSums(groups, values);
    const best = byContribution(sums);
    const columns = columnsOf(
      units,
      strips.dim,
      rotary ? groups.length : 0,
      row,
      { softcap: inputs.softcap, mask: inputs.mask.name, scaling: inputs.scaling },
      state.wrap,
      this.scroller.clientWidth || 900,
      taken !== null,
    );
    const tall = this.context.height() - this.steps.offsetHeight - 8;
    // Few tokens get rows as high as they find room, within reason.
    columns.row = Math.max(columns.row, Math.min(12 + 20 * columns.lines, Math.floor((tall - columns.top - 12) / (units.key.length + (row.sink === null ? 0 : 1)))));
    const marked = new Set(state.marked.length ? state.marked : best.slice(0, 3).flatMap((group) => (sums[group] > 0 ? groups[group] : [])));
    const top = strongest(best, groups, columns.shown);
    const order = state.sort === "contribution" ? best.filter((group) => top.has(group)) : groups.map((_, i) => i).filter((group) => top.has(group));
    const others = groups.flatMap((group, i) => (top.has(i) ? [] : group));
    const place = layOut(groups, order, columns.cell, columns.lines, rotary ? gap : 0);
    const before = this.scene?.place;
    const scene: Scene = {
      strips,
      columns,
      units,
      inputs,
      query,
      row,
      place,
      sums,
      groups,
      order,
      share: state.sort === "contribution" ? cumulativeShare(sums, order) : null,
      marked,
      others,
      limits: {
        q: taken ? largest(taken.output) : largest(inputs.q.subarray(query * inputs.dim, (query + 1) * inputs.dim)),
        k: largest(taken ? inputs.v! : inputs.k),
        product: largestProduct(strips, row.visible),
        low: ends(row, Math.min),
        high: ends(row, Math.max),
      },
      ramp: diverging(this.context.shade()),
      style: getComputedStyle(this.scroller),
      colour: this.context.colours(part.heads)[state.head],
      hover: { row: -1, neuron: -1 },
      weightX: Infinity,
    };
    this.scene = scene;
    this.scroller.style.maxHeight = `${tall}px`;
    this.content.style.width = `${Math.max(columns.width, (this.scroller.clientWidth || 900) - 16)}px`;
    this.content.style.height = `${contentHeight(scene)}px`;
    this.rows.place(scene);
    this.reveal(scene);
    this.stopMotion?.();
    if (animate && before && before.x.length === place.x.length) {
      this.stopMotion = moved(before, place, (now) => {
        scene.place = now;
        this.paint();
      });
    } else this.paint();
    this.report(part, scene);
  }

  /** Scrolls to a selected query, with its strongest key if both fit. */
  private reveal({ query, row, columns }: Scene): void {
    if (this.looked !== null || this.revealed === query || !this.scroller.clientHeight) return;
    this.revealed = query;
    const rows = (this.scroller.clientHeight - columns.top) / columns.row - 1;
    const first = this.scroller.scrollTop / columns.row;
    if (query >= first && query < first + rows) return;
    const strongest = row.weight.reduce((best, weight, key) => (weight > row.weight[best] ? key : best), 0);
    const middle = Math.abs(strongest - query) < rows - 2 ? (strongest + query) / 2 : query;
    this.scroller.scrollTop = (middle - rows / 2) * columns.row;
  }

  private paint(): void {
    const { scene, scroller: element } = this;
    if (!scene) return;
    const { columns } = scene;
    const width = Math.max(columns.width, element.clientWidth - 16);
    const height = Math.min(element.clientHeight || 600, contentHeight(scene));
    const context = fit(this.canvas, width, height);
    this.canvas.style.marginBottom = `${-height}px`;
    // The picture sticks to the top only; sideways it moves with the content.
    this.canvas.style.left = "auto";
    context.clearRect(0, 0, width, height);
    const scroll = element.scrollTop - columns.top;
    const first = Math.max(0, Math.floor(element.scrollTop / columns.row));
    const last = Math.min(scene.units.key.length, Math.ceil((scroll + height) / columns.row));
    // The weight stays visible even if the strips are wider than the view.
    const weight = columns.bars[columns.bars.length - 1];
    scene.weightX = Math.min(weight.x, element.scrollLeft + element.clientWidth - weight.width - 14);
    context.save();
    context.beginPath();
    context.rect(0, columns.top, width, height);
    context.clip();
    drawRows(context, scene, first, last, scroll);
    context.restore();
    drawHead(context, scene);
    this.rows.window(element.scrollTop, height);
  }

  private look(query: number | null): void {
    if (this.looked === query) return;
    this.looked = query;
    if (!this.layer) return;
    const end = this.context.painting.begin();
    this.compose(this.context.reading.part(this.context.store.state.kind), this.layer, false);
    end();
  }

  private point(row: number, x: number, event: MouseEvent | null): void {
    const { scene } = this;
    if (!scene) return;
    const neuron = row < 0 ? -1 : neuronAt(scene, x);
    if (scene.hover.row !== row) {
      scene.hover = { row, neuron };
      this.paint();
    }
    if (row < 0 || !event) return this.context.tooltip.hide();
    const { inputs, query, row: scores, units, strips } = scene;
    const unit = units.key[row];
    const title = `${visible(units.query[query].text)} → ${visible(unit.text)}`;
    const { names } = strips;
    const rows =
      neuron >= 0
        ? [
            { text: names.above, value: valueText(strips.above(neuron)) },
            { text: names.left, value: valueText(strips.left(unit.start, neuron)) },
            { text: names.product, value: valueText(strips.product(unit.start, neuron)) },
          ]
        : scene.columns.bars.map((column) => ({
            text: column.title,
            value:
              column.name === "weight"
                ? weightText(scores.weight[unit.start])
                : column.name === "mask"
                  ? scores.visible[unit.start] ? "visible" : "masked"
                  : valueText({ dot: scores.dot, scaled: scores.scaled, capped: scores.capped, bias: scores.bias! }[column.name][unit.start]),
          }));
    this.context.tooltip.show(
      { title, rows, note: neuron >= 0 ? `neuron ${neuron}` : names.above === "q" ? most(inputs, query, unit.start) : "", weight: scores.weight[unit.start] },
      event.clientX,
      event.clientY,
    );
  }

  /** A key's row, or one of its neurons, selected by keyboard: mark it, scroll to it and announce it. */
  private walk(row: number, neuron: number): void {
    const { scene, scroller: element } = this;
    if (!scene) return;
    scene.hover = { row, neuron };
    const { columns, strips, row: scores, units } = scene;
    const top = columns.top + row * columns.row;
    if (top < element.scrollTop + columns.top) element.scrollTop = top - columns.top;
    else if (top + columns.row > element.scrollTop + element.clientHeight) element.scrollTop = top + columns.row - element.clientHeight;
    this.paint();
    const unit = units.key[row];
    const { names } = strips;
    const numbers = columns.bars.map(({ name, title }) => (name === "mask" ? "" : `${title} ${name === "weight" ? weightText(scores.weight[unit.start]) : valueText(scores[name]![unit.start])}`)).filter(Boolean);
    this.context.announce(
      neuron < 0
        ? `key ${unit.text}: ${numbers.join(", ")}`
        : `neuron ${neuron} of key ${unit.text}: ${names.above} ${valueText(strips.above(neuron))}, ${names.left} ${valueText(strips.left(unit.start, neuron))}, ${names.product} ${valueText(strips.product(unit.start, neuron))}`,
    );
  }

  private report(part: Part, scene: Scene): void {
    if (scene.strips.names.above === "output") {
      const { row } = scene;
      const first = row.dot.reduce((best, size, key) => (size > row.dot[best] ? key : best), 0);
      const said = `Most is taken from “${visible(scene.units.key.find((unit) => unit.start >= first)?.text ?? "")}”: ‖α·v‖ ${valueText(row.dot[first])}`;
      return this.context.status(said, { kind: "ramp", ramp: scene.ramp, title: scalesOf(scene), low: "−", high: "+" });
    }
    const best = byContribution(scene.sums);
    const share = cumulativeShare(scene.sums, best);
    const most = share.findIndex((each) => each >= 0.8) + 1;
    const pairs = scene.groups.filter((group) => group.length > 1).length;
    const unit = !pairs ? "neurons" : pairs < scene.groups.length ? `groups (${pairs} pairs that turn, the rest plain neurons)` : "pairs";
    const seen = scene.row.visible.filter((each) => each).length;
    const notes = share[share.length - 1] > 0 ? [`${most} of ${scene.groups.length} ${unit} ${most === 1 ? "carries" : "carry"} 80 % of what lifts the attended keys over the rest`]
      : [seen === 1 ? "this query sees one key, so all its weight goes there" : "the keys get equal attention: no neuron lifts one over the rest"];
    if (part.groups < part.heads) {
      const size = part.heads / part.groups;
      const group = Math.floor(this.context.store.state.head / size);
      notes.push(`keys shared by heads ${group * size}–${(group + 1) * size - 1}`);
    }
    if (scene.others.length) notes.push(`the ${scene.groups.length - scene.order.length} weakest share the last cell of q×k`);
    if (scene.row.sink !== null) notes.push(`the sink takes ${weightText(scene.row.sink)}`);
    this.context.status(notes.join(" · "), {
      kind: "ramp",
      ramp: scene.ramp,
      title: scalesOf(scene),
      low: "−",
      high: "+",
    });
  }
}

const scalesOf = ({ strips: { names } }: Scene) => `value (separate colour scales for ${names.above}, ${names.left}, ${names.product})`;

/** The groups with the largest contributions that have room for their neurons. */
function strongest(best: number[], groups: number[][], shown: number): Set<number> {
  let room = shown;
  return new Set(best.filter((group) => (room -= groups[group].length) >= 0));
}

/** The token the view opens on where none is pinned: the rule of views/neuron.py. */
export function middleWord(classes: number[]): number {
  const words = classes.flatMap((each, i) => (each === 4 ? [i] : []));
  return words[Math.floor(words.length / 2)] ?? 0;
}

function contentHeight({ columns, units, row }: Scene): number {
  return columns.top + (units.key.length + (row.sink === null ? 0 : 1)) * columns.row + 8;
}

function ends(row: ScoreRow, pick: (...values: number[]) => number): Scene["limits"]["low"] {
  const end = (values: Float64Array | null) => (values ? values.reduce((found, value, j) => (row.visible[j] ? pick(found, value) : found), 0) : 0);
  const scaled = pick(end(row.scaled), end(row.capped));
  return { dot: end(row.dot), scaled, capped: scaled, bias: end(row.bias) };
}

/** The neuron that moves a key's score most, in words. */
function most({ q, k, dim }: Scene["inputs"], query: number, key: number): string {
  const products = Array.from({ length: dim }, (_, n) => q[query * dim + n] * k[key * dim + n]);
  const n = products.reduce((best, value, at) => (Math.abs(value) > Math.abs(products[best]) ? at : best), 0);
  return `largest part: neuron ${n}, q×k ${valueText(products[n])}`;
}

function neuronAt(scene: Scene, x: number): number {
  const { columns, place, strips } = scene;
  for (const strip of [columns.k, columns.product]) {
    if (x < strip.x || x > strip.x + strip.width) continue;
    for (let n = 0; n < strips.dim; n++) {
      if (place.line[n] === 0 && x - strip.x >= place.x[n] && x - strip.x < place.x[n] + columns.cell) return n;
    }
  }
  return -1;
}
