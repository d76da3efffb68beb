/** The atlas: heads as points and as a table, and a page for the selected head. */
import { AtlasData } from "../../../protocol/atlas";
import type { State } from "../../../protocol/types";
import { make } from "../../../render/dom";
import { HeadPlane } from "../head_scatter/plane";
import { ofPlane, placeOf } from "../head_scatter/state";
import type { Context, View } from "../../../views/view";
import { offsetChart } from "./charts";
import { headPage } from "./head_page";
import type { Asked } from "./head_page";
import { HeadsTable } from "./heads_table";

export class AtlasView implements View {
  readonly element = make("div", { class: "at" });
  private readonly data: AtlasData;
  private readonly plane: HeadPlane;
  private readonly table: HeadsTable;
  private readonly right = make("div", { class: "at-right" });
  private asked: Asked & { place: number } = { measure: "", decile: -1, view: "head", behaviour: -1, brush: null, place: -1 };
  private loaded: Promise<unknown> | null = null;
  /** A head was chosen at the foot of another's page: scroll to the top. */
  private followed = false;

  constructor(private readonly context: Context) {
    const { reading } = context;
    this.data = new AtlasData(reading.header.atlas!, reading);
    this.plane = new HeadPlane(context, {
      thumbnail: (layer, head) => offsetChart(this.data.header.heads[placeOf(this.plane.table, layer, head)], false),
    });
    this.table = new HeadsTable(this.plane, (layer, head) => this.open(layer, head), reading.header.model);
    this.element.append(make("div", { class: "at-left" }, this.plane.element, this.table.element), this.right);
  }

  update(_: State, before: State | null = null): void {
    this.loaded ??= Promise.all([this.plane.load(), this.data.load()]);
    this.context.show(this.loaded, () => {
      const state = ofPlane(this.context.store.state, this.plane.table);
      this.plane.show(state, before === null);
      this.plane.say(state);
      this.table.show(state);
      const place = placeOf(this.plane.table, state.layer, state.head);
      if (place !== this.asked.place) this.asked = { ...this.asked, measure: this.data.header.heads[place].shown, decile: -1, behaviour: -1, brush: null, place };
      this.turn();
    });
  }

  redraw(): void {
    this.update(this.context.store.state);
  }

  picture(): Record<string, unknown> {
    const { kind, layer, head, panels, x, y, colour, size, chosen } = ofPlane(this.context.store.state, this.plane.table);
    const shown = { chosen: [...chosen].sort((a, b) => a - b), points: this.plane.lie(x, y) };
    const { measure, decile, behaviour, brush } = this.asked;
    return { kind, layer, head, panels, x, y, colour, size, ...shown, measure, decile, ...(this.data.behaviours && { behaviour, brush }) };
  }

  copy(): string {
    return this.plane.copy(ofPlane(this.context.store.state, this.plane.table));
  }

  press(key: string): boolean {
    return this.plane.press(key);
  }

  clear(): void {
    this.plane.choose([]);
    const { behaviour, brush } = this.asked;
    if (behaviour < 0 && !brush) return;
    this.asked = { ...this.asked, behaviour: -1, brush: null };
    this.turn();
  }

  private open(layer: number, head: number): void {
    this.context.store.set({ layer, head, heads: [head] });
  }

  private turn(): void {
    const { kind, layer, head } = this.context.store.state;
    const { openText } = this.context;
    const focus = (this.right.getRootNode() as ShadowRoot).activeElement?.getAttribute("data-control");
    this.right.replaceChildren(
      headPage(this.data, this.asked.place, [layer, head], this.asked, {
        label: (...at) => this.plane.label(...at),
        open: (...at) => {
          this.followed = true;
          this.open(...at);
        },
        ask: (asked) => {
          this.asked = { ...this.asked, ...asked };
          this.turn();
        },
        values: (column) => this.plane.of(column),
        colours: (count) => this.context.colours(count),
        tooltip: this.context.tooltip,
        read: openText ? (document, query, view) => openText({ document, query, kind, layer, head, view }) : null,
      }),
    );
    if (focus) this.right.querySelector<HTMLElement>(`[data-control="${focus}"]`)?.focus();
    if (this.followed) this.right.querySelector("h2")!.focus();
    this.followed = false;
  }
}
