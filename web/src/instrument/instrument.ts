/** A mounted view: one store, one reading, one stage; the chrome and the keys around it. */
import { Reading } from "../protocol/reading";
import type { Kind, MountOptions, Mounted, Source, State, ViewName } from "../protocol/types";
import { headColours } from "../render/palette";
import type { Rgb } from "../render/oklch";
import type { Shade } from "../render/palette";
import { copyText, make, sentenceOf } from "../render/dom";
import { crops } from "../render/crops";
import { Tooltip } from "../render/tooltip";
import { Newest, signals } from "../state/signal";
import { Store } from "../state/store";
import type { Context, Legend, View, ViewDefinition } from "../views/view";
import { definitions } from "./definitions";
import { listenToKeys } from "./keys";
import { Painting } from "./painting";
import { prefetch } from "./prefetch";
import { shadeAround, watchShade } from "./shade";

export interface Switches {
  isOff(kind: Kind, layer: number, head: number): boolean;
  flip(kind: Kind, layer: number, head: number): void;
}

/** `dial`: a head map stands beside the view, which needs none of its own. */
export type Options = MountOptions & {
  dial?: boolean;
  /** The scale of this picture and the one beside it, of what this one would take alone. */
  together?: (largest: number) => number;
  /** Another head, layer or view is about to take the place of what is drawn. */
  leaving?: () => void;
  /** What a caption in place of the foot takes of the window's height. */
  below?: () => number;
  /** The map of a head that is off as it was before. */
  was?: (kind: Kind, layer: number, head: number) => Promise<Float32Array> | null;
  /** The head of the other reading that is compared with one of this. */
  partner?: (layer: number, head: number) => [number, number];
};

interface Around {
  status: string;
  legend: Legend | null;
  help: boolean;
  finding: boolean;
  /** The picture alone, without tabs, chips and foot. */
  alone: boolean;
  /** Where a model is at hand: heads can be switched off. */
  switches: Switches | null;
  /** What the theme "auto" means here and now. */
  around: Shade;
}

/** What stands around the picture. */
class Notice extends signals((): Around => ({ status: "", legend: null, help: false, finding: false, alone: false, switches: null, around: "light" })) {}

export class Instrument implements Mounted {
  readonly store: Store;
  readonly reading: Reading;
  readonly other: Reading | null;
  readonly stage = make("div", { class: "stage" });
  readonly painting = new Painting((on) => this.stage.classList.toggle("busy", on));
  readonly root: HTMLElement;
  readonly notice = new Notice();
  private readonly work = new Newest();
  private view: View | null = null;
  private definition: ViewDefinition | null = null;
  private readonly context: Context;
  private readonly tooltip: Tooltip;
  private readonly live = make("div", { class: "sr", role: "status", "aria-live": "polite" });
  private readonly stops: (() => void)[] = [];
  private stopAhead: () => void = () => undefined;
  private gone = false;
  /** Width and height of the stage that the picture was drawn for. */
  private drawnFor = "";

  constructor(
    readonly source: Source,
    readonly options: Options,
    root: HTMLElement,
  ) {
    this.root = root;
    this.store = new Store(source.header);
    this.reading = new Reading(source);
    this.other = options.other ? new Reading(options.other) : source.header.other ? new Reading(source, "other") : null;
    this.tooltip = new Tooltip(root);
    this.tooltip.crops = (query, key) => crops(this.reading, this.store.state.kind, query, key);
    root.append(this.live);
    this.context = {
      store: this.store,
      reading: this.reading,
      other: this.other,
      tooltip: this.tooltip,
      painting: this.painting,
      show: (work, draw, refuse = (sentence) => this.context.status(sentence, null)) => this.draw(work, draw, refuse),
      shade: () => this.shade(),
      colours: (heads) => headColours(heads, this.shade()),
      height: () => this.height(),
      status: (text, legend) => this.notice.set({ status: text, legend: legend === undefined ? this.notice.legend : this.named(legend) }),
      announce: (text) => (this.live.textContent = text),
      together: (largest) => this.options.together?.(largest) ?? largest,
      was: (kind, layer, head) => this.options.was?.(kind, layer, head) ?? null,
      partner: (layer, head) => this.options.partner?.(layer, head) ?? [layer, head],
      openText: options.openText ?? null,
    };
    this.notice.around = shadeAround();
    this.applyTheme();
    this.stops.push(
      this.store.subscribe((state, before) => this.changed(state, before)),
      listenToKeys(this),
      this.watchTheme(),
      this.watchSize(),
    );
  }

