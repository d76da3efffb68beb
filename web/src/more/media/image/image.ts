/** The image view: the picture once for each head, shaded by the attention of the selected patch or word. */
import { headsOn } from "../../../state/state";
import type { State, Tokens } from "../../../protocol/types";
import { placeKinds } from "../../../protocol/places";
import type { Places } from "../../../protocol/places";
import { unitsOf } from "../../../protocol/units";
import { make, visible, weightText } from "../../../render/dom";
import { css } from "../../../render/oklch";
import { at as colourAt, inkOn, sequential, surfaces } from "../../../render/scales";
import { Weights } from "../../../views/text/weights";
import type { Side } from "../../../views/text/weights";
import type { Context, View } from "../../../views/view";
import { heat, paint, patchAt } from "./paint";
import { ofImage } from "./state";
import type { ImageState } from "./state";

export interface Panel {
  head: number;
  picture: number;
  canvas: HTMLCanvasElement;
  caption: HTMLElement;
}

const other = (side: Side): Side => (side === "query" ? "key" : "query");
const mostPanels = 32;

/** Pixels of the screen for one of the picture. */
export interface Scale {
  x: number;
  y: number;
}

export class ImageView implements View {
  readonly element = make("div", { class: "im" });
  protected readonly grid = make("div", { class: "im-panels" });
  protected readonly words = make("div", { class: "im-words", role: "group", "aria-label": "positions outside the picture" });
  private readonly weights: Weights;
  protected panels: Panel[] = [];
  protected places: Record<Side, Places | null> = { query: null, key: null };
  protected each: Float32Array[] = [];
  private hover: number | null = null;
  protected scale: Scale = { x: 1, y: 1 };

  constructor(protected readonly context: Context) {
    this.weights = new Weights(context.reading);
    this.element.append(this.grid, this.words);
    this.grid.addEventListener("mousemove", (event) => this.look(event));
    this.grid.addEventListener("mouseleave", () => this.leave());
    this.grid.addEventListener("click", (event) => this.pin(event));
    this.grid.addEventListener("keydown", (event) => this.walk(event));
    this.words.addEventListener("click", (event) => this.pinWord(event));
    this.words.addEventListener("mouseover", (event) => this.take(this.wordAt(event)));
    this.words.addEventListener("mouseleave", () => this.take(null));
  }

  protected get state(): ImageState {
    return ofImage(this.context.store.state);
  }

  protected get tokens(): Record<Side, Tokens> {
    return this.context.reading.tokens(this.state.kind);
  }

  update(state: State, before: State | null): void {
    const turned = before && (state.query !== before.query || state.key !== before.key);
    this.shade(() => turned && this.context.announce(this.sentence()));
  }

  redraw(): void {
    this.shade();
  }

  step(by: number): void {
    const { state } = this;
    const count = this.tokens[state.side].text.length;
    const now = state[state.side];
    this.set({ [state.side]: now === null ? (by > 0 ? 0 : count - 1) : (now + by + count) % count, also: [] });
  }

  copy(): string | null {
    const { state } = this;
    const far = this.tokens[other(this.hand().side)];
    const heads = this.panels.filter((panel) => panel.picture === 0).map((panel) => panel.head);
    const head = ["position", ...heads.map((each) => `${state.layer}-${each}`)].join("\t");
    const rows = far.text.map((text, i) => [text, ...this.each.map((values) => values[i].toFixed(4))].join("\t"));
    return this.each.length ? [this.sentence(), head, ...rows].join("\n") : null;
  }

  picture(): Record<string, unknown> | null {
    const { side, units } = this.hand();
    if (!this.each.length || !this.places[other(side)]) return null;
    const { kind, layer } = this.state;
    const heads = this.panels.filter((panel) => panel.picture === 0).map((panel) => panel.head);
    return { kind, layer, heads, side, hand: units, values: this.each.map((values) => [...values]) };
  }

  private set(change: Partial<ImageState>): void {
    this.context.store.set(change);
  }

  protected hand(): { side: Side; units: number[] } {
    const { state } = this;
    const pinned = state[state.side];
    if (this.hover !== null) return { side: state.side, units: [this.hover] };
    return pinned === null ? { side: "query", units: [] } : { side: state.side, units: [pinned, ...state.also] };
  }

  /** Weights first, then everything is drawn at once. */
  private shade(then: () => void = () => undefined): void {
    this.context.show(this.gather(), ({ places, each, heads, bitmaps }) => {
      [this.places, this.each] = [places, each];
      this.lay(heads);
      this.draw(bitmaps);
      then();
    });
  }

