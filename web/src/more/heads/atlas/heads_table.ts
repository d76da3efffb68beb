/** The heads as a table: sort by any number, filter by label or selection, save as CSV. */
import { make } from "../../../render/dom";
import type { HeadPlane } from "../head_scatter/plane";
import { asText, titleOf, unsaid } from "../head_scatter/plane";
import { headOf, numberOf, placeOf } from "../head_scatter/state";
import type { PlaneState } from "../head_scatter/state";

export class HeadsTable {
  readonly element = make("div", { class: "at-table" });
  private readonly body = make("tbody");
  private readonly head = make("tr");
  private readonly count = make("span", { class: "at-count", role: "status" });
  private readonly search = make("input", { type: "search", "data-control": "heads", placeholder: "label or head", "aria-label": "Search heads" });
  private readonly labels = make("select", { "data-control": "label", "aria-label": "Label" });
  private sorted = { name: "head", down: false };
  private state: PlaneState | null = null;

  constructor(
    private readonly plane: HeadPlane,
    open: (layer: number, head: number) => void,
    private readonly model: string,
  ) {
    const csv = make("button", { class: "button", "data-control": "csv" }, "CSV");
    csv.addEventListener("click", () => this.save());
    this.element.append(make("div", { class: "sc-menus" }, this.search, this.labels, this.count, csv), make("div", { class: "at-scroll" }, make("table", {}, make("thead", {}, this.head), this.body)));
    for (const control of [this.search, this.labels]) control.addEventListener("input", () => this.state && this.show(this.state));
    this.body.addEventListener("click", (event) => {
      const row = (event.target as Element).closest<HTMLElement>("tr");
      if (row) open(...headOf(plane.table, Number(row.dataset["at"])));
    });
  }

  show(state: PlaneState): void {
    this.state = state;
    if (!this.labels.options.length) this.fillLabels();
    const names = this.columns(state);
    this.head.replaceChildren(...["head", "label", ...names].map((name) => this.heading(name)));
    const rows = this.rows(state);
    this.body.replaceChildren(
      ...rows.map((place) => {
        const [layer, head] = headOf(this.plane.table, place);
        const label = this.plane.label(layer, head);
        const open = layer === state.layer && head === state.head;
        return make(
          "tr",
          { "data-row": `${layer}-${head}`, "data-at": place, class: open ? "open" : "" },
          make("td", {}, make("button", { "aria-current": open ? "true" : null }, `${layer}-${head}`)),
          make("td", {}, label ? `${label.text} ${label.score.toFixed(2)}` : ""),
          ...names.map((name) => make("td", {}, this.plane.written(name, place))),
        );
      }),
    );
    this.count.textContent = `${rows.length} of ${this.plane.table.layers.length * this.plane.table.heads} heads`;
  }

  private columns({ x, y, colour, size }: PlaneState): string[] {
    return [x, y, colour, size, "behaviours"].filter((name, i, all) => this.plane.column(name) && !unsaid.has(name) && all.indexOf(name) === i);
  }

  private rows(state: PlaneState): number[] {
    const { table } = this.plane;
    const wanted = this.search.value.trim().toLowerCase();
    const chosen = new Set(state.chosen);
    const found = Array.from({ length: table.layers.length * table.heads }, (_, i) => i).filter((place) => {
      const [layer, head] = headOf(table, place);
      const text = this.plane.label(layer, head)?.text ?? "";
      if (chosen.size && !chosen.has(numberOf(table, place))) return false;
      if (this.labels.value && text !== this.labels.value) return false;
      return !wanted || `${layer}-${head} ${text}`.toLowerCase().includes(wanted);
    });
    const { name, down } = this.sorted;
    if (name === "head") return down ? found.reverse() : found;
    const score = (place: number) => this.plane.label(...headOf(table, place))?.score;
    const value = (place: number) => (name === "label" ? (score(place) ?? NaN) : (this.plane.of(name)?.[place] ?? NaN));
    const last = (number: number) => (Number.isNaN(number) ? -Infinity : number); // NaN sorts last, in either order
    return found.sort((a, b) => (Number.isNaN(value(a)) || Number.isNaN(value(b)) ? last(value(b)) - last(value(a)) || a - b : down ? value(b) - value(a) : value(a) - value(b)));
  }

  private heading(name: string): HTMLElement {
    const { sorted } = this;
    const column = this.plane.column(name);
    const on = sorted.name === name;
    const button = make("button", { "data-sort": name }, `${name === "head" || !column ? name : titleOf(column)}${on ? (sorted.down ? " ↓" : " ↑") : ""}`);
    button.addEventListener("click", () => {
      this.sorted = { name, down: on ? !sorted.down : name !== "head" };
      this.show(this.state!);
      this.head.querySelector<HTMLElement>(`[data-sort="${name}"]`)?.focus();
    });
    return make("th", { scope: "col", "aria-sort": on ? (sorted.down ? "descending" : "ascending") : null }, button);
  }

  private fillLabels(): void {
    const { table } = this.plane;
    const found = new Set<string>();
    for (const layer of table.layers) for (let head = 0; head < table.heads; head++) found.add(this.plane.label(layer, head)?.text ?? "");
    this.labels.append(make("option", { value: "" }, "any label"), ...[...found].filter(Boolean).sort().map((text) => make("option", { value: text }, text)));
  }

  /** Every measure of the heads that are listed; a cell that could be taken for a formula is quoted as text. */
  csv(): string {
    const { table } = this.plane;
    const names = table.columns.map((column) => column.name).filter((name) => name !== "layer" && name !== "head");
    const quote = (text: string) => `"${asText(text).replaceAll('"', '""')}"`;
    const lines = [...this.body.querySelectorAll<HTMLElement>("tr")].map((row) => {
      const [layer, head] = headOf(table, Number(row.dataset["at"]));
      const label = this.plane.label(layer, head);
      const place = placeOf(table, layer, head);
      return [layer, head, quote(label?.text ?? ""), label?.score ?? "", ...names.map((name) => (Number.isNaN(this.plane.of(name)![place]) ? "" : this.plane.of(name)![place]))].join(",");
    });
    return [["layer", "head", "label", "score", ...names.map(quote)].join(","), ...lines].join("\n") + "\n";
  }

  private save(): void {
    const link = make("a", { href: URL.createObjectURL(new Blob([this.csv()], { type: "text/csv" })), download: `${this.model.replace(/[^\w.-]+/g, "-")}-heads.csv` });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }
}
