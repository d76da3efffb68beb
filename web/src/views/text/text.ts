/** The text view: the running text, each word shaded by attention from or to the selected words. */
import { headsOn } from "../../state/state";
import type { State } from "../../protocol/types";
import { groupsOf, sumsBySpan } from "../../protocol/spans";
import type { Group } from "../../protocol/spans";
import { isRightToLeft, unitOf, unitsOf } from "../../protocol/units";
import type { Unit } from "../../protocol/units";
import { make, number, visible, weightText } from "../../render/dom";
import { css } from "../../render/oklch";
import type { Rgb } from "../../render/oklch";
import { at as colourAt, inkOn, sequential, surfaces } from "../../render/scales";
import { StrongList, listRoom, topOf } from "../../render/strong_list";
import type { Context, View } from "../view";
import { layout } from "./layout";
import type { Layout } from "./layout";
import { Minimap } from "./minimap";
import { Pane } from "./pane";
import { heading, piecesOf, withBoundary, withSpans } from "./pieces";
import type { Piece } from "./pieces";
import { context as around } from "./surroundings";
import { Weights } from "./weights";
import { ofText } from "./state";
import type { TextState } from "./state";
import type { Hand, Shading, Side, Units } from "./weights";
import { moved } from "./walk";

const listed = 8;
/** Of the colour scale: beyond it words in black could not be told from words in white. */
const darkest = 0.86;
const otherSide = (side: Side): Side => (side === "query" ? "key" : "query");

export class TextView implements View {
  readonly element = make("div", { class: "tx" });
  private readonly pane: Pane;
  private readonly minimap: Minimap;
  private readonly list: StrongList;
  private readonly weights: Weights;
  private units: Units = { query: [], key: [] };
  private pieces: Piece[] = [];
  /** Messages, documents and answer of a conversation. */
  private groups: Group[] = [];
  private places: Record<Side, Int32Array> = { query: new Int32Array(), key: new Int32Array() };
  private layout: Layout | null = null;
  private shading: Shading | null = null;
  private largest = 1;
  private hover: number | null = null;
  private cursor = -1;
  private placedFor = "";
  private mirrored = false;

  constructor(private readonly context: Context) {
    this.weights = new Weights(context.reading);
    this.pane = new Pane({
      look: (piece, event) => this.look(piece, event),
      pin: (piece, how) => this.pin(piece, how),
      isolate: (piece) => this.only(piece),
      scrolled: () => {
        this.minimap.follow(this.pane.scroller.scrollTop, this.pane.scroller.clientHeight);
        this.listStrongest();
      },
    });
    this.minimap = new Minimap((y) => (this.pane.scroller.scrollTop = y - this.pane.scroller.clientHeight / 2));
    this.list = new StrongList((piece) => this.pane.reveal(piece, true));
    this.pane.scroller.addEventListener("keydown", (event) => this.walk(event));
    this.element.append(this.pane.scroller, this.minimap.element, this.list.element);
  }

  private get state(): TextState {
    return ofText(this.context.store.state);
  }

  update(now: State, was: State | null): void {
    const [state, before] = [ofText(now), was && ofText(was)];
    this.place(state);
    this.shade(state, () => {
      const pinned = this.pinned(state);
      const moved = before && (state.query !== before.query || state.key !== before.key || String(state.also) !== String(before.also));
      if ((moved || !before) && pinned.length) this.pane.reveal(this.places[state.side][pinned[0]]);
      if (moved) this.speak();
    });
  }

  redraw(): void {
    const held = this.places[this.state.side][this.pinned(this.state)[0]] ?? -1;
    const seen = held >= 0 && this.pane.isInSight(held);
    this.placedFor = "";
    this.place(this.state);
    if (seen) this.pane.reveal(held);
    this.shade(this.state);
  }

  copy(): string | null {
    const { state } = this;
    const { shading } = this;
    if (!shading) return null;
    const far = this.units[otherSide(this.hand().side)];
    const rows = Array.from(shading.weights, (weight, i) => `${far[i].text}\t${weight.toFixed(4)}`);
    return [`${this.sentence()} (${state.kind}, layer ${state.layer}, ${this.headsText()})`, ...rows].join("\n");
  }

  picture(): Record<string, unknown> | null {
    const { state, shading } = this;
    if (!shading) return null;
    const hand = this.hand();
    const far = this.units[otherSide(hand.side)];
    return {
      kind: state.kind,
      layer: state.layer,
      heads: headsOn(state, this.context.reading.part(state.kind)),
      side: hand.side,
      hand: hand.units.map((unit) => this.units[hand.side][unit].start),
      filter: state.filter,
      scale: state.scale,
      largest: this.largest,
      weights: Array.from(shading.weights.subarray(0, 24)),
      starts: far.slice(0, 24).map((unit) => unit.start),
    };
  }