  private async gather() {
    const { state, context } = this;
    const { reading } = context;
    const heads = headsOn(state, reading.part(state.kind)).slice(0, mostPanels);
    const [query, key, bitmaps] = await Promise.all([this.placesOf("query"), this.placesOf("key"), Promise.all(this.pictures.map((_, at) => this.bitmap(at)))]);
    const units = { query: unitsOf(this.tokens.query, "tokens", "shown"), key: unitsOf(this.tokens.key, "tokens", "shown") };
    const plain = { ...state, combine: "mean" as const, merge: "mean" as const, filter: "all" as const, specials: "shown" as const };
    const each = await this.weights.each(plain, heads, units, this.hand());
    return { places: { query, key }, each, heads, bitmaps };
  }

  /** The shaded picture and its size; in the sound view it is the spectrogram. */
  protected get pictures(): { width: number; height: number }[] {
    return this.context.reading.header.pictures!;
  }

  protected bitmap(at: number): Promise<CanvasImageSource> {
    return this.context.reading.picture(at);
  }

  protected placesOf(side: Side): Promise<Places | null> {
    return this.context.reading.places(this.state.kind, side);
  }

  /** As many columns as make the panels largest. */
  protected arrange(count: number, width: number, height: number): { columns: number; across: number; scale: Scale } {
    const [{ width: wide, height: tall }] = this.pictures;
    let best = { columns: 1, across: 0 };
    for (let columns = 1; columns <= Math.max(1, count); columns++) {
      const across = Math.min((width - 10 * (columns - 1)) / columns, (height / Math.ceil(count / columns) - 30) * (wide / tall));
      if (across > best.across) best = { columns, across };
    }
    const across = Math.max(88, Math.min(760, best.across));
    return { columns: best.columns, across, scale: { x: across / wide, y: across / wide } };
  }

  private lay(heads: number[]): void {
    const { pictures } = this;
    const [width, height] = [(this.element.clientWidth || 900) - 32, this.context.height() - (this.hasWords() ? 150 : 24)];
    const { columns, across, scale } = this.arrange(heads.length * pictures.length, width, height);
    this.scale = scale;
    this.grid.style.gridTemplateColumns = `repeat(${Math.max(1, Math.min(columns, Math.floor((width + 10) / (across + 10))))}, ${across}px)`;
    const wanted = heads.flatMap((head) => pictures.map((_, picture) => ({ head, picture })));
    if (wanted.length === this.panels.length && wanted.every((one, i) => one.head === this.panels[i].head)) return;
    this.panels = wanted.map(({ head, picture }) => {
      const canvas = make("canvas", { tabindex: 0, role: "img" });
      return { head, picture, canvas, caption: make("figcaption") };
    });
    this.grid.replaceChildren(...this.panels.map(({ canvas, caption }) => make("figure", { class: "im-panel" }, canvas, caption)));
  }

  protected told(share: number, strongest: number): string {
    return `${Math.round(100 * share)} % on the picture, strongest patch ${weightText(strongest)}`;
  }

  private draw(bitmaps: CanvasImageSource[]): void {
    const { state, places } = this;
    const hand = this.hand();
    const far = places[other(hand.side)];
    const { pictures } = this;
    this.panels.forEach(({ head, picture, canvas, caption }, i) => {
      const values = this.each[Math.floor(i / pictures.length)];
      const [strongest, onPicture] = far ? summary(values, far) : [0, 0];
      const shares = values.map((value) => (strongest > 0 ? value / strongest : 0));
      if (far) {
        const shaded = { places: far, picture, shares, hand: hand.units, own: places[hand.side] };
        paint(canvas, bitmaps[picture], pictures[picture], this.scale, { ...shaded, opacity: Number(state.opacity), smooth: state.smoothing === "smooth" });
      }
      const told = this.told(onPicture, strongest);
      caption.replaceChildren(make("b", {}, `${state.layer}-${head} `), told);
      canvas.setAttribute("aria-label", `Head ${state.layer}-${head}: ${this.sentence()}; ${told}`);
    });
    this.drawWords(hand);
    const bare = surfaces[this.context.shade()];
    this.context.status(`${this.sentence()}${far ? "" : "; none of it lies in this picture"}`, {
      kind: "ramp",
      ramp: Array.from({ length: 256 }, (_, i) => heat.map((part, at) => Math.round(bare[at] + ((part - bare[at]) * i) / 255)) as [number, number, number]),
      title: "share of the strongest patch's attention",
      low: "0",
      high: "1",
    });
  }

  protected hasWords(): boolean {
    return this.tokens.query.text.length > 0 && [this.places.query, this.places.key].some((places) => places?.kinds.some((kind) => kind !== placeKinds.patch));
  }