  /** Called once the stage is in the document. */
  start(): void {
    this.show(this.store.state.view);
    this.drawnFor = this.size();
    this.view?.update(this.store.state, null);
    void this.painting.ready.then(() => this.lookAhead());
  }

  get state(): State {
    return this.store.state;
  }
  get ready(): Promise<void> {
    return this.painting.ready;
  }
  get paints(): number {
    return this.painting.paints;
  }
  get status(): string {
    return this.notice.status;
  }
  set(change: Partial<State>): void {
    this.store.set(change);
  }
  picture(): Record<string, unknown> | null {
    const drawn = this.view?.picture?.();
    return drawn ? { view: this.state.view, ...drawn } : null;
  }
  painted(): Promise<void> {
    return this.painting.painted();
  }

  async weight(kind: Kind, layer: number, head: number, query: number, key: number): Promise<number> {
    const s = this.reading.tokens(kind).key.text.length;
    return (await this.reading.map(kind, layer, head))[query * s + key];
  }

  redraw(): void {
    if (!this.gone) this.view?.redraw();
  }

  unmount(): void {
    this.gone = true;
    this.stopAhead();
    for (const stop of this.stops) stop();
    this.work.begin();
    this.view?.destroy?.();
  }

  definitionNow(): ViewDefinition {
    return definitions.find((each) => each.name === this.state.view) ?? definitions[0];
  }

  /** Tabs to offer: those the container names, or all that its data can fill or that say why it cannot. */
  tabs(): ViewDefinition[] {
    const named = this.source.header.views;
    const offered = definitions.filter((each) => each.name !== "head_map" || !this.options.dial);
    return offered.filter((each) =>
      named ? named.includes(each.name) : each.missing(this.reading) === null || (each.alwaysOffered === true && this.reading.parts.length > 0),
    );
  }

  viewKey(key: string): boolean {
    return this.view?.press?.(key) ?? false;
  }

  step(by: number): void {
    this.view?.step?.(by);
  }

  clear(): void {
    this.tooltip.hide();
    if (this.notice.help || this.notice.finding) this.notice.set({ help: false, finding: false });
    else {
      this.view?.clear?.();
      this.store.set({ query: null, key: null });
    }
  }

  copy(): void {
    const text = this.view?.copy?.() ?? this.tooltip.copy() ?? this.notice.status;
    void copyText(text).then(() => this.context.announce("Copied."));
    this.notice.status = "Copied to the clipboard.";
  }

  shade(): Shade {
    const { theme } = this.state;
    return theme === "auto" ? this.notice.around : theme;
  }

  colours(): Rgb[] {
    return headColours(this.reading.part(this.state.kind).heads, this.shade());
  }

  railHeight(): number {
    return Math.max(200, this.height());
  }

  private height(): number {
    if (this.options.height) return this.options.height;
    // In a narrow frame the line under the picture wraps to two, and to three.
    const width = this.root.clientWidth;
    const foot = this.options.below?.() ?? (width < 480 ? 78 : width < 720 ? 50 : 32);
    if (this.options.fill) return Math.max(240, globalThis.innerHeight - this.stage.getBoundingClientRect().top - foot - 1);
    const above = this.stage.getBoundingClientRect().top - this.root.getBoundingClientRect().top;
    return Math.max(300, globalThis.innerHeight - above - foot - 30);
  }