  step(by: number): void {
    const { state } = this;
    const units = this.units[state.side];
    const now = unitOf(units, state[state.side]);
    const next = now < 0 ? (by > 0 ? 0 : units.length - 1) : (now + by + units.length) % units.length;
    if (units[next]) this.set({ [state.side]: units[next].start, also: [] });
  }

  private place(state: TextState): void {
    const width = this.element.clientWidth || 900;
    const height = Math.max(160, this.context.height() - listRoom);
    const key = [state.kind, state.unit, state.specials, state.first, state.direction, width, height].join("|");
    if (key === this.placedFor) return;
    this.placedFor = key;
    const tokens = this.context.reading.tokens(state.kind);
    this.units = { query: unitsOf(tokens.query, state.unit, state.specials), key: unitsOf(tokens.key, state.unit, state.specials, state.first) };
    const keyAt = new Map(this.units.key.map((unit, i) => [unit.end, i]));
    const one = tokens.query === tokens.key;
    if (one) {
      const pieces = piecesOf(tokens.query, this.units.query, ((count) => (unit: Unit) => ({ query: count++, key: keyAt.get(unit.end) ?? -1 }))(0));
      this.groups = groupsOf(this.units.key, this.context.reading.part(state.kind));
      this.pieces = this.groups.length ? withSpans(pieces, this.groups) : withBoundary(pieces, this.units.query);
    } else {
      const asKey = piecesOf(tokens.key, this.units.key, (unit) => ({ query: -1, key: keyAt.get(unit.end)! }));
      const asQuery = piecesOf(tokens.query, this.units.query, ((count) => () => ({ query: count++, key: -1 }))(0));
      this.groups = [];
      this.pieces = [heading("queries: what looks", true), ...asQuery, heading("keys: what is looked at", false), ...asKey];
    }
    for (const side of ["query", "key"] as const) {
      this.places[side] = new Int32Array(this.units[side].length);
      this.pieces.forEach((piece, i) => piece[side] >= 0 && (this.places[side][piece[side]] = i));
    }
    this.mirrored = state.direction === "rtl" || (state.direction === "auto" && isRightToLeft(tokens.key));
    const room = Math.max(120, this.paneWidth(width));
    this.layout = layout(this.pieces, room);
    this.pane.place(this.pieces, this.layout, height, this.mirrored);
    this.minimap.place(this.layout, room, height, this.mirrored);
    this.minimap.follow(this.pane.scroller.scrollTop, this.pane.scroller.clientHeight);
    this.shading = null;
  }

  /** The width of a line beside the minimap, the margins and a scroll bar. */
  private paneWidth(width: number): number {
    return width <= 719 ? width - 24 - 40 - 14 : Math.min(980, width - 44 - 72 - 18);
  }

  /** Draws for a state once its weights are here. */
  private shade(state: TextState, then: () => void = () => undefined): void {
    const heads = headsOn(state, this.context.reading.part(state.kind));
    this.context.show(this.weights.shade(state, heads, this.units, this.hand()), (shading) => {
      this.shading = shading;
      this.paint();
      then();
    });
  }

  private set(change: Partial<TextState>): void {
    this.context.store.set(change);
  }

  /** Pinned units on the selected side. */
  private pinned(state: TextState): number[] {
    const units = this.units[state.side];
    if (state[state.side] === null) return [];
    return [...new Set([state[state.side], ...state.also].map((token) => unitOf(units, token)))].filter((unit) => unit >= 0);
  }

  /** The word looked at, unless words are pinned: then those. */
  private hand(): Hand {
    const { state } = this;
    const pinned = this.pinned(state);
    if (pinned.length) return { side: state.side, units: pinned };
    const looked = this.hover === null ? -1 : this.pieces[this.hover][state.side];
    return looked >= 0 ? { side: state.side, units: [looked] } : { side: "query", units: [] };
  }

