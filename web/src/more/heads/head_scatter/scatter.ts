/** The scatter of heads as a view. */
import type { State } from "../../../protocol/types";
import { make } from "../../../render/dom";
import { drawThumbnail } from "../../../render/thumbnails";
import type { Thumbnails } from "../../../protocol/reading";
import type { Context, View } from "../../../views/view";
import { HeadPlane } from "./plane";
import { ofPlane, placeOf } from "./state";

export class ScatterView implements View {
  readonly element = make("div", { class: "sc-view" });
  private readonly plane: HeadPlane;
  private thumbnails: Thumbnails | null = null;
  private loaded: Promise<void> | null = null;

  constructor(private readonly context: Context) {
    this.plane = new HeadPlane(context, { thumbnail: (layer, head) => this.thumbnail(layer, head) });
    this.element.append(this.plane.element);
  }

  update(_: State, before: State | null = null): void {
    this.loaded ??= this.load();
    this.context.show(this.loaded, () => {
      const now = ofPlane(this.context.store.state, this.plane.table);
      this.plane.show(now, before === null);
      this.plane.say(now);
    });
  }

  redraw(): void {
    this.update(this.context.store.state);
  }

  picture(): Record<string, unknown> {
    const { kind, panels, x, y, colour, size, chosen } = ofPlane(this.context.store.state, this.plane.table);
    return { kind, panels, x, y, colour, size, chosen: [...chosen].sort((a, b) => a - b), points: this.plane.lie(x, y) };
  }

  copy(): string {
    return this.plane.copy(ofPlane(this.context.store.state, this.plane.table));
  }

  press(key: string): boolean {
    if (key === "Enter" && this.context.reading.parts.length) {
      this.context.store.set({ view: "head" });
      return true;
    }
    return this.plane.press(key);
  }

  clear(): void {
    this.plane.choose([]);
  }

  private async load(): Promise<void> {
    const { reading } = this.context;
    await this.plane.load();
    if (reading.parts.length) this.thumbnails = await reading.thumbnails(reading.table!.kind);
  }

  private thumbnail(layer: number, head: number): HTMLElement | null {
    if (!this.thumbnails) return null;
    const canvas = make("canvas", { class: "sc-thumbnail" });
    drawThumbnail(canvas, this.thumbnails, placeOf(this.plane.table, layer, head), this.context.shade());
    return canvas;
  }
}