  /** Words, class and register tokens below the picture, shaded like it by attention. */
  private drawWords(hand: { side: Side; units: number[] }): void {
    const shown = this.tokens.query === this.tokens.key || !this.places.query ? hand.side : "query";
    const tokens = this.tokens[shown];
    const places = this.places[shown];
    const values = shown === other(hand.side) || this.tokens.query === this.tokens.key ? this.each[0] : null;
    const largest = values ? values.reduce((most, value) => Math.max(most, value), 0) || 1 : 1;
    const ramp = sequential(this.context.shade());
    const buttons = tokens.text.flatMap((text, i) => {
      if (places && places.kinds[i] === placeKinds.patch) return [];
      const button = make("button", { class: `im-word${tokens.class[i] <= 2 ? " quiet" : ""}`, type: "button", "data-at": i }, visible(text));
      if (hand.units.includes(i) && shown === hand.side) button.classList.add("in-hand");
      const weight = values?.[i] ?? 0;
      if (weight > 0) {
        const colour = colourAt(ramp, 0.86 * (weight / largest));
        button.style.background = css(colour);
        button.dataset.ink = inkOn(colour);
        button.title = weightText(weight);
      }
      return [button];
    });
    this.words.replaceChildren(...buttons);
  }

  private sentence(): string {
    const { side, units } = this.hand();
    if (!units.length) return "what all positions look at, on average";
    const names = units.slice(0, 3).map((at) => `“${visible(this.tokens[side].text[at])}”`);
    const who = units.length > 3 ? `${units.length} positions` : names.join(" and ");
    return side === "query" ? `what ${who} ${units.length > 1 ? "look" : "looks"} at` : `what looks at ${who}`;
  }

  /** The selected side's position under the pointer: [position, panel]. */
  private under(event: MouseEvent): [number, Panel] | null {
    const panel = this.panels.find(({ canvas }) => canvas === event.target);
    const places = this.places[this.state.side];
    if (!panel || !places) return null;
    const box = panel.canvas.getBoundingClientRect();
    const at = patchAt(places, panel.picture, (event.clientX - box.left) / this.scale.x, (event.clientY - box.top) / this.scale.y);
    return at < 0 ? null : [at, panel];
  }

  private look(event: MouseEvent): void {
    const found = this.under(event);
    const pinned = this.state[this.state.side] !== null;
    if (!pinned) this.take(found?.[0] ?? null);
    if (!found) return this.context.tooltip.hide();
    const [at, panel] = found;
    const far = other(this.state.side);
    const value = this.tokens.query === this.tokens.key || this.places[far] ? this.each[this.panels.indexOf(panel)]?.[at] : undefined;
    const rows = value === undefined ? [] : [{ text: this.sentence(), value: weightText(value) }];
    this.context.tooltip.show({ title: this.tokens[this.state.side].text[at], rows, weight: value }, event.clientX, event.clientY);
  }

  private leave(): void {
    this.context.tooltip.hide();
    this.take(null);
  }

  private take(at: number | null): void {
    if (at === this.hover || (at !== null && this.state[this.state.side] !== null)) return;
    this.hover = at;
    this.shade();
  }

  private pin(event: MouseEvent): void {
    const found = this.under(event);
    if (found) this.choose(found[0], event.shiftKey || event.ctrlKey || event.metaKey);
  }

  private pinWord(event: MouseEvent): void {
    const at = this.wordAt(event);
    if (at !== null) this.choose(at, event.shiftKey || event.ctrlKey || event.metaKey);
  }

  protected choose(at: number, add: boolean): void {
    const { state } = this;
    const now = state[state.side];
    this.hover = null;
    if (add && now !== null && now !== at) this.set({ also: state.also.includes(at) ? state.also.filter((one) => one !== at) : [...state.also, at] });
    else this.set({ [state.side]: now === at && !state.also.length ? null : at, also: [] });
  }

  protected wordAt(event: Event): number | null {
    const at = (event.target as HTMLElement).closest<HTMLElement>("[data-at]")?.dataset.at;
    return at === undefined ? null : Number(at);
  }

  /** Arrows with Shift walk from patch to patch. */
  private walk(event: KeyboardEvent): void {
    const steps: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const move = steps[event.key];
    const places = this.places[this.state.side];
    if (!move || !event.shiftKey || !places) return;
    event.preventDefault();
    event.stopPropagation();
    const now = this.state[this.state.side];
    const from = now !== null && places.kinds[now] === placeKinds.patch ? now : places.kinds.indexOf(placeKinds.patch);
    const [left, top, right, bottom] = places.rectangles.subarray(4 * from, 4 * from + 4);
    const next = patchAt(places, places.pictures[from], (left + right) / 2 + move[0] * (right - left), (top + bottom) / 2 + move[1] * (bottom - top));
    if (next >= 0) this.set({ [this.state.side]: next, also: [] });
  }
}

/** The strongest patch, and how much falls on pictures at all. */
function summary(values: Float32Array, places: Places): [number, number] {
  let strongest = 0;
  let total = 0;
  for (let i = 0; i < values.length; i++) {
    if (places.pictures[i] < 0) continue;
    strongest = Math.max(strongest, values[i]);
    total += values[i];
  }
  return [strongest, total];
}