  private paint(): void {
    const { shading } = this;
    if (!shading) return;
    const { state } = this;
    const shade = this.context.shade();
    const hand = this.hand();
    const far = otherSide(hand.side);
    this.largest = this.context.together(shading.weights.reduce((most, value) => Math.max(most, value), 0) || 1);
    const share = (piece: number) => {
      const unit = this.pieces[piece][far];
      const weight = unit < 0 ? 0 : shading.weights[unit];
      return state.scale === "sqrt" ? Math.sqrt(weight / this.largest) : weight / this.largest;
    };
    const colour = this.colours(shading, shade);
    const inHand = new Set(hand.units.map((unit) => this.places[hand.side][unit]));
    const noted = new Set(shading.heads ? topOf(shading.weights, 24).map((unit) => this.places[far][unit]) : []);
    this.pane.paint((piece) => {
      const value = share(piece);
      const rgb = value > 0.015 ? colour(piece, value) : null;
      const note = noted.has(piece) && shading.heads ? String(shading.heads[this.pieces[piece][far]]) : "";
      return { ground: rgb ? css(rgb) : null, ink: rgb ? inkOn(rgb) : null, inHand: inHand.has(piece), note };
    }, this.sums(shading, far));
    this.minimap.draw(share, colour, shade === "light" ? [90, 96, 106] : [150, 158, 170]);
    this.listStrongest();
    this.report(shading);
  }

  /** Attention to each span, where it is keys that are shaded. */
  private sums({ weights }: Shading, far: Side): Map<string, number> | null {
    return far === "key" ? sumsBySpan(weights, weights.length, this.groups, 0, []) : null;
  }

  /** One scale for one head or their mean; each head's own colour where the strongest is shown. */
  private colours(shading: Shading, shade: "light" | "dark"): (piece: number, share: number) => Rgb {
    const { heads } = shading;
    if (!heads) {
      const ramp = sequential(shade);
      return (_, value) => colourAt(ramp, value * darkest);
    }
    const { state } = this;
    const own = this.context.colours(this.context.reading.part(state.kind).heads);
    const far = otherSide(this.hand().side);
    const page = surfaces[shade];
    const mixed = (colour: Rgb, value: number, i: number) => Math.round(page[i] + (colour[i] - page[i]) * value);
    return (piece, value) => {
      const colour = own[heads[Math.max(0, this.pieces[piece][far])]];
      return [mixed(colour, value, 0), mixed(colour, value, 1), mixed(colour, value, 2)];
    };
  }

  private listStrongest(): void {
    const { shading, layout: placed } = this;
    if (!shading || !placed) return;
    const far = otherSide(this.hand().side);
    const [first, last] = this.pane.inSight();
    const strong = topOf(shading.weights, listed).map((unit) => {
      const piece = this.places[far][unit];
      const line = placed.line[piece];
      const [before, after] = around(this.pieces, piece);
      const away = line < first ? line - first : line >= last ? line - last + 1 : 0;
      return { at: piece, weight: shading.weights[unit], before, word: this.pieces[piece].text, after, away };
    });
    this.list.show(strong, this.mirrored);
  }

  private headsText(): string {
    const { state } = this;
    const part = this.context.reading.part(state.kind);
    const on = headsOn(state, part);
    if (on.length === 1) return `head ${state.layer}-${on[0]}`;
    const which = on.length === part.heads ? `all ${on.length} heads` : `heads ${on.join(", ")}`;
    return `${state.merge === "strongest" ? "strongest" : "mean"} of ${which} of layer ${state.layer}`;
  }

  /** The meaning of the shading, in words. */
  private sentence(): string {
    const { state } = this;
    const { side, units } = this.hand();
    if (!units.length) {
      const sampled = this.shading?.sampled ?? 0;
      return `what ${sampled < this.units.query.length ? `${number(sampled)} words spread over the text` : "all words"} attend to, on average`;
    }
    const named = units.slice(0, 3).map((unit) => `“${visible(this.pieces[this.places[side][unit]].text)}”`);
    const words = units.length > 3 ? `${units.length} words` : named.join(" and ");
    const verb = side === "query" ? (units.length > 1 ? "attend to" : "attends to") : units.length > 1 ? "are attended to by" : "is attended to by";
    return `what ${words} ${verb}${units.length > 1 ? (state.combine === "sum" ? ", summed" : ", on average") : ""}`;
  }

  private report(shading: Shading): void {
    const { state } = this;
    const total = shading.weights.reduce((sum, value) => sum + value, 0);
    const top = topOf(shading.weights, listed);
    const share = total > 0 ? (100 * top.reduce((sum, unit) => sum + shading.weights[unit], 0)) / total : 0;
    const none = headsOn(state, this.context.reading.part(state.kind)).length === 0;
    const words = none ? "No head is on: click one to see its attention." : `${this.sentence()} · ${this.headsText()} · ${top.length} of ${number(shading.weights.length)} words hold ${share.toFixed(0)} %`;
    this.context.status(words, {
      kind: "ramp",
      ramp: Array.from({ length: 256 }, (_, i) => colourAt(sequential(this.context.shade()), (i / 255) * darkest)),
      title: `${shading.heads ? "hue: strongest head · " : ""}${state.scale === "sqrt" ? "√weight" : "weight"}`,
      low: "0",
      high: weightText(this.largest),
    });
  }

