/** One score: writers of the query down, writers of the key across, what each adds, and the words behind them. */
import type { ScoreHeader, ScoreWriter } from "../../../protocol/types";
import { make, valueText, visible, weightText } from "../../../render/dom";
import type { TooltipRow } from "../../../render/tooltip";
import type { Context, View } from "../../../views/view";

type Side = "query" | "key";
const sides: Side[] = ["query", "key"];

export class ScoreView implements View {
  readonly element = make("div", { class: "so" });
  private readonly header: ScoreHeader;
  private parts: Float32Array | null = null;

  constructor(private readonly context: Context) {
    this.header = context.reading.header.score!;
  }

  update(): void {
    const loaded = this.parts ?? this.context.reading.numbers(this.header.parts.buffer);
    this.context.show(loaded, (parts) => {
      this.parts = parts;
      this.draw();
    });
  }

  redraw(): void {
    this.update();
  }

  picture(): Record<string, unknown> {
    return { title: this.header.title, value: this.header.value };
  }

  copy(): string {
    return sides.flatMap((side) => this.header[side].map(({ name, value }) => `${side}\t${name}\t${valueText(value)}`)).join("\n");
  }

  private draw(): void {
    const { header } = this;
    const bias = header.bias ? `, positional bias ${valueText(header.bias)}` : "";
    this.element.replaceChildren(
      make("h2", {}, header.title),
      make("p", { class: "so-said" }, this.said("query"), " ", this.said("key")),
      this.table(),
      make("p", { class: "so-note" }, `Score ${valueText(header.value)}, weight ${weightText(header.weight)}${bias}. Pairs that are not shown add ${valueText(header.rest)}. The norms’ scale is held fixed.`),
      ...this.removed(),
    );
    this.context.status(header.title);
  }

  /** The strongest writers of a side in a sentence. */
  private said(side: Side): string {
    const { tokens, value, bias } = this.header;
    const whole = value - bias;
    const strongest = [...this.header[side]].sort((a, b) => Math.abs(b.value) - Math.abs(a.value)).slice(0, 3);
    const shares = strongest.map((writer) => `${this.named(writer)} (${String(Math.round((100 * writer.value) / whole)).replace("-", "−")}\u00a0%)`);
    return `Writers of the ${side} “${visible(tokens[side === "query" ? 0 : 1])}”, by share of q·k: ${shares.join(", ")}.`;
  }

  private named({ name, layer, word }: ScoreWriter): string {
    const of = layer === null ? name : `head ${name}`;
    return word ? `${of} “${visible(word)}”` : of;
  }

  private table(): HTMLElement {
    const { query, key } = this.header;
    const reach = Math.max(1e-9, ...this.parts!.map(Math.abs));
    const longest = Math.max(1e-9, ...[...query, ...key].map(({ value }) => Math.abs(value)));
    const table = make("table", { class: "so-table" });
    const names = key.map((writer) => make("th", { scope: "col" }, this.name(writer, "key")));
    const sums = key.map((writer) => make("td", { class: "so-sum" }, this.bar(writer, longest)));
    table.append(
      make("caption", {}, "Rows: writers of the query. Columns: writers of the key."),
      make("tr", {}, make("td"), make("td"), ...names),
      make("tr", {}, make("td"), make("td"), ...sums),
    );
    query.forEach((writer, row) => {
      const cells = key.map((other, column) => {
        const value = this.parts![row * key.length + column];
        const cell = make("td", { class: value < 0 ? "so-cell against" : "so-cell" });
        cell.style.setProperty("--share", String(Math.abs(value) / reach));
        cell.addEventListener("pointermove", ({ clientX, clientY }) => this.tell(writer, other, value, clientX, clientY));
        cell.addEventListener("pointerleave", () => this.context.tooltip.hide());
        return cell;
      });
      table.append(make("tr", {}, make("th", { scope: "row" }, this.name(writer, "query")), make("td", { class: "so-sum" }, this.bar(writer, longest)), ...cells));
    });
    return make("div", { class: "so-scroll" }, table);
  }

  /** A writer's name; a head of the page's reading is opened at the position that it wrote. */
  private name(writer: ScoreWriter, side: Side): HTMLElement {
    const { layer, head, kind, word } = writer;
    const inside = [make("b", {}, writer.name), word ? make("span", {}, ` ${visible(word)}`) : ""];
    if (layer === null || head === null || kind === null || !this.context.reading.parts.length) return make("span", { class: "so-name" }, ...inside);
    const button = make("button", { type: "button", class: "so-name", title: `Open head ${writer.name}` }, ...inside);
    const query = this.header.at[side === "query" ? 0 : 1];
    button.addEventListener("click", () => this.context.store.set({ view: "head", kind, layer, head, heads: [head], query }));
    return button;
  }

  private bar({ value }: ScoreWriter, longest: number): HTMLElement {
    const bar = make("i", { class: value < 0 ? "against" : "" });
    bar.style.setProperty("--share", String(Math.abs(value) / longest));
    return make("span", { class: "so-bar" }, bar, valueText(value));
  }

  private tell(query: ScoreWriter, key: ScoreWriter, value: number, x: number, y: number): void {
    const rows: TooltipRow[] = [{ text: "this pair adds to the attention score", value: valueText(value) }];
    for (const [side, { read, word }] of [["query", query], ["key", key]] as const)
      if (read) rows.push({ text: `${side}: read “${visible(word)}” (${read[0]})`, value: weightText(read[1]) });
    this.context.tooltip.show({ title: `${this.named(query)} × ${this.named(key)}`, rows }, x, y);
  }

  private removed(): HTMLElement[] {
    const { removed } = this.header;
    if (!removed.length) return [];
    const titles = ["removed", "from the", "predicted, norms held", "predicted, norms rescaled", "measured"].map((title) => make("th", {}, title));
    const rows = removed.map(({ writer, side, predicted, rescaled, measured }) =>
      make("tr", {}, make("td", {}, writer), make("td", {}, side), ...[predicted, rescaled, measured].map((value) => make("td", {}, valueText(value)))),
    );
    return [make("h3", {}, "Weight change when a writer is removed"), make("table", { class: "so-removed" }, make("tr", {}, ...titles), ...rows)];
  }
}