  private changed(state: State, before: State): void {
    const themed = state.theme !== before.theme;
    if (themed) this.applyTheme();
    // What is drawn anew must be there: together with another head or view the theme waits for its weights.
    if (themed && (Object.keys(state) as (keyof State)[]).every((name) => name === "theme" || state[name] === before[name])) {
      this.view?.redraw();
      return this.options.onState?.(state);
    }
    if (state.layer !== before.layer || String(state.heads) !== String(before.heads)) {
      this.context.announce(`Layer ${state.layer}, ${state.heads ? `head ${state.heads.join(", ") || "none"}` : "all heads"}`);
    }
    this.tooltip.hide();
    if ((["view", "layer", "head", "heads", "kind"] as const).some((name) => String(state[name]) !== String(before[name]))) this.options.leaving?.();
    this.show(state.view);
    this.drawnFor = this.size();
    this.view?.update(state, !themed && state.view === before.view && state.weighting === before.weighting ? before : null);
    this.options.onState?.(state);
    this.stopAhead();
    void this.painting.painted().then(() => {
      if (themed && !this.gone) this.view?.redraw();
      this.lookAhead();
    });
  }

  /** A legend says what is drawn where that is not the weight. */
  private named(legend: Legend | null): Legend | null {
    const drawn = (this.tooltip.says = this.reading.drawn);
    return legend && drawn ? { ...legend, title: legend.title.replace("weight", drawn) } : legend;
  }

  private lookAhead(): void {
    this.stopAhead();
    if (!this.gone && !this.definitionNow().overview) this.stopAhead = prefetch(this.reading, this.state);
  }

  private show(name: ViewName): void {
    const definition = definitions.find((each) => each.name === name) ?? definitions[0];
    this.reading.weighting = definition.controls.includes("weighting") && !this.other ? this.state.weighting : "weight";
    this.reading.target = (this.state as { target?: string }).target || null;
    if (definition === this.definition) return;
    this.work.begin();
    this.view?.destroy?.();
    this.definition = definition;
    const missing = definition.missing(this.reading);
    this.view = missing === null ? definition.create(this.context) : messageView(missing, this.context);
    this.stage.replaceChildren(this.view.element);
    this.stage.setAttribute("aria-label", `${definition.title} view`);
    this.notice.set({ status: "", legend: null });
  }

  private draw<Value>(work: Value | Promise<Value>, draw: (value: Value) => void, refuse: (sentence: string) => void): void {
    const signal = this.work.begin();
    const end = this.painting.begin();
    if (!(work instanceof Promise)) {
      draw(work);
      return end();
    }
    work
      .then((value) => signal.aborted || draw(value))
      .catch((error: unknown) => signal.aborted || refuse(sentenceOf(error)))
      .finally(end);
  }

  private applyTheme(): void {
    this.root.dataset["shade"] = this.shade();
  }

  private watchTheme(): () => void {
    return watchShade((around) => {
      this.notice.around = around;
      this.applyTheme();
      this.view?.redraw();
    });
  }

  private size(): string {
    return `${this.stage.clientWidth} ${Math.round(this.height())}`;
  }

  /**
   * A view may be drawn before it is laid out (a notebook's cell, a frame out of sight), and what stands around
   * it may change its room: whatever was drawn for another size is drawn again.
   */
  private watchSize(): () => void {
    const onResize = () => {
      const now = this.size();
      if (now === this.drawnFor || !this.stage.clientWidth) return;
      this.drawnFor = now;
      this.view?.redraw();
    };
    const observer = new ResizeObserver(onResize);
    observer.observe(this.stage);
    observer.observe(this.root);
    globalThis.addEventListener("resize", onResize);
    return () => {
      observer.disconnect();
      globalThis.removeEventListener("resize", onResize);
    };
  }
}

/** What a view that cannot be filled shows instead: the reason. */
export function messageView(sentence: string, context: Context): View {
  const element = make("div", { class: "message" }, make("strong", {}, sentence));
  return {
    element,
    update: () => context.show(null, () => context.status("", null)),
    redraw: () => undefined,
  };
}