  private look(piece: number | null, event: MouseEvent | null): void {
    if (piece === this.hover && event) return;
    this.hover = piece;
    const { state } = this;
    const pinned = this.pinned(state).length > 0;
    if (!pinned) this.shade(state, () => this.tell(event));
    else this.tell(event);
  }

  /** Exact numbers beside the word looked at. */
  private tell(event: MouseEvent | null): void {
    const { hover, shading } = this;
    if (hover === null || !shading) return this.context.tooltip.hide();
    const { state } = this;
    const hand = this.hand();
    const far = otherSide(hand.side);
    const pinned = this.pinned(state).length > 0;
    const word = this.pane.word(hover)?.getBoundingClientRect();
    const text = visible(this.pieces[hover].text);
    const unit = this.pieces[hover][far];
    const row = (at: number, name: string) => ({
      text: name + (shading.heads ? ` (head ${shading.heads[at]})` : ""),
      value: weightText(shading.weights[at]),
      data: { unit: this.units[far][at].start, weight: shading.weights[at] },
    });
    const content = pinned
      ? { title: text, rows: unit < 0 ? [] : [row(unit, this.headsText())], weight: unit < 0 ? undefined : shading.weights[unit], note: this.sentence() }
      : {
          title: `${text} ${state.side === "query" ? "attends to" : "is attended to by"}`,
          rows: topOf(shading.weights, 5).map((at) => row(at, visible(this.pieces[this.places[far][at]].text))),
          weight: this.largest,
          note: "click to pin · Ctrl+click adds a word · Shift+click selects up to it",
        };
    if (word) this.context.tooltip.show(content, event?.clientX ?? word.left, word.bottom - 8);
    if (!event) this.context.announce([content.title, ...content.rows.slice(0, 3).map((each) => `${each.text} ${each.value}`)].join(", "));
  }

  private pin(piece: number, how: { add: boolean; range: boolean }): void {
    const { state } = this;
    const { side } = state;
    const unit = this.pieces[piece][side];
    if (unit < 0) return;
    const pinned = this.pinned(state);
    const starts = (units: number[]) => units.map((each) => this.units[side][each].start);
    let next: number[];
    if (how.range && pinned.length) {
      const [low, high] = [Math.min(pinned[0], unit), Math.max(pinned[0], unit)];
      next = starts(Array.from({ length: high - low + 1 }, (_, i) => low + i));
      if (pinned[0] === high) next.reverse();
    } else if (how.add) next = starts(pinned.includes(unit) ? pinned.filter((each) => each !== unit) : [...pinned, unit]);
    else next = pinned.length === 1 && pinned[0] === unit ? [] : starts([unit]);
    this.set({ [side]: next[0] ?? null, [otherSide(side)]: null, also: next.slice(1) });
  }

  private only(piece: number): void {
    const { side } = this.state;
    const unit = this.pieces[piece][side];
    // Two clicks came first: they pinned it and let it go again.
    if (unit >= 0) this.set({ [side]: this.units[side][unit].start, also: [] });
  }

  private walk(event: KeyboardEvent): void {
    if (!this.layout) return;
    const { side } = this.state;
    const start = this.cursor >= 0 ? this.cursor : (this.places[side][this.pinned(this.state)[0] ?? -1] ?? -1);
    if ((event.key === "Enter" || event.key === " ") && this.cursor >= 0) {
      this.pin(this.cursor, { add: event.shiftKey || event.key === " ", range: false });
      return event.preventDefault();
    }
    const next = moved(event.key, start, this.pieces, this.layout, side, this.mirrored);
    if (next === null) return;
    event.preventDefault();
    this.cursor = next;
    this.pane.point(next);
    this.look(next, null);
  }

  private speak(): void {
    const { shading } = this;
    if (!shading) return;
    const far = otherSide(this.hand().side);
    const top = topOf(shading.weights, 3).map((unit) => `${this.pieces[this.places[far][unit]].text} ${weightText(shading.weights[unit])}`);
    this.context.announce([this.sentence(), ...top].join(", "));
  }
}
